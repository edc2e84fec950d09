package import Reactor

/// The one place all events go through: numbers them, keeps their windows and lines, and calls who reads.
///
/// It runs on the loop. Publishing never waits for a reader; what a reader has missed it is told.
package actor EventStore {
    private let loop: EventLoop
    private let wall: any WallClock
    /// Whose feed this is: this process's, or the one's that it is attached to.
    package private(set) var identity: AgentIdentity
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var state: FeedState
    /// Whether the lines are another agent's, or recorded ones.
    package nonisolated let isRelay: Bool
    /// Whether the feed is played back, and the wall clock shows when it was recorded.
    package nonisolated let isRecording: Bool
    private var readers: [ReaderID: StoreReader] = [:]
    private var nextReader = 0
    private let wakes: ReaderWakes
    private var admission = Admission()
    private var ending: String?
    /// The oldest line of this run that a journal has; nil without one.
    private var journalFirst: Int?
    /// Whether it is known from the start that other agents' feeds are sources here, or readers were told since.
    private var isFleet: Bool
    private var fleet = Fleet()
    /// Who waits for a journal to say where agents were; nil once it has, or without one.
    private var awaiting: [Wakeup]?
    private var journalOutage = Outage<Failure.Code>()
    /// When readers were greeted last for what an agent has said, and when they will be.
    private var lastNews: LoopInstant?
    private var news: (timer: LoopTimer, due: LoopInstant)?
    /// What readers are told that owe a greeting in this state of the log.
    private var sharedGreeting: (next: Int, lines: [UInt8])?
    /// By sources that agents come by: who is told that one is forgotten.
    private var farewells: [SourceID: @Sendable (String) -> Void] = [:]
    private let limitReached: Wakeup

    /// - Parameters:
    ///   - isRelay: whether the lines are another agent's.
    ///   - isFleet: whether other agents' feeds will be sources.
    ///   - isRecording: the same of one that is played back: then `wall` is that agent's clock.
    ///   - awaitsPositions: whether a journal will say by `resume` where agents were.
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
        // A recording may stand still, or go slowly, for as long as a person likes: bytes are what bounds its log.
        state = FeedState(
            limits: limits, keepingLinesFor: isRecording ? .seconds(1 << 40) : limits.history,
            isRelay: isRelay || isRecording)
        wakes = ReaderWakes(on: loop)
        limitReached = Wakeup(loop: loop)
    }

    /// Now, by both clocks.
    private var moment: Moment { Moment(wall: wall.now, now: loop.clock.now) }

    // MARK: Inputs

    /// Numbers events, puts them into their windows, encodes their lines, and calls the readers.
    package func publish(_ events: [Event]) { publish(EventBatch(events)) }

    /// The same for many at once.
    package func publish(_ batch: EventBatch) {
        _ = publish(batch, from: 0, atMost: .max)
    }

    /// The same for inputs that can wait: as much at a time as fits a quarter of the log, and each such slice when outputs
    /// that must get everything are no more than half a log behind, so that they miss nothing of it.
    ///
    /// The rest of what a cancelled task publishes waits for nobody: what has been read is not lost.
    ///
    /// - Parameter deadline: when it waits no longer; nil for as long as the outputs take.
    /// - Returns: whether no output was to be waited for beyond that.
    @discardableResult
    package func publish(_ batch: EventBatch, waitingUntil deadline: LoopInstant?) async -> Bool {
        var isOnTime = true
        var next = 0
        while next < batch.count {
            if next > 0 { try? await loop.sleep(for: .zero) }
            // Nothing comes between being let in and publishing: others that wait would be let in by the same room.
            if (try? await admit(until: deadline)) == false { isOnTime = false }
            next = publish(batch, from: next, atMost: state.slice)
        }
        return isOnTime
    }

    /// Publishes a part of a batch, at once.
    ///
    /// - Returns: how many of its events are published now.
    private func publish(_ batch: EventBatch, from first: Int, atMost growth: Int) -> Int {
        guard ending == nil else { return batch.count }
        if batch.others.contains(where: { if case .agent = $0.body { true } else { false } }) { updateOutputs() }
        state.hold(from: admission.heldFrom)
        let moment = moment
        if state.notice(wall: moment.wall) { state.closeWindows(atMost: state.slice, at: moment) }
        let next = state.publish(batch, from: first, atMost: growth, at: moment)
        announce()
        return next
    }

    /// Says something of the agent itself: it fails until everything that was said to fail is said to be over.
    ///
    /// - Parameter topic: what an error is about, which a recovery about the same ends.
    package func sayOfItself(_ body: Event.Body, about topic: String) {
        guard ending == nil else { return }
        state.hold(from: admission.heldFrom)
        let moment = moment
        if state.notice(wall: moment.wall) { state.closeWindows(atMost: state.slice, at: moment) }
        state.sayOfItself(body, about: topic, at: moment)
        announce()
    }

    /// For inputs that can wait: suspends while an output that must get everything is more than half a log behind.
    ///
    /// - Parameter deadline: when it waits no longer; nil for as long as the outputs take.
    /// - Returns: whether all are near enough; false when the deadline came first.
    @discardableResult
    package func admit(until deadline: LoopInstant? = nil) async throws(CancellationError) -> Bool {
        while isHeldBack {
            if let deadline, deadline <= loop.clock.now { return false }
            let wakeup = Wakeup(loop: loop)
            let timer = deadline.map { loop.schedule(at: $0) { wakeup.signal() } }
            admission.add(wakeup)
            defer {
                admission.remove(wakeup)
                if let timer { loop.cancel(timer) }
            }
            try await wakeup.wait()
        }
        return true
    }

    /// Whether an input that can wait has to, for an output that must get everything.
    package var isHeldBack: Bool { ending == nil && admission.isHeldBack(by: state.log) }

    /// For an input whose next line would have the log let go of all others: suspends until outputs that must get everything
    /// have everything, also the run's `bye`.
    package func admitAll() async throws(CancellationError) {
        while ending == nil, admission.heldFrom < state.log.nextSequence || admission.owesFarewell {
            let wakeup = Wakeup(loop: loop)
            admission.add(wakeup)
            defer { admission.remove(wakeup) }
            try await wakeup.wait()
        }
    }

    /// Suspends until as many data events have come as `FeedState.Limits.data` asks for.
    package func waitForLimit() async throws(CancellationError) { try await limitReached.wait() }

    /// The wall clock's time, as the store's lines have it.
    package nonisolated var wallTime: Timestamp { wall.now }

    /// By how much the wall clock is faster than time; 0 while it stands still.
    package nonisolated var wallRate: Double { wall.rate }

    /// How the recording is played back whose feed it is: `10x`, `max` or `paused`; nil for any other feed.
    package nonisolated var playback: String? { wall.playback }

    /// Closes windows as their time comes, until the task is cancelled.
    package func run() async throws(CancellationError) {
        while true {
            let now = wall.now
            // A width at the most: by then a wall clock that is stepped is noticed.
            let pause = max(.milliseconds(1), state.nextBoundary(after: now) - now)
            // Those of other agents close by the clocks of these.
            try await loop.sleep(for: isFleet || fleet.count > 0 ? min(pause, MemberClock.patience) : pause)
            try await closeWindows()
            try await closeMemberWindows()
            try await reportMembers()
        }
    }

    /// Closes the windows whose time has come: of many series a slice at a time, for which outputs that must get everything
    /// are waited for, until the next windows' time at most.
    private func closeWindows() async throws(CancellationError) {
        let width = state.nextBoundary(after: wall.now) - wall.now
        let deadline = loop.clock.now.advanced(by: width)
        while ending == nil {
            state.hold(from: admission.heldFrom)
            let moment = moment
            _ = state.notice(wall: moment.wall)
            let hasMore = state.closeWindows(atMost: state.slice, at: moment)
            state.expire(at: moment.now)
            announce()
            guard hasMore else { return }
            try await loop.sleep(for: .zero)
            try await admit(until: deadline)
        }
    }

    /// The same of the agents of a fleet.
    private func closeMemberWindows() async throws(CancellationError) {
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        while ending == nil, fleet.count > 0 {
            state.hold(from: admission.heldFrom)
            let hasMore = state.closeMemberWindows(atMost: state.slice, at: moment)
            announce()
            guard hasMore else { return }
            try await loop.sleep(for: .zero)
            try await admit(until: deadline)
        }
    }

    /// Says how it is with the agents of a fleet where that is news, some of them at a time.
    private func reportMembers() async throws(CancellationError) {
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        var next = 0
        while ending == nil, next < fleet.count {
            if next > 0 {
                try await loop.sleep(for: .zero)
                try await admit(until: deadline)
            }
            let now = wall.now
            for index in next..<min(next + 32, fleet.count) {
                next = index + 1
                let id = MemberID(index: index)
                if fleet[id].state.isOver(at: loop.clock.now) {
                    await release(named: state.name(of: source(standingFor: id)))
                } else if let peer = fleet.report(on: id, at: now) {
                    say(.peer(peer), of: id)
                }
            }
        }
    }

    /// Gives the windows that are still open their line: the inputs have come to their end, and `finish` follows.
    ///
    /// Waits, like an input that can, for outputs that must get everything.
    package func complete() async throws(CancellationError) {
        var next: Int? = 0
        while let first = next {
            try await admit()
            guard ending == nil else { return }
            state.hold(from: admission.heldFrom)
            next = state.complete(from: first, atMost: state.slice, at: moment)
            announce()
        }
    }

    /// Takes no more events; readers get what there is, then the end with this reason.
    package func finish(_ reason: String) {
        guard ending == nil else { return }
        ending = reason
        if let news { loop.cancel(news.timer) }
        wakes.callAll(linesBelow: state.log.nextSequence)
        resumeInputs()
        limitReached.signal()
    }

    /// Calls who waits for the lines that were added.
    private func announce() {
        wakes.announce(linesBelow: state.log.nextSequence)
        if state.hasEnoughData { limitReached.signal() }
    }

    // MARK: Sources

    /// Adds a source; one of a name that is known, retired or not, is that source with its series and their history, and
    /// takes the new description: see `FeedState.register`. Readers are told by `greetAll`.
    package func register(_ description: SourceDescription) -> SourceID {
        if let agent = description.agent {
            return fleet.register(agent, in: &state, at: moment)
        }
        return state.register(description, at: wall.now)
    }

    /// Adds a source, unless it is one of our own whose name an agent of the fleet has, or one of its sources.
    ///
    /// - Returns: that agent's name; nil when the source is registered.
    package func claim(_ description: SourceDescription) -> String? {
        if description.agent == nil,
            let agent = fleet.holder(of: description.name, in: &state, at: moment)
        {
            return agent
        }
        _ = register(description)
        return nil
    }

    /// Takes a source out of the list until it is registered again.
    ///
    /// What it has still to publish is published; its windows close.
    package func retire(named name: String) {
        guard let id = state.source(named: name) else { return }
        state.retire(id)
        for source in fleet.members(by: id, in: state).flatMap({ state.sources(of: $0) }) { state.retire(source) }
    }

    /// A source has come to its end by itself: nothing more is expected of it until it is registered again.
    package func noteEnd(named name: String) {
        if let id = state.source(named: name) { state.noteEnd(of: id) }
    }

    /// The same for good: what brought its events has ended, and it is forgotten once the history shows nothing of it.
    ///
    /// Its open windows get their lines before, as it may have to give way to others at once: a slice at a time, for which
    /// outputs that must get everything are waited for, for as long as a window is wide at most.
    package func release(named name: String) async {
        guard let id = state.source(named: name) else { return }
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        retire(named: name)
        var cost = state.log.totalCost
        for (number, member) in fleet.members(by: id, in: state).enumerated() {
            // There may be thousands of them, and each has lines.
            if number % 32 == 31 || state.log.totalCost - cost >= state.slice {
                try? await loop.sleep(for: .zero)
                _ = try? await admit(until: deadline)
                cost = state.log.totalCost
            }
            // While it waits, the source may be registered again.
            guard state.source(named: name) == id, state.isRetired(id) else { return }
            // And the place of an agent may be another's, which does not come by it.
            if number == 0 || fleet.way(to: member) == id { await release(member, but: id) }
        }
        await release(one: name)
    }

    /// An agent is none of the fleet's any more.
    ///
    /// - Parameter own: the source that it comes by, which is left.
    private func release(_ member: MemberID, but own: SourceID) async {
        if let peer = fleet.farewell(to: member, at: wall.now) { say(.peer(peer), of: member) }
        let way = fleet.way(to: member)
        fleet.endWay(to: member)
        let sources = state.sources(of: member)
        for source in sources { state.retire(source) }
        // Their places may be others' while it waits.
        for name in sources.filter({ $0 != own }).map({ state.name(of: $0) }) { await release(one: name) }
        // It may have come back meanwhile.
        guard fleet[member].state.isForgotten else { return }
        state.free(member)
        if let way { farewells[way]?(fleet[member].name) }
    }

    /// Has somebody told of agents that are forgotten, of those that come by a source; nil for nobody.
    package func whenForgotten(by source: SourceID, _ call: (@Sendable (String) -> Void)?) { farewells[source] = call }

    /// Releases a source that is retired, unless it is there again.
    private func release(one name: String) async {
        let deadline = loop.clock.now.advanced(by: state.limits.interval)
        var next = 0
        // While it waits, the source may be registered again.
        while ending == nil, let id = state.source(named: name), state.isRetired(id) {
            state.hold(from: admission.heldFrom)
            let moment = moment
            guard let place = state.complete(id, from: next, atMost: state.slice, at: moment) else {
                state.release(id, at: moment)
                return announce()
            }
            next = place
            announce()
            try? await loop.sleep(for: .zero)
            _ = try? await admit(until: deadline)
        }
    }

    /// What the agent is called as a source.
    package static let ownName = "catwatch"

    /// The agent itself as a source, for what it says of itself.
    package var agentSource: SourceID { state.ownSource(at: wall.now) }

    // MARK: Readers

    /// Opens a reader; the bytes are the first two lines of its connection, `hello` and `stats`.
    ///
    /// - Parameters:
    ///   - name: what the `agent` line calls it; nil leaves it out there.
    ///   - start: which line it gets first.
    ///   - holdsInputs: whether inputs that can wait do so while it is far behind.
    ///   - call: for a reader that uses `take`: called on the loop, once, when there is more than the `take` before it
    ///     found. It may look at once, from wherever it is called. Nil for one that uses `next`.
    package func open(
        _ name: String?, from start: ReaderStart = .oldest, holdsInputs: Bool = false,
        call: (@Sendable () -> Void)? = nil
    ) -> (ReaderID, greeting: [UInt8]) {
        let id = ReaderID(index: nextReader)
        nextReader += 1
        let reader = StoreReader(name: name, cursor: cursor(start), on: loop, call: call)
        readers[id] = reader
        if holdsInputs { admission.addHolder(reader) }
        state.counts.readers = readers.count
        if !state.hasBegun {
            reader.owesGreeting = true
            return (id, [])
        }
        return (id, greeting(isFiltered: false))
    }

    /// Has another output go on where one has ended, which left its reader open: nothing is let go of in between.
    package func hand(_ id: ReaderID, to name: String) {
        readers[id]?.name = name
        readers[id]?.state = "ok"
    }

    /// What there is for a reader now, without suspending; nil when there is nothing more: then the reader is called, once,
    /// when there is. Nothing comes between the two, so that no line is lost on who looks, and looks again when called.
    package func take(for id: ReaderID) -> Delivery? {
        guard let reader = readers[id] else { return nil }
        return take(for: reader)
    }

    private func take(for reader: StoreReader) -> Delivery? {
        if let missing = reader.owedGap {
            reader.owedGap = nil
            return gap(missing)
        }
        // Not before it is known whose feed this is, or will never be.
        if reader.owesGreeting || reader.owesNews, state.hasBegun || ending != nil {
            let lines = newsGreeting(for: reader)
            reader.owesGreeting = false
            reader.owesNews = false
            return .greeting(lines)
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
            resumeInputs()
            return gap(missing)
        case .nothing:
            if let ending {
                let last = state.log.nextSequence - 1
                return .end(ControlLine.bye(time: wall.now, run: identity.run, lastSequence: last, reason: ending))
            }
            wakes.wait(reader)
            return nil
        }
    }

    /// The greeting that many readers get one after the other: it is encoded once, as long as no line comes between.
    private func newsGreeting(for reader: StoreReader) -> [UInt8] {
        guard !reader.isFiltered, !reader.owesGreeting else { return greeting(isFiltered: reader.isFiltered) }
        let next = state.log.nextSequence
        let lines = sharedGreeting.flatMap { $0.next == next ? $0.lines : nil } ?? greeting(isFiltered: false)
        let isLast = !readers.values.contains { $0.owesNews && $0 !== reader }
        sharedGreeting = isLast ? nil : (next, lines)
        return lines
    }

    private func gap(_ missing: ClosedRange<Int>) -> Delivery {
        state.counts.gaps += 1
        return gapLine(missing)
    }

    private func gapLine(_ missing: ClosedRange<Int>) -> Delivery {
        .gap(ControlLine.gap(time: wall.now, missing: missing, reason: "slow_reader"))
    }

    /// The `bye` of a run that is passed on, as the agent whose it is said it, once: for a reader that keeps runs, when it has got
    /// all that there is.
    package func takeFarewell(for id: ReaderID) -> [UInt8]? {
        guard let farewell = readers[id]?.farewell.take() else { return nil }
        resumeInputs()
        return farewell
    }

    /// The next thing for a reader; suspends until there is one.
    ///
    /// One task at a time may wait for a reader.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, and when the reader is closed.
    package func next(for id: ReaderID) async throws(CancellationError) -> Delivery {
        while let reader = readers[id], let wakeup = reader.wakeup {
            if let delivery = take(for: reader) { return delivery }
            // A call can come after a cancellation and be left over: then there is nothing yet, and it waits again.
            try await wakeup.wait()
        }
        throw CancellationError()
    }

    /// Closes a reader; nothing waits for it any more.
    package func close(_ id: ReaderID) {
        guard let reader = readers.removeValue(forKey: id) else { return }
        wakes.forget(reader)
        admission.removeHolder(reader)
        state.counts.readers = readers.count
        reader.wakeup?.signal()  // whoever waits in `next` finds it closed
        resumeInputs()
    }

    /// Has every reader get a new `hello` and `stats` next, as after the sources have changed; it goes on where it is.
    package func greetAll() {
        oweNews()
        wakes.callAll(linesBelow: state.log.nextSequence)
    }

    private func oweNews() {
        sharedGreeting = nil
        for reader in readers.values where !reader.owesGreeting { reader.owesNews = true }
    }

    /// Makes a reader's `next`, the one under way or the one after this, come back with `interrupted`.
    package func interrupt(_ id: ReaderID) {
        guard let reader = readers[id] else { return }
        reader.isInterrupted = true
        wakes.call(reader)
    }

    /// Moves a reader; the bytes are the `hello` and `stats` that its connection goes on with.
    ///
    /// - Parameters:
    ///   - start: where to.
    ///   - run: which run that is said of; of another one, the reader gets all there is. Nil for whichever there is.
    ///   - most: of how many bytes of lines it gets the newest at the most. Where it asked for older ones by their number, a
    ///     `gap` names those; otherwise `hello` says which one is the first.
    /// - Returns: no bytes when the reader is owed a greeting anyway: that comes by `next`.
    package func move(
        _ id: ReaderID, to start: ReaderStart, of run: String? = nil, isFiltered: Bool, replaying most: Int = .max
    ) -> [UInt8] {
        guard let reader = readers[id] else { return [] }
        reader.isFiltered = isFiltered
        reader.isAway = false
        if !state.hasBegun {
            reader.wish = ReaderWish(start: start, run: run)
            return []
        }
        let start = run == nil || run == identity.run ? start : .oldest
        reader.cursor = cursor(start)
        let first = firstReplayed(of: most)
        if reader.cursor < first {
            if case .after = start { reader.owedGap = reader.cursor...(first - 1) }
            reader.cursor = first
        }
        if reader.owesGreeting { return [] }
        reader.owesNews = false
        return greeting(isFiltered: isFiltered, from: first)
    }

    /// Has a reader get nothing here, as it reads older lines elsewhere, until `join` or `move`.
    package func sendAway(_ id: ReaderID) { readers[id]?.isAway = true }

    /// Whether the lines from a place on are all in the log, or yet to come.
    package func holds(_ place: LineID) -> Bool {
        state.hasBegun && place.run == identity.run && place.sequence >= state.log.firstSequence
    }

    /// Has a reader that was away go on here, behind what it has read elsewhere, which may be more than there is here yet.
    ///
    /// - Parameters:
    ///   - place: the line that comes next. Of what the log does not have of it, or of the run that is there now, a `gap` tells.
    /// - Returns: the `hello` and `stats` that its connection goes on with; no bytes when they come by `next`, once it is known
    ///   whose feed this is.
    package func join(_ id: ReaderID, at place: LineID, isFiltered: Bool) -> [UInt8] {
        guard let reader = readers[id] else { return [] }
        reader.isAway = false
        reader.isFiltered = isFiltered
        if !state.hasBegun {
            reader.wish = ReaderWish(start: .after(place.sequence - 1), run: place.run)
            return []
        }
        reader.owedGap = nil
        (reader.owesGreeting, reader.owesNews) = (false, false)
        reader.cursor = place.run == identity.run ? place.sequence : 1
        return greeting(isFiltered: isFiltered)
    }

    /// Suspends until readers have what there is of a run that is to be followed by another one, of which the log keeps nothing:
    /// for outputs that must get everything as long as they take, for others so long.
    package func waitForReaders(atMost time: Duration) async throws(CancellationError) {
        let deadline = loop.clock.now.advanced(by: time)
        while ending == nil,
            admission.heldFrom < state.log.nextSequence
                || (loop.clock.now < deadline
                    && readers.values.contains { !$0.isAway && $0.cursor < state.log.nextSequence })
        {
            try await loop.sleep(for: .milliseconds(10))
        }
    }

    /// The number of the first line of those that have so many bytes together at the most and are the newest; 0 for as many
    /// as there are.
    private func firstReplayed(of most: Int) -> Int {
        guard most < .max else { return 0 }
        let (sequence, isWhole) = state.log.line(most, before: state.log.nextSequence)
        return isWhole ? min(sequence + 1, state.log.nextSequence) : 0
    }

    /// Moves a reader back by some bytes, to the start of a line; a reader that has yet to be told of another run stays.
    ///
    /// - Parameters:
    ///   - first: the number that it is not moved back beyond.
    ///   - fallback: where to, when the log has let go of the lines: it gets a gap for those.
    /// - Returns: the number of the line it gets next.
    package func rewind(_ id: ReaderID, bytes: Int, notBefore first: Int, fallback: Int) -> Int {
        guard let reader = readers[id] else { return first }
        guard !reader.owesGreeting else { return reader.cursor }
        let (sequence, isWhole) = state.log.line(bytes, before: reader.cursor)
        reader.cursor = max(first, isWhole ? sequence : min(sequence, fallback))
        return reader.cursor
    }

    private func cursor(_ start: ReaderStart) -> Int {
        switch start {
        case .oldest: state.log.firstSequence
        case .newest: state.log.nextSequence
        case .after(let sequence):
            // A feed that is passed on may be on its way here up to where it was counted.
            min(max(0, sequence), state.asOf) + 1
        }
    }

    /// `hello` and `stats` as of now, for a reader whose connection begins; no bytes when they come by `next`.
    package func greeting(for id: ReaderID) -> [UInt8] {
        guard let reader = readers[id], !reader.owesGreeting else { return [] }
        reader.owesNews = false
        return greeting(isFiltered: reader.isFiltered)
    }

    /// `hello` and `stats` as of now.
    ///
    /// - Parameter most: of `stats` as much is told as fits so many bytes with the `hello`.
    package func greeting(isFiltered: Bool, atMost most: Int = .max) -> [UInt8] {
        greeting(isFiltered: isFiltered, from: 0, atMost: most)
    }

    /// The newest lines as they are now, for who wants nothing later: `hello` and `stats` of a feed that begins with the first
    /// of these lines, and whole lines of at most so many bytes, with a `gap` for those in between that never came.
    ///
    /// - Returns: nil before it is known whose feed this is.
    package func newest(bytes: Int) -> [Delivery]? {
        if !state.hasBegun { return nil }
        var next = max(firstReplayed(of: bytes), state.log.firstSequence)
        var deliveries = [Delivery.greeting(greeting(isFiltered: false, from: next))]
        while true {
            switch state.log.read(from: next) {
            case .lines(let span):
                next = span.sequences.upperBound + 1
                deliveries.append(.lines(span))
            case .gap(let missing):
                next = missing.upperBound + 1
                deliveries.append(gapLine(missing))
            case .nothing: return deliveries
            }
        }
    }

    /// - Parameter first: the first line that can be had, if there are older ones.
    private func greeting(isFiltered: Bool, from first: Int, atMost most: Int = .max) -> [UInt8] {
        let now = wall.now
        let asOf = state.asOf
        let hello = ControlLine.hello(
            time: now, identity: identity, isFiltered: isFiltered,
            interval: state.interval, history: state.history, firstSequence: max(first, state.log.firstSequence),
            nextSequence: asOf.addingSaturated(1), journalFirst: journalFirst,
            isFleet: isOfFleet)
        let stats = ControlLine.stats(
            time: now, asOf: asOf, endpoints: endpoints, sources: sourceStates,
            moreEndpoints: state.remote?.moreEndpoints ?? 0, moreSources: state.remote?.moreSources ?? 0,
            atMost: most - hello.count)
        return hello + stats
    }

    /// Names the run whose lines these are.
    package var run: String { identity.run }

    /// Whether the feed is a fleet's, this one's or the one that is passed on.
    package var isOfFleet: Bool { state.remote?.isFleet ?? (isFleet || fleet.count > 0) }

    /// The number that the next line gets.
    package var nextSequence: Int { state.log.nextSequence }

    /// Whether there may be anything that persons are told in a span that was read, or an answer: who looks for errors need not
    /// look at every line of a fast feed.
    package func mayHoldReports(_ span: LineSpan, orAnswers: Bool = false) -> Bool {
        max(state.newestReport, orAnswers ? state.newestAnswer : 0) >= span.sequences.lowerBound
    }

    /// The number of the newest line that says where a source's value is: `stats` say it from there on.
    package var newestPointer: Int { state.newestPointer }

    /// The number of the line that a reader gets next.
    package func place(of id: ReaderID) -> Int { readers[id]?.cursor ?? state.log.nextSequence }

    /// Counts a reader that was closed because it took nothing.
    package func noteStalledReader() { state.counts.stalledReaders += 1 }

    /// The last line that a reader has got.
    package func progress(of id: ReaderID) -> LineID { LineID(identity.run, place(of: id) - 1) }

    /// What a reader has got up to this line outlives the process now: inputs wait, and lines are kept, by that from here on.
    ///
    /// - Parameter first: the oldest line that is kept so of the run; nil for none.
    package func settle(_ place: LineID, of id: ReaderID, first: Int?) {
        guard place.run == identity.run, let reader = readers[id] else { return }
        reader.durable = place.sequence
        journalFirst = first
        resumeInputs()
    }

    /// Whether inputs that can wait do so for a reader that is far behind, and what it has not seen is kept.
    package func setHolding(_ holds: Bool, of id: ReaderID) {
        guard let reader = readers[id] else { return }
        if holds { admission.addHolder(reader) } else { admission.removeHolder(reader) }
        resumeInputs()
    }

    /// Whether no more events are taken.
    package var isOver: Bool { ending != nil }

    /// Says in `agent` lines how a reader's output is doing: `ok`, or what is wrong.
    package func setState(_ text: String, of id: ReaderID) {
        readers[id]?.state = LineEncoder.cut(text, at: OutputState.longest)
    }

    private func resumeInputs() {
        guard admission.hasWaiting, ending != nil || !admission.isHeldBack(by: state.log) else { return }
        admission.resume()
    }

    private func updateOutputs() {
        state.outputs = readers.sorted { $0.key.index < $1.key.index }.compactMap { _, reader in
            reader.name.map {
                OutputState(
                    name: $0, state: reader.state, behind: state.log.nextSequence - reader.cursor,
                    durable: reader.durable)
            }
        }
    }

    // MARK: What there is to know

    package var counts: StoreCounts { state.counts }

    /// The number of the oldest line that is held.
    package var firstSequence: Int { state.log.firstSequence }

    /// What the log takes now, in bytes.
    package var logMemory: Int { state.log.memory }

    /// Of the agent whose feed this is.
    package var numbers: AgentNumbers {
        let attachment = state.remote.map { remote in
            let silence = remoteTime.flatMap { time in remote.clock.map { max(.zero, time - $0) } }
            return AgentNumbers.Attachment(isConnected: remote.isConnected, silence: silence)
        }
        return AgentNumbers(
            identity: identity, interval: state.interval, history: state.history, lines: state.log.nextSequence - 1,
            counts: state.agentCounts, memory: state.memory, agent: state.agent, attachment: attachment)
    }

    /// Now, by the clock of the agent whose feed this is.
    package var feedTime: Timestamp { remoteTime ?? wall.now }

    /// Now, by the clock of the agent whose lines are passed on; nil while nothing is known of it.
    private var remoteTime: Timestamp? {
        isRecording ? (state.hasBegun ? wall.now : nil) : state.remote?.time(at: loop.clock.now)
    }

    /// A walk over what there is now, which goes on by `nextSource`, `nextEndpoint` and `nextSeries`.
    package var walk: FeedWalk { state.walk(of: identity.run) }

    /// The next source of a walk, also one that is taken out of the list; nil when that was all.
    package func nextSource(_ walk: inout FeedWalk) -> SourceNumbers? {
        guard walk.run == identity.run else { return nil }
        return state.nextSource(&walk, at: isRelay ? feedTime : loop.clock.now.timestamp)
    }

    /// The next series of a walk that has a value newer than the history; nil when that was all.
    package func nextSeries(_ walk: inout FeedWalk) -> SeriesNumbers? {
        guard walk.run == identity.run else { return nil }
        return state.nextSeries(&walk, at: feedTime)
    }

    /// The next agent of a fleet; nil when that was all.
    package func nextMember(_ walk: inout FeedWalk) -> MemberNumbers? {
        guard walk.run == identity.run else { return nil }
        guard let remote = state.remote else { return fleet.next(&walk, at: wall.now) }
        defer { walk.place += 1 }
        return remote.member(walk.place, at: remoteTime)
    }

    /// The agent of a fleet that a source is of; nil for one's own.
    package func agent(ofSource source: String) -> String? {
        guard let dot = source.firstIndex(of: ".") else { return nil }
        let name = String(source[..<dot])
        return state.remote?.agents.hasAgent(named: name) ?? (state.members[name] != nil) ? name : nil
    }

    /// How many of the connections to agents, or to brokers of theirs, there are now, of how many; nil without any.
    package var connections: (open: Int, all: Int)? { fleet.connections }

    /// Says whether a broker that agents come by is there; nil when it is none any more.
    package func noteBroker(_ name: String, isConnected: Bool?) { fleet.noteBroker(name, isConnected: isConnected) }

    /// A source has answered, and had nothing to say: a stream that is read.
    package func noteAnswer(from source: SourceID) {
        if state.noteAnswer(from: source, at: moment) { greetSoon() }
    }

    /// The next endpoint of a walk, with the whole of its durations; nil when that was all, and over an attached feed, which
    /// tells no more than percentiles.
    package func nextEndpoint(_ walk: inout FeedWalk) -> EndpointStatistics? {
        isRelay ? nil : state.nextEndpoint(&walk)
    }
    package var endpoints: [EndpointStatistics] { state.endpoints }
    package var sourceStates: [SourceStatus] { state.statuses }

    // MARK: Agents whose feeds are sources

    /// Says up to where a journal has the lines of agents of which nothing has come yet: they go on behind that.
    package func resume(_ positions: [AgentPosition]) {
        fleet.resume(positions)
        for wakeup in awaiting ?? [] { wakeup.signal() }
        awaiting = nil
        guard let recovery = journalOutage.end(at: loop.clock.now) else { return }
        sayOfItself(.recovered(recovery), about: Self.positions)
    }

    /// Where agents were, which a journal says.
    private static let positions = "positions"

    /// For inputs that read agents: suspends until it is known up to where a journal has their lines, however long its disk takes.
    /// What came before that would be there twice, and what streams have of the time since would be left out.
    package func waitForPositions() async throws(CancellationError) {
        guard awaiting != nil else { return }
        let (wakeup, begun) = (Wakeup(loop: loop), loop.clock.now)
        awaiting?.append(wakeup)
        let timer = loop.schedule(after: Self.journalPatience) { [weak self] in
            self?.assumeIsolated { $0.noteLateJournal(since: begun) }
        }
        defer {
            loop.cancel(timer)
            awaiting?.removeAll { $0 === wakeup }
        }
        try await wakeup.wait()
    }

    /// For how long it is worth no line that agents are not read.
    private static let journalPatience = Duration.seconds(2)

    /// Says once for all who wait that they do.
    private func noteLateJournal(since begun: LoopInstant) {
        guard journalOutage.since == nil, journalOutage.fail(by: .disk, at: begun) else { return }
        let failure = Failure(
            .disk, "waits for the journal to say up to where it has the lines of agents: none is read before")
        sayOfItself(.error(failure), about: Self.positions)
    }

    /// Up to where lines of agents are here, or in a journal when this began: the newest run of each last.
    package var knownPositions: [AgentPosition] { fleet.knownPositions }

    private func source(standingFor id: MemberID) -> SourceID {
        fleet.source(standingFor: id, in: &state, at: moment)
    }

    /// The agent of a fleet that is called so; joins it. What it gives is good until the agent is forgotten: an input whose agents
    /// nobody has configured asks anew for whatever comes.
    package func member(_ name: String) -> MemberID {
        fleet.join(name, in: &state, at: moment)
    }

    /// Why the lines of an agent that no configuration names are not taken.
    package enum Stranger: Error, Sendable, Equatable {
        /// They come by another source, or another source has a name that would be one of the agent's.
        case taken(by: String)
        /// No source may be called so.
        case reserved
        /// There are so many agents.
        case tooMany(Int)
    }

    /// The agent that is called so, whose lines come by a source that has those of many; joins it.
    package func member(_ name: String, by source: SourceID) -> Result<MemberID, Stranger> {
        fleet.member(name, by: source, in: &state, at: moment).map { member, isNews in
            if isNews { greetSoon() }
            return member
        }
    }

    /// What is known of an agent.
    package func member(_ id: MemberID) -> FleetMember { fleet[id] }

    /// Says how it is with the way to an agent that has one of its own.
    package func note(_ link: MemberState.Link, of id: MemberID) { fleet.note(link, of: id) }

    /// An agent is known by something else than its lines: by the last message that a broker has of it.
    ///
    /// - Parameters:
    ///   - last: the number of the last line that it has; nil where that is not said.
    ///   - hasEnded: whether it said goodbye in that.
    ///   - heard: when that came to the broker.
    package func meet(
        _ id: MemberID, run: String, last: Int? = nil, host: AgentIdentity.Host, hasEnded: Bool = false,
        heard: Timestamp
    ) {
        fleet.meet(
            id, run: run, last: last, host: host, hasEnded: hasEnded, heard: heard, at: moment)
    }

    /// Takes lines of an agent, in their order, whatever way they came: what is wrong with them is said, what was here already is
    /// left out, and what is missing is named.
    ///
    /// Waits, like an input that can, for outputs that must get everything.
    ///
    /// - Parameter message: which one of a stream they came by, if they came by one.
    /// - Returns: why nothing more of the connection is to be taken; nil while more is.
    package func receive(
        _ lines: [Result<Line, LineFault>], from id: MemberID, by message: StreamMessage? = nil
    ) async -> String? {
        if !isFleet {
            // At once: a journal keeps where agents are from there on.
            isFleet = true
            greetAll()
        }
        let stream = message?.sequence
        let items = fleet.take(lines, from: id, by: message, at: moment)
        var batch = EventBatch()
        for item in items {
            switch item {
            case .stats(let stats):
                // Of lines before it the sources are as they were.
                await publish(batch, waitingUntil: nil)
                batch = EventBatch()
                if fleet.list(stats, of: id, in: &state, at: moment) { greetSoon(for: id) }
            case .breach(let reason):
                await publish(batch, waitingUntil: nil)
                return reason
            default:
                let moment = moment
                if fleet.add(item, of: id, stream: stream, to: &batch, in: &state, at: moment) {
                    greetSoon(for: id)
                }
            }
        }
        await publish(batch, waitingUntil: nil)
        return nil
    }

    /// Says something of an agent that it did not say itself: that it fails, or answers again.
    ///
    /// - Parameter source: of which of its sources, as it calls them; nil for the agent itself, which it is said of, too, where
    ///   that one is only remembered.
    package func say(_ body: Event.Body, of id: MemberID, source: String? = nil) {
        let known = source.flatMap { state.source(named: $0, of: id) }
        let source = known.flatMap { state.isRetired($0) ? nil : $0 } ?? self.source(standingFor: id)
        var batch = EventBatch()
        batch.add(Event(time: wall.now, source: source, body: body), from: LineOrigin(id))
        publish(batch)
    }

    /// Forgets an agent of the fleet that comes by a broker and says nothing, before a day of that is over.
    ///
    /// - Returns: why not; nil when it will be within a second.
    package func forget(_ name: String) -> PollRefusal? { fleet.dismiss(name) }

    /// The same when it is an agent's sources that are otherwise: at once, while that is seldom.
    private func greetSoon(for id: MemberID) { greetSoon(at: fleet.newsTime(of: id, at: loop.clock.now)) }

    /// Has readers told how the sources are, at most once a second: a thousand agents may begin at once.
    ///
    /// - Parameter time: when, if not at once.
    private func greetSoon(at time: LoopInstant? = nil) {
        guard ending == nil else { return }
        let now = loop.clock.now
        let due = max(time ?? now, lastNews.map { $0.advanced(by: .seconds(1)) } ?? now, now)
        if let news {
            guard due < news.due else { return }
            loop.cancel(news.timer)
        }
        // Not at once, either: more may be known in a moment.
        let timer = loop.schedule(at: due) { [weak self] in
            self?.assumeIsolated {
                $0.news = nil
                $0.lastNews = $0.loop.clock.now
                $0.greetAll()
            }
        }
        news = (timer, due)
    }

    // MARK: Another agent's feed

    /// Passes another agent's lines on: byte for byte, with their run and their numbers.
    ///
    /// Lines that are here already are left out; numbers that are missing become a gap; another run is begun with a new
    /// `hello`, after a gap for what a reader has not seen of the old one.
    package func relay(_ lines: [RelayedLine]) {
        if !lines.isEmpty { state.hear(at: loop.clock.now) }
        var rest = lines[...]
        relay(atMost: .max) {
            rest.popFirst().map { .other($0) }
        } refuse: { _ in
        }
    }

    /// Passes a recording's lines on, likewise: for as long as there is a next one, and as much as fits an eighth of the log.
    ///
    /// - Parameter refuse: gets what is wrong with a line that looked like a plain one.
    package func relay(_ next: () -> RecordedLine?, refuse: (LineFault) -> Void) {
        relay(atMost: state.slice, next, refuse: refuse)
    }

    private func relay(atMost growth: Int, _ next: () -> RecordedLine?, refuse: (LineFault) -> Void) {
        guard ending == nil else { return }
        state.hold(from: admission.heldFrom)
        let now = loop.clock.now
        let start = state.log.totalCost
        var isNews = false
        while !state.hasEnoughData, state.log.totalCost - start < growth, let line = next() {
            switch line {
            case .other(let line): if relay(line, now) { isNews = true }
            case .plain(let line, let bytes):
                if state.relay(line, bytes, at: now) { continue }
                do throws(LineFault) {
                    let whole = Bytes(bytes)
                    let decoded = try LineDecoder.decode(whole)
                    if relay(RelayedLine(decoded, bytes: whole), plain: line, now) { isNews = true }
                } catch {
                    refuse(error)
                }
            }
        }
        state.expire(at: now)
        // Not in between: a run begins with several lines, and is told by one greeting.
        if isNews { wakes.callAll(linesBelow: state.log.nextSequence) }
        announce()
    }

    /// Says whether the attached agent's lines come.
    package func noteConnection(_ isConnected: Bool) { state.setConnected(isConnected) }

    /// Passes one line on; true when readers are to be greeted for it.
    private func relay(_ relayed: RelayedLine, plain: PlainLine? = nil, _ now: LoopInstant) -> Bool {
        let line = relayed.line
        switch line.body {
        case .stats:
            // Readers are told when that is how lines are to be read.
            guard state.apply(line) else { return false }
            oweNews()
            return true
        case .hello(let hello):
            let isFirst = !state.hasBegun
            let hadEnded = state.remote?.hasEnded == true
            let isNew = isFirst || hello.run != identity.run
            if isNew { begin(hello, isFirst: isFirst) }
            _ = state.apply(line)
            if isNew { return true }
            // Its end was not one: who keeps it is told.
            guard hadEnded else { return false }
            for reader in readers.values where reader.durable != nil {
                reader.farewell = nil
                reader.owesNews = !reader.owesGreeting
            }
            return true
        case .bye(let bye):
            _ = state.apply(line)
            guard bye.run == identity.run else { return false }
            for reader in readers.values where reader.durable != nil { reader.farewell = Array(relayed.bytes) }
            return true
        case .gap: _ = state.apply(line)
        default: state.relay(relayed, plain: plain, at: now)
        }
        return false
    }

    /// Begins with a run.
    private func begin(_ hello: Line.Hello, isFirst: Bool) {
        for reader in readers.values where !reader.isAway {
            // One that was not told of the run before has seen nothing of it, and cannot be told what it missed there.
            if !isFirst, !reader.owesGreeting {
                let last = state.log.nextSequence - 1
                if reader.cursor <= last { reader.owedGap = reader.cursor...last }
                reader.owesGreeting = true
            }
            reader.cursor = reader.wish?.cursor(in: hello) ?? hello.firstSeq
            reader.wish = nil
            if reader.durable != nil { reader.durable = reader.cursor - 1 }
        }
        journalFirst = nil
        state.begin(with: hello)
        identity = AgentIdentity(
            run: hello.run, version: hello.app.version ?? "", started: hello.app.started ?? wall.now, host: hello.host)
    }
}
