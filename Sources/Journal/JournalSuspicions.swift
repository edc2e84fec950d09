internal import Glibc
internal import Synchronization

/// What who writes a journal and who reads it meanwhile, on another thread, tell each other.
///
/// Unchecked: the trace is touched with the lock only, a `pthread_mutex`, since Thread Sanitizer reports false races on
/// `Synchronization.Mutex`.
final class JournalSuspicions: @unchecked Sendable {
    private let number = Atomic<Int>(0)
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var last: JournalTrace?

    init() {
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// How often somebody who reads has found something that makes no sense.
    var count: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }

    /// What who writes has opened last.
    var trace: JournalTrace? {
        get {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return last
        }
        set {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            last = newValue
        }
    }
}
