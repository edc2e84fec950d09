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
    // Requests in progress: one a source; a missed tick is skipped.
    private let requests: SourceFetch
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
            let next = await poll(id, due: due)
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
    /// The source's task keeps the memory of the deepest call: what is large is in the exchange, or in functions that do
    /// not wait.
    ///
    /// - Returns: when the next poll is due.
    private func poll(_ id: SourceID, due: LoopInstant) async -> LoopInstant {
        let late = due.duration(to: loop.clock.now)
        guard let exchange = await requests.make(conditionalRequest(), from: id, late: late) else { return due }
        let first = await store.nextSequence
        let news = news(of: exchange, id)
        if !news.isEmpty { await store.publish(news) }
        // When the poll was over, not counting the wait for outputs, which does not make the next poll late.
        let finished = exchange.items == nil ? nil : await publishItems(of: exchange, id, due: due)
        let next = finish(exchange, id, from: first, due: due, at: finished ?? loop.clock.now)
        await store.publish(exchange.batch)
        return next
    }

    /// Returns what is to be published before an answer's events, because these end the error state of the source: the
    /// end of an outage, and what is wrong with a document that is used anyway.
    private func news(of exchange: HTTPExchange, _ id: SourceID) -> [Event] {
        guard problem(of: exchange) == nil else { return [] }
        var news: [Event.Body] = []
        if let outcome = exchange.outcome {
            if let standing = pacing.standing(outcome.problem, at: endpoint) { news.append(.error(standing)) }
            if outcome.isWhole, !Task.isCancelled,
                let failure = choices.failure(of: source.extraction.only, outcome.matches, items: outcome.items)
            {
                news.append(.error(failure))
            }
            requests.fixValue(by: outcome)
        }
        if let recovery = pacing.succeed() { news.append(.recovered(recovery)) }
        return news.map { Event(time: exchange.time, source: id, body: $0) }
    }

    /// Publishes many items, waiting for lossless outputs at most until the next poll is due.
    ///
    /// - Returns: when publishing began, if the outputs were not done by then.
    private func publishItems(of exchange: HTTPExchange, _ id: SourceID, due: LoopInstant) async -> LoopInstant? {
        guard problem(of: exchange) == nil, let items = exchange.items else { return nil }
        let start = loop.clock.now
        let deadline = schedule.next(after: due, finished: start)
        await expect(deadline)
        let isOnTime: Bool
        (isOnTime, exchange.outcome) = await requests.publish(items, from: id, waitingUntil: deadline)
        return isOnTime ? nil : start
    }

    /// Adds what follows an answer's events, and returns when the next poll is due.
    private func finish(
        _ exchange: HTTPExchange, _ id: SourceID, from first: Int, due: LoopInstant, at finished: LoopInstant
    ) -> LoopInstant {
        let problem = problem(of: exchange)
        if problem == nil, case .document = exchange.content {
            if let outcome = exchange.outcome, outcome.isWhole, !hasOneOfMany {
                let answer = answer(outcome, from: first)
                exchange.batch.add(Event(time: exchange.time, source: id, body: .answer(answer)))
            }
            // A validator from another origin, after a redirect, must not be sent to the first one.
            condition = isOwn(exchange) ? exchange.headers.condition : nil
        }
        if let latency = exchange.latency {
            exchange.batch.add(Event(time: exchange.time, source: id, body: .latency(latency)))
        }
        return plan(after: due, finished: finished, problem, exchange, id)
    }

    /// Why an answer cannot be used, if so.
    private func problem(of exchange: HTTPExchange) -> Failure? {
        switch exchange.content {
        case .unchanged: nil
        case .failure(let failure): failure
        case .document: exchange.outcome.flatMap { $0.events == 0 ? $0.problem : nil }
        }
    }

    /// Returns when the next poll is due; adds the error to the batch.
    private func plan(
        after due: LoopInstant, finished: LoopInstant, _ problem: Failure?, _ exchange: HTTPExchange, _ id: SourceID
    ) -> LoopInstant {
        guard var problem else { return schedule.next(after: due, finished: finished) }
        // After a document that is not JSON, the next request must not be conditional.
        if problem.code == .notJSON { condition = nil }
        let pause = pacing.retries.fail(problem.code, at: finished, retryAfter: exchange.retryAfter)
        let next = schedule.retry(after: due, finished: finished, pause: pause)
        problem.endpoint = endpoint.name
        problem.attempt = pacing.retries.attempt
        problem.retryIn = finished.duration(to: next)
        exchange.batch.add(Event(time: exchange.time, source: id, body: .error(problem)))
        return next
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
