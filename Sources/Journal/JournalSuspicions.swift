internal import Reactor
internal import Synchronization

/// What who writes a journal and who reads it meanwhile, on another thread, tell each other.
final class JournalSuspicions: Sendable {
    private let number = Atomic<Int>(0)
    private let last = Locked<JournalTrace?>(nil)

    /// How often somebody who reads has found something that makes no sense.
    var count: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }

    /// What who writes has opened last.
    var trace: JournalTrace? {
        get { last.withLock { $0 } }
        set { last.withLock { $0 = newValue } }
    }
}
