import CLinux
internal import Glibc

/// What other threads hand to a loop: jobs and closures, with an eventfd that wakes it.
///
/// The lock is a `pthread_mutex`, since Thread Sanitizer reports false races on `Synchronization.Mutex`.
final class Inbox: @unchecked Sendable {  // every access to the mutable state holds the lock
    enum Item {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    let wakeup: Descriptor
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var items: [Item] = []

    init() throws(SystemError) {
        wakeup = Descriptor(owning: try systemCall("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Adds an item and wakes the loop when the inbox was empty (a full one has woken it already).
    func add(_ item: Item) {
        pthread_mutex_lock(lock)
        let wasEmpty = items.isEmpty
        items.append(item)
        pthread_mutex_unlock(lock)
        // Once only, so it must not be lost; a counter that is full (EAGAIN) wakes the loop as well.
        if wasEmpty { _ = try? systemCall("write") { eventfd_write(wakeup.number, 1) } }
    }

    /// Whether there is nothing to take at this moment.
    var isEmpty: Bool {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return items.isEmpty
    }

    /// Takes everything out, in order.
    func takeAll() -> [Item] {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        guard !items.isEmpty else { return [] }
        let taken = items
        items = []
        return taken
    }

    /// Resets the eventfd; what is added after this wakes the loop again.
    func acknowledge() {
        var value: eventfd_t = 0
        eventfd_read(wakeup.number, &value)
    }
}
