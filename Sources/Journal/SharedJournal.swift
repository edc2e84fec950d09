internal import Reactor
internal import Synchronization

/// What the writer and the readers of a journal in one process, on different threads, have to know of each other.
final class SharedJournal: Sendable {
    private let faults = Atomic<Int>(0)
    private let opened = Mutex<FileIdentity?>(nil)

    /// How often readers found damage.
    var readFaults: Int { faults.load(ordering: .relaxed) }

    func addReadFault() { faults.add(1, ordering: .relaxed) }

    /// The file that the writer opened last. A file that has replaced it is not read: the old log lies beside it.
    var file: FileIdentity? {
        get { opened.withLock(\.self) }
        set { opened.withLock { $0 = newValue } }
    }
}
