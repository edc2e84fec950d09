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
    /// By the partial index.
    private let alerts: SQLiteStatement

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
            let columns = "SELECT id, time, type, source, series, value, line FROM lines WHERE id BETWEEN ? AND ?"
            forwards = try database.prepare(columns + " ORDER BY id")
            backwards = try database.prepare(columns + " ORDER BY id DESC")
            alerts = try database.prepare(columns + " AND type = 'alert' ORDER BY id")
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
        if let fault = try JournalSchema.look(at: database).fault { throw fault }
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

        package var rowID: RowID { statement.integer(0) }
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
        in rowIDs: ClosedRange<RowID>, isReversed: Bool = false, onlyAlerts: Bool = false,
        atMost most: Int = 4_096, _ body: (Row) throws(JournalFault) -> Bool
    ) throws(JournalFault) -> RowID? {
        let statement = onlyAlerts ? alerts : isReversed ? backwards : forwards
        statement.bind(1, rowIDs.lowerBound)
        statement.bind(2, rowIDs.upperBound)
        defer { statement.reset() }
        let row = Row(statement: statement)
        var last: RowID?
        for _ in 0..<most {
            guard try statement.step() else { return last }
            last = row.rowID
            guard try body(row) else { return last }
        }
        return last
    }

    /// The range of row ids of lines with these times; nil for none.
    ///
    /// - Parameter until: not included.
    package func rowIDs(from: Timestamp?, until: Timestamp?) throws(JournalFault) -> ClosedRange<RowID>? {
        guard from != nil || until != nil else { return 0...(.max) }
        let statement = try database.prepare("SELECT min(id), max(id) FROM lines WHERE time >= ? AND time < ?")
        statement.bind(1, from?.microseconds ?? .min)
        statement.bind(2, until?.microseconds ?? .max)
        guard try statement.step(), let first = statement.integerIfAny(0), let last = statement.integerIfAny(1),
            0...last ~= first
        else { return nil }
        return first...last
    }

    /// The row ids of the first and the last line in a range; nil when it has none.
    package func ends(of rowIDs: ClosedRange<RowID>) throws(JournalFault) -> ClosedRange<RowID>? {
        let range = "FROM lines WHERE id BETWEEN \(rowIDs.lowerBound) AND \(rowIDs.upperBound)"
        let first = try database.integer("SELECT min(id) \(range)")
        let last = try database.integer("SELECT max(id) \(range)")
        guard let first, let last, first <= last else { return nil }
        return first...last
    }

    /// The run of a line; nil when it is unknown.
    package func run(at rowID: RowID) throws(JournalFault) -> JournalRun? { try database.run(at: rowID) }

    /// The row id, behind this one, from which the next greeting holds; nil for none.
    package func nextGreeting(behind rowID: RowID) throws(JournalFault) -> RowID? {
        try database.integer("SELECT min(id) FROM greetings WHERE id > \(rowID)")
    }

    /// The `hello` and `stats` that hold at a line; empty for none.
    package func greeting(at rowID: RowID) throws(JournalFault) -> [UInt8] { try database.greeting(at: rowID) }
}
