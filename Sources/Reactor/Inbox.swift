import CLinux
internal import Glibc

/// Jobs and closures from other threads for a loop, with an eventfd that wakes it.
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

    /// Adds an item; wakes the loop if the inbox was empty (otherwise it is awake already).
    func add(_ item: Item) {
        let wasEmpty = items.withLock { items in
            items.append(item)
            return items.count == 1
        }
        // Written only once, so it must not be lost; a full counter (EAGAIN) wakes the loop as well.
        if wasEmpty { _ = try? systemCall("write") { eventfd_write(wakeup.number, 1) } }
    }

    /// Whether the inbox is empty at this moment.
    var isEmpty: Bool { items.withLock { $0.isEmpty } }

    /// Removes and returns all items, in order.
    func drain() -> [Item] {
        items.withLock { items in
            guard !items.isEmpty else { return [] }
            defer { items = [] }
            return items
        }
    }

    /// Resets the eventfd; later items wake the loop again.
    func acknowledge() {
        var value: eventfd_t = 0
        eventfd_read(wakeup.number, &value)
    }
}
