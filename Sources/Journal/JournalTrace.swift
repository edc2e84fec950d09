internal import Reactor
internal import Synchronization

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

/// Shared between the writer of a journal and its readers on another thread.
final class ReadFaults: Sendable {
    private let number = Atomic<Int>(0)
    private let last = Locked<JournalTrace?>(nil)

    /// How often a reader has found damage.
    var count: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }

    /// The files that the writer opened last.
    var trace: JournalTrace? {
        get { last.withLock { $0 } }
        set { last.withLock { $0 = newValue } }
    }
}
