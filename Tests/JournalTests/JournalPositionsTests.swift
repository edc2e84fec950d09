import Feed
import Journal
import Reactor
import TestSupport
import Testing

/// Where the agents of a fleet are, as its journal has it.
@Suite(.limited) struct JournalPositionsTests {
    private let folder: TemporaryFolder
    private let path: String
    private let now = Timestamp(seconds: 2_000_000)

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("journal")
    }

    private func greeting(isFleet: Bool = true) -> JournalPiece {
        let identity = AgentIdentity(run: "fleet", version: "1", started: now)
        return .greeting(
            ControlLine.hello(
                time: now, identity: identity, isFiltered: false, interval: .seconds(10), history: .seconds(120),
                firstSequence: 1, nextSequence: 1, isFleet: isFleet))
    }

    private static func fact(_ agent: String, _ run: String, _ sequence: Int) -> String {
        #""type":"fact","source":"\#(agent).fact","series":"\#(agent).fact","value":1,"agent":"\#(agent)","origin_run":"\#(run)","origin_seq":\#(sequence)"#
    }

    @Test func theyAreWrittenWithTheLines() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        #expect(try store.open().positions == [])
        var feed = FeedOfLines(run: "fleet")
        feed.add(Self.fact("web1", "a", 41))
        feed.add(Self.fact("web1", "a", 42))
        feed.add(Self.fact("web2", "b", 7))
        feed.add(#""type":"lost","source":"web2.catwatch","from":8,"to":9,"agent":"web2","origin_run":"b""#)
        feed.add(#""type":"window","source":"web1.fact","series":"web1.fact","last":1,"agent":"web1""#)
        try store.commit([greeting()] + feed.pieces(), at: now)
        store.close()
        #expect(
            try store.open().positions == [
                AgentPosition("web1", LineID("a", 42)), AgentPosition("web2", LineID("b", 9)),
            ])
        // They go on, and up only.
        feed.add(Self.fact("web1", "a", 40))
        feed.add(Self.fact("web2", "c", 1))
        try store.commit([greeting()] + feed.pieces(), at: now)
        store.close()
        #expect(
            try store.open().positions == [
                AgentPosition("web1", LineID("a", 42)), AgentPosition("web2", LineID("b", 9)),
                AgentPosition("web2", LineID("c", 1)),
            ])
        store.close()
    }

    /// Names are without end: one that is forgotten for its silence has no place any more, one that was taken out has.
    @Test func anAgentThatWasSilentForADayHasNone() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        _ = try store.open()
        func forgotten(_ agent: String, heard: Double) -> String {
            var (text, time) = (TimestampText(), now + .seconds(heard))
            let heard = String(decoding: LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }, as: UTF8.self)
            time = now
            let since = String(decoding: LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }, as: UTF8.self)
            return
                #""type":"peer","source":"\#(agent).catwatch","state":"forgotten","since":\#(since),"heard":\#(heard),"lost":0,"agent":"\#(agent)""#
        }
        var feed = FeedOfLines(run: "fleet")
        for agent in ["web1", "web2", "web3", "web4"] { feed.add(Self.fact(agent, "a", 1)) }
        try store.commit([greeting()] + feed.pieces(), at: now)
        feed.add(forgotten("web1", heard: -86_410))
        // A person had it forgotten an hour before that.
        feed.add(forgotten("web2", heard: -82_800))
        // This one came back in the same moment.
        feed.add(forgotten("web3", heard: -86_410))
        feed.add(Self.fact("web3", "a", 2))
        // And these had come only then; one of them came back.
        for agent in ["web5", "web6"] {
            feed.add(Self.fact(agent, "a", 1))
            feed.add(forgotten(agent, heard: -86_410))
        }
        feed.add(Self.fact("web6", "a", 2))
        try store.commit([greeting()] + feed.pieces(), at: now)
        store.close()
        #expect(try store.open().positions.map(\.agent) == ["web2", "web3", "web4", "web6"])
        store.close()
    }

    @Test func theLastEightRunsOfAnAgentAreKnown() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        _ = try store.open()
        var feed = FeedOfLines(run: "fleet")
        for number in 1...10 {
            feed.add(Self.fact("web1", "r\(number)", number))
            try store.commit([greeting()] + feed.pieces(), at: now)
        }
        store.close()
        #expect(try store.open().positions.map(\.line.run) == (3...10).map { "r\($0)" })
        store.close()
    }

    /// An agent that is no fleet has no such table, whatever upstreams write into its lines.
    @Test func aJournalOfOneAgentHasNone() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        _ = try store.open()
        var feed = FeedOfLines(run: "fleet")
        feed.add(Self.fact("web1", "a", 41))
        try store.commit([greeting(isFleet: false)] + feed.pieces(), at: now)
        store.close()
        #expect(try SQLiteFile.run("SELECT count(*) FROM sqlite_schema WHERE name = 'positions'", in: path) == ["0"])
        #expect(try store.open().positions == [])
        store.close()
    }
}
