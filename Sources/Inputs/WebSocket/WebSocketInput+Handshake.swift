internal import Feed
internal import Glibc
internal import Reactor
internal import WebSocket

extension WebSocketInput {
    /// Asks for a WebSocket, within what the request's deadline has left, and adds how long it took.
    ///
    /// - Parameters:
    ///   - timing: what connecting took.
    ///   - late: how long after its time the attempt began, in milliseconds.
    func shakeHands(
        _ session: WebSocketSession, _ id: SourceID, _ timing: HTTPTiming, began: LoopInstant, late: Double
    ) async throws(Ending) {
        let peer = endpoint.authority
        let limit = source.request.timeout
        let key = Handshake.key(of: (random.next(), random.next()))
        let request = try request(key: key)
        // Closing is what ends a wait for a peer that neither reads nor answers.
        let timer = loop.schedule(at: began.advanced(by: limit)) {
            session.ending = Ending(.timeout, "\(peer) did not answer the handshake within \(limit.shortText)")
            session.stream.close()
        }
        defer { loop.cancel(timer) }
        let outcome: HandshakeAnswer.Outcome
        do {
            try await session.stream.write(all: request)
            outcome = try await answer(HandshakeAnswer(key: key, subprotocols: source.subprotocols), session)
        } catch let fault as HandshakeFault {
            throw Ending(fault.kind == .tooLarge ? .tooLarge : .protocol, "\(peer) \(fault.message)")
        } catch let error as SystemError {
            throw session.ending ?? broken(error)
        } catch let ending as Ending {
            throw ending
        } catch {
            throw Ending(.closed, "the connection was given up")
        }
        var sample = LatencySample(
            endpoint: endpoint.name, status: 101, ms: began.duration(to: loop.clock.now).milliseconds,
            dns: timing.dns, connect: timing.connect, tls: timing.tls, late: late)
        sample.wait = max(0, sample.ms - sample.dns - sample.connect - sample.tls)
        if case .refused(let status, _) = outcome { sample.status = status }
        batch.add(Event(time: wall.now, source: id, body: .latency(sample)))
        if case .refused(let status, let retryAfter) = outcome { throw refusal(status, retryAfter) }
        await publish()
    }

    private func request(key: String) throws(Ending) -> [UInt8] {
        guard let target = WebSocketTarget(url: source.request.url) else {
            throw Ending(.config, "this is not the URL of a WebSocket")
        }
        var request = HandshakeRequest(authority: target.authority, target: target.path, key: key)
        request.subprotocols = source.subprotocols
        request.fields = source.request.headers
        func has(_ name: String) -> Bool { request.fields.contains { $0.lowercased().hasPrefix(name + ":") } }
        if !has("user-agent") { request.fields.append("User-Agent: \(source.request.userAgent)") }
        if let credentials = source.request.credentials ?? target.credentials, !has("authorization") {
            let pair = Base64.encode("\(credentials.name):\(credentials.password)".utf8)
            request.fields.append("Authorization: Basic \(pair)")
        }
        do throws(HandshakeFault) {
            return try request.encoded()
        } catch {
            throw Ending(.config, error.message)
        }
    }

    /// Reads the answer's head; what follows it stays in the session's buffer.
    private func answer(
        _ answer: HandshakeAnswer, _ session: WebSocketSession
    ) async throws -> HandshakeAnswer.Outcome {
        var answer = answer
        while true {
            guard let count = try session.stream.read(into: session.buffer.memory) else {
                try await session.stream.waitUntilReadable()
                continue
            }
            guard count > 0 else {
                throw Ending(.closed, "\(endpoint.authority) closed the connection during the handshake")
            }
            var input = UnsafeRawBufferPointer(rebasing: session.buffer.memory[..<count])
            guard let outcome = try answer.next(from: &input) else { continue }
            session.pending = (count - input.count)..<count
            session.lastHeard = loop.clock.now
            return outcome
        }
    }

    /// What is said of an answer that is no upgrade.
    private func refusal(_ status: Int, _ retryAfter: String?) -> Ending {
        let peer = endpoint.authority
        var ending: Ending =
            switch status {
            case 429: Ending(.rateLimited, "\(peer) asks for fewer requests (429)")
            case 200...299: Ending(.status, "\(peer) answered \(status) and not 101: there is no WebSocket at this URL")
            case 300...399:
                Ending(.redirect, "\(peer) redirects the handshake (\(status)): give the URL that it leads to")
            default: Ending(.status, "\(peer) answered \(status)\(HTTPStatus.words(status))")
            }
        ending.retryAfter = retryAfter.flatMap { RetryAfter.delay($0, now: wall.now) }
        return ending
    }

    /// What is said of a connection that failed.
    func broken(_ error: SystemError) -> Ending {
        Ending(
            [ECONNRESET, EPIPE].contains(error.code) ? .reset : .closed,
            "the connection to \(endpoint.authority) broke: \(error.reason)")
    }
}
