import Feed
import Glibc
import Reactor
import TestSupport
import Testing

@testable import Journal

@Suite(.limited) struct JournalRowsTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func makeJournal(runs: Int = 1, lines: Int = 10) throws -> SQLiteLineStore {
        let store = try openStore()
        for run in 0..<runs {
            var feed = FeedOfLines(run: "run\(run)")
            try store.commit([feed.greeting] + feed.add(lines), at: now)
        }
        return store
    }

    private static func rowIDs(
        _ scan: JournalRows, _ rowIDs: ClosedRange<RowID> = 0...(.max), isReversed: Bool = false,
        atMost most: Int = 4_096
    ) throws -> [RowID] {
        var found: [RowID] = []
        let last = try scan.rows(in: rowIDs, isReversed: isReversed, atMost: most) { row in
            found.append(row.rowID)
            return true
        }
        #expect(last == found.last)
        return found
    }

    @Test func rowsComeInTheirOrderAndNoMoreThanAreAskedFor() throws {
        let store = try makeJournal(runs: 2)
        let scan = try JournalRows(path: path)
        let all = try Self.rowIDs(scan)
        #expect(all.count == 20 && all == all.sorted())
        #expect(
            try all.map { try scan.run(at: $0)?.first } == Array(repeating: 1, count: 10)
                + Array(repeating: 11, count: 10))
        #expect(try scan.ends(of: 0...(.max)) == 1...20 && scan.ends(of: 21...(.max)) == nil)
        #expect(try Self.rowIDs(scan, isReversed: true) == all.reversed())
        #expect(try Self.rowIDs(scan, atMost: 3) == Array(all.prefix(3)))
        #expect(try Self.rowIDs(scan, all[5]...all[12]) == Array(all[5...12]))
        store.close()
    }

    /// A transaction that went on would hold back whoever writes.
    @Test func nothingIsHeldBetweenTwoPieces() throws {
        let store = try makeJournal()
        let scan = try JournalRows(path: path)
        _ = try scan.rows(in: 0...(.max), atMost: 2) { _ in true }
        _ = try scan.rows(in: 0...(.max)) { _ in false }
        _ = try scan.run(at: 1)
        _ = try scan.greeting(at: .max)
        _ = try scan.rowIDs(from: Timestamp(seconds: 0), until: nil)
        _ = try scan.ends(of: 0...(.max))
        let writer = try SQLiteDatabase(path, .write)
        // The first column says whether a reader was in the way.
        #expect(try writer.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0)
        store.close()
    }

    @Test func timesAreBetweenPlaces() throws {
        let store = try makeJournal()
        let scan = try JournalRows(path: path)
        let all = try Self.rowIDs(scan)
        let first = Timestamp(seconds: 1_000_000)
        #expect(try scan.rowIDs(from: nil, until: nil) == 0...(.max))
        #expect(try scan.rowIDs(from: first + .seconds(2), until: first + .seconds(5)) == all[2]...all[4])
        #expect(try scan.rowIDs(from: first + .seconds(10), until: nil) == nil)
        #expect(try scan.rowIDs(from: nil, until: first) == nil)
        store.close()
    }

    @Test func aJournalThatWasMovedAsideIsNoticed() throws {
        let store = try makeJournal()
        let scan = try JournalRows(path: path)
        #expect(!scan.hasMoved)
        store.close()
        rename(path, folder.path("other"))
        #expect(scan.hasMoved)
    }

    /// Whoever closed the file last would remove its log otherwise, while it is read.
    @Test func lookingForAnotherFileKeepsWhatIsLocked() throws {
        try makeJournal().close()
        // Closing it would do what is not to be done.
        let file = try Descriptor.open(path, flags: O_RDWR)
        var isLocked: Bool {
            var lock = flock()
            lock.l_type = Int16(F_WRLCK)
            // F_OFD_GETLK: as another process would be answered.
            return fcntl(file.number, 36, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
        }
        let scan = try JournalRows(path: path)
        #expect(try Self.rowIDs(scan).count == 10)
        #expect(isLocked)
        #expect(!scan.hasMoved)
        #expect(isLocked)
    }

    @Test func pathsMayHaveAnyName() throws {
        let name = "a ?b#c%20ü.db"
        try SQLiteDatabase(folder.path(name), .write).run("CREATE TABLE t (x)")
        let database = try SQLiteDatabase(folder.path(name), .readAtRest)
        #expect(try database.integer("SELECT count(*) FROM sqlite_schema") == 1)
    }
}
