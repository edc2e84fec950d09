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
        var text = Piece(capacity: pieceSize)
        var times: [(n: Int, time: Duration)] = []
        for n in runs {
            if !times.isEmpty { text.append("\n") }
            let run = FibonacciRun(through: n)
            try print(run, into: &text, write)
            text.append("total  \(FibonacciTime.milliseconds(run.elapsed)) ms\n")
            try text.flush(write)
            times.append((n, run.elapsed))
        }
        guard times.count > 1 else { return }
        text.append("\n" + summary(times))
        try text.flush(write)
    }

    /// Two columns: the indices on the left, the values right-aligned to the width of the last one.
    private static func print<Failure: Error>(
        _ run: FibonacciRun, into text: inout Piece, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let last = String(run.last).utf8.count
        let width = FibonacciNumbers.digits(of: run.last)
        while !run.isFinished {
            run.advance()
            try run.visit { n, decimals throws(Failure) in
                let number = String(n)
                text.append(number)
                text.append(blanks: last - number.utf8.count + 2 + width - decimals.count)
                text.append(decimals)
                text.append("\n")
                if text.count >= pieceSize { try text.flush(write) }
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

    /// A buffer of text that is written in large pieces.
    private struct Piece {
        private var bytes: [UInt8] = []
        var count: Int { bytes.count }

        init(capacity: Int) { bytes.reserveCapacity(2 * capacity) }

        mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
        mutating func append(_ decimals: UnsafeRawBufferPointer) { bytes.append(contentsOf: decimals) }
        mutating func append(blanks count: Int) { bytes.append(contentsOf: repeatElement(0x20, count: count)) }

        mutating func flush<Failure: Error>(
            _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
        ) throws(Failure) {
            guard !bytes.isEmpty else { return }
            defer { bytes.removeAll(keepingCapacity: true) }
            try bytes.span.bytes.withUnsafeBytes { raw throws(Failure) in try write(raw) }
        }
    }
}
