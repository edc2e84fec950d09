import Feed
import Glibc
import Journal
import Reactor
import TestSupport
import Testing

/// The alerts that fire, as a journal has them.
@Suite(.limited) struct JournalAlertsTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func members(_ condition: String, _ state: String, about: String = "fact", end: String = "")
        -> String
    {
        #""type":"alert","source":"fact","about":"\#(about)","condition":"\#(condition)","state":"\#(state)","id":"1","#
            + #""at":"2026-05-28T20:26:41.000000Z","since":"2026-05-28T20:26:41.000000Z","test":"> 5","#
            + #""evidence":{"run":"one","from":1,"to":1}\#(end)"#
    }

    private func firing() throws -> [String] {
        let lines = try SQLiteHistory(path: path).alerts(before: "three")
        return try lines.split(separator: 0x0A).map { bytes in
            guard case .kept(let kept) = try LineDecoder.decode(bytes).body, case .alert(let alert) = kept.line.body
            else { return "?" }
            return "\(kept.run) \(kept.line.seq ?? 0) \(alert.condition) \(alert.about) \(alert.state)"
        }
    }

    @Test func theNewestLineOfEachCounts() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        one.add(Self.members("a", "firing"))
        one.add(Self.members("b", "firing"))
        one.add(Self.members("b", "firing", about: "fact/x"))
        one.add(Self.members("c", "firing", end: #","agent":"web1","origin_run":"o","origin_seq":4"#))
        try store.commit([one.greeting] + one.pieces(), at: now)
        var two = FeedOfLines(run: "two")
        two.add(Self.members("b", "resolved", end: #","down_s":1,"reason":"until""#))
        two.add(Self.members("a", "reminder"))
        two.add(Self.members("d", "firing"))
        two.add(Self.members("d", "resolved", end: #","down_s":1,"reason":"until""#))
        two.add(Self.members("d", "firing"))
        try store.commit([two.greeting] + two.add(3), at: now)
        #expect(try firing() == ["one 3 b fact/x firing", "two 2 a fact reminder", "two 5 d fact firing"])
        store.close()
        #expect(try firing().count == 3)
    }

    @Test func whatFiresOutlivesItsLines() throws {
        let store = try openStore(age: .seconds(60))
        var one = FeedOfLines(run: "one")
        one.add(Self.members("a", "firing"))
        try store.commit([one.greeting] + one.pieces(), at: now)
        var two = FeedOfLines(run: "two")
        try store.commit([two.greeting] + two.add(3), at: now + .seconds(200))
        while try store.tidy(at: now + .seconds(200)) {}
        #expect(try SQLiteFile.run("SELECT count(*) FROM lines", in: path) == ["3"])
        #expect(try firing() == ["one 1 a fact firing"])
    }
}
