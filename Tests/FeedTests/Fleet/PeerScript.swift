import Feed
import Reactor
import Testing

/// Lines as another agent would write them, one behind the other.
struct PeerScript {
    struct Unexpected: Error {}

    var run: String
    var sequence = 0
    static let start = Timestamp(seconds: 1_700_000_000)

    init(run: String = "r1", from first: Int = 1) {
        self.run = run
        sequence = first - 1
    }

    static func decoded(_ text: String) throws -> Line { try LineDecoder.decode(Bytes(Array(text.utf8))) }

    static func time(_ time: Timestamp) -> String {
        var text = TimestampText()
        return String(decoding: LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }, as: UTF8.self)
    }

    func hello(_ more: String = "") throws -> Line {
        try Self.decoded(
            #"{"type":"hello","time":\#(Self.time(Self.start)),"format":1,"run":"\#(run)","first_seq":1,"next_seq":1\#(more)}"#
        )
    }

    func stats(_ sources: String, more: String = "") throws -> Line {
        try Self.decoded(
            #"{"type":"stats","time":\#(Self.time(Self.start)),"as_of":0,"sources":[\#(sources)]\#(more)}"#)
    }

    /// The next numbered line.
    mutating func line(_ members: String, at time: Timestamp = start) throws -> Line {
        sequence += 1
        return try Self.decoded(#"{"seq":\#(sequence),"time":\#(Self.time(time)),\#(members)}"#)
    }

    mutating func fact(_ value: Double = 1, series: String = "fact", at time: Timestamp = start) throws -> Line {
        try line(#""type":"fact","source":"fact","series":"\#(series)","value":\#(value)"#, at: time)
    }

    /// Leaves numbers out.
    mutating func skip(_ count: Int) { sequence += count }
}
