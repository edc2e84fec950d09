package import Feed
package import Reactor

/// Another agent's `/feed` over HTTP, with TLS and proxies.
///
/// Requests use HTTP/1.0, so that no answer is chunked: it ends with the connection (RFC 9112, section 6.3).
package struct HTTPFeed: FeedTransport {
    private let request: HTTPRequest
    private let transport: any StreamTransport
    private let loop: EventLoop

    // Bound: head of a response of `/feed` | 16 KiB | an `error`, another attempt
    private static let longestHead = 16 << 10

    package init(_ request: HTTPRequest, by transport: any StreamTransport, on loop: EventLoop) {
        self.request = request
        self.transport = transport
        self.loop = loop
    }

    package var greetsFirst: Bool { false }
    package var showsItsEnd: Bool { false }

    private var peer: String { request.endpoint.authority }

    package func open(_ resumption: FeedResumption?) async throws -> LoopBound<any ByteStream> {
        var (stream, head) = try await exchange { Self.head(of: request, $0, resumption) }
        if let resumption, resumption.wantsAllKept, Self.status(head) == "400" {
            // An agent that has no kept lines yet refuses to be asked for them.
            stream.value.close()
            (stream, head) = try await exchange { Self.head(of: request, $0, FeedResumption(behind: resumption.line)) }
        }
        if let failure = Self.failure(head, of: peer) {
            stream.value.close()
            throw failure
        }
        return stream
    }

    /// Connects, writes the request, and reads the head of the answer, within the request's deadline.
    private func exchange(
        _ bytes: (WebSocketTarget) -> [UInt8]
    ) async throws -> (stream: LoopBound<any ByteStream>, head: String) {
        guard let target = WebSocketTarget(url: request.url) else {
            throw HTTPFailure(.config, "this is not the URL of an agent")
        }
        let deadline = loop.clock.now.advanced(by: request.timeout)
        let opened = try await transport.connect(request).stream
        // Only closing ends the wait for a peer that neither reads nor answers.
        let timer = loop.schedule(at: deadline) { opened.value.close() }
        defer { loop.cancel(timer) }
        do {
            try await opened.value.write(all: bytes(target))
            return (opened, try await readHead(of: opened.value))
        } catch {
            opened.value.close()
            guard let error = error as? SystemError else { throw error }
            if loop.clock.now >= deadline {
                throw HTTPFailure(.timeout, "\(peer) did not answer within \(request.timeout.shortText)")
            }
            throw HTTPFailure(.reset, "the connection to \(peer) broke: \(error.reason)")
        }
    }

    /// Returns the request for the feed.
    static func head(of request: HTTPRequest, _ target: WebSocketTarget, _ resumption: FeedResumption?) -> [UInt8] {
        let query =
            resumption.map {
                "?since=\($0.line.sequence)&run=\($0.line.run)\($0.wantsAllKept ? "&kept=1" : "")"
            } ?? ""
        return head("GET \(base(target))/feed\(query)", ["Accept: application/x-ndjson"], of: request, target)
    }

    /// Returns the request that polls a source of the agent.
    static func poll(
        _ source: String, _ poll: PollRequest, by request: HTTPRequest, _ target: WebSocketTarget
    ) -> [UInt8] {
        let body = poll.n.map { #"{"n":\#($0)}"# } ?? "{}"
        let fields = ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        return head("POST \(base(target))/poll/\(CurlURL.escaped(source))", fields, of: request, target) + body.utf8
    }

    /// Returns the path below which the agent's own paths are.
    private static func base(_ target: WebSocketTarget) -> Substring {
        func trimmed(_ path: Substring) -> Substring {
            var path = path
            while path.hasSuffix("/") { path = path.dropLast() }
            return path
        }
        let path = trimmed(target.path.prefix { $0 != "?" })
        return path.hasSuffix("/feed") ? trimmed(path.dropLast(5)) : path
    }

    private static func head(
        _ first: String, _ fields: [String], of request: HTTPRequest, _ target: WebSocketTarget
    ) -> [UInt8] {
        let lines = ["\(first) HTTP/1.0", "Host: \(target.authority)"] + fields + target.fields(of: request)
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Reads the head of the answer byte by byte: the bytes behind it belong to the feed.
    private func readHead(of stream: any ByteStream) async throws -> String {
        let byte = ReadBuffer(count: 1)
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let count = try stream.read(into: byte.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            guard count > 0 else { throw HTTPFailure(.closed, "\(peer) closed the connection without an answer") }
            head.append(byte.memory[0])
            guard head.count <= Self.longestHead else {
                throw HTTPFailure(.protocol, "\(peer) answers with a head that is too long")
            }
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Returns what is wrong with an answer; nil when the feed follows.
    static func failure(_ head: String, of peer: String) -> HTTPFailure? {
        let lines = head.split(whereSeparator: \.isNewline)
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1])
        else { return HTTPFailure(.protocol, "\(peer) does not answer in HTTP/1") }
        switch status {
        case 200: break
        case 401, 403: return HTTPFailure(.status, "\(peer) lets nobody in without the right token (status \(status))")
        case 503: return HTTPFailure(.status, "\(peer) has no room for another reader (status 503)")
        default: return HTTPFailure(.status, "\(peer) answers with status \(status)")
        }
        guard !lines.contains(where: { $0.lowercased().hasPrefix("transfer-encoding:") }) else {
            return HTTPFailure(.protocol, "\(peer) answers in chunks, though it was asked by HTTP/1.0")
        }
        return nil
    }

    package func ask(_ source: String, _ request: PollRequest, on stream: any ByteStream) -> Asking {
        .later { () async throws(HTTPFailure) in try await post(source, request) }
    }

    private func post(_ source: String, _ poll: PollRequest) async throws(HTTPFailure) {
        let head: String
        do {
            let (stream, answer) = try await exchange { Self.poll(source, poll, by: request, $0) }
            stream.value.close()
            head = answer
        } catch let failure as HTTPFailure {
            throw failure
        } catch {
            throw HTTPFailure(.closed, "\(peer) was not asked")
        }
        let status = Self.status(head)
        guard status == "202" else {
            throw HTTPFailure(.status, "\(peer) does not poll \(source): it answers with status \(status.prefix(3))")
        }
    }

    private static func status(_ head: String) -> Substring {
        head.split(separator: " ", maxSplits: 2).dropFirst().first ?? ""
    }
}
