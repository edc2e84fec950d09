package import Feed
package import Reactor

/// Computes the Fibonacci numbers on a worker, on a schedule and on request: a canary for the machine's speed.
/// Publishes how long each run took, and the numbers themselves if requested.
///
/// A run works in slices, so that it can be cancelled, and holds one slice in memory, however long the numbers are.
package actor FibonacciInput: Input {
    private let source: FibonacciSource
    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    private let worker: any Worker
    private let wall: any WallClock
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let schedule: PollSchedule?
    private var requests = FibonacciRequests()
    private let request: Wakeup
    /// The earliest start of a requested run, so that requests take no more than half a core.
    private var notBefore = LoopInstant(nanoseconds: 0)

    /// The time from the start of a run to a requested one, as with every source that is polled on request.
    private static let requestPause = Duration.seconds(1)
    /// How late a slice may be before the source counts as stuck.
    private static let grace = Duration.seconds(5)
    /// The number of slices computed at once when only the summary is published: two milliseconds' work.
    private static let slicesUnseen = 16

    /// - Parameter worker: does the computing; not shared, or a slow disk makes the source late.
    package init(
        _ source: FibonacciSource, store: EventStore, polls: PollRequests, on loop: EventLoop, worker: any Worker,
        wall: any WallClock
    ) {
        self.source = source
        self.store = store
        self.polls = polls
        self.loop = loop
        self.worker = worker
        self.wall = wall
        schedule = source.every.map { PollSchedule(every: $0, name: source.description.name) }
        request = Wakeup(loop: loop)
    }

    /// Requests a run out of turn, behind those that are waiting. Call it on the loop; it does not wait.
    ///
    /// - Parameter n: the last number of a run that publishes its numbers too; nil for a run like the scheduled ones.
    /// - Returns: whether the run will take place; false when `n` is out of range, or too many others wait.
    @discardableResult
    package nonisolated func requestRun(n: Int? = nil) -> Bool {
        assumeIsolated { input in
            guard input.requests.add(n ?? input.source.n, wantsPairs: n != nil) else { return false }
            input.request.signal()
            return true
        }
    }

    /// Registers the source, and runs until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        await polls.allowPolling(of: source.description.name) { [weak self] request in
            guard let self, requestRun(n: request.n) else { return PollRefusal("too many runs wait already", .busy) }
            return nil
        }
        var due: LoopInstant? = loop.clock.now
        while true {
            await expect(by: due.map { $0.advanced(by: Self.grace) })
            let (request, isScheduled) = try await nextRun(due: due)
            let start = loop.clock.now
            let elapsed = try await compute(request, id)
            let finished = loop.clock.now
            notBefore = max(start.advanced(by: Self.requestPause), finished.advanced(by: elapsed))
            if isScheduled, let begun = due { due = schedule?.next(after: begun, finished: finished) }
        }
    }

    private func expect(by deadline: LoopInstant?) async { await polls.expect(source.description.name, by: deadline) }

    /// Suspends until the next run is due, on schedule or on request.
    private func nextRun(
        due: LoopInstant?
    ) async throws(CancellationError) -> (FibonacciRequests.Request, isScheduled: Bool) {
        while true {
            let now = loop.clock.now
            if let due, due <= now {
                return (.init(n: source.n, wantsPairs: requests.remove(source.n)), true)
            }
            if notBefore <= now, let next = requests.next() { return (next, false) }
            // A leftover signal is harmless: the loop checks again.
            var next = due
            if !requests.isEmpty { next = min(due ?? notBefore, notBefore) }
            try await request.wait(until: next)
        }
    }

    /// Computes one run and publishes it.
    ///
    /// - Returns: the time spent computing.
    private func compute(
        _ request: FibonacciRequests.Request, _ id: SourceID
    ) async throws(CancellationError) -> Duration {
        let n = request.n
        let run = FibonacciRun(through: n)
        while !run.isFinished {
            // Each slice is progress, and waiting for outputs is not this source's fault.
            await expect(by: loop.clock.now.advanced(by: Self.grace))
            switch request.wantsPairs ? .pairs : source.emission {
            case .summary:
                try await offload {
                    for _ in 0..<Self.slicesUnseen where !run.isFinished { run.advance() }
                }
            case .pairs:
                let time = wall.now
                let batch = try await offload {
                    run.advance()
                    return run.batch(at: time, from: id)
                }
                await expect(by: nil)
                await store.publish(batch, waitingUntil: nil)
            }
            if Task.isCancelled { throw CancellationError() }
        }
        let text = Bytes(FibonacciTime.sentence(through: n, run.elapsed).utf8)
        let milliseconds = run.elapsed.milliseconds
        let data = Bytes("{\"n\":\(n),\"ms\":\(milliseconds)}".utf8)
        let summary = Datum(value: milliseconds, text: text, data: data)
        await store.publish([Event(time: wall.now, source: id, body: .data(summary))])
        return run.elapsed
    }

    private func offload<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value
    ) async throws(CancellationError) -> Value {
        do {
            return try await loop.offload(to: worker, work)
        } catch {
            throw CancellationError()  // the work throws nothing; the slice in progress is abandoned
        }
    }
}

extension FibonacciRun {
    /// Returns the slice as items, N as the key and F(N) as the text: `{"n":12,"f":"144"}`.
    func batch(at time: Timestamp, from source: SourceID) -> EventBatch {
        var batch = EventBatch()
        var data: [UInt8] = []
        visit { n, decimals in
            data.removeAll(keepingCapacity: true)
            data.append(contentsOf: "{\"n\":\(n),\"f\":\"".utf8)
            data.append(contentsOf: decimals)
            data.append(contentsOf: "\"}".utf8)
            let (key, text) = (5..<data.count - decimals.count - 8, data.count - decimals.count - 2..<data.count - 2)
            data.withUnsafeBufferPointer {
                batch.add(time: time, source: source, key: key, value: nil, text: text, data: $0)
            }
        }
        return batch
    }
}
