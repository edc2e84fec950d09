internal import CSQLite
internal import Glibc

/// The reason why a journal failed.
package struct JournalFault: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A reader prevents checkpoints, and the log has reached its limit.
        case held
        /// The open file is unusable; opening the journal again moves damaged files aside.
        case corrupt
        /// The disk or file: full, missing, read-only, or another user's.
        case disk
        /// Another agent writes it; the reason names its process.
        case taken
    }

    package var kind: Kind
    /// A sentence for people: for a failed call to SQLite its message, with the system's if there is one.
    package var reason: String
    /// The extended result code of a failed call to SQLite (`https://sqlite.org/rescode.html`); 0 for other faults.
    let code: Int32
    /// The system's errno, if a failed call to SQLite involved a system call.
    private let systemCode: Int32

    package init(_ kind: Kind, _ reason: String) {
        (self.kind, self.reason, code, systemCode) = (kind, reason, 0, 0)
    }

    /// A failed call to SQLite.
    init(code: Int32, reason: String, systemCode: Int32 = 0) {
        (self.reason, self.code, self.systemCode) = (reason, code, systemCode)
        switch code & 0xFF {
        // Damaged pages, or no database at all. Or statements, which are known to be right, do not fit the file: other
        // tables, values that are too large, rows that contradict each other.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH,
            SQLITE_SCHEMA, SQLITE_FORMAT, SQLITE_RANGE:
            kind = .corrupt
        case SQLITE_BUSY, SQLITE_LOCKED: kind = .held
        default: kind = .disk
        }
    }

    /// The path and the reason; the path only once.
    package func text(at path: String) -> String { reason.hasPrefix(path) ? reason : "\(path): \(reason)" }

    /// Whether the disk is full.
    var isWantOfRoom: Bool {
        code & 0xFF == SQLITE_FULL || (code & 0xFF == SQLITE_IOERR && [ENOSPC, EDQUOT].contains(systemCode))
    }

    /// Whether memory ran out, which says nothing about the file, unless its schema was being read.
    var isOutOfMemory: Bool { code & 0xFF == SQLITE_NOMEM }
}
