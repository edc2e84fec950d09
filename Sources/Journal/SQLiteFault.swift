internal import CSQLite
internal import Glibc

/// A call to SQLite that failed.
package struct SQLiteFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extended result code; `https://sqlite.org/rescode.html`.
    package let code: Int32
    /// SQLite's words, and those of the system where it has some: "disk I/O error".
    package let reason: String
    /// What the system said, where it was asked: errno.
    let systemCode: Int32

    package var description: String { reason }

    /// A file with something in it that is no journal.
    init(notOurs reason: String) { self.init(code: SQLITE_NOTADB, reason: reason) }

    /// Somebody else has what is needed.
    init(held reason: String) { self.init(code: SQLITE_BUSY, reason: reason) }

    /// A file system that cannot have a journal.
    init(notHere reason: String) { self.init(code: SQLITE_IOERR, reason: reason) }

    init(code: Int32, reason: String, systemCode: Int32 = 0) {
        (self.code, self.reason, self.systemCode) = (code, reason, systemCode)
    }

    /// What it means for a journal.
    package var kind: JournalFault.Kind {
        switch code & 0xFF {
        // Its pages, or that it is no database at all. Or the statements, which are known to be right, do not go with what
        // is in it: other tables, more than fits, rows that contradict each other.
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

    /// Whether the file is none of SQLite's.
    var isNoDatabase: Bool { code & 0xFF == SQLITE_NOTADB }

    /// Whether there was no memory, which says nothing of the file unless that was asked for its schema.
    var isOutOfMemory: Bool { code & 0xFF == SQLITE_NOMEM }
}

extension JournalFault {
    init(_ fault: SQLiteFault) { self.init(fault.kind, fault.reason) }
}
