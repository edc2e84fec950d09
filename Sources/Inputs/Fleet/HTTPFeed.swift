package import Feed
package import Reactor

/// Another agent's `/feed` over HTTP, with TLS and proxies.
package struct HTTPFeed: FeedTransport {
    private let agent: HTTPRequest
    private let transport: any HTTPTransport

    /// - Parameter agent: a request for the agent's page or its `/feed`.
    package init(_ agent: HTTPRequest, by transport: any HTTPTransport) {
        self.agent = agent
        self.transport = transport
    }

    package var greetsFirst: Bool { false }
    package var showsItsEnd: Bool { false }

    package func open(_ resumption: FeedResumption?) async throws -> LoopBound<any ByteStream> {
        let query = resumption.map {
            "?since=\($0.line.sequence)&run=\($0.line.run)\($0.wantsAllKept ? "&kept=1" : "")"
        }
        let (status, body) = try await transport.open(request("/feed\(query ?? "")", "Accept: application/x-ndjson"))
        if status == 200 { return body }
        body.value.close()
        // An agent that has no kept lines yet refuses to be asked for them.
        if status == 400, let resumption, resumption.wantsAllKept {
            return try await open(FeedResumption(behind: resumption.line))
        }
        switch status {
        case 401, 403: throw failure("lets nobody in without the right token (status \(status))")
        case 503: throw failure("has no room for another reader (status 503)")
        default: throw failure("answers with status \(status)")
        }
    }

    package func ask(_ source: String, _ poll: PollRequest, on stream: any ByteStream) -> Asking {
        .later { () async throws(HTTPFailure) in
            var request = request("/poll/\(CurlURL.escaped(source))", "Content-Type: application/json")
            request.body = poll.n.map { #"{"n":\#($0)}"# } ?? "{}"
            let (status, body) = try await transport.open(request)
            body.value.close()
            guard status == 202 else { throw failure("does not poll \(source): it answers with status \(status)") }
        }
    }

    /// Returns a request to the agent for a path below its own, with another header.
    private func request(_ target: String, _ header: String) -> HTTPRequest {
        func trimmed(_ path: Substring) -> Substring {
            var path = path
            while path.hasSuffix("/") { path.removeLast() }
            return path
        }
        var path = trimmed(Substring(CurlURL(agent.url, 0)?.path ?? ""))
        if path.hasSuffix("/feed") { path = trimmed(path.dropLast(5)) }
        var request = agent.moved(to: agent.endpoint.origin + path + target)
        request.headers.append(header)
        return request
    }

    private func failure(_ words: String) -> HTTPFailure {
        HTTPFailure(.status, "\(agent.endpoint.authority) \(words)")
    }
}
