internal import Reactor

/// When things are due, one deadline each; of those at the same time the one with the least key comes first.
///
/// A binary heap. Deadlines that were replaced or removed are left in it, and passed over when due.
struct DeadlineSchedule<Key: Hashable & Comparable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var time: Timestamp
        var key: Key

        func isBefore(_ other: Entry) -> Bool { (time, key) < (other.time, other.key) }
    }

    private var heap: [Entry] = []
    private var times: [Key: Timestamp] = [:]

    /// The earliest time at which something may be due.
    var earliest: Timestamp? { heap.first?.time }

    /// Sets a deadline, unless there is an earlier one.
    mutating func add(_ key: Key, at time: Timestamp) {
        if times[key].map({ time < $0 }) ?? true { set(key, at: time) }
    }

    /// Sets the deadline; nil for none.
    mutating func set(_ key: Key, at time: Timestamp?) {
        times[key] = time
        guard let time else { return }
        insert(Entry(time: time, key: key))
        guard heap.count > 2 * times.count + 64 else { return }
        heap = []
        for (key, time) in times { insert(Entry(time: time, key: key)) }
    }

    /// Removes the earliest deadline if it is due.
    mutating func pop(at now: Timestamp) -> (key: Key, time: Timestamp)? {
        while let first = heap.first, first.time <= now {
            removeFirst()
            guard times[first.key] == first.time else { continue }
            times[first.key] = nil
            return (first.key, first.time)
        }
        return nil
    }

    private mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var index = heap.count - 1
        while index > 0, case let parent = (index - 1) / 2, heap[index].isBefore(heap[parent]) {
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
