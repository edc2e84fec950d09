import CLinux
internal import Glibc

/// What other threads hand to a loop: jobs and closures, with an eventfd that wakes it.
final class Inbox: Sendable {
    enum Item: Sendable {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    let wakeup: Descriptor
    private let items = Locked<[Item]>([])

    init() throws(SystemError) {
        wakeup = Descriptor(owning: try systemCall("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Adds an item and wakes the loop when the inbox was empty (a full one has woken it already).
    func add(_ item: Item) {
        let wasEmpty = items.withLock { items in
            items.append(item)
            return items.count == 1
        }
        // Once only, so it must not be lost; a counter that is full (EAGAIN) wakes the loop as well.
        if wasEmpty { _ = try? systemCall("write") { eventfd_write(wakeup.number, 1) } }
    }

    /// Whether there is nothing to take at this moment.
    var isEmpty: Bool { items.withLock { $0.isEmpty } }

    /// Takes everything out, in order.
    func takeAll() -> [Item] {
        items.withLock { items in
            guard !items.isEmpty else { return [] }
            defer { items = [] }
            return items
        }
    }

    /// Resets the eventfd; what is added after this wakes the loop again.
    func acknowledge() {
        var value: eventfd_t = 0
        eventfd_read(wakeup.number, &value)
    }
}
