internal import Reactor

/// The identities of a journal's file and of the files beside it. SQLite finds those by name, and would apply the log
/// of a replaced file to the file that took its place.
package struct JournalTrace: Sendable, Equatable {
    let file: FileIdentity
    private let beside: [FileIdentity]

    /// - Throws: `.disk` when no file has the name.
    init(_ journal: JournalFile) throws(JournalFault) {
        file = try journal.identity()
        beside = ["-wal", "-shm"].compactMap { try? FileIdentity(at: journal.path + $0) }
    }

    /// Whether files that lay beside this journal now lie beside another one.
    func isLeft(beside now: JournalTrace) -> Bool {
        file != now.file && beside.contains { now.beside.contains($0) }
    }
}
