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
        if hasRead { #expect(try LineReader.numbers(history) == LineReader.numbers("one", 11...15)) }
        rename(folder.path("backup"), path)
        let fault = #expect(throws: JournalFault.self) { try history.page(JournalQuery(), behind: nil, bytes: 4_096) }
        #expect(fault?.kind == .disk && fault?.reason.contains("replaced") == true, "\(fault?.reason ?? "")")
        var feed = FeedOfLines(run: "one", from: 16)
        #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        // Whose log it was is out of the way from here on, and nothing else.
        #expect(try store.open().notice?.contains("its log was moved aside") == true)
        #expect(try LineReader.numbers(history) == LineReader.numbers("one", 1...10))
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

    @Test func aLogIsItsFilesOwnWhileItsPagesAreBeingPutIntoIt() throws {
        let old = try openStore(age: .seconds(1_800))
        var feed = FeedOfLines(run: "one")
        let text = ",\"text\":\"\(String(repeating: "x", count: 200))\""
        try old.commit([feed.greeting] + feed.add(2_000, text: text), at: now)
        old.close()
        // Later lines come into pages that earlier ones were in.
        let store = try openStore(age: .seconds(1_800))
        for second in 1...4 {
            let time = now + .seconds(second * 1_800)
            try store.commit([feed.greeting] + feed.add(500, text: text), at: time)
            while try store.tidy(at: time + .seconds(600)) {}
        }
        let (file, log) = (try folder.read("journal"), try folder.read("journal-wal"))
        store.close()
        let after = try folder.read("journal")

        let page = 4_096
        let changed = stride(from: 0, to: after.count, by: page).filter { start in
            !(start < file.count && file[start..<start + page] == after[start..<start + page])
        }
        for count in stride(from: 0, through: changed.count, by: max(1, changed.count / 40)) {
            var partly = file + [UInt8](repeating: 0, count: max(0, after.count - file.count))
            for start in changed.prefix(count) {
                partly.replaceSubrange(start..<start + page, with: after[start..<start + page])
            }
            let name = "partly-\(count)"
            try folder.write(partly, to: name)
            try folder.write(log, to: name + "-wal")
            let opened = SQLiteLineStore(path: folder.path(name), JournalSettings())
            let notice = try opened.open().notice
            #expect(notice == nil, "\(notice ?? "") \(count) of \(changed.count) pages")
            opened.close()
        }
    }
}
