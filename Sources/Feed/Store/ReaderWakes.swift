internal import Reactor

/// Calls the readers that wait for lines: at once or, when there are so many that it is costly, combined with later
/// lines; all of them in one walk, which lets other tasks run.
final class ReaderWakes {
    private let loop: EventLoop
    /// Readers that have seen everything, each once.
    private var waiting: [StoreReader] = []
    /// The walk over readers that are being called.
    private let walk: TurnWalk<StoreReader>
    /// The next sequence number, now and when readers were last called.
    private var newest = 1
    private var announced = 1
    private var last = LoopInstant(nanoseconds: 0)
    /// The number of readers called then; some may not have looked yet.
    private var called = 0
    private var isScheduled = false

    /// The cost of calling a reader; calls are rare enough that this stays a small part of the loop's time.
    private static let cost = Duration.microseconds(20)
    /// The longest that a line waits for others when there are many readers.
    private static let longestPause = Duration.milliseconds(20)

    init(on loop: EventLoop) {
        self.loop = loop
        walk = TurnWalk(on: loop) { reader in
            // Skips a reader that has left, or looked by itself, since the walk began.
            guard reader.waits == .called else { return }
            reader.waits = .no
            reader.call()
        }
    }

    /// Calls a reader, once, when there is more. One still on the walk has meanwhile looked by itself and found
    /// nothing, so it is called for later lines.
    func wait(_ reader: StoreReader) {
        if case .at = reader.waits { return }
        reader.waits = .at(waiting.count)
        waiting.append(reader)
    }

    /// Stops calling a reader.
    func forget(_ reader: StoreReader) {
        defer { reader.waits = .no }
        guard case .at(let index) = reader.waits, let last = waiting.popLast(), last !== reader else { return }
        waiting[index] = last
        last.waits = .at(index)
    }

    /// Calls a reader now, if it waits, whether or not there is more.
    func call(_ reader: StoreReader) {
        guard case .at = reader.waits else { return }
        forget(reader)
        reader.call()
    }

    /// Calls the readers that wait for lines below this number: now, or a little later.
    func announce(linesBelow next: Int) {
        newest = next
        guard !waiting.isEmpty, !isScheduled, next != announced else { return }
        let due = last.advanced(by: min(Self.longestPause, Self.cost * max(waiting.count, called)))
        if due <= loop.clock.now { return callAll() }
        isScheduled = true
        loop.schedule(at: due) { [weak self] in
            guard let self else { return }
            isScheduled = false
            callAll()
        }
    }

    /// Calls all waiting readers now, because of announced lines or other news.
    func callAll() {
        announced = newest
        // Those called last may not have looked yet: they count for the next pause.
        guard !waiting.isEmpty else { return }
        last = loop.clock.now
        called = waiting.count
        // A reader with a task is only put into the loop's queue, which takes no time.
        waiting.removeAll { reader in
            reader.waits = reader.wakeup == nil ? .called : .no
            reader.wakeup?.signal()
            return reader.wakeup != nil
        }
        guard !waiting.isEmpty else { return }
        let toVisit = waiting
        waiting.removeAll()
        walk.go(through: toVisit)
    }
}
