internal import CSQLite
internal import Glibc

/// A failed call to SQLite.
package struct SQLiteFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extended result code; `https://sqlite.org/rescode.html`.
    package let code: Int32
    /// SQLite's message, with the system's if there is one: "disk I/O error".
    package let reason: String
    /// The system's errno, if the fault involved a system call.
    let systemCode: Int32

    package var description: String { reason }

    /// A file whose contents are not a journal's.
    init(notOurs reason: String) { self.init(code: SQLITE_NOTADB, reason: reason) }

    /// Another connection holds what is needed.
    init(held reason: String) { self.init(code: SQLITE_BUSY, reason: reason) }

    /// A file system that cannot hold a journal, or a file that was removed or replaced.
    init(notHere reason: String) { self.init(code: SQLITE_IOERR, reason: reason) }

    init(code: Int32, reason: String, systemCode: Int32 = 0) {
        (self.code, self.reason, self.systemCode) = (code, reason, systemCode)
    }

    /// The meaning of the fault for a journal.
    package var kind: JournalFault.Kind {
        switch code & 0xFF {
        // Damaged pages, or no database at all. Or statements, which are known to be right, do not fit the file: other
        // tables, values that are too large, rows that contradict each other.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH,
            SQLITE_SCHEMA, SQLITE_FORMAT, SQLITE_RANGE:
            .corrupt
        case SQLITE_BUSY, SQLITE_LOCKED: .held
        default: .disk
        }
    }

    /// Whether the disk is full.
    var isWantOfRoom: Bool {
        code & 0xFF == SQLITE_FULL || (code & 0xFF == SQLITE_IOERR && [ENOSPC, EDQUOT].contains(systemCode))
    }

    /// Whether the file is no SQLite database.
    var isNoDatabase: Bool { code & 0xFF == SQLITE_NOTADB }

    /// Whether memory ran out, which says nothing about the file, unless its schema was being read.
    var isOutOfMemory: Bool { code & 0xFF == SQLITE_NOMEM }
}

extension JournalFault {
    init(_ fault: SQLiteFault) { self.init(fault.kind, fault.reason) }
}
