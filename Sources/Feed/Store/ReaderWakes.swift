internal import Reactor

/// Calls the readers that wait for more: at once, or, when there are so many that it costs, together with what comes in the
/// meantime; all of them in one walk, which lets others have their turn.
final class ReaderWakes {
    private let loop: EventLoop
    /// Readers that have seen everything, each once.
    private var waiting: [StoreReader] = []
    /// Those that are being called.
    private let walk: TurnWalk<StoreReader>
    /// The number behind the newest line, and behind the last one that readers were called for.
    private var newest = 1
    private var announced = 1
    private var last = LoopInstant(nanoseconds: 0)
    /// How many were called at that time; they may not all have looked yet.
    private var called = 0
    private var isScheduled = false

    /// What calling a reader costs; they are called at most so often that this stays a small part of the loop's time.
    private static let cost = Duration.microseconds(20)
    /// The longest that a line waits for others when there are many readers.
    private static let longestPause = Duration.milliseconds(20)

    init(on loop: EventLoop) {
        self.loop = loop
        walk = TurnWalk(on: loop) { reader in
            // Unless it has left, or looked by itself, since the walk began.
            guard reader.waits == .called else { return }
            reader.waits = .no
            reader.call()
        }
    }

    /// Has a reader called, once, when there is more. One that is on the walk already has looked by itself meanwhile, and found
    /// nothing: it is called for what comes after that.
    func wait(_ reader: StoreReader) {
        if case .at = reader.waits { return }
        reader.waits = .at(waiting.count)
        waiting.append(reader)
    }

    /// Does not call a reader any more.
    func forget(_ reader: StoreReader) {
        defer { reader.waits = .no }
        guard case .at(let place) = reader.waits, let last = waiting.popLast(), last !== reader else { return }
        waiting[place] = last
        last.waits = .at(place)
    }

    /// Calls a reader now, if it waits, whether there is more or not.
    func call(_ reader: StoreReader) {
        guard case .at = reader.waits else { return }
        forget(reader)
        reader.call()
    }

    /// Calls who waits for lines below this number: now, or a little later.
    func announce(linesBelow next: Int) {
        newest = next
        guard !waiting.isEmpty, !isScheduled, next > announced else { return }
        let due = last.advanced(by: min(Self.longestPause, Self.cost * max(waiting.count, called)))
        if due <= loop.clock.now { return callAll(linesBelow: next) }
        isScheduled = true
        loop.schedule(at: due) { [weak self] in
            guard let self else { return }
            isScheduled = false
            callAll(linesBelow: newest)
        }
    }

    /// Calls everybody who waits now, whether there are lines below this number that they do not have or other news.
    func callAll(linesBelow next: Int) {
        newest = next
        last = loop.clock.now
        announced = newest
        var toVisit = waiting
        waiting.removeAll(keepingCapacity: true)
        called = toVisit.count
        // Who has a task is only put into the loop's queue, which takes no time.
        toVisit.removeAll { reader in
            reader.waits = reader.wakeup == nil ? .called : .no
            reader.wakeup?.signal()
            return reader.wakeup != nil
        }
        walk.go(through: toVisit)
    }
}
