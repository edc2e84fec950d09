import CLinux
internal import Glibc
internal import Synchronization

/// One thread around epoll that runs tasks, timers, descriptor handlers and signals.
///
/// It is a serial executor (an actor whose `unownedExecutor` it is runs on it) and a task executor: under a root task
/// started by `run`, task groups, `async let` and default actors stay on it too. See docs/concurrency.md.
///
/// In *virtual* mode, its clock stands still while there is work and jumps to the next deadline when there is none.
package final class EventLoop: SerialExecutor, TaskExecutor, Worker, @unchecked Sendable {
    // Unchecked: `inbox`, `clock` and `owner` are safe from any thread; everything else is used on the loop's own
    // thread only, which `preconditionOnLoop` checks at every entry.
    package let clock: LoopClock
    private let inbox: Inbox
    private let owner = Atomic<UInt>(0)
    private let epoll: Epoll
    private var jobs = JobQueue()
    private var timers = TimerHeap()
    private var inboxWatch: Watch?
    private var isFinished = false
    /// Why the root task was cancelled in virtual time: it would wait for ever.
    private var deadEnd: VirtualTimeFault?
    /// Turns in virtual time since the root task began, or was cancelled.
    private var virtualTurns = 0
    /// The greatest lateness of a timer since `resetLag`.
    private var lag = Duration.zero
    /// The number of pieces of work that other threads do for this loop; virtual time waits for them.
    private var offloaded = 0

    /// The time for due timers and jobs together, before the loop checks its descriptors again.
    private var turn: TimeSlice

    /// - Throws: `SystemError` when the process has no free descriptor.
    package init(virtual: Bool = false) throws(SystemError) {
        clock = LoopClock(isVirtual: virtual)
        // Jobs and timers in a turn of the loop: 512, or 0.25 ms; descriptors get their turn.
        turn = TimeSlice(clock: clock, time: .microseconds(250), steps: 512)
        inbox = try Inbox()
        epoll = try Epoll()
        let inbox = self.inbox
        inboxWatch = try epoll.add(inbox.wakeup.number, .read) { _ in inbox.acknowledge() }
    }

    /// Whether the calling thread is the loop's.
    package var isCurrent: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Traps when called from another thread, which must not touch the loop's state.
    @inline(__always)
    package func preconditionOnLoop() {
        precondition(isCurrent, "called off its event loop")
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else {
            inbox.add(.job(job))
        }
    }

    package func isSameExclusiveExecutionContext(other: EventLoop) -> Bool { self === other }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() { preconditionOnLoop() }

    /// Runs a closure on the loop soon; from any thread.
    package func post(_ body: @escaping @Sendable () -> Void) {
        inbox.add(.closure(body))
    }

    // MARK: Running

    /// Runs the loop on the calling thread until `body` has ended, and returns what it returned.
    ///
    /// `body` is the root task: everything it starts in task groups stays on the loop. If it waits for ever in virtual
    /// time, it is cancelled; if it does not end then either, it is abandoned.
    ///
    /// - Throws: what `body` throws, or `VirtualTimeFault`.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let outcome = Outcome<Value>()
        let root = Task(executorPreference: self) { [self] in
            do {
                let value = try await body()
                finish { outcome.result = .success(value) }
            } catch {
                finish { outcome.result = .failure(error) }
            }
        }
        turnUntilFinished(cancel: root.cancel)
        if let deadEnd { throw deadEnd }
        guard let result = outcome.result else { preconditionFailure("the loop ended before its root task") }
        return try result.get()
    }

    /// The result of the root task; used on the loop's thread only.
    private final class Outcome<Value>: @unchecked Sendable {
        var result: Result<Value, any Error>?
    }

    private func finish(_ record: @escaping @Sendable () -> Void) {
        post { [self] in
            record()
            isFinished = true
        }
    }

    private func turnUntilFinished(cancel: () -> Void) {
        let previous = owner.exchange(UInt(pthread_self()), ordering: .relaxed)
        precondition(previous == 0, "a loop runs on one thread at a time")
        (isFinished, deadEnd, virtualTurns) = (false, nil, 0)
        defer { owner.store(0, ordering: .relaxed) }
        while true {
            fireTimers(at: turn.restart())
            drainInbox()
            runJobs()
            if !jobs.isEmpty {
                epoll.poll(timeout: .zero)
            } else if isFinished {
                if inbox.isEmpty { return }
            } else if !clock.isVirtual {
                epoll.poll(timeout: untilTimer.map(Self.early))
            } else if !jump() {
                if end(by: .standsStill, cancel) { return }
            }
            if clock.isVirtual {
                virtualTurns += 1
                if virtualTurns > Self.mostVirtualTurns, end(by: .goesOnForEver, cancel) { return }
            }
        }
    }

    /// Cancels the root task; returns true when that was done before and has not ended it.
    private func end(by fault: VirtualTimeFault, _ cancel: () -> Void) -> Bool {
        if deadEnd != nil { return true }
        (deadEnd, virtualTurns) = (fault, 0)
        cancel()
        return false
    }

    private func drainInbox() { handle(inbox.drain()) }

    private func handle(_ items: [Inbox.Item]) {
        for item in items {
            switch item {
            case .job(let job): jobs.append(job)
            case .closure(let body): body()
            }
        }
    }

    /// Runs at least one job, however long the timers' handlers took.
    private func runJobs() {
        while let job = jobs.popFirst() {
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            guard turn.goesOn() else { return }
        }
    }

    private func fireTimers(at now: LoopInstant) {
        guard let earliest = timers.earliest, earliest <= now else { return }
        lag = max(lag, earliest.duration(to: now))
        // A handler's timers for right now fire in the next turn, after jobs and descriptors: so a sleep of zero time
        // lets these run.
        let mark = timers.mark
        while let timer = timers.popDue(at: now, setBefore: mark) {
            timer.take()?()
            guard turn.goesOn() else { return }
        }
    }

    /// The time until the next timer; nil without timers.
    private var untilTimer: Duration? { timers.earliest.map { max(.zero, clock.now.duration(to: $0)) } }

    /// Advances virtual time to the next timer, unless there is work before.
    ///
    /// - Returns: false when there is nothing to wait for.
    private func jump() -> Bool {
        guard untilTimer != .zero else {
            epoll.poll(timeout: .zero)
            return true
        }
        epoll.poll(timeout: offloaded > 0 ? nil : .zero)
        guard jobs.isEmpty, offloaded == 0 else { return true }
        let arrived = inbox.drain()
        guard arrived.isEmpty else {
            handle(arrived)
            return true
        }
        guard let earliest = timers.earliest else { return false }
        clock.jump(to: earliest)
        return true
    }

    /// The kernel may extend an epoll wait by a thousandth (its timer slack for long waits): so a long wait ends early
    /// by more than that, and a short one does the rest.
    private static func early(_ wait: Duration) -> Duration {
        wait < .milliseconds(100) ? wait : wait - wait / 256
    }

    /// Many times the turns of any test, which are some hundred thousand.
    private static let mostVirtualTurns = 2_000_000

    // MARK: Timers and descriptors

    /// Calls `body` on the loop at `deadline`.
    @discardableResult
    package func schedule(at deadline: LoopInstant, _ body: @escaping () -> Void) -> LoopTimer {
        preconditionOnLoop()
        return timers.insert(deadline: deadline, body: body)
    }

    /// Calls `body` on the loop after `delay`.
    @discardableResult
    package func schedule(after delay: Duration, _ body: @escaping () -> Void) -> LoopTimer {
        schedule(at: clock.now.advanced(by: delay), body)
    }

    /// Cancels a timer; harmless when it has fired.
    package func cancel(_ timer: LoopTimer) {
        preconditionOnLoop()
        // Releases the work last: its deinit may set and cancel timers.
        let work = timer.take()
        timers.remove(timer)
        withExtendedLifetime(work) {}
    }

    /// Calls `handler` on the loop whenever a descriptor is ready; the caller keeps the descriptor and cancels the
    /// watch before closing it.
    ///
    /// - Throws: `EPERM` for a regular file (always ready, epoll rejects it), `EEXIST` when it is watched already.
    package func watch(
        _ descriptor: Int32, interest: Readiness, handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> Watch {
        preconditionOnLoop()
        return try epoll.add(descriptor, interest, handler: handler)
    }

    /// The number of timers that are set, for leak tests.
    package var timerCount: Int { timers.count }

    /// Returns and resets the greatest lateness of a timer, which measures how long other work has kept the loop busy.
    package func resetLag() -> Duration {
        preconditionOnLoop()
        defer { lag = .zero }
        return lag
    }

    // MARK: Work elsewhere

    /// Has `worker` do blocking work, and returns its result.
    ///
    /// Cancelling the caller does not wait for the work, which continues: what shares state with abandoned work must
    /// not go on using it. A stopped worker does no work, so its caller waits until the task is cancelled.
    /// - Throws: what the work throws, or `CancellationError` as soon as the task is cancelled; the work is still done,
    ///   but its result is dropped.
    package func offload<Value: Sendable>(
        to worker: any Worker, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        preconditionOnLoop()
        let answer = Answer<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                answer.continuation = continuation
                worker.perform(for: self) {
                    Result { try work() }
                } then: {
                    answer.come($0)
                }
            }
        } onCancel: {
            if isCurrent {
                answer.come(.failure(CancellationError()))
            } else {
                post { answer.come(.failure(CancellationError())) }
            }
        }
    }

    /// Gives `worker` work to do after its current work, without waiting for it.
    package func leave(to worker: any Worker, _ work: @escaping @Sendable () -> Void) {
        preconditionOnLoop()
        worker.perform(for: self, work, then: nil)
    }

    /// Does work for another loop, or for itself, in which case it blocks.
    package func perform<Value: Sendable>(
        for loop: EventLoop, _ work: @escaping @Sendable () -> Value, then done: (@Sendable (Value) -> Void)?
    ) {
        loop.preconditionOnLoop()
        guard let done else { return post { _ = work() } }
        loop.offloaded += 1
        post {
            let value = work()
            loop.post {
                loop.offloaded -= 1
                done(value)
            }
        }
    }

    /// The caller of `offload` waiting for its result. Unchecked: used on the loop only.
    private final class Answer<Value: Sendable>: @unchecked Sendable {
        var continuation: CheckedContinuation<Value, any Error>?

        /// Delivers a result; the first one counts.
        func come(_ result: Result<Value, any Error>) {
            continuation.take()?.resume(with: result)
        }
    }
}

/// Why a task in virtual time was cancelled, where nothing comes from outside.
package enum VirtualTimeFault: Error, CustomStringConvertible {
    /// Nothing is scheduled or in progress.
    case standsStill
    /// There is always work to do, but the task does not end.
    case goesOnForEver

    package var description: String {
        switch self {
        case .standsStill: "virtual time stands still: what the test waits for is neither scheduled nor under way"
        case .goesOnForEver: "virtual time goes on and on: what the test waits for does not come"
        }
    }
}
