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
        #expect(JournalPage.stats(of: page.greeting).starts(with: #"{"type":"stats""#.utf8))
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

    /// A quarter of the lines behind the one before it, at 100 bytes each.
    @Test func aStateTakesLittleOfAJournal() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        let history = SQLiteHistory(path: path)
        #expect(try history.state(before: nil) == nil)
        let state = Array(String(repeating: "s", count: 250).utf8)
        for (lines, rows) in [(9, []), (1, [10]), (9, [10]), (1, [10, 20])] as [(Int, [RowID])] {
            try store.commit([feed.greeting] + feed.add(lines) + [.state(state)], at: now)
            var found: [RowID] = []
            while let next = try history.state(before: found.last) {
                found.append(next.through)
                #expect(next.lines == state)
            }
            #expect(found == rows.reversed())
        }
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
            try SQLiteFile.run("SELECT id, type, time FROM lines", in: path)
                == ["1|?|\(now.microseconds)", "2|fact|1000000000000"])
        #expect(try LineReader.pages(SQLiteHistory(path: path)).map(\.sequences) == [1...2])
    }

    @Test func aRunThatJumpsOrReturnsGetsAFurtherRow() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        try store.commit([one.greeting] + one.add(1) + [one.skip(2...1 << 40)] + one.add(2), at: now)
        var two = FeedOfLines(run: "two")
        try store.commit([two.greeting] + two.add(1), at: now)
        try store.commit([one.greeting] + one.add(1), at: now)
        #expect(
            try SQLiteFile.run("SELECT name, run FROM runs", in: path) == ["one|1", "one|3", "two|5", "one|6", "one|7"])
        let numbers = try LineReader.numbers(SQLiteHistory(path: path))
        let last = 1 << 40
        #expect(
            numbers == [
                "one:1", "one:2-\(last)", "one:\(last + 1)", "one:\(last + 2)", "two:1", "one:1-\(last + 2)",
                "one:\(last + 3)",
            ])
    }

    /// Another file took the place of the one with the lines before.
    @Test func whatAnotherFileHasIsAGapAndNothingInAGapComesBack() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        let greeting = feed.greeting
        let earlier = feed.add(4)
        try store.commit([greeting] + feed.add(1), at: now)
        _ = try store.open()
        try store.commit([greeting] + earlier, at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == ["one:1-4", "one:5"])
        try store.commit([feed.skip(6...9)], at: now)
        _ = try store.open()
        try store.commit([greeting] + feed.add(1), at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)).suffix(2) == ["one:6-9", "one:10"])
    }

    @Test func eachRunHasItsOwnGreeting() throws {
        let store = try openStore()
        for run in ["one", "two"] {
            var feed = FeedOfLines(run: run)
            try store.commit([feed.greeting] + feed.add(2), at: now)
        }
        let history = SQLiteHistory(path: path)
        for page in try LineReader.pages(history) {
            let greeting = page.run.greeting(page.greeting, at: nil, isFiltered: false, from: 1, to: 3)
            #expect(String(decoding: page.greeting, as: UTF8.self).contains(#""run":"\#(page.run.name)""#))
            #expect(greeting != nil)
        }
        #expect(try history.rowID(of: .max, in: "one") == 3 && history.rowID(of: .max, in: "two") == 5)
        #expect(try history.rowID(of: 1, in: "two") == 3 && history.rowID(of: 1, in: "none") == nil)
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
