internal import Feed
internal import Reactor

/// The lines that were written over a connection: tells which one is a number of bytes back, even if the log has
/// dropped it.
struct WriteTrail: Sendable {
    /// The distance in bytes that must be covered; older lines are forgotten.
    private let reach: Int
    private var run: String
    /// The sequence number of the line that follows those.
    private var next: Int
    // Bound: numbers of lines that a push may write again | 64 bytes for each line in `resend` and in the current piece
    //   | forgotten
    /// The first number of each line and gap, in their order. Only lines count in bytes.
    private var lines: [(sequence: Int, bytes: Int)]
    /// The first of `lines` that counts, and the bytes of those that count.
    private var oldest = 0
    private var bytes = 0

    /// - Parameter start: the first line to write.
    init(from start: LineID, reach: Int) {
        (self.reach, run, next) = (reach, start.run, start.sequence)
        lines = [(start.sequence, 0)]
    }

    /// The number of lines, for tests of the bound.
    var count: Int { lines.count }

    /// Records whole lines that are written next; in another run, sequence numbers start again.
    mutating func record(_ piece: LinePiece) {
        var number: Int? = if case .span(let span) = piece { span.sequences.lowerBound } else { nil }
        piece.withUnsafeBytes { bytes in
            bytes.forEachLine { line in
                if let sequence = number ?? LineHead(line)?.sequence {
                    add(sequence...sequence, line.count + 1)
                    number = number.map { $0 + 1 }
                } else if let line = try? LineDecoder.decode(Bytes(line)) {
                    switch line.body {
                    case .hello(let hello) where hello.run != run:
                        self = WriteTrail(from: LineID(hello.run, hello.firstSeq), reach: reach)
                    case .gap(let gap): add(gap.numbers, 0)
                    default: break
                    }
                }
            }
        }
        // The rest must cover that distance from the start of this piece, of which nothing may have been sent yet.
        while oldest < lines.count - 1, bytes - lines[oldest].bytes >= reach + piece.count {
            bytes -= lines[oldest].bytes
            oldest += 1
        }
        if oldest > 64, oldest > lines.count / 2 {
            lines.removeFirst(oldest)
            oldest = 0
        }
    }

    private mutating func add(_ numbers: ClosedRange<Int>, _ count: Int) {
        lines.append((numbers.lowerBound, count))
        bytes += count
        next = numbers.upperBound.addingSaturated(1)
    }

    /// The line with the byte that is `back` bytes before the end; the first one when the trail is shorter.
    func line(bytesBack back: Int) -> LineID {
        var (left, sequence) = (back, next)
        for line in lines[oldest...].reversed() {
            if left <= 0 { break }
            left -= line.bytes
            sequence = min(sequence, line.sequence)
        }
        return LineID(run, sequence)
    }
}
