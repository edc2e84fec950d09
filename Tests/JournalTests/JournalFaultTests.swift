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
        case text, othersDatabase, othersDatabaseWithoutID, newerVersion, overwrittenHeader, cutOff, viewForTable
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
        case .newerVersion: try SQLiteFile.run("PRAGMA user_version = 2", in: path)
        case .overwrittenHeader: #expect(pwrite(file.number, "garbage garbage garbage", 23, 0) == 23)
        case .cutOff: #expect(ftruncate(file.number, 3 * 4_096) == 0)
        case .viewForTable:
            try SQLiteFile.run(
                "DROP TABLE stats; CREATE VIEW stats AS SELECT id, line FROM lines UNION SELECT 1, zeroblob(1e9)",
                in: path)
        case .otherTable:
            try SQLiteFile.run("DROP TABLE marks; CREATE TABLE marks (id INTEGER PRIMARY KEY, time BLOB)", in: path)
        case .withoutIndex: try SQLiteFile.run("DROP INDEX lines_time", in: path)
        case .hugeSchema:
            // 60 MB of names.
            try SQLiteFile.run(
                """
                PRAGMA writable_schema = ON;
                INSERT INTO sqlite_schema
                WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3000)
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

    @Test func movesAsideALogThatNobodyPutIntoItsFile() throws {
        let first = try openStore()
        var feed = FeedOfLines(run: "one")
        try first.commit([feed.greeting] + feed.add(10), at: now)
        let changed = try SQLiteFile.Connection(path)
        try changed.run("PRAGMA user_version = 2")
        // As a process leaves them that is killed.
        let copy = try TemporaryFolder()
        let (file, log) = (try folder.read("journal"), try folder.read("journal-wal"))
        try Self.write(file, to: copy.path("journal"))
        try Self.write(log, to: copy.path("journal-wal"))
        let store = SQLiteLineStore(path: copy.path("journal"))
        #expect(try store.open().notice?.contains("its schema is 2") == true)
        let aside = try #require(copy.names.first { $0.hasSuffix("-wal") && $0.contains("corrupt") })
        #expect(try copy.read(aside) == log)
        #expect(try copy.read(String(aside.dropLast(4))) == file)
        store.close()
    }

    @Test func takesAnEmptyFileForANewJournal() throws {
        try folder.write("", to: "journal")
        let store = SQLiteLineStore(path: path)
        #expect(try store.open() == JournalOpening())
        try expectWorking(store)
        #expect(asides == [])
    }

    @Test func movesAsideUnderANameThatNobodyHas() throws {
        let store = SQLiteLineStore(path: path)
        for count in 1...3 {
            try folder.write("text \(count)", to: "journal")
            #expect(try store.open().notice != nil)
            #expect(asides.count == count)
            store.close()
            unlink(path)
        }
        #expect(Set(try asides.map { try folder.read($0) }).count == 3)
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

    /// Of long lines fewer than of short ones.
    @Test func looksAtALittleAtATime() throws {
        try makeJournal(lines: 8, text: ",\"text\":\"\(String(repeating: "x", count: 900_000))\"")
        let database = try SQLiteDatabase(path, .read)
        var scan = JournalScan(ReadFaults())
        var steps = 0
        while try scan.step(in: database) { steps += 1 }
        // How far there is, two pieces of lines, their times, and what is small.
        #expect(steps == 5)
    }

    @Test func looksForMoreOfAPageInFewLinesOnly() throws {
        try makeJournal(lines: 1)
        try SQLiteFile.run(
            """
            WITH RECURSIVE c (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c LIMIT 20000)
            INSERT INTO lines SELECT (1 << 36) + n, iif(n > 20000, 2, 1), 'x', NULL, NULL, NULL, 'x' FROM c
            """, in: path)
        var query = JournalQuery()
        query.from = Timestamp(microseconds: 2)
        #expect(
            try LineReader.pages(SQLiteHistory(path: path), query, bytes: 1 << 20).map(\.sequences) == [
                1...1, 20_001...20_001,
            ])
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

    @Test func opensCopiesThatWereTakenAtAnyMoment() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        var durable = 0
        try store.commit([feed.greeting], at: now)
        for round in 1...6 {
            try store.commit(feed.add(round), at: now)
            durable += round
            let (main, log) = (try folder.read("journal"), try folder.read("journal-wal"))
            // The log may be torn anywhere, also by a byte that is wrong.
            for cut in [log.count, log.count - 1, log.count / 2, 33, 0] {
                let copy = try TemporaryFolder()
                try Self.write(main, to: copy.path("journal"))
                try Self.write(Array(log.prefix(cut)), to: copy.path("journal-wal"))
                let other = SQLiteLineStore(path: copy.path("journal"))
                let opening = try other.open()
                #expect(opening.notice == nil)
                if cut == log.count { #expect(opening.lastRun?.durable == durable) }
                let last = opening.lastRun?.durable ?? 0
                #expect(last <= durable)
                #expect(
                    try LineReader.numbers(SQLiteHistory(path: copy.path("journal")))
                        == (last == 0 ? [] : LineReader.numbers("one", 1...last)))
                other.close()
            }
        }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try Descriptor.open(path, flags: O_WRONLY | O_CREAT | O_TRUNC)
        try bytes.withUnsafeBytes { try Descriptor.write($0, to: file.number) }
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

    @Test(arguments: ["line ->> '$.text'", "length(line)", "source, time"])
    func leavesAnIndexOfSomebodyElsesAlone(_ columns: String) throws {
        try makeJournal(lines: 3)
        try SQLiteFile.run("CREATE INDEX own ON lines (\(columns))", in: path)
        let store = try openStore()
        try expectWorking(store)
        while try store.tidy(at: now) {}
        #expect(try LineReader.numbers(SQLiteHistory(path: path)).count == 5)
        let check = "SELECT count(*) FROM lines INDEXED BY own; PRAGMA integrity_check"
        #expect(try SQLiteFile.run(check, in: path) == ["5", "ok"])
    }

    @Test(arguments: [
        "INSERT INTO lines VALUES (-5, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO lines VALUES (77 << 36, 1, 'fact', NULL, NULL, NULL, 'x')",
        "INSERT INTO runs (run, name, base, begun, hello) VALUES (2, 'one', -9, 1, 'x')",
        "INSERT INTO runs (run, name, base, begun, hello) VALUES (1 << 40, 'one', 9, 1, 'x')",
        "INSERT INTO runs (run, name, base, begun, hello) VALUES ((1 << 27) - 1, 'x', 9, 1, 'x')",
        "UPDATE runs SET base = 9223372036854775807",
        "UPDATE lines SET line = '' || x'00' || x'0A1B'",
        "UPDATE lines SET time = 9223372036854775807",
        "UPDATE lines SET time = -9223372036854775807 - 1",
        "INSERT INTO marks VALUES (9223372036854775807, 1); INSERT INTO stats VALUES (-1, '')",
        "UPDATE runs SET gone = 9223372036854775807, begun = -9223372036854775807",
    ])
    func survivesRowsThatCannotBe(_ statement: String) throws { _ = try expectSurvival(of: statement) }

    /// SQLite by itself takes values of a gigabyte into memory.
    @Test func takesNoValueThatIsMuchLongerThanALineCanBe() throws {
        let faults = try expectSurvival(
            of: "INSERT INTO lines VALUES ((1 << 36) + 100, 1, 'x', NULL, NULL, NULL, CAST(zeroblob(4200000) AS TEXT))")
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

    @Test func endsBehindARowThatNothingComesBefore() throws {
        try makeJournal(lines: 0)
        try SQLiteFile.run(
            "INSERT INTO lines VALUES (9223372036854775807, 1, 'fact', NULL, NULL, NULL, 'x')", in: path)
        let store = try openStore(bytes: 1)
        #expect(try (1...20).contains { _ in try !store.tidy(at: now) })
    }

    @Test(arguments: [false, true])
    func endsAtTheLastPlaceOfAll(_ isReversed: Bool) throws {
        try makeJournal(lines: 0)
        // As many as one look takes.
        try SQLiteFile.run(
            """
            WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT 16384)
            INSERT INTO lines SELECT \(isReversed ? "n - 9223372036854775807 - 1" : "9223372036854775807 - n"),
                2, 'x', NULL, NULL, NULL, 'x' FROM c
            """, in: path)
        let history = SQLiteHistory(path: path)
        var query = JournalQuery()
        (query.from, query.isReversed) = (Timestamp(microseconds: 2), isReversed)
        // Learns where lines of this time are, before they have another one.
        let end = JournalPlace(id: isReversed ? .min : .max)
        #expect(try history.page(query, behind: end, bytes: 100) == nil)
        try SQLiteFile.run("UPDATE lines SET time = 1", in: path)
        #expect(try history.page(query, behind: nil, bytes: 100) == nil)
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

    @Test func followsLinksToItsFolder() throws {
        let link = folder.path("link")
        symlink(folder.path, link)
        let store = SQLiteLineStore(path: link + "/journal")
        _ = try store.open()
        try expectWorking(store)
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

    @Test func leavesALockThatIsSomebodyElses() throws {
        let (first, second) = (SQLiteLineStore(path: path), SQLiteLineStore(path: path))
        _ = try first.open()
        unlink(path + ".lock")
        _ = try second.open()
        // It does not go on without one of its own, nor removes the other's.
        #expect(throws: JournalFault.self) { try first.open() }
        first.close()
        let fault = #expect(throws: JournalFault.self) { try SQLiteLineStore(path: path).open() }
        #expect(fault?.kind == .taken)
        second.close()
        #expect(!folder.names.contains("journal.lock"))
    }

    @Test func writesNothingWithoutItsLock() throws {
        let (first, second) = (try openStore(), SQLiteLineStore(path: path))
        let history = first.history()
        var one = FeedOfLines(run: "one")
        try first.commit([one.greeting] + one.add(2), at: now)
        #expect(try LineReader.numbers(history) == LineReader.numbers("one", 1...2))
        unlink(path + ".lock")
        var pieces = one.add(1)
        for _ in 0..<2 { #expect(throws: JournalFault.self) { try first.commit(pieces, at: now) } }
        #expect(throws: JournalFault.self) { try first.tidy(at: now) }
        // Nobody has taken it meanwhile.
        #expect(try first.open() == JournalOpening(lastRun: LastRun(name: "one", durable: 2, ended: nil)))
        try first.commit([one.greeting] + pieces, at: now)
        unlink(path + ".lock")
        _ = try second.open()
        var two = FeedOfLines(run: "two")
        try second.commit([two.greeting] + two.add(1), at: now)
        pieces = one.add(1)
        // It is to be opened anew at once, which finds out.
        var fault = #expect(throws: JournalFault.self) { try first.commit(pieces, at: now) }
        #expect(fault?.kind == .corrupt)
        fault = #expect(throws: JournalFault.self) { try first.open() }
        #expect(fault?.kind == .taken)
        try second.commit(two.add(1), at: now)
        second.close()
        #expect(try first.open().notice == nil)
        try first.commit([one.greeting] + pieces, at: now)
        #expect(try LineReader.numbers(history) == ["one:1", "one:2", "one:3", "two:1", "two:2", "one:4"])
    }

    @Test func noticesThatItsFileIsGone() throws {
        let store = try openStore()
        try expectWorking(store)
        unlink(path)
        var feed = FeedOfLines(run: "two")
        let fault = #expect(throws: JournalFault.self) { try store.commit([feed.greeting] + feed.add(1), at: now) }
        #expect(fault?.kind == .disk && fault?.reason.contains("removed or replaced") == true)
        let opening = try store.open()
        #expect(opening.lastRun == nil && opening.notice?.contains("its log was moved aside") == true)
        try expectWorking(store)
    }

    @Test func saysInANewFileWhatWentWithTheOneBefore() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(10), at: now)
        rename(path, folder.path("old"))
        let pieces = feed.add(2)
        #expect(throws: JournalFault.self) { try store.commit(pieces, at: now) }
        _ = try store.open()
        try store.commit([feed.greeting] + pieces, at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == ["one:1-10", "one:11", "one:12"])
        #expect(try store.open().lastRun?.durable == 12)
        // What was only renamed has all of its lines.
        #expect(try SQLiteFile.run("SELECT count(*) FROM lines", in: folder.path("old")) == ["10"])
        // Of numbers that a place cannot say as they are, too.
        var far = FeedOfLines(run: "far", from: 1 << 40)
        try store.commit([far.greeting] + far.add(3), at: now)
        unlink(path)
        let more = far.add(1)
        #expect(throws: JournalFault.self) { try store.commit(more, at: now) }
        _ = try store.open()
        try store.commit([far.greeting] + more, at: now)
        #expect(
            try LineReader.numbers(SQLiteHistory(path: path))
                == ["far:\(1 << 40)-\((1 << 40) + 2)", "far:\((1 << 40) + 3)"])
    }

    @Test(arguments: [false, true])
    func doesNotPutItsLogIntoAFileThatTookThePlace(_ isNoticed: Bool) throws {
        try makeJournal()
        let backup = try folder.read("journal")
        let store = try openStore()
        var feed = FeedOfLines(run: "one", from: 11)
        try store.commit(
            [feed.greeting] + feed.add(5, text: ",\"text\":\"\(String(repeating: "x", count: 9_000))\""), at: now)
        let log = try folder.read("journal-wal")
        try Self.write(backup, to: folder.path("backup"))
        rename(folder.path("backup"), path)
        let pieces = feed.add(1)
        if isNoticed {
            #expect(throws: JournalFault.self) { try store.commit(pieces, at: now) }
            #expect(try store.open().lastRun?.durable == 10)
            try store.commit([feed.greeting] + pieces, at: now)
            #expect(
                try LineReader.numbers(SQLiteHistory(path: path))
                    == LineReader.numbers("one", 1...10) + ["one:11-15", "one:16"])
        }
        store.close()
        if !isNoticed { #expect(try folder.read("journal") == backup) }
        let aside = try #require(folder.names.first { $0.hasSuffix("-wal") && $0.contains("corrupt") })
        #expect(try folder.read(aside) == log)
        #expect(!folder.names.contains("journal-wal"))
        #expect(try SQLiteFile.run("PRAGMA integrity_check", in: path) == ["ok"])
    }

    enum Deed: CaseIterable {
        case nothing, renamed, emptied, replaced, logReplaced, logRemoved
    }

    /// What somebody does to the files of an agent that was killed.
    @Test(arguments: Deed.allCases)
    func putsNoLogIntoAnotherFileThanItsOwnAfterAKill(_ deed: Deed) throws {
        try makeJournal()
        let store = try openStore()
        var feed = FeedOfLines(run: "one", from: 11)
        try store.commit([feed.greeting] + feed.add(5), at: now)
        let copy = try TemporaryFolder()
        let killed = copy.path("journal")
        for suffix in ["", "-wal"] { try Self.write(try folder.read("journal" + suffix), to: killed + suffix) }
        let log = try copy.read("journal-wal")
        // Another journal, with a log of its own.
        let others = try TemporaryFolder()
        let other = SQLiteLineStore(path: others.path("journal"))
        _ = try other.open()
        var second = FeedOfLines(run: "other")
        try other.commit([second.greeting] + second.add(40), at: now)
        let othersLog = try others.read("journal-wal")
        other.close()
        switch deed {
        case .nothing: break
        case .renamed: rename(killed, copy.path("moved"))
        case .emptied: try Self.write([], to: killed)
        case .replaced: try Self.write(try others.read("journal"), to: killed)
        case .logReplaced: try Self.write(othersLog, to: killed + "-wal")
        case .logRemoved: unlink(killed + "-wal")
        }
        let opened = SQLiteLineStore(path: killed)
        let notice = try opened.open().notice
        let expected: [String] =
            switch deed {
            case .nothing: LineReader.numbers("one", 1...15)
            case .renamed, .emptied: []
            case .replaced: LineReader.numbers("other", 1...40)
            case .logReplaced, .logRemoved: LineReader.numbers("one", 1...10)
            }
        #expect(try LineReader.numbers(SQLiteHistory(path: killed)) == expected)
        opened.close()
        let aside = copy.names.filter { $0.contains("corrupt") && $0.hasSuffix("-wal") }
        let isSound = deed == .nothing || deed == .logRemoved
        #expect(aside.isEmpty == isSound && (notice == nil) == isSound, "\(notice ?? "")")
        for name in aside {
            #expect(try copy.read(name) == (deed == .logReplaced ? othersLog : log))
            #expect(notice?.hasSuffix("moved aside to \(copy.path(name))") == true, "\(notice ?? "")")
        }
        guard deed == .renamed, let name = aside.first else { return }
        // It is of use with the file that it belongs to.
        rename(copy.path(name), copy.path("moved-wal"))
        #expect(try LineReader.numbers(SQLiteHistory(path: copy.path("moved"))) == LineReader.numbers("one", 1...15))
    }

    /// SQLite goes by an index that another process has open, whatever it is of.
    @Test func knowsAnIndexOfAnotherLogOrFile() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(10), at: now)
        let copy = try TemporaryFolder()
        let path = copy.path("journal")
        for suffix in ["", "-wal", "-shm"] { try Self.write(try folder.read("journal" + suffix), to: path + suffix) }
        let log = try copy.read("journal-wal")
        #expect(!JournalIndex.isStale(beside: path))
        try Self.write(Array(log.dropLast(100)), to: path + "-wal")
        #expect(JournalIndex.isStale(beside: path))
        try Self.write([], to: path + "-wal")
        #expect(JournalIndex.isStale(beside: path))
        unlink(path + "-wal")
        #expect(JournalIndex.isStale(beside: path))
        var another = log
        another[16] ^= 1
        try Self.write(another, to: path + "-wal")
        #expect(JournalIndex.isStale(beside: path))
        // Somebody has made another one since the writer's was removed.
        try Self.write(log, to: path + "-wal")
        #expect(!JournalIndex.isStale(beside: path))
        try store.commit(feed.add(10), at: now)
        try Self.write(try folder.read("journal-wal"), to: path + "-wal")
        #expect(JournalIndex.isStale(beside: path))
        // One that begins anew has an index of nothing, and the file all pages.
        try SQLiteFile.run("PRAGMA wal_checkpoint(TRUNCATE)", in: self.path)
        for suffix in ["", "-wal", "-shm"] { try Self.write(try folder.read("journal" + suffix), to: path + suffix) }
        #expect(!JournalIndex.isStale(beside: path))
        try SQLiteFile.run(
            "CREATE TABLE more (x); INSERT INTO more VALUES (zeroblob(2000000)); PRAGMA wal_checkpoint(TRUNCATE)",
            in: self.path)
        try Self.write(try folder.read("journal"), to: path)
        #expect(JournalIndex.isStale(beside: path))
        unlink(path + "-shm")
        #expect(!JournalIndex.isStale(beside: path))
    }

    /// An agent was killed in the middle of a commit: before the log's first page was whole, or behind later ones.
    @Test(.enabled(if: access("/usr/bin/sqlite3", X_OK) == 0), arguments: [false, true])
    func sharesTheIndexWithThoseWhoHaveTheFileOpen(_ isFirstCommit: Bool) throws {
        try makeJournal()
        var killed: SQLiteLineStore? = try openStore()
        let reader = try Reader(path)
        defer { reader.end() }
        #expect(reader.count() == "10")
        if isFirstCommit {
            try folder.write([UInt8](repeating: 7, count: 32), to: "journal-wal")
        } else {
            var feed = FeedOfLines(run: "two")
            try killed?.commit([feed.greeting] + feed.add(5), at: now)
            let index = try folder.read("journal-shm")
            try killed?.commit(feed.add(5), at: now)
            let file = try Descriptor.open(path + "-shm", flags: O_WRONLY)
            #expect(pwrite(file.number, index, 136, 0) == 136)
        }
        killed = nil
        var next: SQLiteLineStore? = try openStore()
        var feed = FeedOfLines(run: "three")
        try next?.commit([feed.greeting] + feed.add(4), at: now)
        #expect(reader.count() == (isFirstCommit ? "14" : "24"))
        // This one is killed too, and so the reader is the last who has the file open.
        next = nil
        reader.end()
        #expect(try LineReader.numbers(SQLiteHistory(path: path)).suffix(4) == LineReader.numbers("three", 1...4)[...])
    }

    /// Another process that reads the journal from time to time, and would put its log into it at the end.
    private final class Reader {
        private var input: UnsafeMutablePointer<FILE>?
        private let output: UnsafeMutablePointer<FILE>

        init(_ path: String) throws {
            mkfifo(path + ".rows", 0o600)
            input = popen("exec /usr/bin/sqlite3 '\(path)' >'\(path).rows'", "w")
            output = try #require(fopen(path + ".rows", "r"))
        }

        func count() -> String {
            fputs("SELECT count(*) FROM lines;\n", input)
            fflush(input)
            var line = [CChar](repeating: 0, count: 16)
            fgets(&line, 16, output)
            return String(decoding: line.prefix { $0 != 10 && $0 != 0 }.map(UInt8.init), as: UTF8.self)
        }

        func end() {
            if let input { pclose(input) }
            input = nil
        }

        deinit { fclose(output) }
    }

    @Test func leavesALogThatCameWithAnotherFile() throws {
        let store = try openStore()
        try expectWorking(store)
        let other = try TemporaryFolder()
        let second = SQLiteLineStore(path: other.path("journal"))
        _ = try second.open()
        var feed = FeedOfLines(run: "other")
        try second.commit([feed.greeting] + feed.add(4), at: now)
        for suffix in ["", "-wal"] {
            try Self.write(try other.read("journal" + suffix), to: folder.path("copy"))
            rename(folder.path("copy"), path + suffix)
        }
        #expect(try store.open().lastRun == LastRun(name: "other", durable: 4, ended: nil))
    }

    @Test(arguments: [false, true])
    func findsThatItsLogWasCutOff(_ isRemoved: Bool) throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(10), at: now)
        // As another program may do it.
        try SQLiteFile.run("PRAGMA wal_checkpoint(TRUNCATE)", in: path)
        try store.commit(feed.add(10), at: now)
        #expect(isRemoved ? unlink(path + "-wal") == 0 : truncate(path + "-wal", 0) == 0)
        let pieces = feed.add(1)
        let fault = #expect(throws: JournalFault.self) { try store.commit(pieces, at: now) }
        #expect(fault?.kind == .corrupt && fault?.reason.contains("-wal was removed") == true, "\(fault?.reason ?? "")")
        #expect(try store.open().notice != nil)
        #expect(asides.count == 1)
        try store.commit([feed.greeting] + pieces, at: now)
        #expect(try LineReader.numbers(SQLiteHistory(path: path)) == ["one:1-20", "one:21"])
    }

    @Test func keepsLinesBesideThoseOfRunsThatSomebodyDeleted() throws {
        try makeJournal()
        try SQLiteFile.run("DELETE FROM runs", in: path)
        let store = SQLiteLineStore(path: path)
        #expect(try store.open() == JournalOpening())
        var feed = FeedOfLines(run: "two")
        try store.commit([feed.greeting] + feed.add(3), at: now)
        let rows = "SELECT id >> 36, count(*) FROM lines GROUP BY 1"
        #expect(try SQLiteFile.run(rows, in: path) == ["1|10", "2|3"])
        // Also when another line has a number of its run already.
        var again = FeedOfLines(run: "two")
        try store.commit([again.greeting] + again.add(4, text: ",\"text\":\"other\""), at: now)
        #expect(try SQLiteFile.run(rows, in: path) == ["1|10", "2|3", "3|4"])
    }

    @Test func keepsTheNameOfTheRunWhoseRowSomebodyDeletes() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(3), at: now)
        try SQLiteFile.run("DELETE FROM runs", in: path)
        try store.commit([feed.skip(4...6)] + feed.add(1), at: now)
        #expect(
            try LineReader.numbers(SQLiteHistory(path: path)) == LineReader.numbers("one", 1...3) + [
                "one:4-6", "one:7",
            ])
        #expect(try SQLiteFile.run("SELECT run, name, base, hello LIKE '%}' FROM runs", in: path) == ["1|one|0|1"])
        try SQLiteFile.run("DELETE FROM runs", in: path)
        try store.commit([feed.end("SIGTERM")], at: now)
        #expect(try store.open().lastRun == LastRun(name: "one", durable: 7, ended: "SIGTERM"))
    }

    @Test func takesOnlyANameForTheRunBefore() throws {
        try makeJournal()
        try SQLiteFile.run("UPDATE runs SET name = 'a name' || char(10)", in: path)
        #expect(try SQLiteLineStore(path: path).open() == JournalOpening())
    }

    @Test func saysThatAByteIsNoJournal() throws {
        try folder.write("x", to: "journal")
        let fault = #expect(throws: JournalFault.self) { _ = try JournalRows(path: path) }
        #expect(fault?.reason == "no journal: it is no SQLite database")
    }

    // MARK: Those who read, and the disk

    @Test func stopsAtItsLogsCapWhileSomebodyReadsAndGoesOnAfterwards() throws {
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
