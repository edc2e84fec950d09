internal import Feed
internal import Reactor

/// One run over F(0)…F(n) as decimals, slice by slice, and the time it takes.
///
/// Every number is written as decimals, whether published or not, so that times are comparable. Callers publish the
/// slices.
package final class FibonacciRun: @unchecked Sendable {  // used in one place at a time, by one piece of offloaded work
    /// The last number of the run.
    package let last: Int
    /// The time spent computing so far; real time, even where a test's clock is virtual.
    package private(set) var elapsed = Duration.zero
    private var numbers: FibonacciNumbers
    private let memory: UnsafeMutableRawBufferPointer
    /// The ranges of the slice's numbers in `memory`.
    private var ranges: [Range<Int>] = []
    /// The first number of the next slice.
    private var next = 0

    // A slice of a Fibonacci run: 1,024 numbers, or 128 KiB of decimals or one longer number, and their lines; the next
    // slice waits; with `emit: pairs` for outputs too.
    private static let sliceBytes = 128 << 10
    private static let sliceCount = 1_024

    /// - Parameter last: 0 to `PollRequest.mostN`.
    package init(through last: Int) {
        precondition(0...PollRequest.mostN ~= last, "callers look at the range first")
        self.last = last
        numbers = FibonacciNumbers(through: last)
        // The zeros of a number's highest limb are written too.
        let longest = FibonacciNumbers.digits(of: last + 1) + FibonacciNumbers.limbDigits
        // A short run allocates only what it can fill: fresh memory would cost more time than the run.
        let most = min(max(Self.sliceBytes, longest), (last + 1) * longest)
        memory = .allocate(byteCount: most, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// Whether all numbers have been computed.
    package var isFinished: Bool { next > last }

    /// Computes the next slice, about a tenth of a millisecond's work; behind the end it is empty.
    package func advance() {
        let start = SuspendingClock.now
        ranges.removeAll(keepingCapacity: true)
        guard let memory = memory.baseAddress, !isFinished else { return }
        var used = 0
        // In bounds: checked before each number; the first one always fits, see `init`.
        while next <= last, ranges.count < Self.sliceCount, used + numbers.mostBytes <= self.memory.count {
            let range = numbers.write(to: memory + used)
            ranges.append(used + range.lowerBound..<used + range.upperBound)
            used += range.upperBound
            if next < last { numbers.advance() }
            next += 1
        }
        elapsed += start.duration(to: .now)
    }

    /// Calls `body` with each of the slice's numbers and its decimals, in order.
    package func visit<Failure: Error>(
        _ body: (_ n: Int, _ decimals: UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var n = next - ranges.count
        for range in ranges {
            try body(n, UnsafeRawBufferPointer(rebasing: memory[range]))
            n += 1
        }
    }
}

/// Formats a run's time.
package enum FibonacciTime {
    /// In milliseconds with three digits behind the point: `0.042`, `605.604`.
    package static func milliseconds(_ time: Duration) -> String {
        let microseconds = Int((time / .microseconds(1)).rounded())
        let fraction = String(microseconds % 1_000)
        return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }

    /// `F(0)…F(500) in 0.042 ms`
    package static func sentence(through last: Int, _ time: Duration) -> String {
        "F(0)…F(\(last)) in \(milliseconds(time)) ms"
    }
}
