import CatAPI
import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

/// Another agent's feed by the real transport, against a server that says what it is given to say.
@Suite(.limited) struct HTTPFeedTests {
    /// What a test has of a server.
    private struct Bench: Sendable {
        let server: RawServer
        let feed: HTTPFeed
        let loop: EventLoop

        /// What opening the feed fails with.
        func failure(_ resumption: FeedResumption? = nil) async throws -> HTTPFailure {
            let failure = await #expect(throws: HTTPFailure.self) { _ = try await feed.open(resumption) }
            return try #require(failure)
        }

        /// Asks the agent to poll a source.
        func poll(_ source: String, _ request: PollRequest = PollRequest()) async throws {
            let (stream, _) = SimulatedStream.pair(on: loop)
            guard case .later(let work) = feed.ask(source, request, on: stream) else {
                Issue.record("it was asked at once")
                return
            }
            try await work()
        }
    }

    private static func run(
        _ path: String = "", _ change: @escaping @Sendable (inout HTTPRequest) -> Void = { _ in },
        answer: @escaping @Sendable (String) -> RawServer.Answer,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let server = try RawServer(on: loop, answer: answer)
            let transport = try CurlTransport(on: loop)
            var request = HTTPRequest(url: server.origin + path)
            request.timeout = .seconds(120)
            change(&request)
            let bench = Bench(server: server, feed: HTTPFeed(request, by: transport), loop: loop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                defer { group.cancelAll() }
                try await body(bench)
            }
            #expect(transport.underWay == 0)
        }
    }

    /// The text of a feed, up to its end or so many bytes.
    private static func text(of body: LoopBound<any ByteStream>, upTo most: Int = .max) async throws -> String {
        let buffer = ReadBuffer()
        var bytes: [UInt8] = []
        while bytes.count < most {
            guard let count = try body.value.read(into: buffer.memory) else {
                try await body.value.waitUntilReadable()
                continue
            }
            if count == 0 { break }
            bytes += buffer.memory[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let found = "HTTP/1.1 200 OK\r\n\r\n"

    // MARK: What is asked

    @Test(arguments: [
        ("", ""), ("/", ""), ("/feed", ""), ("/feed?a=b", ""), ("/agents/web2", "/agents/web2"),
        ("/agents/web2/feed/", "/agents/web2"), ("/a//web2//", "/a//web2"),
    ])
    func whatItAsksStandsBelowTheAgentsOwnPath(path: String, base: String) async throws {
        try await Self.run(path) {
            $0.headers = ["Authorization: Bearer secret"]
        } answer: { request in
            .text(request.hasPrefix("GET") ? Self.found : "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        } _: { bench in
            for resumption in [
                nil, FeedResumption(behind: LineID("r1", 41)),
                FeedResumption(behind: LineID("r1", 41), wantsAllKept: true),
            ] {
                try await bench.feed.open(resumption).value.close()
            }
            try await bench.poll("é/a b?", PollRequest(n: 500))
            try await bench.poll("fact")
            let requests = await bench.server.requests.map {
                $0.split(separator: "\r\n", omittingEmptySubsequences: false)
            }
            #expect(
                requests.map(\.first) == [
                    "GET \(base)/feed HTTP/1.1", "GET \(base)/feed?since=41&run=r1 HTTP/1.1",
                    "GET \(base)/feed?since=41&run=r1&kept=1 HTTP/1.1",
                    "POST \(base)/poll/%C3%A9%2Fa%20b%3F HTTP/1.1", "POST \(base)/poll/fact HTTP/1.1",
                ])
            for request in requests {
                #expect(request.contains("Authorization: Bearer secret") && request.contains("User-Agent: catwatch"))
            }
            #expect(requests[0].contains("Accept: application/x-ndjson"))
            #expect(requests[3...].allSatisfy { $0.contains("Content-Type: application/json") })
            #expect(requests[3].contains("Content-Length: 9") && requests[3].last == #"{"n":500}"#)
            #expect(requests[4].last == "{}")
        }
    }

    @Test(arguments: [(nil, nil), ("own", "Basic b3duOnNlY3JldA==")])
    func sendsOneAuthorizationField(own: String?, basic: String?) async throws {
        for header in [nil, "Authorization: Bearer secret", "authorization: Bearer secret"] {
            try await Self.run {
                $0.headers = header.map { [$0] } ?? []
                $0.credentials = own.map { HTTPRequest.Credentials(name: $0, password: "secret") }
            } answer: { _ in
                .text(Self.found)
            } _: { bench in
                try await bench.feed.open(nil).value.close()
                let fields = await bench.server.requests[0].split(separator: "\r\n").filter {
                    $0.lowercased().hasPrefix("authorization:")
                }
                #expect(fields.map(String.init) == (header ?? basic.map { "Authorization: \($0)" }).map { [$0] } ?? [])
            }
        }
    }

    // MARK: What is answered

    @Test(arguments: [
        Self.found + "one\ntwo\n", "HTTP/1.0 200\r\n\r\none\ntwo\n",
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + Self.found + "one\ntwo\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\none\ntwo\nnot this",
        // As a proxy sends it on.
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\none\nt\r\n3\r\nwo\n\r\n0\r\n\r\n",
        // Nobody asked for it to be compressed, and so it is not unpacked.
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\none\ntwo\n",
    ])
    func theFeedIsTheBodyOfTheAnswer(text: String) async throws {
        try await Self.run { _ in
        } answer: { _ in
            .text(text)
        } _: { bench in
            let body = try await bench.feed.open(nil)
            #expect(try await Self.text(of: body) == "one\ntwo\n")
        }
    }

    @Test(
        arguments: [
            ("HTTP/1.1 401 No\r\n\r\n", .status, "HOST lets nobody in without the right token (status 401)"),
            ("HTTP/1.1 403 No\r\n\r\nhunter2", .status, "HOST lets nobody in without the right token (status 403)"),
            ("HTTP/1.1 503 No\r\n\r\n", .status, "HOST has no room for another reader (status 503)"),
            ("HTTP/1.1 500 No\r\n\r\n", .status, "HOST answers with status 500"),
            ("HTTP/1.1 204 No\r\n\r\n", .status, "HOST answers with status 204"),
            ("HTTP/1.1 400 No\r\n\r\n", .status, "HOST answers with status 400"),
            ("SSH-2.0-OpenSSH\r\n\r\n", .protocol, "HOST does not speak HTTP"),
            ("HTTP/0.9 200 OK\r\n\r\n{}\n", .protocol, "HOST does not speak HTTP"),
            ("{}\n", .protocol, "HOST does not speak HTTP"),
            ("HTTP/1.1 2000 OK\r\n\r\n", .protocol, "HOST does not speak HTTP"),
            ("HTTP/1.1 x OK\r\n\r\n", .protocol, "HOST does not speak HTTP"),
            ("", .closed, "HOST closed the connection without an answer"),
            (
                "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 4_000) + "\r\n{}\n", .tooLarge,
                "the headers of the answer of HOST are larger than can be taken"
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .encoding,
                "HOST sends a compressed feed, which nobody asked for"
            ),
            (
                "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING:gzip\r\n\r\n", .encoding,
                "HOST sends a compressed feed, which nobody asked for"
            ),
        ] as [(String, Failure.Code, String)])
    func whatIsNoFeedIsSaidInWords(text: String, code: Failure.Code, words: String) async throws {
        try await Self.run("?key=hunter2") {
            $0.headers = ["X-Key: hunter2"]
            $0.credentials = HTTPRequest.Credentials(name: "hunter2", password: "hunter2")
        } answer: { _ in
            .text(text)
        } _: { bench in
            let failure = try await bench.failure()
            let host = bench.server.origin.dropFirst("http://".count)
            #expect(failure.code == code && failure.message == words.replacing("HOST", with: host), "\(failure)")
            #expect(await bench.server.requests.count == 1)
        }
    }

    @Test(arguments: ["X-Cat: \(String(repeating: "a", count: 1_000))\r\n", String(repeating: "a", count: 1_000)])
    func aHeadWithoutEndIsCutShort(again: String) async throws {
        try await Self.run { _ in
        } answer: { _ in
            .endless(head: "HTTP/1.1 200 OK\r\n", again: again)
        } _: { bench in
            let failure = try await bench.failure()
            #expect(failure.code == .tooLarge && failure.message.contains("headers"), "\(failure)")
        }
    }

    /// They come after the body, for which there is no deadline.
    @Test func trailersWithoutEndAreCutShort() async throws {
        try await Self.run { _ in
        } answer: { _ in
            .endless(
                head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n0\r\n",
                again: "X-Cat: \(String(repeating: "a", count: 1_000))\r\n")
        } _: { bench in
            let body = try await bench.feed.open(nil)
            #expect(try await Self.text(of: body, upTo: 4) == "one\n")
            await #expect(throws: SystemError.self) { _ = try await Self.text(of: body) }
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsNotFollowed(code: Int) async throws {
        try await CurlBench.run { bench in
            let answer = "HTTP/1.1 \(code) x\r\nLocation: \(bench.server.origin)/fact\r\nContent-Length: 0\r\n\r\n"
            try await Self.run {
                $0.credentials = HTTPRequest.Credentials(name: "a", password: "hunter2")
            } answer: { _ in
                .text(answer)
            } _: { feed in
                let refusal = try await feed.failure()
                #expect(refusal.message.hasSuffix("answers with status \(code)"))
                let failure = await #expect(throws: HTTPFailure.self) { try await feed.poll("fact") }
                #expect(failure?.message.hasSuffix("does not poll fact: it answers with status \(code)") == true)
            }
            #expect(await bench.server.requestCount == 0)
        }
    }

    @Test(
        arguments: [
            ("HTTP/1.1 404 x\r\n\r\n", .status, "HOST does not poll fact: it answers with status 404"),
            ("HTTP/1.1 200 x\r\n\r\n", .status, "HOST does not poll fact: it answers with status 200"),
            ("", .closed, "HOST closed the connection without an answer"),
            ("hm", .protocol, "HOST does not speak HTTP"),
        ] as [(String, Failure.Code, String)])
    func aPollThatIsNotTakenIsSaidInWords(text: String, code: Failure.Code, words: String) async throws {
        try await Self.run { _ in
        } answer: { _ in
            .text(text)
        } _: { bench in
            let failure = await #expect(throws: HTTPFailure.self) { try await bench.poll("fact") }
            let host = bench.server.origin.dropFirst("http://".count)
            #expect(failure?.code == code && failure?.message == words.replacing("HOST", with: host), "\(failure)")
        }
    }

    // MARK: How long it lasts

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"])
    func theDeadlineHoldsUntilTheFeedBegins(text: String) async throws {
        try await Self.run {
            $0.timeout = .milliseconds(100)
        } answer: { _ in
            .held(text)
        } _: { bench in
            let failure = try await bench.failure()
            #expect(failure.code == .timeout && failure.message.hasSuffix("within 100 ms"), "\(failure)")
            while await bench.server.left == 0 { try await bench.loop.sleep(for: .milliseconds(1)) }
        }
    }

    @Test func theFeedHasNoDeadline() async throws {
        try await Self.run {
            $0.timeout = .seconds(1)
        } answer: { _ in
            .held(Self.found + "one\n")
        } _: { bench in
            let body = try await bench.feed.open(nil)
            #expect(try await Self.text(of: body, upTo: 4) == "one\n")
            try await bench.loop.sleep(for: .milliseconds(1_100))
            let count = try body.value.read(into: ReadBuffer().memory)
            #expect(count == nil)
            #expect(await bench.server.left == 0)
            body.value.close()
            // Who waited for more is told.
            try await body.value.waitUntilReadable()
            #expect(throws: SystemError.self) { _ = try body.value.read(into: ReadBuffer().memory) }
            while await bench.server.left == 0 { try await bench.loop.sleep(for: .milliseconds(1)) }
        }
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\nzz\r\n",
        ])
    func aFeedThatBreaksOffIsNoEnd(text: String) async throws {
        try await Self.run { _ in
        } answer: { _ in
            .text(text)
        } _: { bench in
            let body = try await bench.feed.open(nil)
            #expect(try await Self.text(of: body, upTo: 4) == "one\n")
            await #expect(throws: SystemError.self) { _ = try await Self.text(of: body) }
        }
    }

    // MARK: How much is held

    @Test func whatIsNotReadStaysWithTheAgent() async throws {
        let line = String(repeating: "0123456789", count: 100)
        try await Self.run { _ in
        } answer: { _ in
            .endless(head: Self.found, again: line)
        } _: { bench in
            let body = try await bench.feed.open(nil)
            defer { body.value.close() }
            while await !bench.server.isHeldUp { try await bench.loop.sleep(for: .milliseconds(1)) }
            let buffer = ReadBuffer(count: 1 << 20)
            var place = 0
            while place < 32 << 20 {
                guard let count = try body.value.read(into: buffer.memory) else {
                    try await body.value.waitUntilReadable()
                    continue
                }
                try #require(count > 0 && count <= 16 << 10)
                // Each digit of the text is its place; 16 KiB are no multiple of ten.
                try #require(buffer.memory[0] == UInt8(ascii: "0") + UInt8(place % 10), "before \(place)")
                place += count
                try #require(buffer.memory[count - 1] == UInt8(ascii: "0") + UInt8((place - 1) % 10), "at \(place)")
            }
        }
    }

    @Test func secureFeedsAreTrustedOrNot() async throws {
        // With HTTP/2, libcurl would hold more than is told to wait.
        let server = try TLSServer(.good, protocols: "h2,http/1.1")
        defer { server.stop() }
        try await withLoop { loop in
            let transport = try CurlTransport(on: loop)
            var request = server.request()
            let (status, body) = try await transport.open(request)
            #expect(status == 200)
            #expect(try await Self.text(of: body).contains("Secure."))
            request.caFile = nil
            let feed = HTTPFeed(request, by: transport)
            let failure = await #expect(throws: HTTPFailure.self) { _ = try await feed.open(nil) }
            #expect(failure?.code == .tls)
        }
    }
}
