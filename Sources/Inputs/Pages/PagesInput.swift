package import Feed
package import Reactor

/// Goes through a listing that comes in pages: the events of every page in order, a latency and its progress; then again,
/// or never.
///
/// A page that fails is asked for again. An input that makes one run waits for outputs that must get everything; one that
/// runs again and again only does between slices of a page with many items, until the next run's time at most.
package actor PagesInput: Input {
    private let source: PagesSource
    private let store: EventStore
    private let desk: PollDesk
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Nil for one run.
    private let schedule: PollSchedule?
    private var requests: SourceRequests
    private var pacing: PollPacing
    /// Whether the one run ended before the listing did.
    package private(set) var isCutShort = false

    /// After so many failures in a row a page behind the first is given up when the listing can be begun anew: the links of
    /// some servers expire.
    private static let mostAttempts = 10

    private var endpoint: Endpoint { source.request.endpoint }

    /// - Parameter worker: where long pages are read; nil for the loop.
    package init(
        _ source: PagesSource, store: EventStore, desk: PollDesk, transport: any HTTPTransport, on loop: EventLoop,
        wall: any WallClock, worker: (any Worker)? = nil,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        self.store = store
        self.desk = desk
        self.loop = loop
        schedule = source.every.map { PollSchedule(every: $0, name: source.description.name) }
        requests = SourceRequests(
            endpoint: source.request.endpoint, transport: transport,
            extraction: source.extraction, store: store, loop: loop, wall: wall, worker: worker)
        pacing = PollPacing(
            on: loop, retries: Retries(every: source.every, most: source.retryMost, random: random))
    }

    /// Registers the source and goes through the listing: once, or until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        guard let schedule else {
            isCutShort = try await !runOnce(id, due: loop.clock.now).isWhole
            return await expect(nil)
        }
        await pacing.allowRequests(of: source.description.name, at: desk)
        var due = loop.clock.now
        while true {
            let (last, isWhole) = try await runOnce(id, due: due)
            let finished = loop.clock.now
            let next = isWhole ? schedule.next(after: due, finished: finished) : anew(schedule, after: finished)
            await expect(next)
            try await pacing.wait(until: next, since: last)
            due = min(next, loop.clock.now)
        }
    }

    /// When the next run begins after one that came to no good end.
    private func anew(_ schedule: PollSchedule, after finished: LoopInstant) -> LoopInstant {
        pacing.retries.allowed(at: schedule.tick(after: finished))
    }

    /// A request that is made at `time` will have come to something; nil when there will be none.
    private func expect(_ time: LoopInstant?) async {
        await desk.expect(
            source.description.name, by: time?.advanced(by: source.request.timeout + PollPacing.grace))
    }

    /// What follows a page.
    private enum Step {
        case next
        case again(after: Duration)
        /// The end of the run, whether it is whole or not.
        case end(isWhole: Bool)
    }

    /// Goes through the listing once.
    ///
    /// - Returns: when the last page was asked for, and whether that was the listing's end.
    private func runOnce(
        _ id: SourceID, due: LoopInstant
    ) async throws(CancellationError) -> (last: LoopInstant, isWhole: Bool) {
        var walk = PageWalk(source)
        var due = due
        let nextRun = schedule?.next(after: due, finished: loop.clock.now)
        while true {
            let arrival = loop.clock.now
            try await admit()
            let start = loop.clock.now
            // What waited for an output is not late for it.
            due = due.advanced(by: arrival.duration(to: start))
            await expect(start)
            let step = await take(id, &walk, late: due.duration(to: start), waitingUntil: nextRun)
            if Task.isCancelled { throw CancellationError() }
            switch step {
            case .end(let isWhole): return (start, isWhole)
            case .next:
                due = loop.clock.now.advanced(by: source.pause)
                await expect(due)
                // Also without a pause, so that a fast server does not have the loop to itself.
                try await loop.sleep(until: due)
            case .again(let pause):
                due = loop.clock.now.advanced(by: pause)
                await expect(due)
                try await pacing.wait(until: due, since: start)
                due = min(due, loop.clock.now)
            }
        }
    }

    /// Waits for the outputs, for as long as they take, when it is what they are to get all of.
    private func admit() async throws(CancellationError) {
        guard schedule == nil else { return }
        await expect(nil)
        try await store.admit()
    }

    /// Makes a request for the walk's page, publishes what it came to, and turns to the next page.
    ///
    /// - Parameter deadline: until when outputs that must get everything are waited for; nil for as long as they take.
    private func take(
        _ id: SourceID, _ walk: inout PageWalk, late: Duration, waitingUntil deadline: LoopInstant?
    ) async -> Step {
        guard let exchange = await requests.make(walk.request, late: late) else { return .end(isWhole: false) }
        var batch = EventBatch()
        var problem: Failure?
        var step = Step.end(isWhole: true)
        switch exchange.content {
        case .unchanged: break  // it was not asked whether anything has
        case .failure(let failure): problem = failure
        case .document(let document):
            do throws(Failure) {
                let content = try await requests.read(document, from: id, at: exchange.time)
                await tell(content.outcome, of: document.json, &walk, exchange.time, id)
                if let recovery = pacing.succeed() {
                    await store.publish([Event(time: exchange.time, source: id, body: .recovered(recovery))])
                }
                requests.fixValue(by: content.outcome)
                await expect(deadline)
                batch = content.batch
                if let items = content.items {
                    _ = await requests.publish(items, from: id, waitingUntil: deadline)
                }
                add(exchange, id, &batch)
                batch.add(Event(time: exchange.time, source: id, body: .progress(walk.progress)))
                step = turn(&walk, document.json, content.outcome, exchange, id, &batch)
                await publish(batch)
                return step
            } catch {
                problem = error
            }
        }
        add(exchange, id, &batch)
        if let problem { step = retry(problem, exchange, walk.page, id, &batch) }
        await store.publish(batch)
        return step
    }

    /// Publishes what is no more than a slice of work; a listing that comes once waits for outputs with that, too.
    private func publish(_ batch: EventBatch) async {
        if schedule == nil { await store.publish(batch, waitingUntil: nil) } else { await store.publish(batch) }
    }

    private func add(_ exchange: HTTPExchange, _ id: SourceID, _ batch: inout EventBatch) {
        guard let latency = exchange.latency else { return }
        batch.add(Event(time: exchange.time, source: id, body: .latency(latency)))
    }

    /// Counts a page's items, and tells what is wrong with some of them: before they are published, since they say that the
    /// source is well again.
    private func tell(
        _ outcome: Extractor.Outcome, of document: JSONDocument, _ walk: inout PageWalk, _ time: Timestamp,
        _ id: SourceID
    ) async {
        var problem = outcome.problem
        do throws(Failure) {
            try walk.count(outcome.events, of: document)
        } catch {
            problem = problem ?? error
        }
        // One page in order says nothing about the others.
        guard problem != nil, let standing = pacing.standing(problem, at: endpoint) else { return }
        await store.publish([Event(time: time, source: id, body: .error(standing))])
    }

    /// What follows a page that was taken; what ends the run before its time is added to `batch`.
    private func turn(
        _ walk: inout PageWalk, _ document: JSONDocument, _ outcome: Extractor.Outcome, _ exchange: HTTPExchange,
        _ id: SourceID, _ batch: inout EventBatch
    ) -> Step {
        let isEmpty = outcome.events == 0 && outcome.problem == nil
        do throws(Failure) {
            return try walk.turn(document, isEmpty: isEmpty, from: exchange.location) ? .next : .end(isWhole: true)
        } catch {
            var failure = error
            failure.endpoint = endpoint.name
            let now = loop.clock.now
            failure.retryIn = schedule.map { now.duration(to: anew($0, after: now)) }
            batch.add(Event(time: exchange.time, source: id, body: .error(failure)))
            return .end(isWhole: false)
        }
    }

    /// What follows a page that failed, which is added to `batch`.
    private func retry(
        _ problem: Failure, _ exchange: HTTPExchange, _ page: Int, _ id: SourceID, _ batch: inout EventBatch
    ) -> Step {
        let finished = loop.clock.now
        let pause = max(
            pacing.retries.fail(problem.code, at: finished, retryAfter: exchange.retryAfter), source.pause)
        var problem = problem
        problem.endpoint = endpoint.name
        problem.attempt = pacing.retries.attempt
        problem.retryIn = pause
        var step = Step.again(after: pause)
        if let schedule, page > 1, pacing.retries.attempt % Self.mostAttempts == 0 {
            problem.message += "; page \(page) is given up, and the next run begins anew"
            problem.retryIn = finished.duration(to: anew(schedule, after: finished))
            step = .end(isWhole: false)
        }
        batch.add(Event(time: exchange.time, source: id, body: .error(problem)))
        return step
    }
}
