internal import Feed
internal import Reactor

/// The lines that were written over a connection: tells which one is a number of bytes back, even if the log has
/// dropped it, or its run has ended.
struct WriteTrail: Sendable {
    /// The distance in bytes that must be covered; older lines are forgotten.
    private let reach: Int
    // Bound: runs of lines that a push may write again | 16 | oldest forgotten
    private static let mostRuns = 16
    /// The names of the runs of the lines from `oldest` on, with the newest at the end.
    private var runs: [String]
    /// The number of runs before those.
    private var forgottenRuns = 0
    // Bound: numbers of lines that a push may write again | 96 bytes for each line in `resend` and the piece being
    //   written | forgotten
    /// The first number of each line and gap, in their order, and the number of its run. Only lines count in bytes.
    private var lines: [(run: Int, sequence: Int, bytes: Int)]
    /// The first of `lines` that counts, and the bytes of those that count.
    private var oldest = 0
    private var bytes = 0
    /// The sequence number of the line that follows.
    private var next: Int
    /// Whether no line was written yet: then the first run is only where to begin.
    private var isEmpty = true

    /// - Parameter start: the first line to write.
    init(from start: LineID, reach: Int) {
        self.reach = reach
        (runs, next) = ([start.run], start.sequence)
        lines = [(0, start.sequence, 0)]
    }

    /// The number of lines, for tests of the bound.
    var count: Int { lines.count }

    private var newest: Int { forgottenRuns + runs.count - 1 }

    /// Records whole lines that are written next; in another run, sequence numbers start again.
    mutating func record(_ piece: LinePiece) {
        var number: Int? = if case .span(let span) = piece { span.sequences.lowerBound } else { nil }
        piece.withUnsafeBytes { bytes in
            bytes.forEachLine { line in
                if let sequence = number ?? LineHead(line)?.sequence {
                    add(sequence...sequence, line.count + 1)
                    number = number.map { $0 + 1 }
                } else if let decoded = try? LineDecoder.decode(Bytes(line)) {
                    switch decoded.body {
                    case .hello(let hello) where hello.run != runs.last: begin(hello)
                    case .gap(let gap): add(gap.numbers, 0)
                    default: break
                    }
                }
            }
        }
        // The rest must cover that distance from the start of this piece, of which nothing may have been sent yet.
        while oldest < lines.count - 1,
            bytes - lines[oldest].bytes >= reach + piece.count || newest - lines[oldest].run >= Self.mostRuns
        {
            bytes -= lines[oldest].bytes
            oldest += 1
        }
        let forgotten = lines[oldest].run - forgottenRuns
        runs.removeFirst(forgotten)
        forgottenRuns += forgotten
        if oldest > 64, oldest > lines.count / 2 {
            lines.removeFirst(oldest)
            oldest = 0
        }
    }

    /// - Parameter hello: that of another run.
    private mutating func begin(_ hello: Line.Hello) {
        if isEmpty { (runs, lines) = ([], []) }
        runs.append(hello.run)
        next = hello.firstSeq
        lines.append((newest, hello.firstSeq, 0))
    }

    private mutating func add(_ numbers: ClosedRange<Int>, _ count: Int) {
        isEmpty = false
        lines.append((newest, numbers.lowerBound, count))
        bytes += count
        next = numbers.upperBound.addingSaturated(1)
    }

    /// The line with the byte that is `back` bytes before the end; the first one when the trail is shorter.
    func line(bytesBack back: Int) -> LineID {
        var (left, run, sequence) = (back, newest, next)
        for line in lines[oldest...].reversed() {
            if left <= 0 { break }
            left -= line.bytes
            sequence = line.run == run ? min(sequence, line.sequence) : line.sequence
            run = line.run
        }
        return LineID(runs[run - forgottenRuns], sequence)
    }
}
