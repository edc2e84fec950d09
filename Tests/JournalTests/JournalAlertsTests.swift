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
        let lines = try SQLiteHistory(path: path).alerts()
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

    @Test func aJournalOfAnEarlierVersionHasNone() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        try store.commit([one.greeting] + one.add(3), at: now)
        store.close()
        _ = try SQLiteFile.run("DROP TABLE alerts; DROP INDEX runs_name", in: path)
        #expect(try firing() == [])
        #expect(try SQLiteHistory(path: path).rowID(of: 2, in: "one")?.run == 1)
        let again = try openStore()
        var two = FeedOfLines(run: "two")
        two.add(Self.members("a", "firing"))
        try again.commit([two.greeting] + two.add(1), at: now)
        #expect(try firing() == ["two 1 a fact firing"])
        // A journal may have 100,000 runs, and each is looked for by its name.
        let plan = try SQLiteFile.run(
            "EXPLAIN QUERY PLAN SELECT run FROM runs WHERE base <= 1 AND name = 'two' ORDER BY base DESC, run DESC LIMIT 1",
            in: path)
        #expect(plan.count == 1 && plan[0].hasSuffix("USING COVERING INDEX runs_name (name=? AND base<?)"), "\(plan)")
        again.close()
    }

    @Test func aLineThatIsBrokenIsPassedOver() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        one.add(Self.members("a", "firing"))
        one.add(Self.members("b", "firing"))
        try store.commit([one.greeting] + one.pieces(), at: now)
        store.close()
        _ = try SQLiteFile.run("UPDATE lines SET line = substr(line, 1, 40) WHERE line LIKE '%\"b\"%'", in: path)
        #expect(try firing() == ["one 1 a fact firing"])
    }
}
