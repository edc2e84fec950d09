import Feed
import Glibc
import Journal
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct JournalRetentionTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func tidy(_ store: SQLiteLineStore, at time: Timestamp) throws {
        while try store.tidy(at: time) {}
    }

    /// The numbers of the oldest and the newest line, and how many rows the other tables have.
    private var content: String {
        get throws {
            try SQLiteFile.run(
                """
                SELECT (SELECT seq FROM feed ORDER BY id LIMIT 1), (SELECT seq FROM feed ORDER BY id DESC LIMIT 1),
                    (SELECT count(*) FROM runs), (SELECT count(*) FROM greetings), (SELECT count(*) FROM marks)
                """, in: path
            ).joined()
        }
    }

    @Test func letsGoOfWhatWasWrittenTooLongAgoWhateverItsOwnTime() throws {
        let store = try openStore(age: .seconds(3_600))
        var feed = FeedOfLines(run: "one")
        for minute in 0..<10 {
            // Half of the lines are of 1970, half of a year to come.
            try store.commit(
                [feed.greeting] + feed.add(5, from: Timestamp(seconds: minute % 2 == 0 ? 0 : 4_000_000_000)),
                at: now + .seconds(minute * 60))
        }
        try tidy(store, at: now + .seconds(3_600 + 239))
        #expect(try content == "21|50|1|6|6")
        #expect(store.firstSequence == 21)
        try tidy(store, at: now + .seconds(3_600 + 240))
        #expect(try content == "26|50|1|5|5")
    }

    @Test func letsGoOfEverythingOldOnceSomethingNewIsWritten() throws {
        let store = try openStore(age: .seconds(3_600))
        var one = FeedOfLines(run: "one")
        var two = FeedOfLines(run: "two")
        try store.commit([one.greeting] + one.add(5), at: now)
        try store.commit([two.greeting] + two.add(3), at: now + .seconds(10_000))
        try tidy(store, at: now + .seconds(10_000))
        #expect(try content == "1|3|1|1|1")
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == LineReader.numbers("two", 1...3))
    }

    @Test(arguments: [(-30 * 86_400, 11), (30 * 86_400, 6)])
    func keepsWhatIsNotOldWhenAClockWasWrongForAWhile(_ wrong: Int, _ first: Int) throws {
        let store = try openStore(age: .seconds(3_600))
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(5), at: now)
        try store.commit(feed.add(5), at: now + .seconds(wrong))
        try store.commit(feed.add(5), at: now + .seconds(120))
        try tidy(store, at: now + .seconds(180))
        #expect(try content.hasPrefix("1|15|"))
        // What seems to be old goes with what was written before it, what seems to be of tomorrow with what came then.
        try tidy(store, at: now + .seconds(3_700))
        #expect(try content.hasPrefix("\(first)|15|"))
        try store.commit(feed.add(5), at: now + .seconds(3_700))
        try tidy(store, at: now + .seconds(3_800))
        #expect(try content.hasPrefix("16|20|"))
    }

    /// The clock was ahead, or is behind now: a machine without a battery begins in 1970.
    @Test(arguments: [3, 20 * 365]) func keepsWhatWasWrittenWhileTheClockWasAheadAndSaysSoOnce(days: Int) throws {
        let ahead = now + .seconds(days * 86_400)
        let first = try openStore(age: .seconds(3_600))
        var feed = FeedOfLines(run: "one")
        try first.commit([feed.greeting] + feed.add(5), at: ahead)
        first.close()
        var settings = JournalSettings()
        settings.age = .seconds(3_600)
        for start in 0..<3 {
            let store = SQLiteLineStore(path: path, settings, wall: FixedWallClock(now: now))
            let notice = try store.open().notice
            #expect(notice?.contains("\(days) days ahead") == (start == 0 ? true : nil), "\(notice ?? "")")
            var next = FeedOfLines(run: "run\(start)")
            try store.commit([next.greeting] + next.add(2), at: now + .seconds(start))
            try tidy(store, at: now + .seconds(start))
            store.close()
        }
        let lines = LineReader.numbers("one", 1...5) + (0..<3).flatMap { LineReader.numbers("run\($0)", 1...2) }
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == lines)
        // They go with what was written next.
        let store = try openStore(age: .seconds(3_600))
        var last = FeedOfLines(run: "last")
        try store.commit([last.greeting] + last.add(1), at: now + .seconds(3_700))
        try tidy(store, at: now + .seconds(3_700))
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == ["last:1"])
    }

    private struct FixedWallClock: WallClock { var now: Timestamp }

    @Test func knowsHowFarARunWentWhenItsLinesAreGone() throws {
        let store = try openStore(bytes: 1)
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(700) + [feed.end("SIGTERM")], at: now)
        try tidy(store, at: now)
        #expect(try content == "||1|1|1")
        #expect(try store.open().lastRun == LastRun(name: "one", durable: 700, ended: "SIGTERM"))
        // And that is where it goes on when it comes again.
        try store.commit([feed.greeting] + feed.add(1), at: now)
        #expect(try content.hasPrefix("701|701|"))
    }

    @Test func usesThePagesOfWhatIsGoneAgain() throws {
        let bytes = 2 << 20
        let store = try openStore(bytes: bytes)
        var feed = FeedOfLines(run: "one")
        var kept = 0
        for _ in 0..<100 {
            try store.commit(
                [feed.greeting] + feed.add(20, text: ",\"text\":\"\(String(repeating: "x", count: 2_000))\""), at: now
            )
            kept += 20
            try tidy(store, at: now)
        }
        let pages = try SQLiteFile.run("PRAGMA page_count", in: path).first.flatMap { Int($0) }
        #expect((pages ?? .max) * 4_096 <= bytes)
        let numbers = try LineReader.numbers(SQLiteHistory(path: path), bytes: 1 << 20)
        #expect(numbers.last == "one:\(kept)")
        #expect(numbers.count > 400)
        // The log of changes does not grow either.
        #expect((folder.status("journal-wal")?.st_size ?? .max) <= 10 << 20)
    }

    /// Lines of 20 KB, as one commit of a large log has them.
    private func commit(_ count: Int, of feed: inout FeedOfLines, to store: SQLiteLineStore) throws {
        let text = ",\"text\":\"\(String(repeating: "x", count: 20_000))\""
        var pieces = [feed.greeting]
        for _ in 0..<count / 50 { pieces += feed.add(50, text: text) }
        try store.commit(pieces, at: now)
    }

    @Test func letsGoOfMoreThanComesWhenItNeverRests() throws {
        let store = try openStore(bytes: 20 << 20)
        var feed = FeedOfLines(run: "one")
        for _ in 0..<7 {
            try commit(500, of: &feed, to: store)
            _ = try store.tidy(at: now)
        }
        let pages = try SQLiteFile.run("PRAGMA page_count", in: path).first.flatMap { Int($0) }
        #expect((pages ?? .max) * 4_096 <= 32 << 20)
    }

    @Test func letsGoOfALittleAtATime() throws {
        let store = try openStore(bytes: 1)
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(9_000), at: now)
        #expect(try store.tidy(at: now))
        #expect(store.firstSequence == 8_193)
        try tidy(store, at: now)
        // Of long ones these are fewer.
        let text = ",\"text\":\"\(String(repeating: "x", count: 900_000))\""
        for _ in 0..<8 { try store.commit([feed.greeting] + feed.add(5, text: text), at: now) }
        _ = try store.open()
        #expect(try store.tidy(at: now))
        #expect(try content.hasPrefix("9033|9040|"))
    }

    /// Who follows the journal would pass over lines whose ids were used before.
    @Test func noRowIDIsUsedAgainWhenAllLinesAreGone() throws {
        var store = try openStore()
        var one = FeedOfLines(run: "one")
        try store.commit([one.greeting] + one.add(50), at: now)
        store.close()
        // As the journal does when its lines are too large for it.
        try SQLiteFile.run("UPDATE runs SET gone = 50; DELETE FROM lines", in: path)
        store = try openStore()
        var two = FeedOfLines(run: "two")
        try store.commit([two.greeting] + two.add(2), at: now)
        #expect(try SQLiteFile.run("SELECT id, seq, run FROM feed ORDER BY id", in: path) == ["51|1|two", "52|2|two"])
    }
}
