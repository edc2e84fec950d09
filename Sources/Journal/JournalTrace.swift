internal import Reactor

/// Which file has a journal's name, and which lie beside it: SQLite goes by names, and would read a file that has taken
/// another's place by that one's log.
package struct JournalTrace: Sendable, Equatable {
    let file: FileIdentity
    private let beside: [FileIdentity]

    /// - Throws: `.disk` when nothing has the name.
    init(_ journal: JournalFile) throws(JournalFault) {
        file = try journal.identity()
        beside = ["-wal", "-shm"].compactMap { try? FileIdentity(at: journal.path + $0) }
    }

    /// Whether what lay beside the file of then lies beside another one now.
    func isLeft(beside now: JournalTrace) -> Bool {
        file != now.file && beside.contains { now.beside.contains($0) }
    }
}
