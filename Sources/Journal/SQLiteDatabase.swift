internal import CSQLite
internal import Glibc

/// A connection to one SQLite file. It blocks; used by one thread at a time.
final class SQLiteDatabase {
    enum Access {
        /// Made when it is not there.
        case write
        case read
    }

    private let handle: OpaquePointer
    let path: String

    /// - Throws: `SQLiteFault`; a file that is no database is found out by the first statement.
    init(_ path: String, _ access: Access) throws(SQLiteFault) {
        self.path = path
        var opened: OpaquePointer?
        let flags = access == .write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
        let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nil)
        guard let opened else { throw SQLiteFault(code: SQLITE_NOMEM, reason: "out of memory") }
        handle = opened
        sqlite3_extended_result_codes(opened, 1)
        guard code == SQLITE_OK else { throw fault(code) }
        // What a hostile file says in its schema is not obeyed.
        _ = cw_set_flag(opened, SQLITE_DBCONFIG_DEFENSIVE, 1)
        _ = cw_set_flag(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs statements that give no rows, or whose rows are of no interest.
    func run(_ statements: String) throws(SQLiteFault) {
        let code = sqlite3_exec(handle, statements, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault(code) }
    }

    /// Compiles one statement, to be used often.
    func prepare(_ statement: String) throws(SQLiteFault) -> SQLiteStatement {
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, statement, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK, let compiled else { throw fault(code) }
        return SQLiteStatement(compiled, of: self)
    }

    /// The first column of the first row as a number; nil for no row, or a NULL.
    func integer(_ statement: String) throws(SQLiteFault) -> Int64? {
        let prepared = try prepare(statement)
        return try prepared.step() ? prepared.integerIfAny(0) : nil
    }

    /// How long a statement waits for somebody else's lock.
    func setPatience(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    /// How many rows the last statement that changed some changed.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    fileprivate func fault(_ code: Int32) -> SQLiteFault {
        var reason = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "error \(code)"
        let system = sqlite3_system_errno(handle)
        if system != 0, [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF), let words = strerror(system) {
            reason += ": " + String(cString: words)
        }
        return SQLiteFault(code: code, reason: reason)
    }
}

/// One statement, compiled.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: SQLiteDatabase

    fileprivate init(_ handle: OpaquePointer, of database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Parameters, from 1

    func bind(_ place: Int32, _ number: Int64) { sqlite3_bind_int64(handle, place, number) }
    func bind(_ place: Int32, _ number: Double?) {
        if let number { sqlite3_bind_double(handle, place, number) } else { sqlite3_bind_null(handle, place) }
    }
    /// Text that stays where it is until the statement is reset.
    func bind(_ place: Int32, _ text: UnsafeRawBufferPointer) {
        // Of no bytes it would be NULL without an address.
        _ = cw_bind_text(handle, place, text.baseAddress ?? UnsafeRawPointer(handle), Int32(clamping: text.count))
    }
    /// Text that is copied.
    func bind(_ place: Int32, _ text: String?) {
        guard var text else {
            _ = sqlite3_bind_null(handle, place)
            return
        }
        text.withUTF8 {
            _ = cw_bind_copy(handle, place, $0.baseAddress ?? UnsafePointer(bitPattern: 1), Int32(clamping: $0.count))
        }
    }

    // MARK: Rows

    /// Goes to the next row; false when there is none.
    func step() throws(SQLiteFault) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw database.fault(code)
        }
    }

    /// Lets go of the rows, and of what it has locked; it can be stepped through anew.
    func reset() { sqlite3_reset(handle) }

    /// Runs it once, for what it does.
    func run() throws(SQLiteFault) {
        defer { reset() }
        while try step() {}
    }

    // MARK: Columns of the row, from 0

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func integerIfAny(_ column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : integer(column)
    }
    func doubleIfAny(_ column: Int32) -> Double? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_double(handle, column)
    }
    /// Valid until the next step or reset.
    func text(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_text(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }
    func string(_ column: Int32) -> String { String(decoding: text(column), as: UTF8.self) }
}
