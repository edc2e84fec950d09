import Feed
import Glibc
import Journal
import Reactor
import Synchronization
import TestSupport
import Testing

/// One at a time: they share the disk that fails.
@Suite(.limited, .serialized) final class JournalDiskTests: JournalSuite {
    let folder: TemporaryFolder
    let path: String
    private let text = ",\"text\":\"\(String(repeating: "x", count: 3_000))\""

    init() throws {
        FaultyDisk.install()
        FaultyDisk.room.store(.max, ordering: .relaxed)
        FaultyDisk.failures.store(0, ordering: .relaxed)
        folder = try TemporaryFolder()
        mkdir(folder.path + FaultyDisk.mark, 0o700)
        path = folder.path + FaultyDisk.mark + "journal"
    }

    deinit {
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) }
        rmdir(folder.path + FaultyDisk.mark)
    }

    @Test func letsGoOfOldLinesAndKeepsNewOnesOnAFullDisk() throws {
        let store = try openStore(age: .seconds(3_600))
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(300, text: text), at: now)
        FaultyDisk.room.store(300_000, ordering: .relaxed)
        var kept = 300
        var fault: JournalFault?
        var lost: [JournalPiece] = []
        while fault == nil, kept < 3_000 {
            let pieces = feed.add(20, text: text)
            do throws(JournalFault) {
                try store.commit(pieces, at: now + .seconds(100))
                kept += 20
            } catch {
                fault = error
                lost = pieces
            }
        }
        #expect(fault?.kind == .disk && kept < 3_000)
        FaultyDisk.room.store(0, ordering: .relaxed)
        let history = SQLiteHistory(path: path)
        #expect(try LineReader.numbers(history, bytes: 1 << 20) == LineReader.numbers("one", 1...kept))
        // Old ones go, and new ones have their place, without a byte more.
        while try store.tidy(at: now + .seconds(3_650)) {}
        #expect(store.firstSequence == 301)
        try store.commit(lost, at: now + .seconds(3_650))
        #expect(try LineReader.numbers(history, bytes: 1 << 20) == LineReader.numbers("one", 301...(kept + 20)))
        // And it opens as it is.
        #expect(try store.open() == JournalOpening(lastRun: LastRun(name: "one", durable: kept + 20, ended: nil)))
    }

    @Test func saysThatThereIsNoRoomAndBeginsOnceThereIs() throws {
        FaultyDisk.room.store(0, ordering: .relaxed)
        let store = SQLiteLineStore(path: path)
        for _ in 0..<2 {
            let fault = #expect(throws: JournalFault.self) { try store.open() }
            #expect(fault?.kind == .disk)
        }
        FaultyDisk.room.store(.max, ordering: .relaxed)
        #expect(try store.open() == JournalOpening())
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(2), at: now)
    }

    /// Afterwards lines still belong to the run before it, and their time is marked.
    @Test func aCommitThatFailsChangesNothing() throws {
        let store = try openStore()
        var one = FeedOfLines(run: "one")
        var two = FeedOfLines(run: "two")
        try store.commit([one.greeting] + one.add(1), at: now)
        let pieces = [two.greeting] + two.add(300, text: text)
        FaultyDisk.room.store(0, ordering: .relaxed)
        let fault = #expect(throws: JournalFault.self) { try store.commit(pieces, at: now + .seconds(60)) }
        #expect(fault?.kind == .disk)
        FaultyDisk.room.store(.max, ordering: .relaxed)
        try store.commit(one.add(1), at: now + .seconds(61))
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == LineReader.numbers("one", 1...2))
        #expect(try SQLiteFile.run("SELECT time FROM marks", in: path).count == 2)
        try store.commit(pieces, at: now + .seconds(62))
        #expect(try LineReader.numbers(SQLiteHistory(path: path), bytes: 1 << 20).count == 302)
    }

    @Test func losesAndRepeatsNothingWhenWritesFailAnywhere() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        var count = 0
        var random = SeededGenerator(seed: 7)
        for _ in 0..<40 {
            let pieces = [feed.greeting] + feed.add(10, text: text)
            count += 10
            FaultyDisk.failures.store(Int.random(in: 0...3, using: &random), ordering: .relaxed)
            var attempts = 0
            while true {
                do throws(JournalFault) {
                    attempts += 1
                    if attempts % 3 == 0 { #expect(try store.open().notice == nil) }
                    try store.commit(pieces, at: now)
                    _ = try? store.tidy(at: now)
                    break
                } catch { #expect(error.kind == .disk && attempts < 20, "\(error)") }
            }
        }
        FaultyDisk.failures.store(0, ordering: .relaxed)
        #expect(
            try LineReader.numbers(SQLiteHistory(path: path), bytes: 1 << 20) == LineReader.numbers("one", 1...count))
    }
}
