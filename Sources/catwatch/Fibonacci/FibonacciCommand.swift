internal import Feed
internal import Glibc
internal import Inputs
internal import Reactor

/// `catwatch fibonacci 90`, `catwatch fibonacci 10 50 90`: prints the numbers and the time that computing them took.
///
/// Needs no event loop. The text is produced and written piece by piece: F(0)…F(100,000) are 2 GB of it.
enum FibonacciCommand {
    /// The bytes of text to gather before writing.
    private static let pieceSize = 64 << 10

    /// Prints runs to standard output, blocking for the reader; returns early and silently when nobody reads. SIGPIPE
    /// has to be ignored.
    ///
    /// - Parameter runs: the last index of each run, 0 to `PollRequest.mostN`.
    /// - Throws: the error of writing, other than `EPIPE`.
    static func print(_ runs: [Int], to descriptor: Int32 = STDOUT_FILENO) throws(SystemError) {
        do throws(SystemError) {
            try run(runs) { bytes throws(SystemError) in try Descriptor.write(bytes, to: descriptor) }
        } catch {
            if error.code != EPIPE { throw error }
        }
    }

    /// Prints runs with any writer.
    ///
    /// - Parameter write: writes all of these bytes.
    static func run<Failure: Error>(
        _ runs: [Int], write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var text: [UInt8] = []
        text.reserveCapacity(2 * pieceSize)
        var times: [(n: Int, time: Duration)] = []
        for n in runs {
            if !times.isEmpty { text += "\n".utf8 }
            let run = FibonacciRun(through: n)
            try print(run, into: &text, write)
            text += "total  \(FibonacciTime.milliseconds(run.elapsed)) ms\n".utf8
            try flush(&text, write)
            times.append((n, run.elapsed))
        }
        guard times.count > 1 else { return }
        text += "\n\(summary(times))".utf8
        try flush(&text, write)
    }

    /// Two columns: the indices on the left, the values right-aligned to the width of the last one.
    private static func print<Failure: Error>(
        _ run: FibonacciRun, into text: inout [UInt8], _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let last = String(run.last).utf8.count
        let width = FibonacciNumbers.digits(of: run.last)
        while !run.isFinished {
            run.advance()
            try run.visit { n, decimals throws(Failure) in
                let number = String(n)
                text += number.utf8
                text += repeatElement(UInt8(ascii: " "), count: last - number.utf8.count + 2 + width - decimals.count)
                text += decimals
                text.append(UInt8(ascii: "\n"))
                if text.count >= pieceSize { try flush(&text, write) }
            }
        }
    }

    /// The time of each run: its `n` on the left, its milliseconds right-aligned.
    private static func summary(_ times: [(n: Int, time: Duration)]) -> String {
        var rows = [(left: "N", right: "ms")]
        for (n, time) in times { rows.append(("\(n)", FibonacciTime.milliseconds(time))) }
        let left = rows.map(\.left.utf8.count).max() ?? 0
        let right = rows.map(\.right.utf8.count).max() ?? 0
        return rows.map { row in
            let gap = left - row.left.utf8.count + 2 + right - row.right.utf8.count
            return row.left + String(repeating: " ", count: gap) + row.right + "\n"
        }.joined()
    }

    /// Writes the gathered text and empties it.
    private static func flush<Failure: Error>(
        _ text: inout [UInt8], _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        guard !text.isEmpty else { return }
        defer { text.removeAll(keepingCapacity: true) }
        try text.span.bytes.withUnsafeBytes { raw throws(Failure) in try write(raw) }
    }
}
