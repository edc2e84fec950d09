internal import CCurl
internal import Feed
internal import Reactor
internal import WebSocket

/// Performs the WebSocket handshake on a connection, within the rest of the request's deadline.
struct WebSocketHandshake {
    let source: WebSocketSource
    let loop: EventLoop
    /// New for each handshake; see `Handshake.key`.
    let key: String

    private var peer: String { source.request.endpoint.authority }

    /// Sends the request and reads the answer's head; later bytes stay in the session's buffer.
    ///
    /// - Parameter began: when connecting began.
    func perform(
        on session: WebSocketSession, began: LoopInstant
    ) async throws(WebSocketEnding) -> HandshakeAnswer.Outcome {
        let limit = source.request.timeout
        let deadline = began.advanced(by: limit)
        let request = try encodedRequest()
        // Only closing ends the wait for a peer that neither reads nor answers.
        let timer = loop.schedule(at: deadline) { session.stream.close() }
        defer { loop.cancel(timer) }
        do {
            try await session.stream.write(all: request)
            return try await readAnswer(session)
        } catch let fault as HandshakeFault {
            throw WebSocketEnding(fault.kind == .tooLarge ? .tooLarge : .protocol, "\(peer) \(fault.message)")
        } catch let error as SystemError {
            guard loop.clock.now < deadline else {
                throw WebSocketEnding(.timeout, "\(peer) did not answer the handshake within \(limit.shortText)")
            }
            throw WebSocketEnding(error, of: peer)
        } catch let ending as WebSocketEnding {
            throw ending
        } catch {
            throw WebSocketEnding(.closed, "the connection was given up")
        }
    }

    private func encodedRequest() throws(WebSocketEnding) -> [UInt8] {
        guard let url = CurlURL(CurlURL.httpURL(source.request.url), CURLU_URLENCODE) else {
            throw WebSocketEnding(.config, "this is not the URL of a WebSocket")
        }
        let target = url.path + (url.part(CURLUPART_QUERY).map { "?\($0)" } ?? "")
        var request = HandshakeRequest(authority: url.authority, target: target, key: key)
        request.subprotocols = source.subprotocols
        request.fields = fields
        do throws(HandshakeFault) {
            return try request.encoded()
        } catch {
            throw WebSocketEnding(.config, error.message)
        }
    }

    /// The request's own header lines, the user agent, and the credentials.
    private var fields: [String] {
        var fields = source.request.headers
        func has(_ name: String) -> Bool { fields.contains { $0.lowercased().hasPrefix(name + ":") } }
        if !has("user-agent") { fields.append("User-Agent: \(source.request.userAgent)") }
        if let credentials = source.request.credentials, !has("authorization") {
            let pair = Base64.encode("\(credentials.name):\(credentials.password)".utf8)
            fields.append("Authorization: Basic \(pair)")
        }
        return fields
    }

    private func readAnswer(_ session: WebSocketSession) async throws -> HandshakeAnswer.Outcome {
        var answer = HandshakeAnswer(key: key, subprotocols: source.subprotocols)
        while true {
            guard let count = try session.stream.read(into: session.buffer.memory) else {
                try await session.stream.waitUntilReadable()
                continue
            }
            guard count > 0 else {
                throw WebSocketEnding(.closed, "\(peer) closed the connection during the handshake")
            }
            var input = UnsafeRawBufferPointer(rebasing: session.buffer.memory[..<count])
            guard let outcome = try answer.next(from: &input) else { continue }
            session.pending = (count - input.count)..<count
            return outcome
        }
    }
}
