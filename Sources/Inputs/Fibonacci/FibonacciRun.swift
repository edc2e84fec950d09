internal import Feed
internal import Reactor

/// One run over F(0)…F(n) as decimals, a slice after the other, and the time it takes.
///
/// Every number is written as decimals, wanted or not: so a run's time means the same wherever it is shown. What
/// becomes of a slice is not in it.
package final class FibonacciRun: @unchecked Sendable {  // used in one place at a time, by one piece of offloaded work
    /// The number that the run goes up to.
    package let last: Int
    /// What computing took so far. Also in virtual time it is the machine's: the work is real.
    package private(set) var elapsed = Duration.zero
    private var numbers: FibonacciNumbers
    private let memory: UnsafeMutableRawBufferPointer
    /// Where the slice's numbers are in `memory`.
    private var places: [Range<Int>] = []
    /// The first number of the next slice.
    private var next = 0

    /// How many bytes of decimals a slice has at most, unless one number has more; and how many numbers.
    private static let sliceBytes = 128 << 10
    private static let sliceCount = 1_024

    /// - Parameter last: 0 to `PollRequest.mostN`.
    package init(through last: Int) {
        precondition(0...PollRequest.mostN ~= last, "callers look at the range first")
        self.last = last
        numbers = FibonacciNumbers(through: last)
        // A number is written with the zeros of its highest limb.
        let longest = FibonacciNumbers.digits(of: last + 1) + FibonacciNumbers.limbDigits
        // Short runs get no more than they can fill: fresh memory takes longer than they do.
        let most = min(max(Self.sliceBytes, longest), (last + 1) * longest)
        memory = .allocate(byteCount: most, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// Whether every number was in some slice.
    package var isFinished: Bool { next > last }

    /// Computes the next slice, about a tenth of a millisecond's work; an empty one behind the end.
    package func advance() {
        let start = SuspendingClock.now
        places.removeAll(keepingCapacity: true)
        guard let memory = memory.baseAddress, !isFinished else { return }
        var used = 0
        // In bounds: looked at before each number; the first one always fits, see `init`.
        while next <= last, places.count < Self.sliceCount, used + numbers.mostBytes <= self.memory.count {
            let place = numbers.write(to: memory + used)
            places.append(used + place.lowerBound..<used + place.upperBound)
            used += place.upperBound
            if next < last { numbers.advance() }
            next += 1
        }
        elapsed += start.duration(to: .now)
    }

    /// Lends the slice's numbers and their decimals, in order.
    package func visit<Failure: Error>(
        _ body: (_ n: Int, _ decimals: UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var n = next - places.count
        for place in places {
            try body(n, UnsafeRawBufferPointer(rebasing: memory[place]))
            n += 1
        }
    }
}

/// A run's time as it is shown.
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
