/// A piece of work that a loop does once, at a given time. Belongs to its loop: used on its thread only.
package final class LoopTimer {
    package let deadline: LoopInstant
    private var body: (() -> Void)?
    /// Breaks ties: equal deadlines fire in the order they were set.
    fileprivate let order: UInt64
    /// The index in the heap; −1 when it is not there.
    fileprivate var position = -1

    init(deadline: LoopInstant, order: UInt64, body: @escaping () -> Void) {
        self.deadline = deadline
        self.order = order
        self.body = body
    }

    /// Removes the work, so that it is done only once.
    func take() -> (() -> Void)? { body.take() }

    fileprivate func precedes(_ other: LoopTimer) -> Bool {
        deadline == other.deadline ? order < other.order : deadline < other.deadline
    }
}

/// Timers by deadline: a binary heap from which any timer can be removed, in logarithmic time.
struct TimerHeap {
    private var heap: [LoopTimer] = []
    private var nextOrder: UInt64 = 0

    var count: Int { heap.count }

    /// The earliest deadline.
    var earliest: LoopInstant? { heap.first?.deadline }

    mutating func insert(deadline: LoopInstant, body: @escaping () -> Void) -> LoopTimer {
        let timer = LoopTimer(deadline: deadline, order: nextOrder, body: body)
        nextOrder += 1
        timer.position = heap.count
        heap.append(timer)
        siftUp(timer.position)
        return timer
    }

    /// Separates the timers that are set by now from later ones.
    var mark: UInt64 { nextOrder }

    /// Removes a timer; does nothing when it has fired or was removed already. The caller must release its work,
    /// because that may re-enter this heap.
    mutating func remove(_ timer: LoopTimer) {
        let hole = timer.position
        guard hole >= 0 else { return }
        timer.position = -1
        let last = heap.removeLast()
        guard hole < heap.count else { return }
        put(last, at: hole)
        siftDown(hole)
        siftUp(last.position)
    }

    /// Removes and returns the earliest timer if it is due and was set before `mark`.
    mutating func popDue(at now: LoopInstant, setBefore mark: UInt64) -> LoopTimer? {
        guard let first = heap.first, first.deadline <= now, first.order < mark else { return nil }
        first.position = -1
        let last = heap.removeLast()
        if !heap.isEmpty {
            put(last, at: 0)
            siftDown(0)
        }
        return first
    }

    private mutating func put(_ timer: LoopTimer, at index: Int) {
        heap[index] = timer
        timer.position = index
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        let timer = heap[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard timer.precedes(heap[parent]) else { break }
            put(heap[parent], at: index)
            index = parent
        }
        put(timer, at: index)
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        let timer = heap[index]
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(timer) else { break }
            put(heap[child], at: index)
            index = child
        }
        put(timer, at: index)
    }
}
