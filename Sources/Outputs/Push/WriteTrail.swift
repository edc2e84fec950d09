internal import Feed
internal import Reactor

/// The lines that were written over a connection: tells which one is a number of bytes back, even if the log has
/// dropped it, or its run has ended.
struct WriteTrail: Sendable {
    /// A run of the feed, as far as it was written.
    struct Run: Sendable {
        let name: String
        /// Its newest `hello`, with the newline; empty until one was written.
        fileprivate(set) var hello: [UInt8] = []
        /// The sequence number of the line that follows those.
        fileprivate(set) var next: Int
    }

    /// The distance in bytes that must be covered; older lines are forgotten.
    private let reach: Int
    // Bound: runs of lines that a push may write again | 16, and the `hello` of each | oldest forgotten
    private static let mostRuns = 16
    /// The runs of the lines from `oldest` on, with the newest at the end.
    private var runs: [Run]
    /// The number of runs before those.
    private var forgottenRuns = 0
    // Bound: numbers of lines that a push may write again | 96 bytes for each line in `resend` and the piece being
    //   written | forgotten
    /// The first number of each line and gap, in their order, and the number of its run. Only lines count in bytes.
    private var lines: [(run: Int, sequence: Int, bytes: Int)]
    /// The first of `lines` that counts, and the bytes of those that count.
    private var oldest = 0
    private var bytes = 0

    /// - Parameters:
    ///   - start: the first line to write.
    ///   - hello: the `hello` of its run, if that was written before.
    init(from start: LineID, reach: Int, hello: [UInt8] = []) {
        self.reach = reach
        runs = [Run(name: start.run, hello: hello, next: start.sequence)]
        lines = [(0, start.sequence, 0)]
    }

    /// The number of lines, for tests of the bound.
    var count: Int { lines.count }

    /// The runs from that of a line on, the first one with this line, others with their first one.
    func runs(from start: LineID) -> [(run: Run, first: Int)] {
        guard let first = runs.lastIndex(where: { $0.name == start.run }) else { return [] }
        var later = runs[first...].map { (run: $0, first: $0.next) }
        for line in lines[oldest...] where line.run > forgottenRuns + first {
            let index = line.run - forgottenRuns - first
            later[index].first = min(later[index].first, line.sequence)
        }
        later[0].first = start.sequence
        return later
    }

    private var newest: Run {
        get { runs[runs.count - 1] }
        _modify { yield &runs[runs.count - 1] }
    }
    private var newestNumber: Int { forgottenRuns + runs.count - 1 }

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
                    case .hello(let hello):
                        if hello.run != newest.name { begin(hello) }
                        newest.hello = Array(line) + [UInt8(ascii: "\n")]
                    case .gap(let gap): add(gap.numbers, 0)
                    default: break
                    }
                }
            }
        }
        // The rest must cover that distance from the start of this piece, of which nothing may have been sent yet.
        while oldest < lines.count - 1,
            bytes - lines[oldest].bytes >= reach + piece.count || newestNumber - lines[oldest].run >= Self.mostRuns
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

    /// - Parameter hello: that of another run. Before the first one there is a run of which nothing is ever written.
    private mutating func begin(_ hello: Line.Hello) {
        if lines.count == 1, newest.hello.isEmpty { (runs, lines) = ([], []) }
        runs.append(Run(name: hello.run, next: hello.firstSeq))
        lines.append((newestNumber, hello.firstSeq, 0))
    }

    private mutating func add(_ numbers: ClosedRange<Int>, _ count: Int) {
        lines.append((newestNumber, numbers.lowerBound, count))
        bytes += count
        newest.next = numbers.upperBound.addingSaturated(1)
    }

    /// The line with the byte that is `back` bytes before the end; the first one when the trail is shorter.
    func line(bytesBack back: Int) -> LineID {
        var (left, run, sequence) = (back, newestNumber, newest.next)
        for line in lines[oldest...].reversed() {
            if left <= 0 { break }
            left -= line.bytes
            sequence = line.run == run ? min(sequence, line.sequence) : line.sequence
            run = line.run
        }
        return LineID(runs[run - forgottenRuns].name, sequence)
    }
}
