import Feed
import Glibc
import Journal
import Reactor
import TestSupport
import Testing

/// A file that takes a journal's place while it is written and read, and what is in a file by itself.
@Suite(.limited) struct JournalReplacedTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Opens one with this run's lines from 11 on, most of which are in its log, beside a copy of how it was up to 10.
    private func openBesideBackup() throws -> SQLiteLineStore {
        let earlier = try openStore()
        var feed = FeedOfLines(run: "one")
        try earlier.commit([feed.greeting] + feed.add(10), at: now)
        earlier.close()
        rename(path, folder.path("backup"))
        let store = try openStore()
        var long = FeedOfLines(run: "one", from: 11)
        try store.commit(
            [long.greeting] + long.add(5, text: ",\"text\":\"\(String(repeating: "x", count: 9_000))\""), at: now)
        return store
    }

    @Test(arguments: [false, true])
    func nobodyReadsAFileByTheLogOfTheOneBefore(_ hasRead: Bool) throws {
        let store = try openBesideBackup()
        let history = store.history()
        let rows = try JournalRows(path: path)
        if hasRead { #expect(try LineReader.numbers(history) == LineReader.numbers("one", 11...15)) }
        rename(folder.path("backup"), path)
        let fault = #expect(throws: JournalFault.self) { try history.page(JournalQuery(), behind: nil, bytes: 4_096) }
        #expect(fault?.kind == .disk && fault?.reason.contains("replaced") == true, "\(fault?.reason ?? "")")
        #expect(throws: JournalFault.self) { try JournalRows(path: path, after: rows.trace) }
        var feed = FeedOfLines(run: "one", from: 16)
        #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        // Whose log it was is out of the way from here on, and nothing else.
        #expect(try store.open().notice?.contains("its log was moved aside") == true)
        #expect(try LineReader.numbers(history) == LineReader.numbers("one", 1...10))
        _ = try JournalRows(path: path, after: rows.trace)
        #expect(try SQLiteFile.run("PRAGMA integrity_check", in: path) == ["ok"])
        store.close()
    }

    @Test func aFileHasAllOfARunThatIsOverThoughSomebodyReadsIt() throws {
        let store = try openBesideBackup()
        let history = store.history()
        #expect(try LineReader.numbers(history).count == 5)
        store.close()
        // By itself, as somebody copies it.
        link(path, folder.path("copy"))
        #expect(try LineReader.numbers(SQLiteHistory(path: folder.path("copy"))) == LineReader.numbers("one", 11...15))
        // It was open until here.
        #expect(try LineReader.numbers(history).count == 5)
    }
}
