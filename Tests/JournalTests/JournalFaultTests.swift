import CSQLite
import Feed
import Glibc
import Reactor
import TestSupport
import Testing

@testable import Journal

@Suite(.limited) struct JournalFaultTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A journal with this many lines, closed.
    private func makeJournal(lines count: Int = 10, text: String = "") throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(count, text: text), at: now)
        store.close()
    }

    /// What was moved aside.
    private var asides: [String] {
        folder.names.filter { $0.hasPrefix("journal.corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    }

    /// That a new journal takes lines now.
    private func expectWorking(_ store: SQLiteLineStore) throws {
        var feed = FeedOfLines(run: "new")
        try store.commit([feed.greeting] + feed.add(2), at: now)
        let numbers = try LineReader.numbers(SQLiteHistory(path: path))
        #expect(numbers.suffix(2) == LineReader.numbers("new", 1...2))
    }

    // MARK: What is no journal

    enum JoinRefusal: String, CaseIterable {
        case text, othersDatabase, othersDatabaseWithoutID, newerVersion, olderVersion, overwrittenHeader, cutOff,
            viewForTable
        case otherTable, withoutIndex, hugeSchema
    }

    private func put(_ stranger: JoinRefusal) throws {
        switch stranger {
        case .text: try folder.write(String(repeating: "dear diary\n", count: 1_000), to: "journal")
        case .othersDatabase: try SQLiteFile.run("PRAGMA application_id = 7; CREATE TABLE t (x)", in: path)
        case .othersDatabaseWithoutID: try SQLiteFile.run("CREATE TABLE t (x)", in: path)
        default: try makeJournal(lines: 200)
        }
        let file = try Descriptor.open(path, flags: O_RDWR)
        switch stranger {
        case .newerVersion: try SQLiteFile.run("PRAGMA user_version = 3", in: path)
        case .olderVersion: try SQLiteFile.run("PRAGMA user_version = 1", in: path)
        case .overwrittenHeader: #expect(pwrite(file.number, "garbage garbage garbage", 23, 0) == 23)
        case .cutOff: #expect(ftruncate(file.number, 3 * 4_096) == 0)
        case .viewForTable:
            try SQLiteFile.run(
                "DROP TABLE greetings; CREATE VIEW greetings AS SELECT id, line FROM lines UNION SELECT 1, zeroblob(1e9)",
                in: path)
        case .otherTable:
            try SQLiteFile.run("DROP TABLE marks; CREATE TABLE marks (id INTEGER PRIMARY KEY, time BLOB)", in: path)
        case .withoutIndex: try SQLiteFile.run("DROP INDEX lines_time", in: path)
        case .hugeSchema:
            // 32 MB of names.
            try SQLiteFile.run(
                """
                PRAGMA writable_schema = ON;
                INSERT INTO sqlite_schema
                WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1600)
                SELECT 'table', 't' || n, 't' || n, 2,
                    'CREATE TABLE t' || n || '(' || replace(hex(zeroblob(10000)), '0', 'x') || ')' FROM c
                """, in: path)
        default: break
        }
    }

    @Test(arguments: JoinRefusal.allCases)
    func movesAsideWhatIsNoJournalAndGoesOn(_ stranger: JoinRefusal) throws {
        if stranger == .hugeSchema, ThreadSanitizer.isOn { return }
        try put(stranger)
        let before = try folder.read("journal")
        let store = SQLiteLineStore(path: path)
        let opening = try store.open()
        let notice = try #require(opening.notice)
        try expectWorking(store)

        let aside = try #require(asides.first)
        #expect(notice.hasSuffix(" moved aside to \(folder.path(aside)), and a new journal begun"), "\(notice)")
        #expect(!notice.contains("\n"))
        #expect(try folder.read(aside) == before)
        #expect(opening.lastRun == nil)
    }

    @Test func takesAnEmptyFileForANewJournal() throws {
        try folder.write("", to: "journal")
        let store = SQLiteLineStore(path: path)
        #expect(try store.open() == JournalOpening())
        try expectWorking(store)
        #expect(asides == [])
    }

    /// SQLite would put a log without its file into the next one.
    @Test(arguments: ["-wal", "-shm", ""])
    func leavesNoLogWithoutItsFileWhenMovingThemFails(_ suffix: String) throws {
        let names = ["journal", "journal-shm", "journal-wal"]
        for name in names { try folder.write(name, to: name) }
        // No file can be renamed to a directory.
        mkdir(folder.path("aside" + suffix), 0o700)
        let file = try JournalFile(path)
        #expect(throws: JournalFault.self) { try file.moveAside(to: folder.path("aside")) }
        #expect(try folder.read("journal") == Array("journal".utf8))
        rmdir(folder.path("aside" + suffix))
        try file.moveAside(to: folder.path("aside"))
        #expect(folder.names == ["aside", "aside-shm", "aside-wal"])
    }

    @Test func doesNotFillADiskWithWhatItMovesAside() throws {
        let store = SQLiteLineStore(path: path)
        for _ in 1...8 {
            try folder.write("text", to: "journal")
            #expect(try store.open().notice != nil)
            store.close()
        }
        try folder.write("text", to: "journal")
        let fault = #expect(throws: JournalFault.self) { try store.open() }
        #expect(fault?.kind == .disk)
        #expect(asides.count == 8)
    }

    // MARK: Damage

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try Descriptor.open(path, flags: O_WRONLY | O_CREAT | O_TRUNC)
        try bytes.withUnsafeBytes { try Descriptor.write($0, to: file.number) }
    }

    @Test(arguments: ["lines", "lines_time"])
    func findsDamageInTheBackgroundAndMovesItAside(_ table: String) throws {
        try makeJournal(lines: 2_000, text: ",\"text\":\"\(String(repeating: "x", count: 100))\"")
        let order = table == "lines" ? "id" : "time"
        // Pages in the middle, of the tree that is asked for: its kind is the first byte of each, 13 of lines and 10 of times.
        var content = try folder.read("journal")
        let pages = stride(from: 4_096, to: content.count, by: 4_096).filter {
            content[$0] == (order == "id" ? 13 : 10)
        }
        for place in pages.dropFirst(pages.count / 2).prefix(3) {
            content.replaceSubrange(place..<place + 4_096, with: repeatElement(0xA5, count: 4_096))
        }
        try Self.write(content, to: path)

        let history = SQLiteHistory(path: path)
        let store = SQLiteLineStore(path: path)
        var notice: String?
        do throws(JournalFault) {
            #expect(try store.open().notice == nil)
            while try store.tidy(at: now) {}
            Issue.record("nothing was found")
        } catch {
            #expect(error.kind == .corrupt)
            notice = try store.open().notice
        }
        #expect(notice?.contains(asides.first ?? "?") == true)
        try expectWorking(store)
        // Who reads follows.
        #expect(try LineReader.numbers(history) == LineReader.numbers("new", 1...2))
    }

    @Test func looksAgainOnceAReaderFoundSomething() throws {
        try makeJournal(lines: 60, text: ",\"text\":\"\(String(repeating: "x", count: 9_000))\"")
        let store = try openStore()
        while try store.tidy(at: now) {}
        #expect(try store.tidy(at: now) == false)
        let root = try #require(
            try SQLiteFile.run("SELECT rootpage FROM sqlite_schema WHERE name = 'lines'", in: path).first.flatMap {
                Int($0)
            })
        let file = try Descriptor.open(path, flags: O_RDWR)
        let garbage = [UInt8](repeating: 0xA5, count: 4_096)
        #expect(pwrite(file.number, garbage, garbage.count, (root - 1) * 4_096) == garbage.count)
        let fault = #expect(throws: JournalFault.self) { try LineReader.numbers(SQLiteHistory(path: path)) }
        #expect(fault?.kind == .corrupt)
        // What others read is not its own.
        #expect(try !store.tidy(at: now))
        #expect(throws: JournalFault.self) { try LineReader.numbers(store.history()) }
        #expect(try store.tidy(at: now))
    }

    @Test func doesNotObeyWhatAFileSays() throws {
        try makeJournal(lines: 3)
        try SQLiteFile.run(
            """
            CREATE TRIGGER t AFTER INSERT ON lines BEGIN DELETE FROM lines; END;
            CREATE TRIGGER u BEFORE DELETE ON lines BEGIN SELECT raise(ABORT, 'no'); END;
            """, in: path)
        let store = try openStore()
        try expectWorking(store)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)).count == 5)
    }

    @Test(arguments: [
        "INSERT INTO lines VALUES (-5, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO lines VALUES (1 << 62, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO lines VALUES (9223372036854775806, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO lines VALUES (9223372036854775805, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO lines VALUES (9223372036854775807, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO runs VALUES (-9223372036854775807 - 1, 'one', -9, 1, NULL, 0)",
        "INSERT INTO runs VALUES (9223372036854775807, 'one', 9, 1, NULL, 0)",
        "DELETE FROM runs", "DELETE FROM greetings", "UPDATE alerts SET line = ''",
        "UPDATE runs SET base = 9223372036854775807",
        "UPDATE lines SET line = '' || x'00' || x'0A1B'",
        "UPDATE lines SET time = 9223372036854775807",
        "UPDATE lines SET time = -9223372036854775807 - 1",
        "INSERT INTO marks VALUES (9223372036854775807, 1); INSERT INTO greetings VALUES (-1, '')",
        "UPDATE runs SET gone = 9223372036854775807, begun = -9223372036854775807",
    ])
    func survivesRowsThatCannotBe(_ statement: String) throws { _ = try expectSurvival(of: statement) }

    /// SQLite by itself takes values of a gigabyte into memory.
    @Test func takesNoValueThatIsMuchLongerThanALineCanBe() throws {
        let faults = try expectSurvival(
            of: "INSERT INTO lines VALUES (100, 1, 'x', NULL, NULL, NULL, CAST(zeroblob(4200000) AS TEXT))")
        #expect(faults.contains { $0.reason == "string or blob too big" })
    }

    /// Reads and writes a journal to which somebody has done something.
    ///
    /// - Returns: what it was found to be, if that was no journal.
    private func expectSurvival(of statement: String) throws -> [JournalFault] {
        try makeJournal(lines: 20)
        try SQLiteFile.run(statement, in: path)
        let history = SQLiteHistory(path: path)
        let store = SQLiteLineStore(path: path)
        // What cannot be is said, and moved aside then; what can be is read.
        var faults: [JournalFault] = []
        func attempt(_ body: () throws -> Void) throws {
            do {
                try body()
            } catch let fault as JournalFault {
                #expect(fault.kind == .corrupt, "\(fault)")
                faults.append(fault)
            }
        }
        try attempt { _ = try store.open() }
        try attempt { _ = try LineReader.pages(history, bytes: 100) }
        var query = JournalQuery()
        (query.from, query.until, query.isReversed) = (Timestamp(microseconds: .min), now, true)
        try attempt { _ = try LineReader.pages(history, query) }
        var feed = FeedOfLines(run: "one", from: 21)
        let pieces = [feed.greeting] + feed.add(3)
        for _ in 0..<4 {
            try attempt { try store.commit(pieces, at: now) }
            try attempt { while try store.tidy(at: now + .seconds(86_400 * 8)) {} }
            if !faults.isEmpty { _ = try store.open() }
        }
        try store.commit(pieces, at: now)
        return faults
    }

    @Test func isNotBrokenByAWantOfMemory() {
        #expect(JournalFault(code: SQLITE_NOMEM, reason: "out of memory").kind == .disk)
    }

    // MARK: Where it may not write

    @Test func doesNotFollowALink() throws {
        try folder.write("", to: "target")
        symlink(folder.path("target"), path)
        try expectRefusal("symbolic link")
        #expect(try folder.read("target") == [])
    }

    /// A link may take the file's place right after somebody has looked at that.
    @Test func opensNoFileByALink() throws {
        try makeJournal()
        rename(path, folder.path("target"))
        symlink(folder.path("target"), path)
        for access in [SQLiteDatabase.Access.write, .read, .readAtRest] {
            let fault = #expect(throws: JournalFault.self) { try SQLiteDatabase(path, access) }
            #expect(fault?.code == SQLITE_CANTOPEN)
        }
        let fault = #expect(throws: JournalFault.self) { try LineReader.numbers(SQLiteHistory(path: path)) }
        #expect(fault?.kind == .disk)
    }

    @Test func leavesAFolderAlone() throws {
        let store = SQLiteLineStore(path: folder.path + "/")
        let fault = #expect(throws: JournalFault.self) { try store.open() }
        #expect(fault?.kind == .disk && folder.names == [])
    }

    @Test func leavesWhatIsNotAFile() throws {
        mkdir(path, 0o700)
        try expectRefusal("it is not a file")
        rmdir(path)
        mkfifo(path, 0o600)
        try expectRefusal("it is not a file")
        // Opening one for reading would wait for a writer.
        let fault = #expect(throws: JournalFault.self) { try LineReader.numbers(SQLiteHistory(path: path)) }
        #expect(fault == JournalFault(.disk, "it is not a file"))
    }

    @Test func saysThatThereIsNoFolder() throws {
        let store = SQLiteLineStore(path: folder.path("no/journal"))
        let fault = #expect(throws: JournalFault.self) { try store.open() }
        #expect(fault == JournalFault(.disk, "\(folder.path)/no: No such file or directory"))
    }

    @Test(.enabled(if: geteuid() == 0)) func leavesOtherUsersFilesAndFolders() throws {
        try makeJournal()
        chown(path, 65_534, 65_534)
        try expectRefusal("another user (65534)")
        chown(path, 0, 0)
        chown(folder.path, 65_534, 65_534)
        try expectRefusal("another user (65534)")
    }

    @Test(.enabled(if: geteuid() == 0), arguments: ["-wal", "-shm", ".lock"])
    func doesNotBelieveWhatAnotherUserPutBesideIt(_ suffix: String) throws {
        try makeJournal()
        try folder.write("", to: "journal" + suffix)
        chown(path + suffix, 65_534, 65_534)
        try expectRefusal("another user (65534)")
    }

    @Test func leavesAFileThatHasAnotherName() throws {
        try makeJournal()
        link(path, folder.path("second"))
        try expectRefusal("hard links")
        unlink(folder.path("second"))
        let store = try openStore()
        try expectWorking(store)
    }

    private func expectRefusal(_ words: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let store = SQLiteLineStore(path: path)
        let fault = #expect(throws: JournalFault.self, sourceLocation: sourceLocation) { try store.open() }
        #expect(fault?.kind == .disk && fault?.reason.contains(words) == true, "\(fault?.reason ?? "")")
        store.close()
    }

    @Test func givesNobodyElseItsFiles() throws {
        let store = try openStore()
        try expectWorking(store)
        #expect(folder.names == ["journal", "journal-shm", "journal-wal", "journal.lock"])
        for name in folder.names { #expect(folder.status(name).map { $0.st_mode & 0o777 } == 0o600, "\(name)") }
    }

    @Test func hasItForItselfAlone() throws {
        let (store, second) = (SQLiteLineStore(path: path), SQLiteLineStore(path: folder.path + "/./journal"))
        _ = try store.open()
        let fault = #expect(throws: JournalFault.self) { try second.open() }
        #expect(
            fault == JournalFault(.taken, "it is written by another catwatch already (process \(getpid()))"))
        // Also while it is moved aside.
        try folder.write("text", to: "journal")
        _ = try store.open()
        #expect(throws: JournalFault.self) { try second.open() }
        store.close()
        _ = try second.open()
        try expectWorking(second)
    }

    /// Makes another agent's journal, with its lines in the file or still in the log.
    private func makeOther(_ lines: Int = 3, withLog: Bool = false) throws -> TemporaryFolder {
        let (other, copy) = (try TemporaryFolder(), try TemporaryFolder())
        let store = SQLiteLineStore(path: other.path("journal"))
        _ = try store.open()
        var feed = FeedOfLines(run: "theirs")
        try store.commit([feed.greeting] + feed.add(lines), at: now)
        if withLog {
            for name in ["journal", "journal-wal"] { try Self.write(other.read(name), to: copy.path(name)) }
        }
        store.close()
        return withLog ? copy : other
    }

    /// Before the next commit: its lines would be lost, or another file be overwritten by its log.
    @Test(arguments: [true, false]) func opensAFileThatHasTakenItsPlace(_ isGone: Bool) throws {
        let other = try makeOther()
        let store = try openStore()
        try expectWorking(store)
        if isGone { unlink(path) } else { rename(other.path("journal"), path) }
        var feed = FeedOfLines(run: "two")
        let fault = #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        #expect(fault?.kind == .disk && fault?.reason.contains("removed or replaced") == true)
        let opening = try store.open()
        #expect(opening.lastRun?.durable == (isGone ? nil : 3))
        #expect(opening.notice?.contains("was moved aside") == true)
        try expectWorking(store)
    }

    /// What it reads there would be a mixture, which the agent took for damage of the file.
    @Test func doesNotReadAFileThatItHasNotOpenedYet() throws {
        let other = try makeOther(3_000)
        let store = try openStore()
        try expectWorking(store)
        let history = store.history()
        #expect(try LineReader.numbers(history) == LineReader.numbers("new", 1...2))
        #expect(history.files == 1)
        rename(other.path("journal"), path)
        let fault = #expect(throws: JournalFault.self) { try LineReader.numbers(history) }
        #expect(fault?.reason.contains("it was replaced") == true)
        var feed = FeedOfLines(run: "two")
        #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        #expect(try store.open().lastRun?.durable == 3_000)
        while try store.tidy(at: now) {}
        #expect(try LineReader.numbers(history) == LineReader.numbers("theirs", 1...3_000))
        #expect(history.files == 2)
    }

    @Test func leavesTheLogOfAFileThatTookItsPlaceWithIt() throws {
        let other = try makeOther(withLog: true)
        let store = try openStore()
        try expectWorking(store)
        for name in ["journal", "journal-wal"] { rename(other.path(name), folder.path(name)) }
        unlink(folder.path("journal-shm"))
        var feed = FeedOfLines(run: "two")
        #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        let opening = try store.open()
        #expect(opening.lastRun?.durable == 3 && opening.notice == nil)
    }

    @Test func putsItsLinesIntoAFileThatWasRenamed() throws {
        let store = try openStore()
        try expectWorking(store)
        rename(path, folder.path("renamed"))
        store.close()
        let copy = try TemporaryFolder()
        try Self.write(folder.read("renamed"), to: copy.path("journal"))
        #expect(try LineReader.numbers(SQLiteHistory(path: copy.path("journal"))) == LineReader.numbers("new", 1...2))
    }

    /// The next agent's SQLite would apply its log to the new one.
    @Test func leavesNoLogBesideAFileThatTookItsPlaceWhenItCloses() throws {
        let store = try openStore()
        try expectWorking(store)
        unlink(path)
        store.close()
        #expect(!folder.names.contains("journal-wal") && folder.names.contains { $0.hasSuffix("-wal") })
    }

    /// SQLite would delete it, and with it the only copy of its lines.
    @Test(arguments: [true, false]) func movesALogAsideThatLiesThereWithoutItsFile(_ isEmpty: Bool) throws {
        let store = try openStore()
        try expectWorking(store)
        let log = try folder.read("journal-wal")
        store.close()
        unlink(path)
        try Self.write(log, to: path + "-wal")
        if isEmpty { try folder.write("", to: "journal") }
        try folder.write("index", to: "journal-shm")
        #expect(try SQLiteLineStore(path: path).open().notice?.contains("was moved aside") == true)
        let aside = try #require(folder.names.first { $0.hasPrefix("journal.corrupt-") && $0.hasSuffix("-wal") })
        #expect(try folder.read(aside) == log)
        #expect(folder.names.contains { $0.hasPrefix("journal.corrupt-") && $0.hasSuffix("-shm") })
    }

    @Test func saysThatAByteIsNoJournal() throws {
        try folder.write("x", to: "journal")
        let fault = #expect(throws: JournalFault.self) { _ = try JournalRows(path: path) }
        #expect(fault?.reason == "no journal: it is no SQLite database")
    }

    // MARK: Those who read, and the disk

    @Test(.enabled(if: LongRun.isOn)) func stopsAtItsLogsCapWhileSomebodyReadsAndGoesOnAfterwards() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(1), at: now)
        let reader = try SQLiteFile.Connection(path)
        try reader.run("BEGIN; SELECT * FROM runs")
        let text = ",\"text\":\"\(String(repeating: "x", count: 900_000))\""
        var kept = 1
        var fault: JournalFault?
        while fault == nil, kept < 100 {
            do throws(JournalFault) {
                try store.commit(feed.add(4, text: text), at: now + .seconds(120))
                kept += 4
                while try store.tidy(at: now) {}
            } catch { fault = error }
        }
        #expect(fault?.kind == .held && fault?.reason.contains("32 MiB") == true)
        let size = folder.status("journal-wal")?.st_size ?? 0
        #expect(size < 40 << 20)
        // Whoever opens it anew knows that as well, and nothing is let go of either.
        #expect(try store.open() == JournalOpening(lastRun: LastRun(name: "one", durable: kept, ended: nil)))
        fault = #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        #expect(fault?.kind == .held)
        fault = #expect(throws: JournalFault.self) { try store.tidy(at: now + .seconds(7 * 86_400 + 60)) }
        #expect(fault?.kind == .held)
        #expect(folder.status("journal-wal")?.st_size == size)
        try reader.run("COMMIT")
        let missing = (kept + 1)...(kept + 5)
        try store.commit([feed.greeting, feed.skip(missing)] + feed.add(1), at: now)
        while try store.tidy(at: now) {}
        #expect((folder.status("journal-wal")?.st_size ?? 0) < 10 << 20)
        let numbers = try LineReader.numbers(SQLiteHistory(path: path), bytes: 4 << 20)
        #expect(numbers.suffix(3) == ["one:\(kept)", "one:\(kept + 1)-\(kept + 5)", "one:\(kept + 6)"])
    }
}
