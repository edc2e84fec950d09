import Feed
import Journal
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct SQLiteLineStoreTests {
    @Test func keepsWhatItIsGivenAndGivesItBackInPages() throws {
        let folder = try TemporaryFolder()
        let store = SQLiteLineStore(path: folder.path("journal"))
        #expect(try store.open() == JournalOpening())
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(3), at: Timestamp(seconds: 5))

        let history = SQLiteHistory(path: folder.path("journal"))
        let page = try #require(try history.page(JournalQuery(), behind: nil, bytes: 1 << 16))
        #expect(page.run.name == "one")
        #expect(page.sequences == 1...3)
        #expect(page.lines.count { $0 == 0x0A } == 3)
        #expect(page.last == (try history.place(of: 3, in: "one")))
        #expect(try history.page(JournalQuery(), behind: page.last, bytes: 1 << 16) == nil)

        #expect(try store.open() == JournalOpening(lastRun: LastRun(name: "one", durable: 3, ended: nil)))
    }
}
