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
        schedule = PollSchedule(every: source.every, name: source.name)
        refresh = Wakeup(loop: loop)
        reader = JSONReader(maximumCapacity: 64 << 10)
        backoff = Backoff(cap: max(.seconds(30), source.every))
    }

    /// Registers the source and polls it until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(name: source.name, type: source.type)
        await store.allowPolling(of: source.name) { [refresh] in refresh.signal() }
        let start = loop.clock.now
        var due = start
        while true {
            let now = loop.clock.now
            let late = max(.zero, due.duration(to: now)).milliseconds
            await store.expect(id, by: now.advanced(by: source.request.timeout + Self.grace))
            let pause = await poll(id, late: late)
            if Task.isCancelled { throw CancellationError() }
            let finished = loop.clock.now
            let tick =
                due == start
                ? max(schedule.tick(afterFirst: start), schedule.tick(after: finished))
                : schedule.tick(after: finished)
            // A failing source is never polled more often than a working one.
            due = pause.map { max(tick, finished.advanced(by: $0)) } ?? tick
            await store.expect(id, by: due.advanced(by: source.request.timeout + Self.grace))
            try await wait(until: due, since: now)
        }
    }

    /// Waits for the next poll's time, or until somebody asks for one before: at most once a second, as readers ask.
    private func wait(until due: LoopInstant, since last: LoopInstant) async throws(CancellationError) {
        let timer = loop.schedule(at: due) { [refresh] in refresh.signal() }
        defer { loop.cancel(timer) }
        try await refresh.wait()
        let earliest = min(due, last.advanced(by: Self.refreshPause))
        if loop.clock.now < earliest { try await loop.sleep(until: earliest) }
    }

    /// Makes one poll and publishes what it came to.
    ///
    /// - Returns: how long to wait after a failure; nil after a success.
    private func poll(_ id: SourceID, late: Double) async -> Duration? {
        var events: [Event] = []
        var retryAfter: Duration?
        let problem: Failure?
        do throws(HTTPFailure) {
            let answer = try await transport.get(requestWithValidators())
            let time = wall.now
            let latency = sample(answer.status, answer.timing, late)
            do throws(Failure) {
                if let datum = try read(answer) {
                    events.append(Event(time: time, source: id, body: .data(datum)))
                }
                problem = nil
            } catch {
                problem = error
                retryAfter = answer.headers.retryAfter.flatMap { RetryAfter.delay($0, now: time) }
            }
            events.append(Event(time: time, source: id, body: .latency(latency)))
        } catch {
            if Task.isCancelled { return nil }
            if let begun = error.begun {
                let latency = sample(begun.status, begun.timing, late)
                events.append(Event(time: wall.now, source: id, body: .latency(latency)))
            }
            problem = Failure(error.code, error.message)
        }
        let pause = conclude(problem, retryAfter, id, &events)
        await store.publish(events)
        return pause
    }

    /// Counts failures in a row, and completes the failure with what comes next.
    private func conclude(
        _ problem: Failure?, _ retryAfter: Duration?, _ id: SourceID, _ events: inout [Event]
    ) -> Duration? {
        guard var problem else {
            backoff.succeed()
            return nil
        }
        let jitter = backoff.fail(using: &random)
        let pause = max(jitter, retryAfter ?? .zero)
        let now = loop.clock.now
        let next = max(schedule.tick(after: now), now.advanced(by: pause))
        problem.endpoint = endpoint.name
        problem.attempt = backoff.attempt
        problem.retryIn = now.duration(to: next)
        events.append(Event(time: wall.now, source: id, body: .error(problem)))
        return pause
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

    /// The event of an answer; nil when it says that nothing has changed.
    private func read(_ answer: HTTPAnswer) throws(Failure) -> Datum? {
        let peer = endpoint.authority
        switch answer.status {
        case 304: return nil
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
        let value = if let pointer = source.value { try document.number(at: pointer) } else { document.firstNumber }
        let text = if let pointer = source.text { try document.string(at: pointer) } else { document.firstString }
        validators = answer.headers
        return Datum(value: value, text: text, data: document.minified)
    }

    /// Says in the message what came instead of JSON, when the answer says so itself.
    private func explain(_ failure: Failure, _ answer: HTTPAnswer) -> Failure {
        guard let type = answer.headers.contentType, !Self.saysJSON(type) else { return failure }
        var failure = failure
        failure.message += " (the answer is \(type.prefix(60)))"
        return failure
    }

    /// Whether a content type names JSON. By hand, since `contains` of a string brings the regular expressions along, which
    /// is half a megabyte of program.
    private static func saysJSON(_ type: String) -> Bool {
        let letters = Array(type.lowercased().utf8)
        let name = Array("json".utf8)
        return letters.indices.contains { letters[$0...].starts(with: name) }
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
