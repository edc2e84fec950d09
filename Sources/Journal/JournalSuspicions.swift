internal import Reactor
internal import Synchronization

/// Shared between the writer of a journal and its readers on another thread.
final class JournalSuspicions: Sendable {
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
