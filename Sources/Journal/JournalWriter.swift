internal import Feed
internal import Glibc
internal import Reactor

/// What a `SQLiteLineStore` has while its file is open: a connection, its transactions, and the log of changes.
///
/// Its calls each are one transaction: what they throw changes nothing.
final class JournalWriter {
    /// From how many bytes on the log of changes is put into the file, when those who read allow that.
    private static let loggedBytes: Int64 = 4 << 20
    /// At how many bytes of the log nothing more is committed.
    private static let mostLoggedBytes: Int64 = 32 << 20

    let database: SQLiteDatabase
    private let file: JournalFile
    private let identity: FileIdentity
    /// Which file its log is.
    let log: FileIdentity?
    private let pageSize: Int64
    private let begin: SQLiteStatement
    private let commit: SQLiteStatement
    private let rollback: SQLiteStatement
    private let pageCount: SQLiteStatement
    private let retention: JournalRetention
    private var scan: JournalScan
    /// How many pages were in use when something was let go of last.
    private var used: Int64?
    /// What a transaction that fails has to leave as it was.
    private var rows: RowWriter

    /// - Parameters:
    ///   - settings: how it is to be kept.
    ///   - earlier: whose lines came last, when that was to this file or to another in its place.
    ///   - suspicions: of who reads it meanwhile.
    /// - Throws: `.corrupt` for what is not a journal of this version.
    init(
        _ file: JournalFile, _ settings: JournalSettings, after earlier: JournalRun?, _ suspicions: JournalSuspicions
    ) throws(JournalFault) {
        self.file = file
        scan = JournalScan(suspicions)
        do throws(SQLiteFault) {
            database = try Self.database(file)
            let mode = try database.prepare("PRAGMA journal_mode = WAL")
            guard try mode.step(), mode.string(0) == "wal" else {
                throw SQLiteFault(notHere: "its file system does not let memory be shared")
            }
            mode.reset()
            if try JournalSchema.look(at: database) == .nothing { try JournalSchema.make(in: database) }
            pageSize = try database.integer("PRAGMA page_size") ?? 4_096
            try database.run(
                "PRAGMA synchronous = \(settings.sync.rawValue);"
                    + "PRAGMA journal_size_limit = \(2 * Self.loggedBytes);"
                    // Pages that are let go of are not written once more for it.
                    + "PRAGMA secure_delete = OFF")
            // How much of a log that is large already somebody reads, this connection does not know yet.
            if file.loggedBytes >= Self.mostLoggedBytes { try database.checkpoint() }
            begin = try database.prepare("BEGIN IMMEDIATE")
            commit = try database.prepare("COMMIT")
            rollback = try database.prepare("ROLLBACK")
            pageCount = try database.prepare("PRAGMA page_count")
            rows = try RowWriter(database, after: earlier)
            retention = try JournalRetention(database, settings, pageSize: pageSize)
            database.keepLogAtClose(false)
        } catch {
            throw JournalFault(error)
        }
        identity = try file.identity()
        log = file.logIdentity
        suspicions.trace = try JournalTrace(file)
    }

    /// Whose lines come; nil when none has come yet.
    var run: JournalRun? { rows.run }

    /// The number of the oldest line of the run whose lines come.
    var firstSequence: Int? { rows.firstSequence }

    /// Whether the file still has its name.
    var isInPlace: Bool { (try? file.identity()) == identity }

    /// Whether the log still has its name, and the pages that were written to it.
    var hasItsLog: Bool {
        let pages = Int64(database.loggedPages)
        // A header, and one before each page.
        return file.logIdentity == log && (pages == 0 || file.loggedBytes >= 32 + pages * (pageSize + 24))
    }

    private static func database(_ file: JournalFile) throws(SQLiteFault) -> SQLiteDatabase {
        do throws(SQLiteFault) {
            let database = try SQLiteDatabase(file.path, .write)
            let found = try JournalSchema.look(at: database)
            if found != .nothing, let words = found.fault { throw SQLiteFault(notOurs: words) }
            return database
        } catch {
            guard error.isOutOfMemory else { throw error }
            throw SQLiteFault(notOurs: "its schema takes more memory than a journal's")
        }
    }

    // MARK: Commits

    func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(SQLiteFault) {
        try checkFile()
        try inTransaction { () throws(SQLiteFault) in try rows.write(pieces, at: time) }
    }

    /// All of `body`, or nothing of it.
    private func inTransaction(_ body: () throws(SQLiteFault) -> Void) throws(SQLiteFault) {
        if Int64(database.loggedPages) * pageSize >= Self.mostLoggedBytes, try !database.restartLog() {
            throw SQLiteFault(
                held: "somebody who reads the journal keeps its log from being put into it, which has "
                    + "\(Self.mostLoggedBytes >> 20) MiB")
        }
        let before = rows
        do throws(SQLiteFault) {
            try begin.run()
            try body()
            // What is in the log has its room in the file from here on, so that a full disk does not keep it from there.
            try database.reserve(pages: try pageCount.integer() ?? 0, of: pageSize)
            try commit.run()
        } catch {
            try? rollback.run()
            rows = before
            // What others have taken of the disk may be enough for a log that begins anew.
            if error.kind == .disk { _ = try? database.checkpoint() }
            throw error
        }
    }

    /// Somebody may have removed or replaced the file: what is written to it goes nowhere then.
    private func checkFile() throws(SQLiteFault) {
        guard isInPlace else { throw SQLiteFault(notHere: "it was removed or replaced") }
        guard !hasItsLog else { return }
        // Another program may have put it into the file and have begun it anew, which this tells.
        let isKnown = try? database.checkpoint()
        guard !hasItsLog else { return }
        if isKnown == false { throw SQLiteFault(held: "somebody else is putting its log into it") }
        throw SQLiteFault(notOurs: "its log \(file.path)-wal was removed, replaced or cut off")
    }

    /// - Returns: whether there is more to do.
    func tidy(at time: Timestamp) throws(SQLiteFault) -> Bool {
        try checkpointIfDue()
        let now = try retention.used
        // Twice what has come since goes, or else a feed that never rests would be faster.
        let goal = 2 * (used ?? now) - now
        used = now
        while try retention.isDue(at: time) {
            var count = 0
            try inTransaction { () throws(SQLiteFault) in count = try retention.letGo(in: database, at: time) }
            guard count > 0 else { break }
            try checkpointIfDue()
            let left = try retention.used
            used = left
            if left <= goal { return true }
        }
        return try scan.step(in: database)
    }

    private func checkpointIfDue() throws(SQLiteFault) {
        if Int64(database.pagesToCheckpoint) * pageSize >= Self.loggedBytes { try database.checkpoint() }
    }

    /// What is said of the lines that it has, at this time; nil for nothing.
    func notice(at time: Timestamp) throws(JournalFault) -> String? {
        do throws(SQLiteFault) {
            return try retention.notice(at: time)
        } catch {
            throw JournalFault(error)
        }
    }

    /// Up to where it has the lines of agents of a fleet.
    func knownPositions() throws(JournalFault) -> [AgentPosition] {
        do throws(SQLiteFault) {
            return try JournalPositions(database).read()
        } catch {
            throw JournalFault(error)
        }
    }

    /// The run before this one, as it was left.
    func lastRun() throws(JournalFault) -> LastRun? {
        do throws(SQLiteFault) {
            // It goes to readers: what cannot be a name is none.
            guard let run = try database.newestRun(), RunName.isValid(run.name) else { return nil }
            return LastRun(name: run.name, durable: try database.lastKept(of: run), ended: run.ended)
        } catch {
            throw JournalFault(error)
        }
    }
}
