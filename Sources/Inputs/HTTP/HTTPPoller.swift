package import Feed
package import Reactor

/// Polls one source until its task is cancelled: publishes events and a latency for every answer, an error for every
/// failure.
///
/// One request is in progress at a time; nothing the upstream does ends the polling. It waits for outputs only between
/// slices of a document with many items, and then at most until the next poll is due.
package actor HTTPPoller: Input {
    private let source: HTTPSource
    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let schedule: PollSchedule
    private let spread: Duration
    // Bound: requests in progress | one a source | a missed tick is skipped
    private var requests: SourceFetch
    private var pacing: PollPacing
    /// The header that asks whether the last good answer still holds; nil when that answer had no validator.
    private var condition: String?
    private var choices = ItemChoice.Report()

    private var endpoint: Endpoint { source.request.endpoint }

    /// - Parameters:
    ///   - worker: reads long documents; nil for the loop.
    ///   - spread: the time after the start within which the first poll comes; see `PollSchedule.spread(of:)`.
    package init(
        _ source: HTTPSource, store: EventStore, polls: PollRequests, transport: any HTTPTransport, on loop: EventLoop,
        wall: any WallClock, worker: (any Worker)? = nil, spread: Duration = .zero,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        self.store = store
        self.polls = polls
        self.loop = loop
        self.spread = spread
        schedule = PollSchedule(every: source.every, name: source.description.name)
        requests = SourceFetch(
            endpoint: source.request.endpoint, transport: transport,
            extraction: source.extraction, store: store, loop: loop, wall: wall, worker: worker)
        pacing = PollPacing(
            on: loop, retries: Retries(every: source.every, most: source.retryMost, random: random))
    }

    /// Registers the source and polls it until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        await pacing.allowRequests(of: source.description.name, at: polls)
        var due = schedule.first(after: loop.clock.now, within: spread)
        await expect(due)
        if loop.clock.now < due { try await loop.sleep(until: due) }
        while true {
            let start = loop.clock.now
            await expect(start)
            let next = await pollApart(id, due: due)
            if Task.isCancelled { throw CancellationError() }
            await expect(next)
            try await pacing.wait(until: next, since: start)
            // A poll requested early is due when it is made.
            due = min(next, loop.clock.now)
        }
    }

    /// Tells the polls when a request made at `time` must have a result.
    private func expect(_ time: LoopInstant) async {
        await polls.expect(source.description.name, by: time.advanced(by: source.request.timeout + PollPacing.grace))
    }

    /// Makes one poll and publishes its result.
    ///
    /// - Returns: when the next poll is due.
    private func poll(_ id: SourceID, due: LoopInstant) async -> LoopInstant {
        let late = due.duration(to: loop.clock.now)
        guard let exchange = await requests.make(conditionalRequest(), late: late) else { return due }
        var batch = EventBatch()
        var problem: Failure?
        // When the poll was over, not counting the wait for outputs, which does not make the next poll late.
        var finished: LoopInstant?
        switch exchange.content {
        case .unchanged: await succeed(exchange, id)
        case .failure(let failure): problem = failure
        case .document(let document):
            do throws(Failure) {
                let content = try await requests.read(document, from: id, at: exchange.time)
                let first = await store.nextSequence
                if content.outcome.events == 0, let problem = content.outcome.problem { throw problem }
                if let standing = pacing.standing(content.outcome.problem, at: endpoint) {
                    // Before the events, which end the error state of the source.
                    await store.publish([Event(time: exchange.time, source: id, body: .error(standing))])
                }
                if content.outcome.isWhole, !Task.isCancelled,
                    let failure = choices.failure(
                        of: source.extraction.only, content.outcome.matches, items: content.outcome.items)
                {
                    await store.publish([Event(time: exchange.time, source: id, body: .error(failure))])
                }
                requests.fixValue(by: content.outcome)
                await succeed(exchange, id)
                batch = content.batch
                var outcome: Extractor.Outcome? = content.outcome
                if let items = content.items { (finished, outcome) = await publish(items, id, due: due) }
                if let outcome, outcome.isWhole, !hasOneOfMany {
                    let answer = answer(outcome, from: first)
                    batch.add(Event(time: exchange.time, source: id, body: .answer(answer)))
                }
                // A validator from another origin, after a redirect, must not be sent to the first one.
                condition = isOwn(exchange) ? exchange.headers.condition : nil
            } catch {
                problem = error
            }
        }
        if let latency = exchange.latency {
            batch.add(Event(time: exchange.time, source: id, body: .latency(latency)))
        }
        let next = plan(after: due, finished: finished ?? loop.clock.now, problem, exchange, id, &batch)
        await store.publish(batch)
        return next
    }

    /// Publishes many items, waiting for lossless outputs at most until the next poll is due.
    ///
    /// - Returns: when publishing began, if the outputs were not done by then; and the result, unless it was cut short.
    private func publish(
        _ items: ItemReading, _ id: SourceID, due: LoopInstant
    ) async -> (began: LoopInstant?, Extractor.Outcome?) {
        let start = loop.clock.now
        let deadline = schedule.next(after: due, finished: start)
        await expect(deadline)
        let (isOnTime, outcome) = await requests.publish(items, from: id, waitingUntil: deadline)
        return (isOnTime ? nil : start, outcome)
    }

    /// Polls in a separate task: a task keeps the memory of its deepest call while it lives, which is 15 KiB here, and
    /// thousands of waiting sources would hold that.
    private func pollApart(_ id: SourceID, due: LoopInstant) async -> LoopInstant {
        async let next = poll(id, due: due)
        return await next
    }

    /// Returns when the next poll is due; adds the error to `batch`.
    private func plan(
        after due: LoopInstant, finished: LoopInstant, _ problem: Failure?, _ exchange: HTTPExchange, _ id: SourceID,
        _ batch: inout EventBatch
    ) -> LoopInstant {
        guard var problem else { return schedule.next(after: due, finished: finished) }
        // After a document that is not JSON, the next request must not be conditional.
        if problem.code == .notJSON { condition = nil }
        let pause = pacing.retries.fail(problem.code, at: finished, retryAfter: exchange.retryAfter)
        let next = schedule.retry(after: due, finished: finished, pause: pause)
        problem.endpoint = endpoint.name
        problem.attempt = pacing.retries.attempt
        problem.retryIn = finished.duration(to: next)
        batch.add(Event(time: exchange.time, source: id, body: .error(problem)))
        return next
    }

    /// Publishes the end of an outage, before the answer's events.
    private func succeed(_ exchange: HTTPExchange, _ id: SourceID) async {
        guard let recovery = pacing.succeed() else { return }
        await store.publish([Event(time: exchange.time, source: id, body: .recovered(recovery))])
    }

    /// Whether an answer is one of many items, such as a random one, and so says nothing of the others.
    private var hasOneOfMany: Bool { source.extraction.items == nil && source.extraction.key != nil }

    /// The end of a complete answer. One without events needs a line, or the source would seem to be starting.
    private func answer(_ outcome: Extractor.Outcome, from first: Int) -> CompleteAnswer {
        let items = source.countsItems ? outcome.events : nil
        return CompleteAnswer(
            Progress(done: outcome.items, total: outcome.items, page: 1, items: items), from: first,
            isReported: items != nil || outcome.events == 0)
    }

    /// Whether the answer came from the requested origin.
    private func isOwn(_ exchange: HTTPExchange) -> Bool {
        exchange.location.map { Endpoint(url: $0).origin == endpoint.origin } ?? true
    }

    private func conditionalRequest() -> HTTPRequest {
        var request = source.request
        if let condition { request.headers.append(condition) }
        return request
    }
}
