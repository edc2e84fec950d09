package import Reactor

/// The hub of all events: numbers them, keeps their windows and lines, and calls the readers.
///
/// It runs on the loop. Publishing never waits for a reader; a reader gets a gap for lines that it missed.
package actor EventStore {
    private let loop: EventLoop
    private let wall: any WallClock
    /// The agent that the feed belongs to: this process, or the one that it is attached to.
    package private(set) var identity: AgentIdentity
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var state: FeedState
    /// Whether the lines are another agent's, or recorded ones.
    package nonisolated let isRelay: Bool
    /// Whether the feed is a recording being played back, so that the wall clock shows the recorded time.
    package nonisolated let isRecording: Bool
    private let readers: StoreReaders
    private var endedRuns = EndedRuns()
    private var ending: String?
    /// The oldest line of this run in a journal; nil without one.
    private var journalFirst: Int?
    /// Whether other agents' feeds were sources from the start, or readers were told so since.
    private var isFleet: Bool
    /// Inputs that wait for a journal's positions of agents; nil once it has given them, or without one.
    private var awaiting: [Wakeup]?
    /// The reader that keeps the agents' positions in a journal.
    private var positionsReader: ReaderID?
    private var journalOutage = Outage<Failure.Code>()
    /// By source that carries agents: the callback for forgotten ones.
    private var farewells: [SourceID: @Sendable (String) -> Void] = [:]
    private let limitReached: Wakeup
    /// The timer for what depends on time in conditions, and when it was last evaluated.
    private var observerTimer: LoopTimer?
    private var lastTick: LoopInstant?
    /// How far the wall clock is ahead of the loop's, and how long the machine has slept, at the newest `clock` line.
    private var clockBase: (ahead: Duration, slept: Duration)

    /// - Parameters:
    ///   - isRelay: whether the lines are another agent's.
    ///   - isFleet: whether other agents' feeds will be sources.
    ///   - isRecording: whether the lines are recorded and played back; then `wall` is the recorded agent's clock.
    ///   - awaitsPositions: whether a journal will pass the agents' positions to `resume`.
    package init(
        on loop: EventLoop, wall: any WallClock, identity: AgentIdentity, limits: FeedState.Limits = .init(),
        isRelay: Bool = false, isRecording: Bool = false, isFleet: Bool = false, awaitsPositions: Bool = false
    ) {
        self.isFleet = isFleet
        awaiting = awaitsPositions ? [] : nil
        self.isRelay = isRelay || isRecording
        self.isRecording = isRecording
        self.loop = loop
        self.wall = wall
        self.identity = identity
        // A recording may pause, or play slowly, for any time: only its size limits the log.
        state = FeedState(
            limits: limits, keepingLinesFor: isRecording ? .seconds(1 << 40) : limits.history,
            isRelay: isRelay || isRecording)
        readers = StoreReaders(on: loop)
        limitReached = Wakeup(loop: loop)
        clockBase = (wall.now - loop.clock.now.timestamp, wall.slept)
    }

    /// Now, by both clocks.
    package var moment: Moment { Moment(wall: wall.now, now: loop.clock.now) }

    // MARK: Inputs

    /// Numbers events, records them in their windows, encodes their lines, and calls the readers.
    package func publish(_ events: [Event]) { publish(EventBatch(events)) }

    /// The same for a batch.
    package func publish(_ batch: EventBatch) {
        _ = publish(batch, from: 0, atMost: .max)
    }

    /// The same for inputs that can wait: publishes at most a quarter of the log at a time, each slice once no lossless
    /// output is more than half a log behind, so that they miss nothing of it.
    ///
    /// A cancelled task publishes the rest without waiting, so that events already read are not lost.
    ///
    /// - Parameter deadline: the time to stop waiting; nil to wait as long as the outputs take.
    /// - Returns: false if it went on at the deadline although an output was still behind.
    @discardableResult
    package func publish(_ batch: EventBatch, waitingUntil deadline: LoopInstant?) async -> Bool {
        var isOnTime = true
        var next = 0
        while next < batch.count {
            if next > 0 { try? await loop.sleep(for: .zero) }
            // Publishes right after `admit`, without suspending: otherwise several inputs would use the same room.
            if (try? await admit(until: deadline)) == false { isOnTime = false }
            next = publish(batch, from: next, atMost: state.slice)
        }
        return isOnTime
    }

    /// Publishes a part of a batch, without waiting.
    ///
    /// - Returns: the index of the first event not yet published.
    private func publish(_ batch: EventBatch, from first: Int, atMost growth: Int) -> Int {
        guard ending == nil else { return batch.count }
        if batch.others.contains(where: { if case .agent = $0.body { true } else { false } }) {
            state.outputs = readers.outputs(before: state.log.nextSequence)
        }
        let next = state.publish(batch, from: first, atMost: growth, at: closeSomeWindows())
        announce()
        return next
    }

    /// Closes windows whose time has come, at most a slice of them, before other lines; returns the time.
    private func closeSomeWindows() -> Moment {
        state.hold(from: readers.heldFrom)
        let moment = moment
        noticeClock(at: moment)
        if state.notice(wall: moment.wall) { state.closeWindows(atMost: state.slice, at: moment) }
        return moment
    }

    /// Records that the wall clock was set, or that the machine slept: the loop's clock does neither.
    private func noticeClock(at moment: Moment) {
        let ahead = moment.wall - moment.now.timestamp
        let moved = ahead - clockBase.ahead
        guard !isRelay, moved >= Self.leastStep || moved <= .zero - Self.leastStep else { return }
        let all = wall.slept
        let slept = max(.zero, all - clockBase.slept)
        let change = ClockChange(step: moved - slept, slept: slept)
        clockBase = (ahead, all)
        state.publishOfItself(.clock(change), at: moment)
    }

    /// Smaller steps may be the time that it takes to read two clocks.
    private static let leastStep = Duration.milliseconds(500)

    /// Publishes an event about the agent itself; it counts as failing until every reported topic has recovered.
    ///
    /// - Parameter topic: the subject of an error, which a recovery on the same topic ends.
    package func sayOfItself(_ body: Event.Body, about topic: String) {
        guard ending == nil else { return }
        state.sayOfItself(body, about: topic, at: closeSomeWindows())
        announce()
    }

    /// Waits while a lossless output is more than half a log behind; for inputs that can wait.
    ///
    /// - Parameter deadline: the time to stop waiting; nil to wait as long as the outputs take.
    /// - Returns: whether all outputs are close enough; false at the deadline.
    @discardableResult
    package func admit(until deadline: LoopInstant? = nil) async throws(CancellationError) -> Bool {
        try await waitForOutputs(until: deadline) { isHeldBack }
    }

    /// Waits while outputs are too far behind.
    ///
    /// - Returns: false if they still were at the deadline.
    @discardableResult
    private func waitForOutputs(
        until deadline: LoopInstant? = nil, while areBehind: () -> Bool
    ) async throws(CancellationError) -> Bool {
        while ending == nil, areBehind() {
            if let deadline, deadline <= loop.clock.now { return false }
            let wakeup = Wakeup(loop: loop)
            readers.add(wakeup)
            defer { readers.remove(wakeup) }
            try await wakeup.wait(until: deadline)
        }
        return true
    }

    /// Whether an input that can wait must wait for a lossless output.
    package var isHeldBack: Bool { ending == nil && readers.areHeldBack(by: state.log) }

    /// Waits until the number of data events in `FeedState.Limits.data` has arrived.
    package func waitForLimit() async throws(CancellationError) { try await limitReached.wait() }

    /// The wall clock's time, which the store's lines have.
    package nonisolated var wallTime: Timestamp { wall.now }

    /// The wall clock's rate relative to real time; 0 while it stands still.
    package nonisolated var wallRate: Double { wall.rate }

    /// The playback state of a recording: `10x`, `max` or `paused`; nil for any other feed.
    package nonisolated var playback: String? { wall.playback }

    /// Closes windows on time, until the task is cancelled.
    package func run() async throws(CancellationError) {
        while true {
            let now = wall.now
            // At most a window's width, so that a step of the wall clock is noticed by then.
            let pause = max(.milliseconds(1), state.nextBoundary(after: now) - now)
            // Windows of other agents close by those agents' clocks.
            try await loop.sleep(for: isFleet || state.fleet.count > 0 ? min(pause, MemberClock.patience) : pause)
            try await closeWindows()
            try await reportMembers()
        }
    }

    /// Closes the windows that have ended, of many series in slices; waits for lossless outputs between them, at most
    /// until the next windows end.
    private func closeWindows() async throws(CancellationError) {
        let width = state.nextBoundary(after: wall.now) - wall.now
        try await addInSlices(until: loop.clock.now.advanced(by: width)) { moment in
            noticeClock(at: moment)
            _ = state.notice(wall: moment.wall)
            let hasMore = state.closeWindows(atMost: state.slice, at: moment)
            state.expire(at: moment.now)
            return hasMore
        }
        // The same for the agents of a fleet.
        try await addInSlices(until: loop.clock.now.advanced(by: state.limits.interval)) { moment in
            state.closeMemberWindows(atMost: state.slice, at: moment)
        }
    }

    /// Adds lines slice by slice while `add` has more; waits for lossless outputs in between, at most until a deadline.
    private func addInSlices(
        until deadline: LoopInstant? = nil, _ add: (Moment) -> Bool
    ) async throws(CancellationError) {
        while ending == nil {
            state.hold(from: readers.heldFrom)
            let hasMore = add(moment)
            announce()
            guard hasMore else { return }
            try await loop.sleep(for: .zero)
            try await admit(until: deadline)
        }
    }

    /// Writes the `peer` lines that are due, for some agents at a time.
    private func reportMembers() async throws(CancellationError) {
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        var next = 0
        while ending == nil, next < state.fleet.count {
            if next > 0 {
                try await loop.sleep(for: .zero)
                try await admit(until: deadline)
            }
            let now = wall.now
            // `peer` lines in a turn of the loop: 32; rest in the next turns.
            for index in next..<min(next + 32, state.fleet.count) {
                next = index + 1
                let id = MemberID(index: index)
                if state.fleet[id].state.isOver(at: loop.clock.now) {
                    await release(named: state.name(of: state.source(standingFor: id, at: moment)))
                } else if let peer = state.fleet[id].state.report(at: now, index: index, lost: state.fleet[id].lost) {
                    say(.peer(peer), of: id)
                }
            }
        }
    }

    /// Emits lines for windows that are still open, because the inputs have ended and `finish` follows.
    ///
    /// Waits for lossless outputs, like an input that can wait.
    package func complete() async throws(CancellationError) {
        var next = 0
        try await admit()
        try await addInSlices { moment in
            guard let position = state.complete(from: next, atMost: state.slice, at: moment) else { return false }
            next = position
            return true
        }
        state.finishObserver(at: moment)
        announce()
    }

    /// Accepts no more events; readers get the remaining lines, then `bye` with this reason.
    package func finish(_ reason: String) {
        guard ending == nil else { return }
        ending = reason
        readers.finish()
        limitReached.signal()
    }

    /// Calls the readers that wait for the new lines.
    private func announce() {
        readers.wakes.announce(linesBelow: state.log.nextSequence)
        scheduleTick()
        if state.hasEnoughData { limitReached.signal() }
    }

    // MARK: Alerts

    /// Has an observer decide the alerts of our own feed, instead of the one that `takeObserver` has returned.
    ///
    /// - Parameter readsLog: whether it has yet to see the lines of the log.
    package func setObserver(_ observer: any FeedObserver, readsLog: Bool = false) {
        guard !isRelay, ending == nil else { return }
        state.setObserver(observer, readsLog: readsLog, at: closeSomeWindows())
        announce()
    }

    /// Removes the observer.
    package func takeObserver() -> (any FeedObserver)? { state.takeObserver(at: moment) }

    /// Reports again what fires, as who keeps the lines has lost those that reported it.
    package func remindOfAlerts() {
        guard ending == nil else { return }
        state.remindOfAlerts(at: closeSomeWindows())
        announce()
    }

    /// Sets the timer for when a condition may change without an event: at most once a second.
    private func scheduleTick() {
        guard let due = state.observer?.nextDue, ending == nil else { return }
        let next = max(due, lastTick?.advanced(by: .seconds(1)) ?? due)
        if let observerTimer {
            guard next < observerTimer.deadline else { return }
            loop.cancel(observerTimer)
        }
        observerTimer = loop.schedule(after: max(.zero, loop.clock.now.duration(to: next))) { [weak self] in
            self?.assumeIsolated { $0.tick() }
        }
    }

    private func tick() {
        observerTimer = nil
        lastTick = loop.clock.now
        tickObserver()
    }

    /// Publishes the alerts that time, or a change of the sources, decides.
    private func tickObserver() {
        guard state.observer != nil, ending == nil else { return }
        state.tickObserver(at: closeSomeWindows())
        announce()
    }

    // MARK: Sources

    /// Adds a source; a known name, retired or not, returns that source with its series and their history, and replaces
    /// its description: see `FeedState.register`. `greetAll` notifies readers.
    package func register(_ description: SourceDescription) -> SourceID {
        if let agent = description.agent { return state.register(agent: agent, at: moment) }
        let moment = moment
        let rhythm = state.source(named: description.name).map { state.tables.sources.rhythm(of: $0.index) }
        let source = state.register(description, at: moment.wall)
        tickObserver()
        if let rhythm, rhythm != description.rhythm { state.fitWindows(of: source, at: moment) }
        return source
    }

    /// Adds a source, unless it is our own and its name conflicts with an agent of the fleet or one of its sources.
    ///
    /// - Returns: that agent's name; nil when the source is registered.
    package func claim(_ description: SourceDescription) -> String? {
        if description.agent == nil, let agent = state.holder(of: description.name, at: moment) { return agent }
        _ = register(description)
        return nil
    }

    /// Unlists a source until it is registered again.
    ///
    /// It may still publish; its windows close.
    package func retire(named name: String) {
        guard let id = state.source(named: name) else { return }
        state.retire(id)
        for source in state.members(by: id).flatMap({ state.sources(of: $0) }) { state.retire(source) }
        tickObserver()
    }

    /// Records that a source has ended by itself: no more data is expected until it is registered again.
    package func setEnded(named name: String) {
        if let id = state.source(named: name) { state.setEnded(of: id) }
    }

    /// Unlists a source for good: its input has ended, and it is forgotten once the history has passed.
    ///
    /// First emits lines for its open windows, because it may have to make room for others at once: in slices, waiting
    /// for lossless outputs between them, for at most a window's width.
    package func release(named name: String) async {
        guard let id = state.source(named: name) else { return }
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        retire(named: name)
        for (number, member) in state.members(by: id).enumerated() {
            // There may be thousands of agents, each with lines.
            if number > 0 {
                try? await loop.sleep(for: .zero)
                _ = try? await admit(until: deadline)
            }
            // The source may have been registered again during the wait.
            guard state.source(named: name) == id, state.tables.sources.isRetired(id) else { return }
            // The agent's index may have been reused by one that comes by another source.
            if number == 0 || state.fleet[member].way == id { await release(member, but: id) }
        }
        await release(one: name)
    }

    /// Removes an agent from the fleet.
    ///
    /// - Parameter own: the source that carries it, which stays.
    private func release(_ member: MemberID, but own: SourceID) async {
        if !state.fleet[member].state.isForgotten {
            say(.peer(state.fleet[member].state.farewell(at: wall.now, lost: state.fleet[member].lost)), of: member)
        }
        let way = state.fleet[member].way
        state.fleet[member].way = nil
        let sources = state.sources(of: member)
        for source in sources { state.retire(source) }
        // Uses names, because indices may be reused during the wait.
        for name in sources.filter({ $0 != own }).map({ state.name(of: $0) }) { await release(one: name) }
        // It may have come back meanwhile.
        guard state.fleet[member].state.isForgotten else { return }
        state.fleet.free(member)
        if let way { farewells[way]?(state.fleet[member].name) }
    }

    /// Lets the agents of a source begin anew for an input that follows another one: see `FleetMember.beginInput`.
    package func beginInput(by source: SourceID) {
        for id in state.members(by: source) { state.fleet[id].beginInput() }
    }

    /// Sets the callback for agents of `source` that are forgotten; nil for none.
    package func whenForgotten(by source: SourceID, _ call: (@Sendable (String) -> Void)?) { farewells[source] = call }

    /// Releases a retired source, unless it is registered again.
    private func release(one name: String) async {
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        var next = 0
        func complete(_ moment: Moment) -> Bool {
            // The source may have been registered again during the wait.
            guard let id = state.source(named: name), state.tables.sources.isRetired(id) else { return false }
            if let position = state.complete(id, from: next, atMost: state.slice, at: moment) {
                next = position
                return true
            }
            state.release(id, at: moment)
            return false
        }
        // A cancelled task goes on without waiting.
        while (try? await addInSlices(until: deadline, complete)) == nil {}
    }

    /// The name of the source that stands for the agent.
    package static let ownName = "catwatch"

    /// The source that stands for the agent itself.
    package var agentSource: SourceID { state.ownSource(at: wall.now) }

    // MARK: Readers

    /// Opens a reader; returns the first two lines of its connection, `hello` and `stats`.
    ///
    /// - Parameters:
    ///   - name: its name in `agent` lines; nil to leave it out.
    ///   - start: the first line that it gets.
    ///   - keptAfter: the reader first gets the kept lines above this number; nil for none.
    ///   - holdsInputs: whether it is a lossless output, for which inputs wait while it is far behind.
    ///   - takesPositions: whether it is the journal, which uses `takePositions`.
    ///   - call: for a reader that uses `dequeue`: called on the loop, once, when there is more after `dequeue` returned nil.
    ///     It may call `dequeue` directly. Nil for a reader that uses `next`.
    package func open(
        _ name: String?, from start: ReaderStart = .oldest, keptAfter: Int? = nil, holdsInputs: Bool = false,
        takesPositions: Bool = false, call: (@Sendable () -> Void)? = nil
    ) -> (ReaderID, greeting: [UInt8]) {
        let reader = StoreReader(name: name, on: loop, call: call)
        let id = readers.add(reader)
        if holdsInputs { readers.setHolding(true, reader) }
        if takesPositions { (positionsReader, state.positions) = (id, PositionQueue()) }
        state.counts.readers = readers.count
        if !state.hasBegun { reader.owedGreeting = .run }
        // Before the feed's run is known, all its lines are still to come.
        return (id, move(id, to: state.hasBegun ? start : .oldest, isFiltered: false, keptAfter: keptAfter))
    }

    /// Reassigns an open reader to the output that replaces its owner, so that nothing is dropped in between.
    package func hand(_ id: ReaderID, to name: String) {
        readers[id]?.name = name
        readers[id]?.state = "ok"
    }

    /// Returns the next item for a reader without suspending; nil when there is none: then the reader is called, once,
    /// when there is. Both happen in one step, so that a reader that looks, and looks again when called, misses no
    /// line.
    package func dequeue(for id: ReaderID) -> Delivery? { readers[id].flatMap { dequeue(for: $0) } }

    private func dequeue(for reader: StoreReader) -> Delivery? {
        if let missing = reader.nextMissing() {
            guard let run = missing.run, !missing.isGreeted else { return gap(missing.numbers) }
            return .ended(
                run.greeting(for: missing.numbers, isFiltered: reader.isFiltered, at: wall.now), run: run.identity.run)
        }
        // Only once the feed's run is known, or never will be.
        if reader.owedGreeting != .none, state.hasBegun || ending != nil {
            return .greeting(
                readers.greeting(for: reader, at: state.log.nextSequence) { greeting(isFiltered: $0) })
        }
        if reader.isInterrupted {
            reader.isInterrupted = false
            return .interrupted
        }
        if let lines = keptLines(for: reader) { return .kept(lines) }
        switch reader.read(state.log) {
        case .lines(let span):
            readers.resumeInputs(state.log)
            return .lines(span)
        case .gap(let missing, let isHole):
            readers.resumeInputs(state.log)
            return gap(missing, isHole: isHole)
        case .nothing:
            if let ending {
                let last = state.log.nextSequence - 1
                return .end(ControlLine.bye(time: wall.now, run: identity.run, lastSequence: last, reason: ending))
            }
            readers.wakes.wait(reader)
            return nil
        }
    }

    /// Returns the next of the kept lines for a reader; nil when it has them all.
    private func keptLines(for reader: StoreReader) -> [UInt8]? {
        guard reader.kept.mayHaveMore(of: state.log.kept) else { return nil }
        let limit = KeptCursor.Limit(includesNews: !reader.awaitsNews)
        let lines = reader.kept.next(of: state, identity.run, at: (wall.now, feedTime), atMost: limit).lines
        return lines.isEmpty ? nil : lines
    }

    /// Returns the next kept lines, their number, and the position behind them; no lines when there are no more.
    ///
    /// - Parameter cursor: nil for the first of those that the log does not have: windows come last.
    package func keptLines(
        at cursor: KeptCursor?, atMost limit: KeptCursor.Limit
    ) -> (lines: [UInt8], count: Int, next: KeptCursor) {
        var next = cursor ?? KeptCursor(after: 0, before: 0, of: state.log)
        if cursor == nil { next.windowsComeFirst = false }
        let (lines, count) = next.next(of: state, identity.run, at: (wall.now, feedTime), atMost: limit)
        return (lines, count, next)
    }

    private func gap(_ missing: ClosedRange<Int>, isHole: Bool = false) -> Delivery {
        state.counts.gaps += 1
        return gapLine(missing, isHole: isHole)
    }

    /// - Parameter isHole: whether the log never had the lines, which only happens in a relay.
    private func gapLine(_ missing: ClosedRange<Int>, isHole: Bool) -> Delivery {
        .gap(ControlLine.gap(time: wall.now, missing: missing, reason: isHole ? "relay" : "slow_reader"))
    }

    /// Returns the `bye` of a relayed run as its agent wrote it, once: for a reader that keeps runs, when it has
    /// received everything else.
    package func dequeueFarewell(for id: ReaderID) -> [UInt8]? {
        guard let farewell = readers[id]?.farewell.take() else { return nil }
        readers.resumeInputs(state.log)
        return farewell
    }

    /// Returns the next item for a reader; waits until there is one.
    ///
    /// Only one task at a time may wait for a reader.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, and when the reader is closed.
    package func next(for id: ReaderID) async throws(CancellationError) -> Delivery {
        while let reader = readers[id], let wakeup = reader.wakeup {
            if let delivery = dequeue(for: reader) { return delivery }
            // A call may be left over from a cancellation: then there is nothing yet, and it waits again.
            try await wakeup.wait()
        }
        throw CancellationError()
    }

    /// Closes a reader; nothing waits for it any more.
    package func close(_ id: ReaderID) {
        readers.remove(id)
        if id == positionsReader { (positionsReader, state.positions) = (nil, nil) }
        state.counts.readers = readers.count
        readers.resumeInputs(state.log)
    }

    /// Sends every reader a new `hello` and `stats` next, such as after the sources have changed; its position stays.
    package func greetAll() { readers.greetAll() }

    /// Makes a reader's current or next call of `next` return `interrupted`.
    package func interrupt(_ id: ReaderID) {
        guard let reader = readers[id] else { return }
        reader.isInterrupted = true
        readers.wakes.call(reader)
    }

    /// Moves a reader, which may have been away; returns the `hello` and `stats` with which its connection continues.
    ///
    /// - Parameters:
    ///   - start: the new position.
    ///   - keptAfter: the reader first gets the kept lines above this number; nil for none.
    ///   - most: the most bytes of lines to replay, the newest ones. If it asked for older ones by sequence number, a
    ///     `gap` names those; otherwise `hello` gives the first one.
    /// - Returns: no bytes if the reader is owed a greeting anyway, which `next` returns.
    package func move(
        _ id: ReaderID, to start: ReaderStart, isFiltered: Bool, keptAfter: Int? = nil, replaying most: Int = .max
    ) -> [UInt8] {
        guard let reader = readers[id] else { return [] }
        reader.isFiltered = isFiltered
        let first = firstReplayed(of: most)
        reader.move(
            to: start, from: first, keptAfter: keptAfter, in: identity.run, of: state, behind: endedRuns)
        return state.hasBegun ? greet(reader, from: first) : []
    }

    /// Pauses a reader, which reads older lines elsewhere, until `move`.
    package func sendAway(_ id: ReaderID) {
        readers[id]?.sendAway()
        readers.resumeInputs(state.log)
    }

    /// Whether all lines from a position are in the log, or yet to come. A relay's log may have holes, of lines that its
    /// agent did not send.
    package func holds(_ line: LineID) -> Bool {
        state.hasBegun && line.run == identity.run && line.sequence >= state.log.firstSequence
    }

    /// Waits until readers have the rest of a run, before another one empties the log: lossless outputs also its `bye`,
    /// for as long as they take, others for at most `time`.
    package func waitForReaders(atMost time: Duration = .zero) async throws(CancellationError) {
        try await waitForOutputs(until: loop.clock.now.advanced(by: time)) {
            readers.present.contains { $0.cursor < state.log.nextSequence }
        }
        try await waitForOutputs { readers.lacksLines(below: state.log.nextSequence) }
    }

    /// The sequence number of the first of the newest lines that have at most `most` bytes together; 0 for all.
    private func firstReplayed(of most: Int) -> Int {
        guard most < .max else { return 0 }
        let (sequence, isWhole) = state.log.line(most, before: state.log.nextSequence)
        return isWhole ? min(sequence.addingSaturated(1), state.log.nextSequence) : 0
    }

    /// Returns the current `hello` and `stats`, for a reader whose connection begins; no bytes when `next` returns
    /// them.
    package func greeting(for id: ReaderID) -> [UInt8] { readers[id].map { greet($0) } ?? [] }

    private func greet(_ reader: StoreReader, from first: Int = 0) -> [UInt8] {
        if reader.owedGreeting == .run { return [] }
        reader.owedGreeting = .none
        return greeting(isFiltered: reader.isFiltered, from: first)
    }

    /// Returns the newest lines for a client that wants no later ones: `hello` and `stats` of a feed that begins with
    /// the first of these lines, then whole lines of at most `bytes` bytes, and a `gap` for those in between that never
    /// came.
    ///
    /// - Parameters:
    ///   - most: the most bytes of lines of the log.
    ///   - mostKept: the most bytes of kept lines before those; nil for as many.
    /// - Returns: nil before the feed's run is known.
    package func newest(bytes most: Int, ofKept mostKept: Int? = nil) -> [Delivery]? {
        if !state.hasBegun { return nil }
        var next = max(firstReplayed(of: most), state.log.firstSequence)
        var deliveries = [Delivery.greeting(greeting(isFiltered: false, from: next))]
        var kept = KeptCursor(after: 0, before: next, of: state.log)
        var room = mostKept ?? most
        while room > 0 {
            let (lines, count, behind) = keptLines(at: kept, atMost: .init())
            if count == 0 { break }
            room -= lines.count
            deliveries.append(.kept(lines))
            kept = behind
            // Values before graphs: windows have at most half of it.
            if room <= (mostKept ?? most) / 2 { kept.skipWindows() }
        }
        while true {
            switch state.log.read(from: next) {
            case .lines(let span):
                next = span.sequences.upperBound + 1
                deliveries.append(.lines(span))
            case .gap(let missing, let isHole):
                next = missing.upperBound + 1
                deliveries.append(gapLine(missing, isHole: isHole))
            case .nothing: return deliveries
            }
        }
    }

    /// Whether the agents of the fleet that are connected have sent what was there before, or the agent whose feed is
    /// relayed its kept lines.
    package var areAgentsReplayed: Bool { state.fleet.isReplayed && state.remote?.hasSentKept ?? true }

    /// Whether there was an event, also before this process began to relay.
    package var hasEvents: Bool { state.counts.data > 0 || state.tables.hasEvents }

    /// Returns what is known now, for a client that wants no events: `hello` and `stats` of a feed without lines, and the
    /// newest line of each series as a `kept` line.
    ///
    /// - Parameter most: the most bytes of `kept` lines, approximately: windows have at most half of it, and the series with
    ///   the newest lines are left out.
    /// - Returns: nil before the feed's run is known.
    package func newestOfEach(atMost most: Int = .max) -> [[UInt8]]? {
        newest(bytes: 0, ofKept: most)?.compactMap { if case .bytes(let lines)? = $0.piece { lines } else { nil } }
    }

    /// Returns the current `hello` and `stats`.
    ///
    /// - Parameters:
    ///   - first: the first line available, if there are older ones.
    ///   - most: the most bytes of both together; `stats` leaves out what does not fit.
    package func greeting(isFiltered: Bool, from first: Int = 0, atMost most: Int = .max) -> [UInt8] {
        let now = wall.now
        let asOf = state.asOf
        let first = max(first, state.log.firstSequence)
        let hello = ControlLine.hello(
            time: now, identity: identity, isFiltered: isFiltered,
            interval: state.tables.interval, history: state.tables.history, firstSequence: first,
            nextSequence: asOf.addingSaturated(1), journalFirst: journalFirst,
            keptSequence: state.tables.newestKept(before: first, at: feedTime),
            isFleet: isOfFleet)
        let stats = ControlLine.stats(
            time: now, asOf: asOf, endpoints: endpoints, sources: sourceStates,
            moreEndpoints: state.remote?.moreEndpoints ?? 0, moreSources: state.remote?.moreSources ?? 0,
            atMost: most - hello.count)
        return hello + stats
    }

    /// The name of the run that the lines belong to.
    package var run: String { identity.run }

    /// Whether the feed is a hub's: this one's, or the relayed one's.
    package var isOfFleet: Bool { state.remote?.isFleet ?? (isFleet || state.fleet.count > 0) }

    /// The next line's sequence number.
    package var nextSequence: Int { state.log.nextSequence }

    /// The newest line of the relayed feed, behind which a connection resumes; nil before its first run.
    package var newestRelayed: LineID? {
        state.hasBegun ? state.remote.map { LineID(identity.run, $0.lastSequence) } : nil
    }

    /// Whether a span may contain a line to report to a person, or an answer: so a reader that searches for errors need
    /// not check every line of a fast feed.
    package func mayHoldReports(_ span: LineSpan, orAnswers: Bool = false) -> Bool {
        max(state.tables.newestReport, orAnswers ? state.tables.newestAnswer : 0) >= span.sequences.lowerBound
    }

    /// The sequence number of the newest line with a value pointer; `stats` include it from then on.
    package var newestPointer: Int { state.tables.newestPointer }

    /// The first line that a reader did not get, and was not told of.
    package func nextLine(of id: ReaderID) -> LineID {
        readers[id]?.nextLine(in: identity.run) ?? LineID(identity.run, state.log.nextSequence)
    }

    /// Whether a reader has everything below a number of the feed's run.
    package func hasReached(_ sequence: Int, by id: ReaderID) -> Bool {
        readers[id].map { ($0.isCurrent || !state.hasBegun) && $0.cursor >= sequence } ?? true
    }

    /// Whether what a reader gets next is of the feed's run, for which it was greeted.
    package func isCurrent(_ id: ReaderID) -> Bool { readers[id]?.isCurrent ?? true }

    /// Counts a reader that was closed because it stopped reading.
    package func countStalledReader() { state.counts.stalledReaders += 1 }

    /// The last line that a reader has received.
    package func progress(of id: ReaderID) -> LineID {
        LineID(identity.run, (readers[id]?.cursor ?? state.log.nextSequence) - 1)
    }

    /// Records that a reader's lines up to this one are durable: from now on this limits inputs and keeps lines.
    ///
    /// - Parameter first: the oldest durable line of the run; nil for none.
    package func acknowledge(_ line: LineID, of id: ReaderID, first: Int?) {
        guard line.run == identity.run, let reader = readers[id] else { return }
        reader.durable = line.sequence
        journalFirst = first
        readers.resumeInputs(state.log)
    }

    /// Sets whether a reader is a lossless output, for which inputs wait and unread lines are kept.
    package func setHolding(_ holds: Bool, of id: ReaderID) {
        guard let reader = readers[id] else { return }
        readers.setHolding(holds, reader)
        readers.resumeInputs(state.log)
    }

    /// Whether the store accepts no more events.
    package var isOver: Bool { ending != nil }

    /// Sets the state of a reader's output for `agent` lines: `ok`, or a description of its fault.
    package func setState(_ text: String, of id: ReaderID) {
        readers[id]?.state = LineEncoder.cut(text, at: Line.Output.longest)
    }

    // MARK: Metrics and state

    package var counts: StoreCounts { state.counts }

    /// The sequence number of the oldest line in the log.
    package var firstSequence: Int { state.log.firstSequence }

    /// The log's memory in use, in bytes.
    package var logMemory: Int { state.log.memory }

    /// The metrics of the agent that the feed belongs to.
    package var numbers: AgentNumbers {
        let attachment = state.remote.map { remote in
            let silence = remoteTime.flatMap { time in remote.clock.map { max(.zero, time - $0) } }
            return AgentNumbers.Attachment(isConnected: remote.isConnected, silence: silence)
        }
        return AgentNumbers(
            identity: identity, interval: state.tables.interval, history: state.tables.history,
            lines: state.log.nextSequence - 1,
            counts: state.agentCounts, memory: state.tables.memory, agent: state.tables.agent, attachment: attachment)
    }

    /// The current time by the clock of the agent that the feed belongs to.
    package var feedTime: Timestamp { remoteTime ?? wall.now }

    /// The current time by the clock of the relayed agent; nil while unknown.
    private var remoteTime: Timestamp? {
        isRecording ? (state.hasBegun ? wall.now : nil) : state.remote?.time(at: loop.clock.now)
    }

    /// The metrics of all sources, unlisted ones included.
    package var sources: [SourceNumbers] {
        state.tables.sourceNumbers(at: isRelay ? feedTime : loop.clock.now.timestamp)
    }

    /// The series that have a value which still says something.
    package var series: [SeriesNumbers] { state.tables.seriesNumbers(at: feedTime) }

    /// Whether the feed's run is known: before that, so is nothing else.
    package var hasBegun: Bool { state.hasBegun }

    /// The number of alerts that fire, those of a fleet's agents included.
    package var firingAlerts: Int { state.tables.series.firing.count }

    /// The alerts that fire, in the order in which they began to.
    package var alerts: [FiringAlert] { state.tables.firingAlerts }

    /// For how many series each condition fires.
    package var alertCounts: [AlertCount] {
        state.tables.alertCounts(own: isRelay ? nil : state.observer?.conditions ?? [])
    }

    /// The agents of a fleet.
    package var members: [MemberNumbers] {
        state.remote?.members(at: remoteTime) ?? state.fleet.numbers(at: wall.now)
    }

    /// The agent of a fleet that owns a source; nil for the feed's own.
    package func agent(ofSource source: String) -> String? {
        guard let name = AgentName.split(source)?.agent else { return nil }
        return state.remote?.agents.hasAgent(named: name) ?? (state.fleet[name] != nil) ? name : nil
    }

    /// The number of open connections to agents, or to their brokers, and the number of all; nil without any.
    package var connections: (open: Int, all: Int)? { state.fleet.connections }

    /// Sets whether a broker of agents is connected; nil removes it.
    package func setBroker(_ name: String, isConnected: Bool?) { state.fleet.setBroker(name, isConnected: isConnected) }

    /// Records an answer without data from a source, such as an open stream.
    package func recordAnswer(from source: SourceID) {
        if state.recordAnswer(from: source, at: moment) { greetSoon() }
    }

    /// The endpoints with their histograms; a relayed feed only has percentiles.
    package var endpoints: [EndpointStatistics] { state.tables.endpoints }
    package var sourceStates: [SourceStatus] { state.tables.statuses }

    // MARK: Agents whose feeds are sources

    /// Sets the positions in a journal, after which agents resume that have sent nothing yet.
    package func resume(_ positions: [MemberPosition]) {
        state.fleet.resume(positions)
        for wakeup in awaiting ?? [] { wakeup.signal() }
        awaiting = nil
        guard let recovery = journalOutage.end(at: loop.clock.now) else { return }
        sayOfItself(.recovered(recovery), about: Self.positions)
    }

    /// The topic of errors about a journal's positions of agents.
    private static let positions = "positions"

    /// Waits until a journal has given the agents' positions, however long its disk takes; for inputs that read agents.
    /// Earlier lines would otherwise be repeated, and later ones in streams skipped.
    package func waitForPositions() async throws(CancellationError) {
        guard awaiting != nil else { return }
        let (wakeup, begun) = (Wakeup(loop: loop), loop.clock.now)
        awaiting?.append(wakeup)
        let timer = loop.schedule(after: Self.journalPatience) { [weak self] in
            self?.assumeIsolated { $0.reportLateJournal(since: begun) }
        }
        defer {
            loop.cancel(timer)
            awaiting?.removeAll { $0 === wakeup }
        }
        try await wakeup.wait()
    }

    /// The wait for a journal that is reported as an error.
    private static let journalPatience = Duration.seconds(2)

    /// Reports the wait for the journal, once for all inputs.
    private func reportLateJournal(since begun: LoopInstant) {
        guard journalOutage.since == nil, journalOutage.fail(by: .disk, at: begun) else { return }
        let failure = Failure(
            .disk, "waits for the journal to say up to where it has the lines of agents: none is read before")
        sayOfItself(.error(failure), about: Self.positions)
    }

    /// Returns the positions of agents that belong to the lines which the journal has dequeued, for the same commit.
    package func takePositions() -> [MemberPosition] {
        positionsReader.flatMap { readers[$0] }.flatMap { state.positions?.take(through: $0.cursor - 1) } ?? []
    }

    /// The newest message that was taken of the stream that a source reads: see `MemberPosition`.
    package func position(inStreamOf source: String) -> LineID? { state.fleet[stream: source]?.line }

    /// Sets that position: all lines of the message are published.
    package func setPosition(_ message: LineID, inStreamOf source: String) {
        guard !state.hasEnoughData else { return }
        let position = MemberPosition(source, message)
        state.fleet[stream: source] = position
        state.record(position)
    }

    /// Lists the agents that the journal heard by streams within the last day, as silent until they are heard.
    ///
    /// - Parameter source: a source that reads a stream.
    package func listUnheard(by source: SourceID) {
        let moment = moment
        for position in state.fleet.unheard {
            guard let heard = position.stored, moment.wall - heard < MemberState.lifetime,
                let id = try? member(position.member, by: source).get()
            else { continue }
            // Which source will carry it is unknown.
            (state.fleet[id].way, state.fleet[id].subject) = (nil, nil)
            state.fleet[id].state.identify(run: position.line.run)
            state.fleet[id].state.hear(at: heard)
            state.fleet[id].state.come(at: moment.now.advanced(by: min(heard - moment.wall, .zero)))
        }
    }

    /// Returns the agent of a fleet with this name, added if needed. The result is valid until the agent is forgotten:
    /// an input of unconfigured agents must look it up again for each message.
    package func member(_ name: String) -> MemberID {
        state.join(name, at: moment)
    }

    /// The reason why the lines of an unconfigured agent are refused.
    package enum JoinRefusal: Error, Sendable, Equatable {
        /// Its lines come by another source, or another source has a name that would be one of the agent's.
        case taken(by: String)
        /// The name is reserved.
        case reserved
        /// The limit on agents is reached.
        case tooMany(Int)
        /// Its lines come in messages of another subject.
        case elsewhere(String)
    }

    /// Returns the agent with this name, whose lines come by a source shared by many; adds it if needed.
    ///
    /// - Parameter subject: of the messages that carry them.
    package func member(
        _ name: String, by source: SourceID, subject: String = ""
    ) -> Result<MemberID, JoinRefusal> {
        state.member(name, by: source, subject: subject, at: moment).map { member, isNews in
            if isNews { greetSoon() }
            return member
        }
    }

    /// The names of the agents whose lines come by a source.
    package func agents(by source: SourceID) -> [String] { state.members(by: source).map { state.fleet[$0].name } }

    /// The state of an agent.
    package func member(_ id: MemberID) -> FleetMember { state.fleet[id] }

    /// Sets the state of the connection to an agent that has its own.
    package func setLink(_ link: MemberState.Link, of id: MemberID) {
        if link == .opening { state.fleet[id].beginInput() }
        state.fleet[id].state.link = link
    }

    /// Processes lines of an agent, in their order, however they arrived: reports faults, skips repeated lines, and
    /// names missing ones.
    ///
    /// Waits for lossless outputs, like an input that can wait.
    ///
    /// - Parameter message: the stream message that carried them, if any.
    /// - Returns: the reason to end the connection; nil to go on.
    package func receive(
        _ lines: [Result<Line, LineFault>], from id: MemberID, by message: StreamMessage? = nil
    ) async -> String? {
        if !isFleet {
            // At once: from here on, a journal keeps the agents' positions.
            isFleet = true
            greetAll()
        }
        let items = state.fleet.process(lines, from: id, by: message, at: moment)
        var batch = EventBatch()
        var hasKept = false
        defer { if hasKept { readers.wakes.callAll() } }
        for item in items {
            switch item {
            case .kept(let line, let place, let isMissed):
                await publish(batch, waitingUntil: nil)
                batch = EventBatch()
                if state.keep(line, place, isMissed: isMissed, of: id, at: moment) { hasKept = true }
            case .windows(let kept):
                if keep(kept, of: id, at: moment) { hasKept = true }
            case .stats(let stats):
                // Lines before it belong to the earlier state of the sources.
                await publish(batch, waitingUntil: nil)
                batch = EventBatch()
                if state.list(stats, of: id, at: moment) { greetSoon(for: id) }
            case .breach(let reason):
                await publish(batch, waitingUntil: nil)
                return reason
            default:
                if state.add(item, of: id, stored: message?.stored, to: &batch, at: moment) { greetSoon(for: id) }
            }
        }
        await publish(batch, waitingUntil: nil)
        // It may be behind the last line: nothing is published of windows.
        if let position = state.fleet[id].position, !state.hasEnoughData { state.record(position) }
        return nil
    }

    /// Records that an agent's lines do not come, or are refused; reports it once, and again when the reason changes.
    package func fail(_ id: MemberID, _ link: MemberState.Link, by reason: String, _ failure: Failure) {
        state.fleet[id].state.link = link
        guard state.fleet[id].state.outage.fail(by: reason, at: loop.clock.now) else { return }
        var failure = failure
        if failure.retryIn != nil { failure.attempt = state.fleet[id].state.outage.attempts }
        say(.error(failure), of: id)
    }

    /// Publishes the hub's own event about an agent.
    ///
    /// - Parameter source: the agent's own name of the source; nil for the agent itself, which also stands in for an
    ///   unlisted source.
    package func say(_ body: Event.Body, of id: MemberID, source: String? = nil) {
        let known = source.flatMap { state.source(named: $0, of: id) }
        let source =
            known.flatMap { state.tables.sources.isRetired($0) ? nil : $0 } ?? state.source(standingFor: id, at: moment)
        var batch = EventBatch()
        batch.add(Event(time: wall.now, source: source, body: body), from: LineOrigin(id))
        publish(batch)
    }

    /// Forgets an agent of a broker that is not live now, rather than after a day of silence.
    ///
    /// - Returns: the reason for a refusal; nil when it will be forgotten within a second.
    package func forget(_ name: String) -> PollRefusal? { state.fleet.dismiss(name) }

    /// The same for changes to an agent's sources: at once, as long as they are rare.
    private func greetSoon(for id: MemberID) { greetSoon(at: state.fleet[id].newsTime(at: loop.clock.now)) }

    private func greetSoon(at time: LoopInstant? = nil) { if ending == nil { readers.greetSoon(at: time) } }

    // MARK: Another agent's feed

    /// Relays another agent's lines: byte for byte, with their run and sequence numbers.
    ///
    /// Skips repeated lines; missing numbers become a gap; another run starts with a new `hello`, after a gap for the
    /// lines of the old one that a reader has not seen.
    package func relay(_ lines: [RelayedLine]) {
        if !lines.isEmpty { state.hear(at: loop.clock.now) }
        var rest = lines[...]
        relay(atMost: .max, { rest.popFirst().map { .other($0) } }, refuse: { _ in })
    }

    /// Relays a recording's lines in the same way, while `next` returns one, and at most an eighth of the log.
    ///
    /// - Parameter refuse: gets the fault of a line that looked like a plain one.
    package func relay(_ next: () -> RecordedLine?, refuse: (LineFault) -> Void) {
        relay(atMost: state.slice, next, refuse: refuse)
    }

    private func relay(atMost growth: Int, _ next: () -> RecordedLine?, refuse: (LineFault) -> Void) {
        guard ending == nil else { return }
        state.hold(from: readers.heldFrom)
        let moment = moment
        let start = state.log.totalCost
        var isNews = false
        while !state.hasEnoughData, state.log.totalCost - start < growth, let line = next() {
            switch line {
            case .other(let line): if relay(line, at: moment) { isNews = true }
            case .plain(let line, let bytes):
                if state.relay(line, bytes, at: moment) { continue }
                do throws(LineFault) {
                    let whole = Bytes(bytes)
                    let decoded = try LineDecoder.decode(whole)
                    if relay(RelayedLine(decoded, bytes: whole), plain: line, at: moment) { isNews = true }
                } catch {
                    refuse(error)
                }
            }
        }
        state.expire(at: moment.now)
        // Only at the end: a run begins with several lines, for which one greeting is enough.
        announce()
        if isNews { readers.wakes.callAll() }
    }

    /// Sets whether the connection to the attached agent is open.
    package func setConnected(_ isConnected: Bool) { state.setConnected(isConnected) }

    /// Relays one line; returns whether to greet readers for it.
    private func relay(_ relayed: RelayedLine, plain: PlainLine? = nil, at moment: Moment) -> Bool {
        let line = relayed.line
        switch line.body {
        case .stats:
            // Readers are greeted if the descriptions have changed.
            guard state.applyUnnumbered(line, at: moment) else { return false }
            readers.oweNews()
            return true
        case .hello(let hello):
            let isFirst = !state.hasBegun
            let hadEnded = state.remote?.hasEnded == true
            let isNew = isFirst || hello.run != identity.run
            if isNew { begin(hello, isFirst: isFirst) }
            _ = state.applyUnnumbered(line, at: moment)
            if isNew { return true }
            // The run has not ended after all: readers that keep runs are greeted.
            guard hadEnded else { return false }
            for reader in readers.keepers {
                reader.farewell = nil
                reader.oweNews()
            }
            return true
        case .bye(let bye):
            _ = state.applyUnnumbered(line, at: moment)
            guard bye.run == identity.run else { return false }
            if let last = bye.lastSeq { state.endRun(with: last) }
            for reader in readers.keepers { reader.farewell = Array(relayed.bytes) }
            return true
        case .gap: _ = state.applyUnnumbered(line, at: moment)
        case .kept(let kept): return kept.run == identity.run && keep(kept, at: moment)
        default: state.relay(relayed, plain: plain, at: moment)
        }
        return false
    }

    /// Keeps the line in a `kept` line, or restores the windows in it: of another agent, or of an earlier run.
    ///
    /// - Parameter member: the agent of our fleet; nil for the one whose feed is relayed, and for our own.
    /// - Returns: whether there is news for readers.
    private func keep(_ kept: Line.Kept, of member: MemberID? = nil, at moment: Moment) -> Bool {
        if kept.windows.isEmpty {
            guard let sequence = state.keep(kept, at: moment) else { return false }
            for reader in readers.present { reader.kept.owe(sequence) }
        } else {
            guard let index = state.restore(kept, of: member, at: moment) else { return false }
            for reader in readers.present { reader.kept.oweWindows(of: index) }
        }
        return true
    }

    /// Restores the newest lines and the windows of our sources from earlier runs.
    ///
    /// - Parameter kept: `kept` lines as of this run; others are passed over, such as those with a number of it.
    package func restore(_ kept: [RelayedLine]) {
        guard ending == nil else { return }
        let moment = moment
        var isNews = false
        for line in kept {
            if case .kept(let kept) = line.line.body, kept.run == identity.run, keep(kept, at: moment) { isNews = true }
        }
        if isNews { readers.wakes.callAll() }
    }

    /// Shows the observer the series that were restored.
    package func observeRestored() { state.observeSeries(at: moment) }

    /// Has series be known, so that the next complete answer of their sources says which of them are gone.
    package func expect(_ series: [(source: String, name: String)]) {
        let moment = moment
        for (source, name) in series { state.expect(name, of: source, at: moment) }
    }

    /// The series that are gone.
    package var gone: [GoneSeries] { state.tables.gone }

    /// Whether the series of a kept line, of an event or of windows, is gone.
    package func isGone(_ line: Line) -> Bool { state.tables.isGone(line) }

    /// Marks series of a recorded feed as gone that were gone at the end of an earlier run, and did not come back since.
    package func recall(_ gone: [GoneSeries]) {
        for series in gone { state.recall(series) }
    }

    package var limits: FeedState.Limits { state.limits }

    /// Starts a run.
    private func begin(_ hello: Line.Hello, isFirst: Bool) {
        let old: EndedRuns.Run? =
            isFirst
            ? nil
            : EndedRuns.Run(
                identity: identity, isFleet: isOfFleet, interval: state.tables.interval, history: state.tables.history,
                sources: state.tables.statuses.count,
                // Its `stats` may have counted lines that never arrived.
                numbers: endedRuns.feedFirst..<max(endedRuns.feedFirst, state.asOf.addingSaturated(1)))
        if let old { endedRuns.add(old) }
        // A run that returns goes on: its lines with numbers from before are repetitions.
        var hello = hello
        if let end = endedRuns.end(of: hello.run) { hello.firstSeq = end }
        (journalFirst, endedRuns.feedFirst) = (nil, hello.firstSeq)
        state.begin(with: hello)
        for reader in readers.present { reader.begin(hello, after: old, in: state.log) }
        identity = AgentIdentity(
            run: hello.run, version: hello.app.version ?? "", started: hello.app.started ?? wall.now, host: hello.host)
    }
}
