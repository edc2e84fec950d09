import Feed
import Journal
import Reactor
import TestSupport
import Testing

/// One thread writes a journal while another reads it, as an agent's threads do.
@Suite(.limited) struct JournalThreadsTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aReaderGetsEachLineOnceWhileTheyAreWritten() async throws {
        let (store, time) = (try openStore(), now)
        var feed = FeedOfLines(run: "one")
        var commits = [[feed.greeting] + feed.add(1)]
        for _ in 0..<50 { commits.append(feed.add(20)) }
        let writer = try LoopThread(name: "journal")
        let reader = try LoopThread(name: "history")
        defer {
            writer.stop()
            reader.stop()
        }
        let isWritten = Locked(false)
        let numbers = try await withLoop { [commits] loop in
            async let writing: Void = loop.offload(to: writer.loop) {
                defer { isWritten.withLock { $0 = true } }
                for pieces in commits { try store.commit(pieces, at: time) }
            }
            let numbers = try await loop.offload(to: reader.loop) {
                let history = store.history()
                var numbers: [Int] = []
                var rowID: RowID?
                while true {
                    let isLast = isWritten.withLock(\.self)
                    if let page = try history.page(JournalQuery(), behind: rowID, bytes: 1 << 12) {
                        numbers += Array(page.sequences)
                        rowID = page.last
                    } else if isLast {
                        return numbers
                    }
                }
            }
            try await writing
            return numbers
        }
        #expect(numbers == Array(1...1_001))
        store.close()
    }
}
