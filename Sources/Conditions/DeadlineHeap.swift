internal import Reactor

/// Deadlines, the earliest first, of those at the same time the one with the least number: a binary heap. Those that no longer
/// count are left in it, and ignored when due.
struct DeadlineHeap: Sendable {
    struct Entry: Sendable {
        var time: Timestamp
        var id: Int

        fileprivate func isBefore(_ other: Entry) -> Bool { (time, id) < (other.time, other.id) }
    }

    private var heap: [Entry] = []

    init(_ entries: [Entry] = []) { for entry in entries { insert(entry.time, entry.id) } }

    var earliest: Timestamp? { heap.first?.time }
    var count: Int { heap.count }

    mutating func insert(_ time: Timestamp, _ id: Int) {
        heap.append(Entry(time: time, id: id))
        var index = heap.count - 1
        while index > 0, case let parent = (index - 1) / 2, heap[index].isBefore(heap[parent]) {
            heap.swapAt(index, parent)
            index = parent
        }
    }

    /// Removes the earliest if it is due.
    mutating func pop(at now: Timestamp) -> Entry? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            guard least != index else { return first }
            heap.swapAt(index, least)
            index = least
        }
    }
}
