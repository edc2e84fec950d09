internal import CSQLite

/// A call to SQLite that failed.
package struct SQLiteFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extended result code; `https://sqlite.org/rescode.html`.
    package let code: Int32
    /// SQLite's words, and those of the system where it has some: "disk I/O error".
    package let reason: String

    package var description: String { reason }

    /// The code without its details.
    package var primaryCode: Int32 { code & 0xFF }

    /// Whether what is in the file makes no sense: its pages, or that it is no database at all.
    package var isCorruption: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }
    /// Whether somebody else has it, for now.
    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    package var isFull: Bool { primaryCode == SQLITE_FULL }
}
