internal import Synchronization

/// How often somebody who reads a journal has found something in it that makes no sense: for who writes it, on another thread.
final class JournalSuspicions: Sendable {
    private let number = Atomic<Int>(0)

    var count: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }
}
