internal import Feed
internal import Glibc
internal import Reactor

/// The state of a `SQLiteLineStore` while its file is open: the connection, its transactions, and the write-ahead log.
///
/// A commit is one transaction, and so is each step of `tidy`: after an error nothing of it remains.
final class JournalWriter {
    // A journal's write-ahead log, `FILE-wal`: copied into the file from 4 MiB; if readers prevent that, 32 MiB and one
    // commit; no commit until they let it begin again; inputs do not wait.
    /// The size of the write-ahead log, in bytes, from which it is checkpointed, as far as readers allow.
    private static let loggedBytes: Int64 = 4 << 20
    /// The size of the write-ahead log, in bytes, at which nothing more is committed.
    private static let mostLoggedBytes: Int64 = 32 << 20

    let database: SQLiteDatabase
    private let file: JournalFile
    private let identity: FileIdentity
    /// The identity of the write-ahead log.
    let log: FileIdentity?
    private let pageSize: Int64
    private let begin: SQLiteStatement
    private let commit: SQLiteStatement
    private let rollback: SQLiteStatement
    private let pageCount: SQLiteStatement
    private let retention: JournalRetention
    private var scan: JournalScan
    /// The number of pages in use after the last deletion.
    private var used: Int64?
    /// The writer of rows; a failed transaction restores its previous value.
    private var rows: RowWriter

    /// - Parameters:
    ///   - settings: the journal's settings.
    ///   - shared: what the readers in this process have to know, and what they found.
    /// - Throws: `.corrupt` when the file is not a journal of this version.
    init(
        _ file: JournalFile, _ settings: JournalSettings, _ shared: SharedJournal
    ) throws(JournalFault) {
        self.file = file
        scan = JournalScan(shared)
        database = try Self.database(file)
        let mode = try database.prepare("PRAGMA journal_mode = WAL")
        guard try mode.step(), mode.string(0) == "wal" else {
            throw JournalFault(.disk, "its file system does not let memory be shared")
        }
        mode.reset()
        if try JournalSchema.look(at: database) == .nothing { try JournalSchema.make(in: database) }
        pageSize = try database.integer("PRAGMA page_size") ?? 4_096
        try database.run(
            "PRAGMA synchronous = \(settings.sync.rawValue);"
                + "PRAGMA journal_size_limit = \(2 * Self.loggedBytes);"
                // Deleted pages are not overwritten with zeros.
                + "PRAGMA secure_delete = OFF")
        // This connection does not know yet how much of an already large log can be checkpointed.
        if file.loggedBytes >= Self.mostLoggedBytes { try database.checkpoint() }
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        rollback = try database.prepare("ROLLBACK")
        pageCount = try database.prepare("PRAGMA page_count")
        rows = try RowWriter(database)
        retention = try JournalRetention(database, settings, pageSize: pageSize)
        database.keepLogAtClose(false)
        identity = try file.identity()
        log = file.logIdentity
        shared.file = identity
    }

    /// The sequence number of the current run's oldest line.
    var firstSequence: Int? { rows.firstSequence }

    /// Whether the file still has its name.
    var isInPlace: Bool { (try? file.identity()) == identity }

    private static func database(_ file: JournalFile) throws(JournalFault) -> SQLiteDatabase {
        do throws(JournalFault) {
            let database = try SQLiteDatabase(file.path, .write)
            let found = try JournalSchema.look(at: database)
            if found != .nothing, let fault = found.fault { throw fault }
            return database
        } catch {
            guard error.isOutOfMemory else { throw error }
            throw JournalFault(.corrupt, "its schema takes more memory than a journal's")
        }
    }

    // MARK: Commits

    func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        // Written lines would be lost.
        guard isInPlace else { throw JournalFault(.disk, "it was removed or replaced") }
        try inTransaction { () throws(JournalFault) in try rows.write(pieces, at: time) }
    }

    /// Commits all of `body`, or nothing.
    private func inTransaction(_ body: () throws(JournalFault) -> Void) throws(JournalFault) {
        if Int64(database.loggedPages) * pageSize >= Self.mostLoggedBytes, try !database.restartLog() {
            throw JournalFault(
                .held,
                "somebody who reads the journal keeps its log from being put into it, which has "
                    + "\(Self.mostLoggedBytes >> 20) MiB")
        }
        let before = rows
        do throws(JournalFault) {
            try begin.run()
            try body()
            // Reserves room in the file for everything in the log, so that a full disk cannot prevent the checkpoint.
            try database.reserve(pages: try pageCount.integer() ?? 0, of: pageSize)
            try commit.run()
        } catch {
            try? rollback.run()
            rows = before
            // The room left on the disk may suffice once the log restarts.
            if error.kind == .disk { _ = try? database.checkpoint() }
            throw error
        }
    }

    /// - Returns: whether there is more to do.
    func tidy(at time: Timestamp) throws(JournalFault) -> Bool {
        try checkpointIfDue()
        let now = try retention.used
        // Delete twice as much as has come since, or a feed without pauses would be faster.
        let goal = 2 * (used ?? now) - now
        used = now
        while try retention.isDue(at: time) {
            var count = 0
            try inTransaction { () throws(JournalFault) in count = try retention.letGo(in: database, at: time) }
            guard count > 0 else { break }
            try checkpointIfDue()
            let left = try retention.used
            used = left
            if left <= goal { return true }
        }
        return try scan.step(in: database)
    }

    private func checkpointIfDue() throws(JournalFault) {
        if Int64(database.pagesToCheckpoint) * pageSize >= Self.loggedBytes { try database.checkpoint() }
    }

    /// The result of opening the journal.
    ///
    /// - Parameter notice: the sentence about a repair, if there was one.
    func opening(_ notice: String?, at time: Timestamp) throws(JournalFault) -> JournalOpening {
        var opening = JournalOpening(notice: notice, positions: try JournalPositions(database).read())
        if notice == nil { opening.notice = try retention.notice(at: time) }
        // Readers get this name, so an invalid one is dropped.
        if let run = try database.newestRun(), RunName.isValid(run.name) {
            opening.lastRun = LastRun(name: run.name, durable: try database.lastKept(of: run), ended: run.ended)
        }
        return opening
    }
}
