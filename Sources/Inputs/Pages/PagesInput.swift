package import Feed
package import Reactor

/// Reads a listing in pages: publishes the events of every page in order, a latency and the progress; then reads it
/// again, or ends.
///
/// A page that fails is requested again. An input that makes one run waits for lossless outputs; a repeating one waits
/// for them only between slices of a page with many items, and at most until the next run is due.
package actor PagesInput: Input {
    private let source: PagesSource
    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Nil for one run.
    private let schedule: PollSchedule?
    private let requests: SourceFetch
    private var pacing: PollPacing
    private var choices = ItemChoice.Report()
    /// Whether the one run ended before the listing did.
    package private(set) var isCutShort = false

    /// The number of failures in a row after which a page other than the first is given up, in a repeating listing: the
    /// links of some servers expire.
    private static let mostAttempts = 10

    private var endpoint: Endpoint { source.request.endpoint }

    /// - Parameter worker: reads long pages; nil for the loop.
    package init(
        _ source: PagesSource, store: EventStore, polls: PollRequests, transport: any HTTPTransport, on loop: EventLoop,
        wall: any WallClock, worker: (any Worker)? = nil,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        self.store = store
        self.polls = polls
        self.loop = loop
        schedule = source.every.map { PollSchedule(every: $0, name: source.description.name) }
        requests = SourceFetch(
            endpoint: source.request.endpoint, transport: transport,
            extraction: source.extraction, store: store, loop: loop, wall: wall, worker: worker)
        pacing = PollPacing(
            on: loop, retries: Retries(every: source.every, most: source.retryMost, random: random))
    }

    /// Registers the source and reads the listing: once, or until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        guard let schedule else {
            isCutShort = try await !runOnce(id, due: loop.clock.now).isWhole
            return await expect(nil)
        }
        await pacing.allowRequests(of: source.description.name, at: polls)
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

    /// When the next run begins after a failed one.
    private func anew(_ schedule: PollSchedule, after finished: LoopInstant) -> LoopInstant {
        pacing.retries.allowed(at: schedule.tick(after: finished))
    }

    /// Tells the polls when a request made at `time` must have a result; nil when there will be no request.
    private func expect(_ time: LoopInstant?) async {
        await polls.expect(
            source.description.name, by: time?.advanced(by: source.request.timeout + PollPacing.grace))
    }

    /// The step after a page.
    private enum Step {
        case next
        case again(after: Duration)
        /// The run ends; `isWhole` says whether the listing did.
        case end(isWhole: Bool)
    }

    /// Reads the listing once.
    ///
    /// - Returns: when the last page was requested, and whether the listing was read to its end.
    private func runOnce(
        _ id: SourceID, due: LoopInstant
    ) async throws(CancellationError) -> (last: LoopInstant, isWhole: Bool) {
        var walk = PageWalk(source)
        let first = await store.nextSequence
        var due = due
        let nextRun = schedule?.next(after: due, finished: loop.clock.now)
        while true {
            let arrival = loop.clock.now
            try await admit()
            let start = loop.clock.now
            // The wait for outputs does not make the request late.
            due = due.advanced(by: arrival.duration(to: start))
            await expect(start)
            let step = await requestPage(
                id, &walk, from: first, late: due.duration(to: start), waitingUntil: nextRun)
            if Task.isCancelled { throw CancellationError() }
            switch step {
            case .end(let isWhole): return (start, isWhole)
            case .next:
                due = loop.clock.now.advanced(by: source.pause)
                await expect(due)
                // Also without a pause, so that a fast server does not occupy the loop.
                try await loop.sleep(until: due)
            case .again(let pause):
                due = loop.clock.now.advanced(by: pause)
                await expect(due)
                try await pacing.wait(until: due, since: start)
                due = min(due, loop.clock.now)
            }
        }
    }

    /// Waits for the lossless outputs, as long as they take, in an input that makes one run.
    private func admit() async throws(CancellationError) {
        guard schedule == nil else { return }
        await expect(nil)
        try await store.admit()
    }

    /// Requests the walk's page, publishes the result, and advances to the next page.
    ///
    /// - Parameters:
    ///   - first: no line of the walk has a lower number.
    ///   - deadline: until when to wait for lossless outputs; nil for as long as they take.
    private func requestPage(
        _ id: SourceID, _ walk: inout PageWalk, from first: Int, late: Duration, waitingUntil deadline: LoopInstant?
    ) async -> Step {
        guard let exchange = await requests.make(walk.request, from: id, late: late) else {
            return .end(isWhole: false)
        }
        guard case .document(let document) = exchange.content, let outcome = exchange.outcome else {
            var step = Step.end(isWhole: true)
            add(exchange, id)
            if case .failure(let problem) = exchange.content { step = retry(problem, exchange, walk.page, id) }
            await store.publish(exchange.batch)
            return step
        }
        await tell(outcome, of: document, &walk, exchange.time, id)
        if let recovery = pacing.succeed() {
            await store.publish([Event(time: exchange.time, source: id, body: .recovered(recovery))])
        }
        requests.fixValue(by: outcome)
        await expect(deadline)
        if let items = exchange.items {
            exchange.outcome = await requests.publish(items, from: id, waitingUntil: deadline).outcome
        }
        walk.add(exchange.outcome)
        add(exchange, id)
        // Before the turn to the next page.
        let progress = walk.progress
        let (step, failure) = turn(&walk, document, outcome, exchange)
        var events: [Event.Body] = []
        if case .end(isWhole: true) = step, walk.isWhole {
            if let failure = choices.failure(of: source.extraction.only, walk.matches, items: progress.done) {
                events.append(.error(failure))
            }
            events.append(.answer(answer(walk, progress, from: first)))
        } else {
            events.append(.progress(progress))
        }
        if let failure { events.append(.error(failure)) }
        for body in events { exchange.batch.add(Event(time: exchange.time, source: id, body: body)) }
        await publish(exchange.batch)
        return step
    }

    /// Publishes a slice of work at most; an input that makes one run waits for lossless outputs here too.
    private func publish(_ batch: EventBatch) async {
        if schedule == nil { await store.publish(batch, waitingUntil: nil) } else { await store.publish(batch) }
    }

    private func add(_ exchange: HTTPExchange, _ id: SourceID) {
        guard let latency = exchange.latency else { return }
        exchange.batch.add(Event(time: exchange.time, source: id, body: .latency(latency)))
    }

    /// Counts a page's items and reports what is wrong with some of them: before they are published, because that ends
    /// the error state of the source.
    private func tell(
        _ outcome: Extractor.Outcome, of document: JSONDocument, _ walk: inout PageWalk, _ time: Timestamp,
        _ id: SourceID
    ) async {
        var problem = outcome.problem
        do throws(Failure) {
            try walk.count(outcome.items, of: document)
        } catch {
            problem = problem ?? error
        }
        // A good page says nothing about the others.
        guard problem != nil, let standing = pacing.standing(problem, at: endpoint) else { return }
        await store.publish([Event(time: time, source: id, body: .error(standing))])
    }

    /// The end of a listing that was read to its end.
    private func answer(_ walk: PageWalk, _ progress: Progress, from first: Int) -> CompleteAnswer {
        var progress = progress
        if source.countsItems { progress.items = walk.taken }
        return CompleteAnswer(progress, from: first, isReported: true)
    }

    /// Returns the step after a page that was read, and the error that ends the run early.
    private func turn(
        _ walk: inout PageWalk, _ document: JSONDocument, _ outcome: Extractor.Outcome, _ exchange: HTTPExchange
    ) -> (Step, Failure?) {
        do throws(Failure) {
            let isEmpty = outcome.items == 0 && outcome.problem == nil
            let hasNext = try walk.turn(document, isEmpty: isEmpty, from: exchange.location)
            return (hasNext ? .next : .end(isWhole: true), nil)
        } catch {
            var failure = error
            failure.endpoint = endpoint.name
            let now = loop.clock.now
            failure.retryIn = schedule.map { now.duration(to: anew($0, after: now)) }
            return (.end(isWhole: false), failure)
        }
    }

    /// Returns the step after a page that failed; adds the error to the batch.
    private func retry(_ problem: Failure, _ exchange: HTTPExchange, _ page: Int, _ id: SourceID) -> Step {
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
        exchange.batch.add(Event(time: exchange.time, source: id, body: .error(problem)))
        return step
    }
}
