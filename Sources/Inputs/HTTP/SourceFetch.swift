internal import Feed
internal import Reactor

/// The result of one request of a source: the part common to all inputs over HTTP.
///
/// A class, because tasks keep the memory that they once needed while they wait, and this is large.
final class HTTPExchange {
    enum Content {
        case document(JSONDocument)
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
    /// The result of reading all of a document; nil when that was cut short.
    var outcome: Extractor.Outcome?
    /// The document's events, when they take no more than a slice of work; the input adds others.
    var batch = EventBatch(capacity: 4)
    /// The document's items from the first one on, when they take longer, and those that have yet to be read once.
    fileprivate(set) var items: ItemReading?
    fileprivate var reading: ItemReading?

    init(
        _ content: Content, _ latency: LatencySample?, _ headers: HTTPAnswerHeaders = HTTPAnswerHeaders(),
        location: String? = nil, at time: Timestamp
    ) {
        self.content = content
        self.latency = latency
        self.headers = headers
        self.location = location
        self.time = time
    }

    /// How long the upstream wants no requests.
    var retryAfter: Duration? { headers.retryAfter.flatMap { RetryAfter.delay($0, now: time) } }
}

/// Makes a source's requests, and reads the answers as far as all sources do it alike.
final class SourceFetch {
    /// The endpoint that all requests of the source are counted for.
    private let endpoint: Endpoint
    private let transport: any HTTPTransport
    private var extractor: Extractor
    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    /// Reads long documents; nil for the loop.
    private let worker: (any Worker)?

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
    func fixValue(by outcome: Extractor.Outcome) {
        if let pointer = outcome.valuePointer { extractor = extractor.fixingValue(at: pointer) }
    }

    /// Makes one request, and reads the events of its answer, to know the outcome before the first one is published.
    ///
    /// - Parameter late: how late after its scheduled time the request is.
    /// - Returns: nil when the task was cancelled.
    func make(_ request: HTTPRequest, from source: SourceID, late: Duration) async -> HTTPExchange? {
        let answer: HTTPAnswer
        do throws(HTTPFailure) {
            answer = try await transport.get(request)
        } catch {
            if Task.isCancelled { return nil }
            return HTTPExchange(
                .failure(Failure(error.code, error.message)),
                error.begun.flatMap { sample($0.status, $0.timing, late) }, at: wall.now)
        }
        var reading: Result<Extractor.Document, JSONFault>?
        if answer.body.count > Extractor.longestOnLoop, judge(answer, to: request) == nil {
            reading = await readLong(answer.body)
            if reading == nil { return nil }
        }
        let exchange = judgeAndRead(answer, to: request, from: source, late, reading)
        if exchange.items != nil { await readOn(exchange) }
        return exchange
    }

    /// Nil when the task was cancelled.
    private func readLong(_ body: [UInt8]) async -> Result<Extractor.Document, JSONFault>? {
        do throws(JSONFault) {
            return try await extractor.read(body[...], on: loop, or: worker).map { .success($0) }
        } catch {
            return .failure(error)
        }
    }

    /// Reads the events of an answer, or a slice of its items.
    ///
    /// - Parameter reading: what its document came to, if it has been read.
    @inline(never)  // a task that waits would keep the memory for this
    private func judgeAndRead(
        _ answer: HTTPAnswer, to request: HTTPRequest, from source: SourceID, _ late: Duration,
        _ reading: Result<Extractor.Document, JSONFault>?
    ) -> HTTPExchange {
        if let content = judge(answer, to: request) { return exchange(content, answer, late) }
        do throws(JSONFault) {
            let document = if let reading { try reading.get() } else { try extractor.read(answer.body[...]) }
            let exchange = exchange(.document(document.json), answer, late)
            do throws(Failure) {
                try read(document, from: source, into: exchange)
                return exchange
            } catch {
                return self.exchange(.failure(error), answer, late)
            }
        } catch {
            return exchange(.failure(explain(error.failure, answer)), answer, late)
        }
    }

    private func read(
        _ document: Extractor.Document, from source: SourceID, into exchange: HTTPExchange
    ) throws(Failure) {
        guard let items = try extractor.begin(document, from: source, at: exchange.time) else {
            exchange.outcome = try extractor.add(document, from: source, at: exchange.time, to: &exchange.batch)
            return
        }
        var (reading, slice) = (items, TimeSlice(of: loop))
        if reading.read(into: &exchange.batch, during: &slice) {
            (exchange.items, exchange.reading) = (items, reading)
        } else {
            exchange.outcome = reading.outcome
        }
    }

    private func exchange(_ content: HTTPExchange.Content, _ answer: HTTPAnswer, _ late: Duration) -> HTTPExchange {
        HTTPExchange(
            content, sample(answer.status, answer.timing, late), answer.headers, location: answer.location,
            at: wall.now)
    }

    /// Reads the rest of a document's items. All events in memory would be many times the document, so they are read a
    /// second time to be published.
    private func readOn(_ exchange: HTTPExchange) async {
        guard var reading = exchange.reading.take() else { return }
        var slice = TimeSlice(of: loop)
        repeat {
            exchange.batch.removeAll()
            // After a cancellation nobody publishes the rest or needs its outcome.
            guard (try? await loop.sleep(for: .zero)) != nil else { break }
            slice.restart()
        } while reading.read(into: &exchange.batch, during: &slice)
        exchange.batch.removeAll()
        exchange.outcome = reading.outcome
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

    /// Judges an answer by its status; nil for one whose document is to be read.
    private func judge(_ answer: HTTPAnswer, to request: HTTPRequest) -> HTTPExchange.Content? {
        let peer = request.endpoint.authority
        switch answer.status {
        case let status where !LatencySample.statuses.contains(status):
            return .failure(Failure(.protocol, "\(peer) answered \(status), which is no status of HTTP"))
        case 304 where request.headers.contains { $0.lowercased().hasPrefix("if-") }: return .unchanged
        case 304:
            return .failure(
                Failure(.status, "\(peer) answered 304 (not modified) before it had answered anything else"))
        case 200...299 where answer.body.isEmpty:
            return .failure(Failure(.notJSON, "\(peer) answered \(answer.status) with an empty body"))
        case 200...299: return nil
        case 429: return .failure(Failure(.rateLimited, "\(peer) asks for fewer requests (429)"))
        default:
            return .failure(Failure(.status, "\(peer) answered \(answer.status)\(HTTPStatus.words(answer.status))"))
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
