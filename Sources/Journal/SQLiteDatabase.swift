internal import CSQLite
internal import Glibc

/// A connection to one SQLite file. Blocks; used by one thread at a time.
final class SQLiteDatabase {
    enum Access {
        /// Creates the file if it does not exist.
        case write
        case read
        /// For a file without a writer: SQLite needs no file beside it, and ignores those.
        case readAtRest
    }

    // Bound: SQLite's page cache | 512 KiB a connection | pages written before the commit
    private static let cacheKiB = 512
    // A value in a journal: 4 MiB; the file is moved aside.
    /// No line or row of ours is longer.
    private static let longestValue: Int32 = 4 << 20
    // Bound: SQLite's memory | 24 MiB | a file whose schema needs more is moved aside
    private static let mostMemory: Int64 = 24 << 20
    /// The step in which a file grows, in bytes.
    private static let growth: Int32 = 1 << 20

    private let handle: OpaquePointer
    /// The number of pages in the write-ahead log at the newest commit.
    private let logged = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    /// The number of those pages that are in the file itself already.
    private var checkpointed: Int32 = 0

    /// - Throws: `JournalFault`; only the first statement finds out that a file is no database.
    init(_ path: String, _ access: Access) throws(JournalFault) {
        sqlite3_hard_heap_limit64(Self.mostMemory)
        logged.initialize(to: 0)
        var opened: OpaquePointer?
        let flags =
            switch access {
            case .write: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .read: SQLITE_OPEN_READONLY
            case .readAtRest: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        let name = access == .readAtRest ? Self.address(path) + "?immutable=1" : path
        let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nil)
        guard let opened else { throw JournalFault(code: SQLITE_NOMEM, reason: "out of memory") }
        handle = opened
        sqlite3_extended_result_codes(opened, 1)
        guard code == SQLITE_OK else { throw fault(code) }
        // Triggers and views of a hostile file are not run. TRUSTED_SCHEMA stays on: beside these two settings it would
        // only guard against functions of extensions, and we load none. But SQLite 3.40 counts its own JSON functions
        // among those: with it off, a user's index on `line ->> '$.text'` would make the journal unreadable.
        _ = cw_set_flag(opened, SQLITE_DBCONFIG_DEFENSIVE, 1)
        _ = cw_set_flag(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        _ = cw_set_flag(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, Self.longestValue)
        sqlite3_busy_timeout(opened, 1_000)
        if access == .write {
            var growth = Self.growth
            sqlite3_file_control(opened, "main", SQLITE_FCNTL_CHUNK_SIZE, &growth)
            guard sqlite3_db_readonly(opened, "main") == 0 else {
                throw JournalFault(.disk, "it may not be written to")
            }
            sqlite3_wal_hook(
                opened,
                { logged, _, _, pages in
                    logged?.assumingMemoryBound(to: Int32.self).pointee = pages
                    return SQLITE_OK
                }, logged)
        }
        // The writer changes this once it knows that the file is its own.
        keepLogAtClose(true)
        try run("PRAGMA cache_size = -\(Self.cacheKiB); PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0")
    }

    deinit {
        sqlite3_close_v2(handle)
        logged.deallocate()
    }

    /// Whether closing this connection keeps the write-ahead log instead of checkpointing it.
    func keepLogAtClose(_ keeps: Bool) { _ = cw_set_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0) }

    /// A file's path as a URI.
    private static func address(_ path: String) -> String {
        path.utf8.reduce(into: "file:") { text, byte in
            let isPlain = 0x2F...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte
            let digits = String(byte, radix: 16)
            text += isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.utf8.count < 2 ? "0" : "") + digits
        }
    }

    /// Runs statements and ignores their rows, if any.
    func run(_ statements: String) throws(JournalFault) {
        let code = sqlite3_exec(handle, statements, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault(code) }
    }

    /// Compiles one statement, to be used often.
    func prepare(_ statement: String) throws(JournalFault) -> SQLiteStatement {
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, statement, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK, let compiled else { throw fault(code) }
        return SQLiteStatement(compiled, of: self)
    }

    /// The first column of the first row as a number; nil for no row, or a NULL.
    func integer(_ statement: String) throws(JournalFault) -> Int64? {
        let prepared = try prepare(statement)
        return try prepared.step() ? prepared.integerIfAny(0) : nil
    }

    /// The number of rows changed by the last INSERT, UPDATE or DELETE.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    // MARK: The write-ahead log, `FILE-wal`

    /// The number of pages in the log, as of this connection's last commit or checkpoint.
    var loggedPages: Int { Int(logged.pointee) }

    /// The number of pages in the log that are not in the file yet.
    var pagesToCheckpoint: Int {
        // The log has restarted since.
        if logged.pointee < checkpointed { checkpointed = 0 }
        return Int(logged.pointee - checkpointed)
    }

    /// Checkpoints as much of the log as readers allow, without waiting for them.
    ///
    /// - Returns: false when another connection is doing that.
    @discardableResult
    func checkpoint() throws(JournalFault) -> Bool {
        var (pages, done): (Int32, Int32) = (0, 0)
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &done)
        guard code & 0xFF != SQLITE_BUSY else { return false }
        guard code == SQLITE_OK else { throw fault(code) }
        (logged.pointee, checkpointed) = (pages, done)
        return true
    }

    /// The treatment of a log that was checkpointed completely.
    enum LogRestart {
        case overwrite, truncate
    }

    /// Checkpoints all of the log, so that it restarts.
    ///
    /// - Returns: false when a reader or a writer prevents that.
    func restartLog(_ restart: LogRestart = .overwrite) throws(JournalFault) -> Bool {
        sqlite3_busy_timeout(handle, 50)
        defer { sqlite3_busy_timeout(handle, 1_000) }
        let code = sqlite3_wal_checkpoint_v2(
            handle, nil, restart == .truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART, nil, nil)
        guard code & 0xFF != SQLITE_BUSY else { return false }
        guard code == SQLITE_OK else { throw fault(code) }
        logged.pointee = 0
        return true
    }

    /// Reserves disk space for this number of pages, so that checkpoints always have room.
    func reserve(pages: Int64, of size: Int64) throws(JournalFault) {
        var bytes = pages * size
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_SIZE_HINT, &bytes)
        guard code != SQLITE_OK else { return }
        let words = strerror(errno).map { ": " + String(cString: $0) } ?? ""
        throw JournalFault(.disk, "there is no room for \(bytes >> 10) KiB\(words)")
    }

    func fault(_ code: Int32) -> JournalFault {
        var reason = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "error \(code)"
        let system = sqlite3_system_errno(handle)
        // SQLITE_IOERR_SHORT_READ, whose macro is not imported; in FILE itself, SQLite reads missing bytes as zeros.
        if code == SQLITE_IOERR | 2 << 8, let file = sqlite3_db_filename(handle, "main") {
            reason += ": \(String(cString: file))-wal was cut off"
        } else if system != 0, [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF), let words = strerror(system) {
            reason += ": " + String(cString: words)
        }
        return JournalFault(code: code, reason: reason, systemCode: system)
    }
}
