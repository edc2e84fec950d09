package import Feed
package import Journal
package import Reactor

/// Keeps the feed in a journal, on a loop for blocking work: one more cursor, which commits what has come since its last
/// commit, all of it or nothing.
///
/// A commit that fails is tried again every second. Inputs that can wait do so while the journal is more than half a log
/// behind what is durable, and as long as it may catch up: not when somebody who reads the file holds it up, nor when it has
/// got nowhere for `Pace.patience`. What the log lets go of then is a `gap` in the journal once that goes on.
package actor JournalOutput {
    /// When it does what.
    package struct Pace: Sendable {
        /// How long after a line its commit begins.
        package var commit = Duration.milliseconds(100)
        /// How long it is from a `stats` that says where values are to the next one: those of many sources are large.
        package var stats = Duration.seconds(1)
        /// For how long the first line of a run waits for the disk to say what it has of the run before.
        package var start = Duration.seconds(2)
        /// For how long inputs wait for a journal that gets nowhere, and agents for one that cannot be opened.
        package var patience = Duration.seconds(10)
        /// How long it waits before what failed is tried again.
        package var retry = Duration.seconds(1)
        /// For how long that is done once the feed is over, and for how long its file is waited for then to be closed: less than
        /// outputs have, so that it can say what came of it.
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
    /// Called when there may be something to do.
    private let more: Wakeup
    private var mustOpen = true
    /// The newest `hello` and `stats` of what is durable.
    private var greeting: [UInt8] = []
    /// The newest line that says where a value is and that `stats` in the journal count in, and when that was said.
    private var toldPointer: (sequence: Int, at: LoopInstant)?
    /// Where the batch ends; nil before there was one.
    private var place: LineID?
    /// Whether there is more to let go of.
    private var isUntidy = false
    private var trouble: Trouble?
    /// Fires when the disk has been waited for too long.
    private var patience: LoopTimer?
    private var work: Task<Void, any Error>?
    /// When the feed was found to be over.
    private var over: LoopInstant?
    /// Whether the run's first line is there.
    private var hasBegun = false
    /// Whether the store knows where agents were, as far as it ever will.
    private var hasResumed = false
    private let begun: Wakeup
    /// Who has the journal, if it was another agent at the start.
    private var refusal: JournalFault?

    /// Since when nothing is kept, and what was said of it last.
    private struct Trouble {
        let since: LoopInstant
        var told: JournalFault
        var attempts = 0
    }

    /// What one attempt came to.
    private struct Attempt: Sendable {
        var opening: JournalOpening?
        var fault: JournalFault?
        var first: Int?
        var isUntidy = false
        /// Whether what is in the file makes no sense, as was found after the commit.
        var isBroken = false
    }

    /// - Parameters:
    ///   - lines: where they are kept; used on `worker` only.
    ///   - worker: where the disk is waited for; its own, which a disk that stalls may keep for ever.
    ///   - capacity: how many bytes of lines one commit holds on to, besides the log.
    ///   - tell: says in the feed, or to a person, how it goes; first of all, the `restart`.
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

    /// Waits until the run's first line is there, which a disk does not hold up for long.
    ///
    /// - Throws: `JournalFault` when another agent has the journal; `CancellationError`.
    package func waitUntilBegun() async throws {
        try await begun.wait()
        if let refusal { throw refusal }
    }

    /// Keeps lines until the feed ends or the task is cancelled: what the disk does by then is left alone.
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
        let (reader, greeting) = await store.open("journal:\(path)", holdsInputs: true) { [more] in more.signal() }
        if !greeting.isEmpty { batch.add(.greeting(greeting)) }
        // From here on it is what is durable that counts.
        await store.settle(store.progress(of: reader), of: reader, first: nil)
        let late = loop.schedule(after: pace.start) { [self] in assumeIsolated { $0.begin(nil) } }
        defer { loop.cancel(late) }
        let lines = self.lines
        do {
            var isKept = try await keep([], of: reader)
            while isKept, !batch.isLast {
                try await gather(reader)
                tellOfValues(reader)
                isKept = try await keep(batch.pieces, of: reader)
                if isKept, !batch.isLast { batch = batch.next }
            }
            await store.close(reader)
            try await close()
        } catch {
            // Not by whoever lets go of it last, which would be the loop; and not waited for.
            loop.leave(to: worker) { lines.close() }
            await store.close(reader)
            throw error
        }
    }

    /// Closes the file, which has everything by then: a disk that hangs is not waited for.
    private func close() async throws {
        let lines = self.lines
        let late = loop.schedule(after: pace.end) { [self] in
            assumeIsolated {
                let words = "the disk has not answered for \($0.pace.end.shortText)"
                $0.complain(JournalFault(.disk, words), "; its lines are kept, and it was not closed")
                $0.work?.cancel()
            }
        }
        defer { loop.cancel(late) }
        try await loop.offload(to: worker) { lines.close() }
    }

    /// Has the run begin with what the disk says of the one before, if it has said that.
    private func begin(_ last: LastRun?) {
        guard !hasBegun else { return }
        hasBegun = true
        tell(.restart(Restart(lastRun: last?.name, lastSequence: last?.durable, ended: last?.ended)))
        begun.open()
    }

    /// Says once where agents were: they are read as soon as that is known, or that it will not be.
    private func resume(_ positions: [AgentPosition]) {
        guard !hasResumed else { return }
        hasResumed = true
        store.assumeIsolated { $0.resume(positions) }
    }

    /// What it means for a fleet that nobody knows that.
    private static let ignorance =
        "; agents are read without it: what it has of them may be in it twice, and what streams have for longer than a --history is left out"

    /// Waits until there is something that is to be committed now.
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
            guard let delivery = store.assumeIsolated({ $0.take(for: reader) }) else { break }
            batch.add(delivery)
        }
        // Behind all that has come.
        if !batch.isFull || batch.isLast, let line = store.assumeIsolated({ $0.takeFarewell(for: reader) }) {
            batch.addEnd(line)
        }
        place = store.assumeIsolated { $0.progress(of: reader) }
    }

    /// Has the next batch begin with new `stats` when it has become known where a value is: the line that says so may be older
    /// than what somebody reads later.
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

    /// Commits until it works, and says what is in the way.
    ///
    /// - Returns: false when the feed is over and it does not work.
    private func keep(_ pieces: [JournalPiece], of reader: ReaderID) async throws -> Bool {
        watch(reader, after: pace.patience)
        defer { unwatch() }
        while true {
            let opens = mustOpen
            let attempt = try await attempt(pieces)
            if let opening = attempt.opening {
                mustOpen = false
                resume(opening.positions)
                begin(opening.lastRun)
                if let notice = opening.notice { complain(JournalFault(.corrupt, notice)) }
            }
            guard let fault = attempt.fault else {
                note(attempt, pieces, of: reader)
                return true
            }
            // What it is then says what has become of it.
            if fault.kind == .corrupt, !opens {
                mustOpen = true
                continue
            }
            note(fault, of: reader)
            if isGivenUp {
                complain(fault, loss)
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

    /// What fails besides is found by the next commit.
    private static func tidy(_ lines: any LineStore, at time: Timestamp, _ attempt: inout Attempt) {
        do throws(JournalFault) {
            attempt.isUntidy = try lines.tidy(at: time)
        } catch {
            attempt.isBroken = error.kind == .corrupt
        }
    }

    // MARK: How it goes

    private func note(_ attempt: Attempt, _ pieces: [JournalPiece], of reader: ReaderID) {
        isUntidy = attempt.isUntidy
        if attempt.isBroken { mustOpen = true }
        for case .greeting(let new) in pieces { greeting = new }
        let place = place
        store.assumeIsolated {
            if let place { $0.settle(place, of: reader, first: attempt.first) }
            $0.setHolding(true, of: reader)
        }
        guard let trouble, !pieces.isEmpty else { return }
        self.trouble = nil
        store.assumeIsolated { $0.setState("ok", of: reader) }
        tell(.recovered(Recovery(down: trouble.since.duration(to: loop.clock.now), attempts: max(1, trouble.attempts))))
    }

    private func note(_ fault: JournalFault, of reader: ReaderID) {
        if !hasBegun, fault.kind == .taken {
            refusal = fault
            return begun.open()
        }
        begin(nil)
        var consequence = ""
        if !hasResumed, let trouble, trouble.since.duration(to: loop.clock.now) >= pace.patience {
            if store.assumeIsolated({ $0.isOfFleet }) { consequence = Self.ignorance }
            resume([])
        }
        store.assumeIsolated { $0.setState(fault.reason, of: reader) }
        // It cannot catch up.
        if fault.kind == .held || fault.kind == .taken { store.assumeIsolated { $0.setHolding(false, of: reader) } }
        if trouble?.told.reason != fault.reason || !consequence.isEmpty {
            complain(fault, "; tried again every second" + consequence)
        }
        trouble?.attempts += 1
        // Also when it has failed before, and a disk that is back under its old name is another one. One that is held up is
        // the same, and would be taken for one that is not.
        if let trouble, trouble.attempts > 1, fault.kind != .held { mustOpen = true }
    }

    /// Has the disk be waited for no longer than so.
    private func watch(_ reader: ReaderID, after time: Duration) {
        patience = loop.schedule(after: time) { [self] in assumeIsolated { $0.letGo(reader) } }
    }

    private func unwatch() { if let patience { loop.cancel(patience) } }

    /// Has inputs wait no longer: it may take for ever. Once the feed is over nothing does.
    private func letGo(_ reader: ReaderID) {
        watch(reader, after: pace.retry)
        store.assumeIsolated { $0.setHolding(false, of: reader) }
        if trouble == nil {
            let silence = JournalFault(.disk, "the disk has not answered for \(pace.patience.shortText)")
            store.assumeIsolated { $0.setState(silence.reason, of: reader) }
            complain(silence)
        }
        guard isGivenUp, let trouble else { return }
        complain(trouble.told, loss)
        work?.cancel()
    }

    private func complain(_ fault: JournalFault, _ consequence: String = "") {
        trouble = Trouble(since: trouble?.since ?? loop.clock.now, told: fault, attempts: trouble?.attempts ?? 0)
        tell(.error(Failure(.disk, fault.text(at: path) + consequence)))
    }

    /// What a journal that is given up does not have.
    private var loss: String { greeting.isEmpty ? "; nothing of this run is in it" : "; the last lines are not in it" }

    /// Whether the feed is over, and has been for longer than it is waited for.
    private var isGivenUp: Bool {
        guard store.assumeIsolated({ $0.isOver }) else { return false }
        let since = over ?? loop.clock.now
        over = since
        return since.duration(to: loop.clock.now) >= pace.end
    }
}
