internal import CSQLite
internal import Glibc
package import Reactor

/// Reads the rows of a journal in order, for a program that is no agent: it blocks.
///
/// Each batch is its own read transaction, so that the journal's writer is not held up, and columns of a row are copied
/// only on request. Used by one thread.
package final class JournalRows {
    private let path: String
    private let identity: FileIdentity?
    private let database: SQLiteDatabase
    private let forwards: SQLiteStatement
    private let backwards: SQLiteStatement

    /// Opens a journal for reading.
    ///
    /// - Throws: `JournalFault`, whose reason says what the file is instead of a journal, or why it cannot be read.
    package init(path: String) throws(JournalFault) {
        self.path = path
        let file = try Self.file(path)
        // Read the identity before opening, or a replacement in between would be missed.
        identity = try? FileIdentity(at: file)
        do throws(JournalFault) {
            database = try Self.database(file)
            let columns =
                "SELECT id, time, type, source, series, value, line FROM lines WHERE id BETWEEN ? AND ? ORDER BY id"
            forwards = try database.prepare(columns)
            backwards = try database.prepare(columns + " DESC")
        } catch {
            throw JournalFault(error.kind, Self.reason(error, file))
        }
    }

    private static func database(_ file: String) throws(JournalFault) -> SQLiteDatabase {
        do throws(JournalFault) {
            return try database(file, .read)
        } catch {
            // SQLite may lack permission or room for the index, but can read a journal without a log without one.
            guard [SQLITE_CANTOPEN, SQLITE_READONLY].contains(error.code & 0xFF) || error.isWantOfRoom, isAtRest(file)
            else { throw error }
            return try database(file, .readAtRest)
        }
    }

    private static func database(_ file: String, _ access: SQLiteDatabase.Access) throws(JournalFault) -> SQLiteDatabase
    {
        let database = try SQLiteDatabase(file, access)
        let found = try JournalSchema.look(at: database)
        // An agent would move a journal with these changes aside, but it can be read.
        if ![.changed("marks"), .changed("lines_time"), .changed("positions")].contains(found), let fault = found.fault
        {
            throw fault
        }
        return database
    }

    /// Checks that the file can be a journal. Resolves symbolic links: a user may name one, but SQLite follows none.
    private static func file(_ path: String) throws(JournalFault) -> String {
        let file = try resolved(path)
        var status = stat()
        guard stat(file, &status) == 0 else { throw JournalFault(.disk, words(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw JournalFault(.disk, "no journal: it is no ordinary file")
        }
        do throws(SystemError) {
            // Opened rather than judged by its mode, which does not alone decide who may read it.
            _ = try Descriptor.open(file, flags: O_RDONLY | O_NONBLOCK)
        } catch {
            throw JournalFault(.disk, "\(error.reason); it is \(owner(status))'s")
        }
        guard status.st_size > 0 else { throw JournalFault(.disk, "no journal yet: it is empty") }
        // SQLite takes a file of one byte for an empty database.
        guard status.st_size > 1 else { throw JournalFault(.disk, "no journal: it is no SQLite database") }
        return file
    }

    private static func resolved(_ path: String) throws(JournalFault) -> String {
        guard let resolved = realpath(path, nil) else { throw JournalFault(.disk, words(errno)) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func owner(_ status: stat) -> String {
        guard let entry = getpwuid(status.st_uid) else { return "user \(status.st_uid)" }
        return String(cString: entry.pointee.pw_name)
    }

    private static func words(_ code: Int32) -> String { SystemError(code: code, call: "").reason }

    /// Whether the log beside the file is missing or empty, so that the file holds everything.
    private static func isAtRest(_ file: String) -> Bool {
        var status = stat()
        return stat(file + "-wal", &status) != 0 || status.st_size == 0
    }

    private static func reason(_ fault: JournalFault, _ file: String) -> String {
        switch fault.code & 0xFF {
        case SQLITE_NOTADB: "no journal: it is no SQLite database"
        case SQLITE_CANTOPEN, SQLITE_READONLY:
            if isAtRest(file) {
                fault.reason
            } else {
                "its newest lines are in \(file)-wal, which can be read only where files can be made beside it: copy both"
            }
        default: fault.reason
        }
    }

    /// Whether the file was removed or replaced since, so that new lines go elsewhere.
    package var hasMoved: Bool {
        // Not opened: closing it would release SQLite's locks on it in this process.
        guard let file = try? Self.resolved(path), let now = try? FileIdentity(at: file) else { return true }
        return now != identity
    }

    // MARK: Rows

    /// A row; valid only during the call that gets it.
    package struct Row {
        fileprivate let statement: SQLiteStatement

        package var rowID: JournalPlace { JournalPlace(id: statement.integer(0)) }
        package var time: Timestamp { Timestamp(microseconds: statement.integer(1)) }
        package var type: UnsafeRawBufferPointer { statement.text(2) }
        /// Empty for none.
        package var source: UnsafeRawBufferPointer { statement.text(3) }
        /// Empty for none.
        package var series: UnsafeRawBufferPointer { statement.text(4) }
        package var value: Double? { statement.doubleIfAny(5) }
        /// Without its newline.
        package var line: UnsafeRawBufferPointer { statement.text(6) }
    }

    // Rows that `catwatch log` reads in a transaction: 4,096; rest in further ones.
    /// Passes rows with these row ids to `body`, in order, until there are no more, it returns false, or `most` are read.
    ///
    /// - Parameters:
    ///   - isReversed: whether the newest come first.
    ///   - onlyAlerts: whether only `alert` lines count; these come forwards.
    /// - Returns: the row id of the last row that was passed; nil for none.
    package func rows(
        in rowIDs: ClosedRange<JournalPlace>, isReversed: Bool = false, onlyAlerts: Bool = false,
        atMost most: Int = 4_096, _ body: (Row) throws(JournalFault) -> Bool
    ) throws(JournalFault) -> JournalPlace? {
        guard let statement = onlyAlerts ? try alerts() : isReversed ? backwards : forwards else { return nil }
        statement.bind(1, rowIDs.lowerBound.id)
        statement.bind(2, rowIDs.upperBound.id)
        defer { statement.reset() }
        let row = Row(statement: statement)
        var last: JournalPlace?
        for _ in 0..<most {
            guard try statement.step() else { return last }
            last = row.rowID
            guard try body(row) else { return last }
        }
        return last
    }

    /// Selects `alert` lines; nil in a journal of an earlier version, which has none.
    private func alerts() throws(JournalFault) -> SQLiteStatement? {
        guard try database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'alerts'") == 1 else { return nil }
        return try database.prepare(
            """
            SELECT l.id, time, type, source, series, value, line FROM alerts a CROSS JOIN lines l ON l.id = a.id
            WHERE a.id BETWEEN ? AND ? AND type = 'alert' ORDER BY a.id
            """)
    }

    /// The range of row ids of lines with these times; nil for none.
    ///
    /// - Parameter until: not included.
    package func rowIDs(
        from: Timestamp?, until: Timestamp?
    ) throws(JournalFault) -> ClosedRange<JournalPlace>? {
        guard from != nil || until != nil else { return JournalPlace(id: 0)...JournalPlace(id: .max) }
        let statement = try database.prepare("SELECT min(id), max(id) FROM lines WHERE time >= ? AND time < ?")
        statement.bind(1, from?.microseconds ?? .min)
        statement.bind(2, until?.microseconds ?? .max)
        guard try statement.step(), let first = statement.integerIfAny(0), let last = statement.integerIfAny(1),
            0...last ~= first
        else { return nil }
        return JournalPlace(id: first)...JournalPlace(id: last)
    }

    /// Counts the row ids in a range, for showing progress.
    package func reach(of rowIDs: ClosedRange<JournalPlace>) throws(JournalFault) -> JournalReach {
        var reach = JournalReach()
        let runs = try database.prepare(
            """
            SELECT (SELECT min(id) FROM lines WHERE id BETWEEN max(run << 36, ?1) AND min((run + 1 << 36) - 1, ?2)),
                   (SELECT max(id) FROM lines WHERE id BETWEEN max(run << 36, ?1) AND min((run + 1 << 36) - 1, ?2))
            FROM runs ORDER BY run
            """)
        runs.bind(1, rowIDs.lowerBound.id)
        runs.bind(2, rowIDs.upperBound.id)
        while try runs.step() {
            guard let first = runs.integerIfAny(0), let last = runs.integerIfAny(1), first <= last else { continue }
            guard reach.add(first...last) else { break }
        }
        return reach
    }

    /// The run with this number; nil when it is unknown.
    package func run(_ number: Int64) throws(JournalFault) -> JournalRun? { try database.row("WHERE run = ?1", number) }

    /// The row id, behind this one in the same run, from which the next `stats` line holds; nil for none.
    package func nextStats(behind rowID: JournalPlace) throws(JournalFault) -> JournalPlace? {
        try database.integer(
            "SELECT min(id) FROM stats WHERE id > \(rowID.id) AND id <= \(rowID.id | JournalPlace.most)"
        ).map(JournalPlace.init(id:))
    }

    /// The `stats` line that holds at a row id; nil for none.
    package func stats(at rowID: JournalPlace) throws(JournalFault) -> [UInt8]? { try database.stats(at: rowID) }
}
