package import Reactor

/// The one place all events go through: numbers them, keeps their windows and lines, and wakes who reads.
///
/// It runs on the loop. Publishing never waits for a reader; what a reader has missed it is told.
package actor EventStore {
    let loop: EventLoop
    nonisolated let wall: any WallClock
    /// Whose feed this is: this process's, or the one's that it is attached to.
    package internal(set) var identity: AgentIdentity
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    var state: FeedState
    /// What the attached agent's lines come to; nil for a feed of our own.
    var relayed: Relayed?
    var readers: [ReaderID: Reader] = [:]
    private var nextReader = 0
    /// Readers that inputs wait for.
    private var holders: [Reader] = []
    /// Readers that have seen everything and wait, each once.
    private var waiting: [Reader] = []
    /// The number behind the last line that readers were woken for.
    var announced = 1
    private var lastWake: LoopInstant
    private var isWakeScheduled = false
    private var admission: [Wakeup] = []
    var ownSource: SourceID?
    var ending: String?
    let limitReached: Wakeup

    /// What wakes a reader costs; readers are woken at most so often that this stays a small part of the loop's time.
    private static let costOfWaking = Duration.microseconds(20)
    /// The longest that a line waits for others when there are many readers.
    private static let longestCoalescing = Duration.milliseconds(20)

    package init(
        on loop: EventLoop, wall: any WallClock, identity: AgentIdentity, limits: FeedState.Limits = .init(),
        isRelay: Bool = false
    ) {
        relayed = isRelay ? Relayed() : nil
        self.loop = loop
        self.wall = wall
        self.identity = identity
        state = FeedState(limits: limits)
        lastWake = LoopInstant(nanoseconds: 0)
        limitReached = Wakeup(loop: loop)
    }

    // MARK: Inputs

    /// Numbers events, puts them into their windows, encodes their lines, and wakes the readers.
    package func publish(_ events: [Event]) { publish(EventBatch(events)) }

    /// The same for many at once.
    package func publish(_ batch: EventBatch) {
        guard ending == nil else { return }
        if batch.others.contains(where: { if case .agent = $0.body { true } else { false } }) { updateOutputs() }
        holdLines()
        state.publish(batch, wall: wall.now, now: loop.clock.now)
        wakeReaders()
        if let limit = state.limits.data, state.counts.data >= limit { limitReached.signal() }
    }

    /// For inputs that can wait: suspends while an output that must get everything is more than half a log behind.
    package func admit() async throws(CancellationError) {
        while ending == nil, isHeldBack {
            let wakeup = Wakeup(loop: loop)
            admission.append(wakeup)
            do {
                try await wakeup.wait()
            } catch {
                admission.removeAll { $0 === wakeup }
                throw error
            }
        }
    }

    /// Suspends until as many data events have come as `FeedState.Limits.data` asks for.
    package func waitForLimit() async throws(CancellationError) { try await limitReached.wait() }

    /// The wall clock's time, as the store's lines have it.
    package nonisolated var wallTime: Timestamp { wall.now }

    /// Closes windows as their time comes, until the task is cancelled.
    package func run() async throws(CancellationError) {
        while true {
            let now = wall.now
            // A wall clock that is stepped is noticed at the latest one width later.
            let remaining = max(.milliseconds(1), min(state.limits.interval, state.nextBoundary(after: now) - now))
            try await loop.sleep(for: remaining)
            guard ending == nil else { continue }
            holdLines()
            state.advance(wall: wall.now, now: loop.clock.now)
            wakeReaders()
            resumeInputs()
        }
    }

    // MARK: Outputs

    /// Opens a reader; the bytes are the first two lines of its connection, `hello` and `stats`.
    ///
    /// - Parameters:
    ///   - name: what the `agent` line calls it; nil leaves it out there.
    ///   - start: which line it gets first.
    ///   - holdsInputs: whether inputs that can wait do so while it is far behind.
    package func open(
        _ name: String?, from start: ReaderStart = .oldest, holdsInputs: Bool = false
    ) -> (ReaderID, greeting: [UInt8]) {
        let id = ReaderID(index: nextReader)
        nextReader += 1
        let reader = Reader(name: name, cursor: cursor(start), wakeup: Wakeup(loop: loop))
        readers[id] = reader
        if holdsInputs { holders.append(reader) }
        state.counts.readers = readers.count
        if let relayed, !relayed.hasBegun {
            reader.owesGreeting = true
            return (id, [])
        }
        return (id, greeting(isFiltered: false))
    }

    /// The next thing for a reader; suspends until there is one.
    ///
    /// One task at a time may wait for a reader.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, and when the reader is closed.
    package func next(for id: ReaderID) async throws(CancellationError) -> Delivery {
        while let reader = readers[id] {
            if let missing = reader.owedGap {
                reader.owedGap = nil
                state.counts.gaps += 1
                return .gap(ControlLine.gap(time: wall.now, missing: missing, reason: "slow_reader"))
            }
            // Not before it is known whose feed this is, or will never be.
            if reader.owesGreeting || reader.owesNews, relayed?.hasBegun != false || ending != nil {
                reader.owesGreeting = false
                reader.owesNews = false
                return .greeting(greeting(isFiltered: reader.isFiltered))
            }
            if reader.isInterrupted {
                reader.isInterrupted = false
                return .interrupted
            }
            switch state.log.read(from: reader.cursor) {
            case .lines(let span):
                reader.cursor = span.sequences.upperBound + 1
                resumeInputs()
                return .lines(span)
            case .gap(let missing):
                reader.cursor = missing.upperBound + 1
                state.counts.gaps += 1
                resumeInputs()
                return .gap(ControlLine.gap(time: wall.now, missing: missing, reason: "slow_reader"))
            case .nothing:
                if let ending {
                    let last = state.log.nextSequence - 1
                    return .end(
                        ControlLine.bye(time: wall.now, run: identity.run, lastSequence: last, reason: ending))
                }
                // A wake-up can come after a cancellation and be left over: then it is there still.
                if !reader.isWaiting {
                    reader.isWaiting = true
                    waiting.append(reader)
                }
                do {
                    try await reader.wakeup.wait()
                } catch {
                    stopWaiting(reader)
                    throw error
                }
            }
        }
        throw CancellationError()
    }

    /// Closes a reader; nothing waits for it any more.
    package func close(_ id: ReaderID) {
        guard let reader = readers.removeValue(forKey: id) else { return }
        stopWaiting(reader)
        holders.removeAll { $0 === reader }
        state.counts.readers = readers.count
        reader.wakeup.signal()  // whoever waits in `next` finds it closed
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
    /// How many bytes of memory the recent lines may take.
    package var logCapacity: Int { state.log.capacity }
    package var endpoints: [EndpointStatistics] { relayed?.endpoints ?? state.endpoints }
    package var sourceStates: [SourceStatus] { relayed?.sources ?? state.statuses }

    // MARK: Waking and waiting

    /// Wakes who waits at once, or, when there are so many that it costs, together with what comes in the meantime.
    func wakeReaders() {
        guard !waiting.isEmpty, !isWakeScheduled, state.log.nextSequence > announced else { return }
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

    func wakeNow() {
        lastWake = loop.clock.now
        announced = state.log.nextSequence
        let woken = waiting
        waiting.removeAll(keepingCapacity: true)
        for reader in woken {
            reader.isWaiting = false
            reader.wakeup.signal()
        }
    }

    func stopWaiting(_ reader: Reader) {
        guard reader.isWaiting else { return }
        reader.isWaiting = false
        waiting.removeAll { $0 === reader }
    }

    private var isHeldBack: Bool {
        let half = state.log.capacity / 2
        return holders.contains { state.log.memoryBehind($0.cursor) > half }
    }

    /// Keeps what a reader that holds inputs has not seen, however old it is: while it stands still, so may they.
    func holdLines() {
        var first = Int.max
        for reader in holders { first = min(first, reader.cursor) }
        state.log.heldFrom = first
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
}
