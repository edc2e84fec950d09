import Feed
import Journal
import Reactor

/// A run whose lines are written as an agent writes them, and handed on as its log's spans.
struct FeedOfLines: ~Copyable {
    let run: String
    private var log = LineLog()
    private var next = 1

    init(run: String) { self.run = run }

    /// `hello` and `stats` as they are now.
    var greeting: JournalPiece {
        let identity = AgentIdentity(run: run, version: "1", started: Timestamp(seconds: 0))
        let hello = ControlLine.hello(
            time: Timestamp(seconds: 0), identity: identity, isFiltered: false, interval: .seconds(10),
            history: .seconds(120), firstSequence: log.firstSequence, nextSequence: log.nextSequence)
        let stats = ControlLine.stats(
            time: Timestamp(seconds: 0), asOf: log.nextSequence - 1, endpoints: [], sources: [])
        return .greeting(hello + stats)
    }

    /// Adds events of the source `fact`, a second each from `first` on.
    ///
    /// - Returns: their lines, in as many pieces as the log has.
    mutating func add(_ count: Int, from first: Timestamp = Timestamp(seconds: 1_000_000)) -> [JournalPiece] {
        for index in 0..<count {
            log.append(atMost: 200, at: LoopInstant(nanoseconds: 0)) { sequence, writer in
                var writer = writer
                writer.raw("{\"seq\":")
                writer.integer(sequence)
                writer.raw(",\"time\":")
                var text = TimestampText()
                text.write(first + .seconds(index), to: &writer)
                writer.raw(",\"type\":\"fact\",\"source\":\"fact\",\"series\":\"fact\"")
                writer.raw(",\"value\":")
                writer.integer(sequence)
                writer.raw("}\n")
                return writer
            }
        }
        var pieces: [JournalPiece] = []
        while case .lines(let span) = log.read(from: next) {
            pieces.append(.lines(span))
            next = span.sequences.upperBound + 1
        }
        return pieces
    }
}
