internal import Feed
internal import Reactor

/// The result of one request of a source: the part common to all inputs over HTTP.
struct HTTPExchange {
    enum Content {
        case document(Extractor.Document)
        /// Nothing has changed since the answer whose validator the request had.
        case unchanged
        case failure(Failure)
    }

    let content: Content
    /// Nil when no answer had begun.
    let latency: LatencySample?
    let headers: HTTPAnswerHeaders
    /// The URL of the answer, if redirects led to another than the request's.
    let location: String?
    /// When the exchange ended, by the wall clock.
    let time: Timestamp

    /// How long the upstream wants no requests.
    var retryAfter: Duration? { headers.retryAfter.flatMap { RetryAfter.delay($0, now: time) } }
}

/// The content of a document: all its events or, if it has many, its items, to be read again.
struct DocumentContent {
    /// The result of reading all of it.
    let outcome: Extractor.Outcome
    /// Its events, when they take no more than a slice of work; empty otherwise.
    var batch = EventBatch()
    /// Its items from the first one on, when they take longer.
    var items: ItemReading?
}

/// Makes a source's requests, and reads the answers as far as all sources do it alike.
struct SourceFetch {
    /// The endpoint that all requests of the source are counted for.
    let endpoint: Endpoint
    let transport: any HTTPTransport
    private(set) var extractor: Extractor
    let store: EventStore
    let loop: EventLoop
    let wall: any WallClock
    /// Reads long documents; nil for the loop.
    let worker: (any Worker)?

    init(
        endpoint: Endpoint, transport: any HTTPTransport, extraction: Extraction, store: EventStore, loop: EventLoop,
        wall: any WallClock, worker: (any Worker)?
    ) {
        self.endpoint = endpoint
        self.transport = transport
        extractor = Extractor(extraction, of: .documents)
        self.store = store
        self.loop = loop
        self.wall = wall
        self.worker = worker
    }

    /// Reads later answers with their value at the pointer of the first number of a good answer.
    mutating func fixValue(by outcome: Extractor.Outcome) {
        if let pointer = outcome.valuePointer { extractor = extractor.fixingValue(at: pointer) }
    }

    /// Makes one request.
    ///
    /// - Parameter late: how late after its scheduled time the request is.
    /// - Returns: nil when the task was cancelled.
    func make(_ request: HTTPRequest, late: Duration) async -> HTTPExchange? {
        do throws(HTTPFailure) {
            let answer = try await transport.get(request)
            guard let content = await read(answer, to: request) else { return nil }
            return HTTPExchange(
                content: content, latency: sample(answer.status, answer.timing, late), headers: answer.headers,
                location: answer.location, time: wall.now)
        } catch {
            if Task.isCancelled { return nil }
            return HTTPExchange(
                content: .failure(Failure(error.code, error.message)),
                latency: error.begun.flatMap { sample($0.status, $0.timing, late) }, headers: HTTPAnswerHeaders(),
                location: nil, time: wall.now)
        }
    }

    /// Reads a document's events, to know the outcome before the first one is published.
    ///
    /// - Throws: what `Extractor.add` does.
    func read(
        _ document: Extractor.Document, from source: SourceID, at time: Timestamp
    ) async throws(Failure) -> DocumentContent {
        var batch = EventBatch()
        guard let items = try extractor.begin(document, from: source, at: time) else {
            let outcome = try extractor.add(document, from: source, at: time, to: &batch)
            return DocumentContent(outcome: outcome, batch: batch)
        }
        var reading = items
        var slice = TimeSlice(of: loop)
        guard reading.read(into: &batch, during: &slice) else {
            return DocumentContent(outcome: reading.outcome, batch: batch)
        }
        // All events in memory would be many times the document, so they are read a second time to be published.
        repeat {
            // After a cancellation nobody publishes the rest or needs its outcome.
            guard (try? await loop.sleep(for: .zero)) != nil else { break }
            batch.removeAll()
            slice.restart()
        } while reading.read(into: &batch, during: &slice)
        return DocumentContent(outcome: reading.outcome, items: items)
    }

    /// Publishes a document's items in slices of work, waiting for lossless outputs in between.
    ///
    /// - Parameter deadline: the end of the waiting; nil for as long as the outputs take.
    /// - Returns: whether all outputs kept up within that time, and the result of reading all of it; nil when it was cut
    ///   short.
    func publish(
        _ items: ItemReading, from source: SourceID, waitingUntil deadline: LoopInstant?
    ) async -> (isOnTime: Bool, outcome: Extractor.Outcome?) {
        var items = items
        var batch = EventBatch()
        var slice = TimeSlice(of: loop)
        var isOnTime = true
        while true {
            let hasMore = items.read(into: &batch, during: &slice)
            if await !store.publish(batch, waitingUntil: deadline) { isOnTime = false }
            guard hasMore else { return (isOnTime, items.outcome) }
            batch.removeAll()
            do {
                try await loop.sleep(for: .zero)
            } catch {
                var failure = items.cutShort
                failure.endpoint = endpoint.name
                await store.publish([Event(time: wall.now, source: source, body: .error(failure))])
                return (isOnTime, nil)
            }
            slice.restart()
        }
    }

    /// Nil when the task was cancelled.
    private func read(_ answer: HTTPAnswer, to request: HTTPRequest) async -> HTTPExchange.Content? {
        let peer = request.endpoint.authority
        switch answer.status {
        case let status where !LatencySample.statuses.contains(status):
            return .failure(Failure(.protocol, "\(peer) answered \(status), which is no status of HTTP"))
        case 304 where request.headers.contains { $0.lowercased().hasPrefix("if-") }: return .unchanged
        case 304:
            return .failure(
                Failure(.status, "\(peer) answered 304 (not modified) before it had answered anything else"))
        case 200...299: break
        case 429: return .failure(Failure(.rateLimited, "\(peer) asks for fewer requests (429)"))
        default:
            return .failure(Failure(.status, "\(peer) answered \(answer.status)\(HTTPStatus.words(answer.status))"))
        }
        guard !answer.body.isEmpty else {
            return .failure(Failure(.notJSON, "\(peer) answered \(answer.status) with an empty body"))
        }
        do throws(JSONFault) {
            return try await extractor.read(answer.body[...], on: loop, or: worker).map { .document($0) }
        } catch {
            return .failure(explain(error.failure, answer))
        }
    }

    /// Adds to the message what came instead of JSON, if the answer has a content type.
    private func explain(_ failure: Failure, _ answer: HTTPAnswer) -> Failure {
        guard let type = answer.headers.contentType, !type.lowercased().holds("json") else { return failure }
        var failure = failure
        failure.message += " (the answer is \(type.prefix(60)))"
        return failure
    }

    /// Nil for a status that HTTP does not define.
    private func sample(_ status: Int, _ timing: HTTPTiming, _ late: Duration) -> LatencySample? {
        guard LatencySample.statuses.contains(status) else { return nil }
        return LatencySample(
            endpoint: endpoint.name, status: status, ms: timing.total, dns: timing.dns, connect: timing.connect,
            tls: timing.tls, wait: timing.wait, receive: timing.receive, bytes: timing.bytes, reused: timing.reused,
            late: late.milliseconds)
    }
}

/// Explanations for the statuses that users ask about (RFC 9110, section 15).
enum HTTPStatus {
    /// ` (not found)`; empty when the number says it all.
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
