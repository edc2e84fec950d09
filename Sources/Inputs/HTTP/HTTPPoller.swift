package import Feed
package import Reactor

/// Polls one source for as long as its task lives: an event and a latency for every answer, an error for every failure.
///
/// One request is under way at a time; nothing the upstream does ends it, and no reader is ever waited for.
package actor HTTPPoller {
    private let source: HTTPSource
    private let store: EventStore
    private let transport: any HTTPTransport
    private let loop: EventLoop
    private let wall: any WallClock
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var endpoint: Endpoint { source.request.endpoint }
    private let schedule: PollSchedule
    private let reader: JSONReader
    /// Asked for out of turn; see `EventStore.requestPoll`.
    private let refresh: Wakeup
    /// What a poll may take beyond its deadline before something is wrong with the agent.
    private static let grace = Duration.seconds(5)
    /// Until when the upstream wants to be left alone, whoever asks.
    private var notBefore = LoopInstant(nanoseconds: 0)
    private static let refreshPause = Duration.seconds(1)
    private var backoff: Backoff
    private var random: any RandomNumberGenerator & Sendable
    /// What the last whole answer said of itself, to ask whether it still holds.
    private var validators = HTTPAnswerHeaders()

    package init(
        _ source: HTTPSource, store: EventStore, transport: any HTTPTransport, on loop: EventLoop,
        wall: any WallClock, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        self.store = store
        self.transport = transport
        self.loop = loop
        self.wall = wall
        self.random = random
        schedule = PollSchedule(every: source.every, name: source.description.name)
        refresh = Wakeup(loop: loop)
        reader = JSONReader(maximumCapacity: 64 << 10)
        backoff = Backoff(cap: max(.seconds(30), source.every))
    }

    /// Registers the source and polls it until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        let name = source.description.name
        await store.allowPolling(of: name) { [refresh] request in
            if let refusal = request.refusal(by: name) { return refusal }
            refresh.signal()
            return nil
        }
        var due = loop.clock.now
        while true {
            let start = loop.clock.now
            await store.expect(id, by: start.advanced(by: source.request.timeout + Self.grace))
            let next = await poll(id, due: due)
            if Task.isCancelled { throw CancellationError() }
            await store.expect(id, by: next.advanced(by: source.request.timeout + Self.grace))
            try await wait(until: next, since: start)
            // One that was asked for before its time is due when it is made.
            due = min(next, loop.clock.now)
        }
    }

    /// Waits for the next poll's time, or until somebody asks for one before: at most once a second, as readers ask,
    /// and never before the upstream wants to be asked again.
    private func wait(until due: LoopInstant, since last: LoopInstant) async throws(CancellationError) {
        let timer = loop.schedule(at: due) { [refresh] in refresh.signal() }
        defer { loop.cancel(timer) }
        try await refresh.wait()
        let earliest = min(due, max(last.advanced(by: Self.refreshPause), notBefore))
        if loop.clock.now < earliest { try await loop.sleep(until: earliest) }
    }

    /// Makes one poll and publishes what it came to.
    ///
    /// - Returns: when the next poll is due.
    private func poll(_ id: SourceID, due: LoopInstant) async -> LoopInstant {
        let late = due.duration(to: loop.clock.now).milliseconds
        var batch = EventBatch()
        var retryAfter: Duration?
        let problem: Failure?
        do throws(HTTPFailure) {
            let request = requestWithValidators()
            let answer = try await transport.get(request)
            let time = wall.now
            let latency = sample(answer.status, answer.timing, late)
            do throws(Failure) {
                problem = try read(answer, to: request, from: id, at: time, into: &batch)
            } catch {
                problem = error
                retryAfter = answer.headers.retryAfter.flatMap { RetryAfter.delay($0, now: time) }
            }
            batch.add(Event(time: time, source: id, body: .latency(latency)))
        } catch {
            if Task.isCancelled { return due }
            if let begun = error.begun {
                let latency = sample(begun.status, begun.timing, late)
                batch.add(Event(time: wall.now, source: id, body: .latency(latency)))
            }
            problem = Failure(error.code, error.message)
        }
        let finished = loop.clock.now
        let next: LoopInstant
        if var problem {
            let pause = max(backoff.fail(using: &random), retryAfter ?? .zero)
            if let retryAfter { notBefore = finished.advanced(by: retryAfter) }
            next = schedule.retry(after: due, finished: finished, pause: pause)
            problem.endpoint = endpoint.name
            problem.attempt = backoff.attempt
            problem.retryIn = finished.duration(to: next)
            batch.add(Event(time: wall.now, source: id, body: .error(problem)))
        } else {
            backoff.succeed()
            next = schedule.next(after: due, finished: finished)
        }
        await store.publish(batch)
        return next
    }

    private func requestWithValidators() -> HTTPRequest {
        var request = source.request
        if let etag = validators.etag {
            request.headers.append("If-None-Match: \(etag)")
        } else if let date = validators.lastModified {
            request.headers.append("If-Modified-Since: \(date)")
        }
        return request
    }

    /// Adds the events of an answer, of which there are none when it says that nothing has changed.
    ///
    /// - Returns: what was wrong with some of them.
    private func read(
        _ answer: HTTPAnswer, to request: HTTPRequest, from id: SourceID, at time: Timestamp,
        into batch: inout EventBatch
    ) throws(Failure) -> Failure? {
        let peer = endpoint.authority
        switch answer.status {
        case 304 where request.headers.contains { $0.lowercased().hasPrefix("if-") }: return nil
        case 304: throw Failure(.status, "\(peer) answered 304 (not modified) before it had answered anything else")
        case 200...299: break
        case 429: throw Failure(.rateLimited, "\(peer) asks for fewer requests (429)")
        default: throw Failure(.status, "\(peer) answered \(answer.status)\(HTTPStatus.words(answer.status))")
        }
        guard !answer.body.isEmpty else {
            throw Failure(.notJSON, "\(peer) answered \(answer.status) with an empty body")
        }
        let document: JSONDocument
        do {
            document = try reader.read(answer.body[...])
        } catch {
            validators = HTTPAnswerHeaders()
            throw explain(error, answer)
        }
        let outcome = try source.extraction.read(document, from: id, at: time, into: &batch)
        validators = answer.headers
        return outcome.problem
    }

    /// Says in the message what came instead of JSON, when the answer says so itself.
    private func explain(_ failure: Failure, _ answer: HTTPAnswer) -> Failure {
        guard let type = answer.headers.contentType, !type.lowercased().holds("json") else { return failure }
        var failure = failure
        failure.message += " (the answer is \(type.prefix(60)))"
        return failure
    }

    private func sample(_ status: Int, _ timing: HTTPTiming, _ late: Double) -> LatencySample {
        LatencySample(
            endpoint: endpoint.name, status: status, ms: timing.total, dns: timing.dns, connect: timing.connect,
            tls: timing.tls, wait: timing.wait, receive: timing.receive, bytes: timing.bytes, reused: timing.reused,
            late: late)
    }
}

/// The names of the statuses that users ask about (RFC 9110, section 15).
enum HTTPStatus {
    /// ` (not found)`; empty when there is nothing to add to the number.
    static func words(_ status: Int) -> String {
        switch status {
        case 300...399: " (a redirect without a usable target)"
        case 400: " (bad request)"
        case 401: " (unauthorized: a token may be missing or wrong)"
        case 403: " (forbidden)"
        case 404: " (not found)"
        case 410: " (gone)"
        case 500: " (internal server error)"
        case 502: " (bad gateway)"
        case 503: " (service unavailable)"
        case 504: " (gateway timeout)"
        default: ""
        }
    }
}
