internal import CSQLite

/// A compiled statement.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: SQLiteDatabase

    init(_ handle: OpaquePointer, of database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Parameters, from 1

    func bind(_ index: Int32, _ number: Int64?) {
        if let number { sqlite3_bind_int64(handle, index, number) } else { sqlite3_bind_null(handle, index) }
    }
    func bind(_ index: Int32, _ number: Double?) {
        if let number { sqlite3_bind_double(handle, index, number) } else { sqlite3_bind_null(handle, index) }
    }
    /// Binds text that stays in place until the statement is reset.
    func bind(_ index: Int32, _ text: UnsafeRawBufferPointer) {
        // Without an address, empty text would be bound as NULL.
        _ = cw_bind_text(handle, index, text.baseAddress ?? UnsafeRawPointer(handle), Int32(clamping: text.count))
    }
    /// Binds a copy of the text.
    func bind(_ index: Int32, _ text: String?) {
        guard var text else {
            _ = sqlite3_bind_null(handle, index)
            return
        }
        text.withUTF8 {
            _ = cw_bind_copy(handle, index, $0.baseAddress ?? UnsafePointer(bitPattern: 1), Int32(clamping: $0.count))
        }
    }

    // MARK: Rows

    /// Goes to the next row; false when there is none.
    func step() throws(JournalFault) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw database.fault(code)
        }
    }

    /// Ends the reading of rows and releases its locks; the statement can be run again.
    func reset() { sqlite3_reset(handle) }

    /// Runs the statement once for its effect.
    func run() throws(JournalFault) {
        defer { reset() }
        while try step() {}
    }

    /// Runs the statement once; returns the first column of the first row as a number, nil for no row or a NULL.
    func integer() throws(JournalFault) -> Int64? {
        defer { reset() }
        return try step() ? integerIfAny(0) : nil
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
    /// A copy of the column's text.
    func bytes(_ column: Int32) -> [UInt8] { Array(text(column)) }
    func string(_ column: Int32) -> String { String(decoding: text(column), as: UTF8.self) }
    func stringIfAny(_ column: Int32) -> String? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : string(column)
    }
}
