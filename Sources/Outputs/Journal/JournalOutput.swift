package import Feed
package import Journal
package import Reactor

/// Keeps the feed in a journal, using a worker: a cursor whose commits contain everything since the last one, or fail
/// as a whole.
///
/// A failed commit is repeated every second. Inputs that can wait do so while the durable lines are more than half a
/// log behind and the journal may catch up: not when a program that reads the file keeps it from being tidied, nor after
/// `Pace.patience` without progress. Lines that the log drops then become a `gap` in the journal once it works again.
package actor JournalOutput {
    /// The timing of the output.
    package struct Pace: Sendable {
        /// The time from a line to the start of its commit.
        package var commit = Duration.milliseconds(100)
        /// The least time between two `stats` about where values are: those of many sources are large.
        package var stats = Duration.seconds(1)
        /// The time between two states, with which later runs and replays begin.
        package var state = Duration.seconds(600)
        /// How long a run's first line waits for the disk's record of the previous run.
        package var start = Duration.seconds(2)
        /// How long inputs wait for a journal without progress, and agents of a fleet for one that cannot be opened.
        package var patience = Duration.seconds(10)
        /// The pause before a failed attempt is repeated.
        package var retry = Duration.seconds(1)
        /// How long attempts continue after the end of the feed if the file was ever open, and how long closing it may
        /// take: less than outputs have, so that the result can be reported.
        package var end = Duration.seconds(3)

        package init() {}
    }

    private let path: String
    private let lines: any LineStore
    private let store: EventStore
    private let loop: EventLoop
    private let worker: any Worker
    private let wall: any WallClock
    private let pace: Pace
    private let tell: @Sendable (Event.Body) -> Void
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var batch: JournalBatch
    /// Signalled when there may be something to do.
    private let more: Wakeup
    private var mustOpen = true
    /// Whether the file was ever open.
    private var hasOpened = false
    /// The newest durable `hello` and `stats`.
    private var greeting: [UInt8] = []
    /// The newest line about where a value is that the journal's `stats` include, and when that was written.
    private var toldPointer: (sequence: Int, at: LoopInstant)?
    /// When the last state was stored; nil while none is to be.
    private var stateTime: LoopInstant?
    /// The position behind the batch; nil before the first batch.
    private var position: LineID?
    /// Whether old lines remain to be deleted.
    private var isUntidy = false
    /// Since when nothing can be kept, and the last reported reason.
    private var outage = Outage<String>()
    /// The number of failed commits in a row; unlike the outage's attempts, without notices and silences.
    private var failures = 0
    /// Fires when the disk has been silent for too long.
    private var patience: LoopTimer?
    private var work: Task<Void, any Error>?
    /// When the end of the feed was noticed.
    private var over: LoopInstant?
    /// Whether the run's first line has been published.
    private var hasBegun = false
    /// Whether the store has the positions of agents, or knows that it will not get them.
    private var hasResumed = false
    private let begun: Wakeup
    /// The fault when another agent had the journal at the start.
    private var refusal: JournalFault?

    /// The result of an attempt.
    private struct Attempt: Sendable {
        var opening: JournalOpening?
        var fault: JournalFault?
        var first: Int?
        var isUntidy = false
        /// Whether the file was found to be corrupt after the commit.
        var isBroken = false
    }

    /// - Parameters:
    ///   - lines: the journal; used on `worker` only.
    ///   - worker: waits for the disk; not shared, because a stalled disk may block it for ever.
    ///   - capacity: the most bytes of lines in a commit, besides the log.
    ///   - tell: reports the journal's state, in the feed or to a person; first of all, the `restart`.
    package init(
        _ path: String, keeping lines: any LineStore, store: EventStore, on loop: EventLoop, worker: any Worker,
        wall: any WallClock, at pace: Pace = .init(), capacity: Int = 1 << 20,
        tell: @escaping @Sendable (Event.Body) -> Void
    ) {
        self.path = path
        self.lines = lines
        self.store = store
        self.loop = loop
        self.worker = worker
        self.wall = wall
        self.pace = pace
        self.tell = tell
        batch = JournalBatch(capacity: capacity, isRelay: store.isRelay)
        more = Wakeup(loop: loop)
        begun = Wakeup(loop: loop)
    }

    /// Waits until the run's first line is published, which a slow disk delays only briefly.
    ///
    /// - Throws: `JournalFault` when another agent has the journal; `CancellationError`.
    package func waitUntilBegun() async throws {
        try await begun.wait()
        if let refusal { throw refusal }
    }

    /// Keeps lines until the feed ends or the task is cancelled: disk work in progress is then abandoned.
    package func run() async throws(CancellationError) {
        let work = Task(executorPreference: loop) { try await self.keepAll() }
        self.work = work
        let result = await withTaskCancellationHandler {
            await work.result
        } onCancel: {
            work.cancel()
        }
        if case .failure = result { throw CancellationError() }
    }

    private func keepAll() async throws {
        let (reader, greeting) = await store.open("journal:\(path)", holdsInputs: true, takesPositions: true) {
            [more] in more.signal()
        }
        if !greeting.isEmpty { batch.add(.greeting(greeting)) }
        // From here on, progress is what is durable.
        await store.acknowledge(store.progress(of: reader), of: reader, first: nil)
        let late = loop.schedule(after: pace.start) { [self] in assumeIsolated { $0.begin(nil) } }
        defer { loop.cancel(late) }
        let lines = self.lines
        do {
            var isKept = try await keep([], of: reader)
            while isKept, !batch.isLast {
                try await gather(reader)
                takePositions()
                tellOfValues(reader)
                addState()
                isKept = try await keep(batch.pieces, of: reader)
                if isKept, !batch.isLast { batch = batch.next }
            }
            await store.close(reader)
            try await close()
        } catch {
            // Not on the loop, as the last reference would; and without waiting.
            loop.leave(to: worker) { lines.close() }
            await store.close(reader)
            throw error
        }
    }

    /// Closes the file, which has all lines by then; does not wait for a disk that hangs.
    private func close() async throws {
        let lines = self.lines
        let late = loop.schedule(after: pace.end) { [self] in
            assumeIsolated {
                let words = "the disk has not answered for \($0.pace.end.shortText)"
                $0.complain(words, "; its lines are kept, and it was not closed")
                $0.work?.cancel()
            }
        }
        defer { loop.cancel(late) }
        try await loop.offload(to: worker) { lines.close() }
    }

    /// Begins the run, with the disk's record of the previous one if it has arrived.
    private func begin(_ last: LastRun?) {
        guard !hasBegun else { return }
        hasBegun = true
        tell(.restart(Restart(lastRun: last?.name, lastSequence: last?.durable, ended: last?.ended)))
        begun.open()
    }

    /// Tells the store the positions of agents, once: agents are read as soon as these are known, or given up.
    private func resume(_ positions: [MemberPosition]) {
        guard !hasResumed else { return }
        hasResumed = true
        store.assumeIsolated { $0.resume(positions) }
    }

    /// The consequence for a fleet when the positions are unknown.
    private static let ignorance =
        "; agents are read without it: what it has of them may be in it twice, and what streams have for longer than a --history is left out"

    /// Waits until there is something to commit.
    private func gather(_ reader: ReaderID) async throws {
        var deadline: (time: LoopInstant, timer: LoopTimer)?
        defer { if let deadline { loop.cancel(deadline.timer) } }
        while true {
            fill(reader)
            if batch.isDue { return }
            if let deadline, loop.clock.now >= deadline.time { return }
            if batch.isEmpty, isUntidy {
                try await tidy(reader)
                continue
            }
            if !batch.isEmpty, deadline == nil {
                let time = loop.clock.now.advanced(by: pace.commit)
                deadline = (time, loop.schedule(at: time) { [more] in more.signal() })
            }
            try await more.wait()
        }
    }

    private func fill(_ reader: ReaderID) {
        while !batch.isFull {
            guard let delivery = store.assumeIsolated({ $0.dequeue(for: reader) }) else { break }
            batch.add(delivery)
        }
        // Behind all earlier lines.
        if !batch.isFull || batch.isLast, let line = store.assumeIsolated({ $0.dequeueFarewell(for: reader) }) {
            batch.addEnd(line)
        }
        position = store.assumeIsolated { $0.progress(of: reader) }
    }

    /// Adds the positions of members to the lines that they belong to; alone they cause no commit.
    private func takePositions() {
        if !batch.isEmpty { batch.add(store.assumeIsolated { $0.takePositions() }) }
    }

    /// Starts the next batch with new `stats` if the place of a value has become known: the line about it may be older
    /// than what is read later.
    private func tellOfValues(_ reader: ReaderID) {
        let now = loop.clock.now
        let newest = store.assumeIsolated { $0.newestPointer }
        guard !batch.isLast, newest != toldPointer?.sequence ?? 0,
            toldPointer.map({ now >= $0.at.advanced(by: pace.stats) }) ?? true
        else { return }
        let greeting = store.assumeIsolated { $0.greeting(for: reader) }
        guard !greeting.isEmpty else { return }
        toldPointer = (newest, now)
        batch.add(.greeting(greeting))
    }

    /// Stores states from now on: what earlier runs have left is known.
    package func beginStates() { stateTime = loop.clock.now }

    // A state in a journal: 1 MiB of `kept` lines, half of it windows, which takes less than 20 ms to make; the series
    // with the newest lines left out, which are those that the lines behind it have.
    private static let mostState = 1 << 20

    /// Adds the state of the feed if it is time, and at the end.
    private func addState() {
        let now = loop.clock.now
        guard let time = stateTime, batch.isLast || now >= time.advanced(by: pace.state) else { return }
        stateTime = now
        let state = store.assumeIsolated { $0.newestOfEach(atMost: Self.mostState) }
        if let state { batch.addState(Array(state.joined())) }
    }

    /// Commits until it succeeds, and reports faults.
    ///
    /// - Returns: false when the feed is over and the commit fails.
    private func keep(_ pieces: [JournalPiece], of reader: ReaderID) async throws -> Bool {
        watch(reader, after: pace.patience)
        defer { unwatch() }
        while true {
            let opens = mustOpen
            let attempt = try await attempt(pieces)
            if let opening = attempt.opening {
                // Another file, which has nothing of before.
                if hasOpened, opening.lastRun == nil { await store.remindOfAlerts() }
                (mustOpen, hasOpened) = (false, true)
                resume(opening.positions)
                begin(opening.lastRun)
                if let notice = opening.notice {
                    _ = outage.fail(by: notice, at: loop.clock.now)
                    complain(notice)
                }
            }
            guard let fault = attempt.fault else {
                record(attempt, pieces, of: reader)
                return true
            }
            // Opening the file again tells what became of it.
            if fault.kind == .corrupt, !opens {
                mustOpen = true
                continue
            }
            report(fault, of: reader)
            if isGivenUp {
                complain(fault.reason, loss)
                return false
            }
            try await loop.sleep(for: pace.retry)
        }
    }

    private func attempt(_ pieces: [JournalPiece]) async throws -> Attempt {
        let (lines, time, opens) = (lines, wall.now, mustOpen)
        let pieces = opens && !greeting.isEmpty ? [.greeting(greeting)] + pieces : pieces
        return try await loop.offload(to: worker) {
            var attempt = Attempt()
            do throws(JournalFault) {
                if opens { attempt.opening = try lines.open() }
                if !pieces.isEmpty { try lines.commit(pieces, at: time) }
            } catch {
                attempt.fault = error
                return attempt
            }
            attempt.first = lines.firstSequence
            if !pieces.isEmpty { Self.tidy(lines, at: time, &attempt) }
            return attempt
        }
    }

    private func tidy(_ reader: ReaderID) async throws {
        watch(reader, after: pace.patience)
        defer { unwatch() }
        let (lines, time) = (lines, wall.now)
        let attempt = try await loop.offload(to: worker) {
            var attempt = Attempt()
            Self.tidy(lines, at: time, &attempt)
            return attempt
        }
        isUntidy = attempt.isUntidy
        if attempt.isBroken { mustOpen = true }
    }

    /// Other faults show in the next commit.
    private static func tidy(_ lines: any LineStore, at time: Timestamp, _ attempt: inout Attempt) {
        do throws(JournalFault) {
            attempt.isUntidy = try lines.tidy(at: time)
        } catch {
            attempt.isBroken = error.kind == .corrupt
        }
    }

    // MARK: How it goes

    private func record(_ attempt: Attempt, _ pieces: [JournalPiece], of reader: ReaderID) {
        isUntidy = attempt.isUntidy
        if attempt.isBroken { mustOpen = true }
        for case .greeting(let new) in pieces { greeting = new }
        let position = position
        store.assumeIsolated {
            if let position { $0.acknowledge(position, of: reader, first: attempt.first) }
            $0.setHolding(true, of: reader)
        }
        guard !pieces.isEmpty else { return }
        failures = 0
        guard let recovery = outage.end(at: loop.clock.now) else { return }
        store.assumeIsolated { $0.setState("ok", of: reader) }
        tell(.recovered(recovery))
    }

    private func report(_ fault: JournalFault, of reader: ReaderID) {
        if !hasBegun, fault.kind == .taken {
            refusal = fault
            return begun.open()
        }
        begin(nil)
        var consequence = ""
        if !hasResumed, let since = outage.since, since.duration(to: loop.clock.now) >= pace.patience {
            if store.assumeIsolated({ $0.isOfFleet }) { consequence = Self.ignorance }
            resume([])
        }
        store.assumeIsolated { $0.setState(fault.reason, of: reader) }
        // The journal cannot catch up.
        if fault.kind == .held || fault.kind == .taken { store.assumeIsolated { $0.setHolding(false, of: reader) } }
        if outage.fail(by: fault.reason, at: loop.clock.now) || !consequence.isEmpty {
            complain(fault.reason, "; tried again every second" + consequence)
        }
        // Also after repeated failures: a disk that is back under its old name is another one. A file that a reader
        // keeps from being tidied is the same one, and would seem free once reopened.
        failures += 1
        if failures > 1, fault.kind != .held { mustOpen = true }
    }

    /// Limits the wait for the disk.
    private func watch(_ reader: ReaderID, after time: Duration) {
        patience = loop.schedule(after: time) { [self] in assumeIsolated { $0.letGo(reader) } }
    }

    private func unwatch() { if let patience { loop.cancel(patience) } }

    /// Ends the backpressure of a journal that is stuck, which may take for ever. After the end of the feed, gives up.
    private func letGo(_ reader: ReaderID) {
        watch(reader, after: pace.retry)
        store.assumeIsolated { $0.setHolding(false, of: reader) }
        if outage.since == nil {
            let silence = "the disk has not answered for \(pace.patience.shortText)"
            store.assumeIsolated { $0.setState(silence, of: reader) }
            _ = outage.fail(by: silence, at: loop.clock.now)
            complain(silence)
        }
        guard isGivenUp, let told = outage.told else { return }
        complain(told, loss)
        work?.cancel()
    }

    private func complain(_ reason: String, _ consequence: String = "") {
        tell(.error(Failure(.disk, JournalFault(.disk, reason).text(at: path) + consequence)))
    }

    /// The lines that an abandoned journal lacks.
    private var loss: String { greeting.isEmpty ? "; nothing of this run is in it" : "; the last lines are not in it" }

    /// Whether the feed has been over for too long for another attempt.
    private var isGivenUp: Bool {
        guard store.assumeIsolated({ $0.isOver }) else { return false }
        let since = over ?? loop.clock.now
        over = since
        return since.duration(to: loop.clock.now) >= (hasOpened ? pace.end : .zero)
    }
}
