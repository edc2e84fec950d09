import Feed
import Glibc
import Journal
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct SQLiteLineStoreTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func keepsWhatItIsGivenAndGivesItBackInPages() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        #expect(store.firstSequence == nil)
        try store.commit([feed.greeting] + feed.add(3), at: now)
        #expect(store.firstSequence == 1)

        let history = SQLiteHistory(path: path)
        let page = try #require(try history.page(JournalQuery(), behind: nil, bytes: 1 << 16))
        #expect(page.run.name == "one" && page.sequences == 1...3)
        #expect(page.lines.count { $0 == 0x0A } == 3)
        #expect(page.stats?.starts(with: #"{"type":"stats""#.utf8) == true)
        #expect(page.last == (try history.rowID(of: 3, in: "one")))
        #expect(try history.page(JournalQuery(), behind: page.last, bytes: 1 << 16) == nil)
        #expect(try store.open() == JournalOpening(lastRun: LastRun(name: "one", durable: 3, ended: nil)))
        store.close()
        #expect(!folder.names.contains("journal.lock"))
    }

    @Test func keepsTheEndOfARun() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(2) + [feed.end("SIGTERM")], at: now)
        #expect(try store.open().lastRun == LastRun(name: "one", durable: 2, ended: "SIGTERM"))
        // It goes on after all: somebody attached to it anew.
        try store.commit([feed.greeting] + feed.add(1), at: now)
        #expect(try store.open().lastRun == LastRun(name: "one", durable: 3, ended: nil))
    }

    @Test func keepsNothingOfARunThatOnlyGreets() throws {
        let store = try openStore()
        for number in 1...20 { try store.commit([FeedOfLines(run: "run-\(number)").greeting], at: now) }
        #expect(try SQLiteFile.run("SELECT count(*) FROM runs", in: path) == ["0"])
    }

    @Test func keepsALineOnceHoweverOftenItComes() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one", from: 5)
        let lines = feed.add(4)
        try store.commit([feed.greeting] + lines, at: now)
        try store.commit(lines, at: now)
        _ = try store.open()
        try store.commit([feed.greeting] + lines + feed.add(1), at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == LineReader.numbers("one", 5...9))
    }

    @Test func keepsRunsThatComeAgainBehindOthersOnceAndInTheOrderOfTheirNumbers() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        var two = FeedOfLines(run: "two")
        let first = one.add(3)
        try store.commit([one.greeting] + first, at: now)
        try store.commit([two.greeting] + two.add(2), at: now)
        try store.commit([one.greeting] + first + one.add(2), at: now)
        let history = SQLiteHistory(path: path)
        #expect(
            try LineReader.numbers(history)
                == LineReader.numbers("one", 1...3) + LineReader.numbers("two", 1...2)
                + LineReader.numbers("one", 4...5))
        // Each number is found where it is.
        for (number, next) in [(1, 2), (3, 1), (4, 5)] {
            let rowID = try #require(try history.rowID(of: number, in: "one"))
            let page = try #require(try history.page(JournalQuery(), behind: rowID, bytes: 1))
            #expect(page.sequences == next...next)
        }
        #expect(try store.open().lastRun == LastRun(name: "one", durable: 5, ended: nil))
    }

    @Test(arguments: [1 << 36, 1 << 40, Int.max - 3])
    func keepsNumbersThatJump(_ far: Int) throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(2), at: now)
        let gap = feed.skip(3...(far - 1))
        try store.commit([gap] + feed.add(2), at: now)
        let history = SQLiteHistory(path: path)
        let numbers = try LineReader.numbers(history)
        #expect(numbers == ["one:1", "one:2", "one:3-\(far - 1)", "one:\(far)", "one:\(far + 1)"])
        #expect(try history.rowID(of: far + 1, in: "one") == LineReader.pages(history).last?.last)
        #expect(try store.open().lastRun?.durable == far + 1)
        try store.commit([feed.greeting] + feed.add(1), at: now)
        #expect(try LineReader.numbers(history).count == 6)
    }

    @Test func givesWhatWasMissingItsPlaceWhenItComesAfterAll() throws {
        let store = try openStore()
        let history = SQLiteHistory(path: path)
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(10) + [feed.skip(11...50)], at: now)
        _ = try store.open()
        var again = FeedOfLines(run: "one", from: 11)
        try store.commit([again.greeting] + again.add(20), at: now)
        let kept = LineReader.numbers("one", 1...30)
        #expect(try LineReader.numbers(history) == kept + ["one:31-50"])
        // Also from the middle on, and when part of it is missing again.
        _ = try store.open()
        var later = FeedOfLines(run: "one", from: 41)
        try store.commit(
            [later.greeting] + later.add(3, from: Timestamp(seconds: 1_000_010)) + [later.skip(44...60)]
                + later.add(1, from: Timestamp(seconds: 1_000_030)), at: now)
        #expect(
            try LineReader.numbers(history)
                == kept + ["one:31-40"] + LineReader.numbers("one", 41...43) + ["one:44-50", "one:51-60", "one:61"])
        var last = FeedOfLines(run: "one", from: 31)
        try store.commit([last.greeting] + last.add(31), at: now)
        #expect(try LineReader.numbers(history) == LineReader.numbers("one", 1...61))
    }

    @Test func endsWhatIsMissingBeforeItsLastLineWhenThatComes() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(10) + [feed.skip(11...50)], at: now)
        var later = FeedOfLines(run: "one", from: 50)
        try store.commit([later.greeting] + later.add(2), at: now)
        #expect(
            try LineReader.numbers(SQLiteHistory(path: path))
                == LineReader.numbers("one", 1...10) + ["one:11-49", "one:50", "one:51"])
    }

    @Test func saysWhatIsMissingSinceARunWasHereLast() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(10), at: now)
        _ = try store.open()
        var again = FeedOfLines(run: "one", from: 20)
        try store.commit([again.greeting] + again.add(2), at: now)
        let first = LineReader.numbers("one", 1...10) + ["one:11-19", "one:20", "one:21"]
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == first)
        var two = FeedOfLines(run: "two")
        try store.commit([two.greeting] + two.add(1), at: now)
        var later = FeedOfLines(run: "one", from: 30)
        try store.commit([later.greeting] + later.add(1), at: now)
        #expect(
            try LineReader.numbers(SQLiteHistory(path: path)) == first + ["two:1", "one:22-29", "one:30"])
    }

    @Test func countsNoGapAsALineThatIsKept() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        var two = FeedOfLines(run: "two")
        try store.commit([one.greeting] + one.add(10) + [one.skip(11...50)], at: now)
        #expect(try store.open().lastRun?.durable == 10)
        try store.commit([two.greeting, two.skip(1...3)], at: now)
        #expect(try store.open().lastRun == LastRun(name: "two", durable: 0, ended: nil))
        try store.commit([one.greeting] + one.add(1), at: now)
        #expect(try SQLiteFile.run("SELECT name, base FROM runs WHERE run = 3", in: path) == ["one|51"])
        #expect(try LineReader.numbers(SQLiteHistory(path: path)).suffix(3) == ["one:11-50", "two:1-3", "one:51"])
    }

    @Test func keepsTheEndOfARunThatWasGreetedAgain() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(2), at: now)
        try store.commit([feed.greeting], at: now)
        try store.commit([feed.end("SIGTERM")], at: now)
        #expect(try store.open().lastRun?.ended == "SIGTERM")
        try store.commit([feed.greeting] + feed.add(1), at: now)
        #expect(try store.open().lastRun?.ended == nil)
        try store.commit([feed.greeting, feed.end("count")], at: now)
        #expect(try store.open().lastRun?.ended == "count")
        // Not that of another one.
        try store.commit([FeedOfLines(run: "two").greeting, FeedOfLines(run: "two").end("error")], at: now)
        #expect(try store.open().lastRun?.ended == "count")
        // Also of one that another one has begun behind.
        var two = FeedOfLines(run: "two")
        try store.commit([feed.greeting] + feed.add(1) + [two.greeting] + two.add(1) + [feed.end("late")], at: now)
        #expect(try SQLiteFile.run("SELECT ended FROM runs WHERE name = 'one'", in: path) == ["late"])
    }

    @Test func saysNoOldestLineOfARunThatHasOnlyGreeted() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one", from: 7)
        try store.commit([one.greeting] + one.add(2), at: now)
        try store.commit([one.greeting], at: now)
        #expect(store.firstSequence == 7)
        try store.commit([FeedOfLines(run: "two").greeting], at: now)
        #expect(store.firstSequence == nil)
    }

    /// Of a relayed run, whose beginning was let go of, or never came.
    @Test func aNumberBeforeAllThatIsKeptOfItsRunIsBeforeThat() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        var two = FeedOfLines(run: "two")
        try store.commit([one.greeting] + one.add(3), at: now)
        try store.commit([two.greeting] + two.add(1), at: now)
        try store.commit([one.greeting] + one.add(2), at: now)
        try SQLiteFile.run("DELETE FROM lines WHERE id >> 36 = 1; DELETE FROM runs WHERE run = 1", in: path)
        let history = SQLiteHistory(path: path)
        #expect(try history.rowID(of: 2, in: "one") == JournalPlace(id: 3 << 36))
        #expect(try history.rowID(of: 4, in: "one") == JournalPlace(id: 3 << 36))
        #expect(try history.rowID(of: 5, in: "one") == JournalPlace(id: 3 << 36 | 1))
        #expect(try history.rowID(of: 2, in: "three") == nil)
    }

    @Test func keepsAHelloWithoutItsNewline() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(1), at: now)
        _ = try store.open()
        try store.commit([feed.greeting, feed.skip(2...(1 << 37))] + feed.add(1), at: now)
        #expect(try SQLiteFile.run("SELECT count(*), sum(hello LIKE '%}') FROM runs", in: path) == ["2|2"])
    }

    @Test func saysWhichNumbersAGapIsOf() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(1) + [feed.skip(2...9)] + feed.add(1), at: now)
        let history = SQLiteHistory(path: path)
        #expect(try LineReader.pages(history).map(\.sequences) == [1...10])
        #expect(try LineReader.pages(history, bytes: 1).map(\.sequences) == [1...1, 2...9, 10...10])
    }

    @Test(arguments: [
        "no member", #""type":"fact","source":"#, #""type":1"#, #""text":"without a type""#,
    ])
    func keepsLinesThatItCannotRead(_ members: String) throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        feed.add(members)
        try store.commit([feed.greeting] + feed.pieces() + feed.add(1), at: now)
        #expect(
            try SQLiteFile.run("SELECT id & 0xFFF, type, time FROM lines", in: path)
                == ["1|?|\(now.microseconds)", "2|fact|1000000000000"])
        #expect(try LineReader.pages(SQLiteHistory(path: path)).map(\.sequences) == [1...2])
    }

    @Test func keepsLinesThatNobodyHasGreeted() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([.greeting(Array("no hello\n".utf8))] + feed.add(2), at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == ["-:1", "-:2"])
    }

    @Test func keepsWhatALineIsFoundBy() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        feed.add(#""type":"latency","source":"s","endpoint":"GET /","ms":1.5"#)
        feed.add(#""type":"window","source":"s","series":"s/é","last":2,"mean":3"#)
        feed.add(#""type":"error","source":"s\"","code":"dns""#)
        feed.add(#""type":"fact","source":"s","series":"s/a","value":-4.5,"data":{"value":6}"#)
        try store.commit([feed.greeting] + feed.pieces(), at: now)
        #expect(
            try SQLiteFile.run("SELECT type, source, series, value, typeof(value) FROM lines", in: path) == [
                "latency|s||1.5|real", "window|s|s/é|2.0|real", "error|s\"|||null", "fact|s|s/a|-4.5|real",
            ])
    }

    @Test func findsLinesByTime() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        let start = Timestamp(seconds: 1_000_000)
        try store.commit([feed.greeting] + feed.add(5, from: start), at: now)
        feed.add(time: start + .seconds(2), #""type":"late","source":"other","series":"x","value":1"#)
        try store.commit(feed.pieces(), at: now)
        let history = SQLiteHistory(path: path)
        var query = JournalQuery()
        (query.from, query.until) = (start + .seconds(2), start + .seconds(4))
        #expect(try LineReader.numbers(history, query) == ["one:3", "one:4", "one:6"])
        #expect(try LineReader.numbers(history, query, bytes: 1) == ["one:3", "one:4", "one:6"])
        query.isReversed = true
        #expect(try LineReader.numbers(history, query, bytes: 1) == ["one:6", "one:4", "one:3"])
        query = JournalQuery(from: start + .seconds(1), until: start + .seconds(2))
        #expect(try LineReader.numbers(history, query) == ["one:2"])
        // One that begins there, too, and ends later.
        query.until = start + .seconds(4)
        #expect(try LineReader.numbers(history, query) == ["one:2", "one:3", "one:4", "one:6"])
        query = JournalQuery()
        query.until = start + .seconds(1_000)
        #expect(try LineReader.numbers(history, query).count == 6)
        // What comes later is found by the same question.
        try store.commit(feed.add(1, from: start + .seconds(900)), at: now)
        #expect(try LineReader.numbers(history, query).count == 7)
    }

    @Test func commitsAllOrNothing() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        var two = FeedOfLines(run: "two")
        try store.commit([one.greeting] + one.add(1), at: now)
        // Another program has it for longer than there is patience.
        let other = try SQLiteFile.Connection(path)
        try other.run("BEGIN IMMEDIATE")
        let pieces = [two.greeting] + two.add(3)
        let fault = #expect(throws: JournalFault.self) { try store.commit(pieces, at: now) }
        #expect(fault?.kind == .held)
        try other.run("ROLLBACK")
        // Whose lines come is as it was.
        try store.commit(one.add(1), at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == ["one:1", "one:2"])
        try store.commit(pieces, at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)).count == 5)
    }
}
