package import Reactor

/// The one place all events go through: numbers them, keeps their windows and lines, and wakes who reads.
///
/// It runs on the loop. Publishing never waits for a reader; what a reader has missed it is told.
package actor EventStore {
    private let loop: EventLoop
    private let wall: any WallClock
    package nonisolated let identity: AgentIdentity
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var state: FeedState
    private var readers: [ReaderID: Reader] = [:]
    private var nextReader = 0
    /// Readers that have seen everything and wait.
    private var waiting: [Reader] = []
    private var lastWake: LoopInstant
    private var isWakeScheduled = false
    private var admission: [Wakeup] = []
    private var ending: String?
    private let limitReached: Wakeup

    /// What wakes a reader costs; readers are woken at most so often that this stays a small part of the loop's time.
    private static let costOfWaking = Duration.microseconds(20)
    /// The longest that a line waits for others when there are many readers.
    private static let longestCoalescing = Duration.milliseconds(20)

    package init(
        on loop: EventLoop, wall: any WallClock, identity: AgentIdentity, limits: FeedState.Limits = .init()
    ) {
        self.loop = loop
        self.wall = wall
        self.identity = identity
        state = FeedState(limits: limits)
        lastWake = LoopInstant(nanoseconds: 0)
        limitReached = Wakeup(loop: loop)
    }

    // MARK: Inputs

    /// Adds a source; its events have `type` and are `name`'s.
    package func register(name: String, type: String) -> SourceID {
        state.register(name: name, type: type, at: wall.now)
    }

    /// Numbers events, puts them into their windows, encodes their lines, and wakes the readers.
    package func publish(_ events: [Event]) { publish(EventBatch(events)) }

    /// The same for many at once.
    package func publish(_ batch: EventBatch) {
        guard ending == nil else { return }
        if batch.others.contains(where: { if case .agent = $0.body { true } else { false } }) { updateOutputs() }
        state.publish(batch, wall: wall.now, now: loop.clock.now)
        wakeReaders()
        if let limit = state.limits.data, state.counts.data >= limit { limitReached.signal() }
    }

    /// For inputs that can wait: suspends while an output that must get everything is more than half a log behind.
    package func admit() async throws(CancellationError) {
        while ending == nil, isHeldBack {
            let wakeup = Wakeup(loop: loop)
            admission.append(wakeup)
            try await wakeup.wait()
        }
    }

    /// Suspends until as many data events have come as `FeedState.Limits.data` asks for.
    package func waitForLimit() async throws(CancellationError) { try await limitReached.wait() }

    /// Closes windows as their time comes, until the task is cancelled.
    package func run() async throws(CancellationError) {
        while true {
            let now = wall.now
            // A wall clock that is stepped is noticed at the latest one width later.
            let remaining = max(.milliseconds(1), min(state.limits.interval, state.nextBoundary(after: now) - now))
            try await loop.sleep(for: remaining)
            state.advance(wall: wall.now, now: loop.clock.now)
            wakeReaders()
        }
    }

    // MARK: Outputs

    /// Opens a reader; the bytes are the first two lines of its connection, `hello` and `stats`.
    ///
    /// - Parameters:
    ///   - name: what the `agent` line calls it; nil leaves it out there.
    ///   - start: which line it gets first.
    ///   - holdsInputs: whether inputs that can wait do so while it is far behind.
    package func open(_ name: String?, from start: ReaderStart = .oldest, holdsInputs: Bool = false)
        -> (ReaderID, greeting: [UInt8])
    {
        let id = ReaderID(index: nextReader)
        nextReader += 1
        let cursor =
            switch start {
            case .oldest: state.log.firstSequence
            case .newest: state.log.nextSequence
            case .after(let sequence): max(1, min(sequence + 1, state.log.nextSequence))
            }
        readers[id] = Reader(name: name, cursor: cursor, holdsInputs: holdsInputs, wakeup: Wakeup(loop: loop))
        state.counts.readers = readers.count
        return (id, greeting(isFiltered: false))
    }

    /// `hello` and `stats` as of now.
    package func greeting(isFiltered: Bool) -> [UInt8] {
        let now = wall.now
        let hello = ControlLine.hello(
            time: now, identity: identity, isFiltered: isFiltered, interval: state.limits.interval,
            history: state.limits.history, firstSequence: state.log.firstSequence,
            nextSequence: state.log.nextSequence)
        let stats = ControlLine.stats(
            time: now, asOf: state.log.nextSequence - 1, endpoints: state.endpoints,
            sources: state.sources.map(\.status))
        return hello + stats
    }

    /// The next thing for a reader; suspends until there is one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func next(for id: ReaderID) async throws(CancellationError) -> Delivery {
        while let reader = readers[id] {
            switch state.log.read(from: reader.cursor) {
            case .lines(let span):
                reader.cursor = span.sequences.upperBound + 1
                resumeInputs()
                return .lines(span)
            case .gap(let missing):
                reader.cursor = missing.upperBound + 1
                state.counts.gaps += 1
                return .gap(ControlLine.gap(time: wall.now, missing: missing, reason: "slow_reader"))
            case .nothing:
                if let ending {
                    let last = state.log.nextSequence - 1
                    return .end(
                        ControlLine.bye(time: wall.now, run: identity.run, lastSequence: last, reason: ending))
                }
                waiting.append(reader)
                do {
                    try await reader.wakeup.wait()
                } catch {
                    waiting.removeAll { $0 === reader }
                    throw error
                }
            }
        }
        throw CancellationError()
    }

    /// Says in `agent` lines how a reader's output is doing: `ok`, or what is wrong.
    package func setState(_ text: String, of id: ReaderID) { readers[id]?.state = text }

    /// Closes a reader; nothing waits for it any more.
    package func close(_ id: ReaderID) {
        guard let reader = readers.removeValue(forKey: id) else { return }
        waiting.removeAll { $0 === reader }
        state.counts.readers = readers.count
        resumeInputs()
    }

    /// Takes no more events; readers get what there is, then the end with this reason.
    package func finish(_ reason: String) {
        guard ending == nil else { return }
        ending = reason
        wakeNow()
        resumeInputs()
        limitReached.signal()
    }

    // MARK: What there is to know

    package var counts: StoreCounts { state.counts }
    package var endpoints: [EndpointStatistics] { state.endpoints }
    package var sourceStates: [SourceStatus] { state.sources.map(\.status) }

    // MARK: Waking and waiting

    /// Wakes who waits at once, or, when there are so many that it costs, together with what comes in the meantime.
    private func wakeReaders() {
        guard !waiting.isEmpty, !isWakeScheduled else { return }
        let pause = min(Self.longestCoalescing, Self.costOfWaking * waiting.count)
        let due = lastWake.advanced(by: pause)
        if due <= loop.clock.now { return wakeNow() }
        isWakeScheduled = true
        loop.schedule(at: due) { [weak self] in
            self?.assumeIsolated { store in
                store.isWakeScheduled = false
                store.wakeNow()
            }
        }
    }

    private func wakeNow() {
        lastWake = loop.clock.now
        let woken = waiting
        waiting.removeAll(keepingCapacity: true)
        for reader in woken { reader.wakeup.signal() }
    }

    private var isHeldBack: Bool {
        let half = state.limits.logCapacity / 2
        return readers.values.contains { $0.holdsInputs && state.log.bytesBehind($0.cursor) > half }
    }

    private func resumeInputs() {
        guard !admission.isEmpty, ending != nil || !isHeldBack else { return }
        for wakeup in admission { wakeup.signal() }
        admission = []
    }

    private func updateOutputs() {
        state.outputs = readers.sorted { $0.key.index < $1.key.index }.compactMap { _, reader in
            reader.name.map {
                OutputState(name: $0, state: reader.state, behind: state.log.nextSequence - reader.cursor)
            }
        }
    }

    private final class Reader {
        let name: String?
        /// The number of the line it gets next.
        var cursor: Int
        let holdsInputs: Bool
        let wakeup: Wakeup
        var state = "ok"

        init(name: String?, cursor: Int, holdsInputs: Bool, wakeup: Wakeup) {
            self.name = name
            self.cursor = cursor
            self.holdsInputs = holdsInputs
            self.wakeup = wakeup
        }
    }
}

/// A reader of one store.
package struct ReaderID: Sendable, Hashable {
    fileprivate let index: Int
}

/// Where a reader begins.
package enum ReaderStart: Sendable {
    /// With the oldest line there is.
    case oldest
    /// With what comes from now on.
    case newest
    /// Behind this number.
    case after(Int)
}

/// What a reader gets.
package enum Delivery: Sendable {
    /// Whole lines, in the log's own memory.
    case lines(LineSpan)
    /// A `gap` line that names what the reader has missed.
    case gap([UInt8])
    /// The `bye` line; nothing comes after it.
    case end([UInt8])
}
