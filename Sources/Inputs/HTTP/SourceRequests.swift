internal import Feed
internal import Reactor

/// What one request of a source came to: the part that all inputs over HTTP have in common.
struct HTTPExchange {
    enum Content {
        case document(Extractor.Document)
        /// Nothing has changed since the answer that the request's validators are of.
        case unchanged
        case failure(Failure)
    }

    let content: Content
    /// Nil when there was no answer, and none had begun.
    let latency: LatencySample?
    let headers: HTTPAnswerHeaders
    /// Where the answer came from in the end, when redirects led elsewhere than the request.
    let location: String?
    /// When it was over, by the wall clock.
    let time: Timestamp

    /// How long the upstream wants to be left alone.
    var retryAfter: Duration? { headers.retryAfter.flatMap { RetryAfter.delay($0, now: time) } }
}

/// Makes a source's requests, and reads the answers as far as that is the same for all sources.
struct SourceRequests {
    /// What all of the source's requests count for.
    let endpoint: Endpoint
    let transport: any HTTPTransport
    let extractor: Extractor
    let store: EventStore
    let loop: EventLoop
    let wall: any WallClock

    /// Makes one request.
    ///
    /// - Parameter late: how long after its scheduled time it is made.
    /// - Returns: nil when the task was cancelled.
    func make(_ request: HTTPRequest, late: Duration) async -> HTTPExchange? {
        do throws(HTTPFailure) {
            let answer = try await transport.get(request)
            return HTTPExchange(
                content: read(answer, to: request), latency: sample(answer.status, answer.timing, late),
                headers: answer.headers, location: answer.location, time: wall.now)
        } catch {
            if Task.isCancelled { return nil }
            return HTTPExchange(
                content: .failure(Failure(error.code, error.message)),
                latency: error.begun.map { sample($0.status, $0.timing, late) }, headers: HTTPAnswerHeaders(),
                location: nil, time: wall.now)
        }
    }

    /// Reads a document's events, in pieces that each are a slice of work to read, and one to publish.
    ///
    /// - Returns: the pieces, one at least, and what reading came to.
    /// - Throws: what `Extractor.add` does.
    func read(
        _ document: Extractor.Document, from source: SourceID, at time: Timestamp
    ) async throws(Failure) -> (pieces: [EventBatch], outcome: Extractor.Outcome) {
        var batch = EventBatch()
        guard var reading = try extractor.begin(document, from: source, at: time) else {
            let outcome = try extractor.add(document, from: source, at: time, to: &batch)
            return ([batch], outcome)
        }
        var pieces: [EventBatch] = []
        var slice = TimeSlice(of: loop, steps: ItemReading.steps)
        while reading.read(atMost: ItemReading.step, into: &batch) {
            if slice.goesOn() { continue }
            pieces.append(batch)
            batch = EventBatch()
            await giveWay()
            slice.restart()
        }
        return (pieces + [batch], reading.outcome)
    }

    /// Publishes all pieces but the last.
    ///
    /// - Returns: the last one, to be published with what else there is.
    func publish(allButLastOf pieces: [EventBatch]) async -> EventBatch {
        for piece in pieces.dropLast() {
            await store.publish(piece)
            await giveWay()
        }
        return pieces.last ?? EventBatch()
    }

    /// Lets others have the loop. Who is cancelled is quick instead: what has come is not lost.
    private func giveWay() async { try? await loop.sleep(for: .zero) }

    private func read(_ answer: HTTPAnswer, to request: HTTPRequest) -> HTTPExchange.Content {
        let peer = request.endpoint.authority
        switch answer.status {
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
            return .document(try extractor.read(answer.body[...]))
        } catch {
            return .failure(explain(error.failure, answer))
        }
    }

    /// Says in the message what came instead of JSON, when the answer says so itself.
    private func explain(_ failure: Failure, _ answer: HTTPAnswer) -> Failure {
        guard let type = answer.headers.contentType, !type.lowercased().holds("json") else { return failure }
        var failure = failure
        failure.message += " (the answer is \(type.prefix(60)))"
        return failure
    }

    private func sample(_ status: Int, _ timing: HTTPTiming, _ late: Duration) -> LatencySample {
        LatencySample(
            endpoint: endpoint.name, status: status, ms: timing.total, dns: timing.dns, connect: timing.connect,
            tls: timing.tls, wait: timing.wait, receive: timing.receive, bytes: timing.bytes, reused: timing.reused,
            late: late.milliseconds)
    }
}
