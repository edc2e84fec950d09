import Feed
import Journal
import Reactor

/// A run whose lines are written as an agent writes them, and handed on as its log's spans.
struct FeedOfLines: ~Copyable {
    let run: String
    private var log = LineLog()
    private var next: Int

    /// - Parameter first: the number of its first line.
    init(run: String, from first: Int = 1) {
        self.run = run
        next = first
        log.restart(at: first)
    }

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
    /// - Parameter text: what each has besides.
    /// - Returns: their lines, in as many pieces as the log has.
    mutating func add(
        _ count: Int, from first: Timestamp = Timestamp(seconds: 1_000_000), text: String = ""
    ) -> [JournalPiece] {
        for index in 0..<count {
            add(
                time: first + .seconds(index),
                #""type":"fact","source":"fact","series":"fact","value":\#(log.nextSequence)\#(text)"#)
        }
        return pieces()
    }

    /// Adds one line with these members behind its time.
    mutating func add(time: Timestamp = Timestamp(seconds: 1_000_000), _ members: String) {
        log.append(atMost: 96 + members.utf8.count, at: LoopInstant(nanoseconds: 0)) { sequence, writer in
            var writer = writer
            writer.raw("{\"seq\":")
            writer.integer(sequence)
            writer.raw(",\"time\":")
            var text = TimestampText()
            text.write(time, to: &writer)
            writer.raw(",")
            writer.raw(Array(members.utf8)[...])
            writer.raw("}\n")
            return writer
        }
    }

    /// What was added since the last time.
    mutating func pieces() -> [JournalPiece] {
        var pieces: [JournalPiece] = []
        while case .lines(let span) = log.read(from: next) {
            pieces.append(.lines(span))
            next = span.sequences.upperBound + 1
        }
        return pieces
    }

    /// Numbers of lines that nobody has.
    mutating func skip(_ missing: ClosedRange<Int>) -> JournalPiece {
        log.skip(to: missing.upperBound + 1)
        next = missing.upperBound + 1
        return .gap(
            missing, ControlLine.gap(time: Timestamp(seconds: 0), missing: missing, reason: "journal"))
    }

    func end(_ reason: String) -> JournalPiece {
        .end(
            ControlLine.bye(
                time: Timestamp(seconds: 0), run: run, lastSequence: log.nextSequence - 1, reason: reason))
    }
}
