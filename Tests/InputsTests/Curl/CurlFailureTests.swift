import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Every way in which a request can fail, and the words for it.
@Suite(.limited) struct CurlFailureTests {
    @Test(
        arguments: [
            ("/fault/truncated/fact?sent=5", "closed", ["closed the connection after 5 bytes of a longer answer"]),
            ("/fault/reset", "reset", ["the connection to 127.0.0.1:", "broke"]),
            ("/fault/reset/breeds?after=10", "reset", ["broke"]),
            ("/fault/close", "closed", ["closed the connection without an answer"]),
            ("/fault/endless", "too_large", ["is larger than 1048576 bytes"]),
            ("/fault/large", "too_large", ["is larger than 1048576 bytes"]),
            ("/fault/bomb?bytes=20000000", "too_large", ["is larger than 1048576 bytes"]),
            ("/fault/garbled", "encoding", ["cannot be unpacked"]),
            ("/fault/garbled?encoding=deflate", "encoding", ["cannot be unpacked"]),
            ("/fault/garbled?encoding=br", "encoding", ["cannot be unpacked"]),
            ("/fault/garbled?encoding=zstd", "encoding", ["cannot be unpacked"]),
            ("/fault/garbled?encoding=unheard-of", "encoding", ["cannot be unpacked"]),
            ("/fault/loop", "redirect", ["redirected more than 10 times"]),
            ("/fault/loop?code=308", "redirect", ["redirected more than 10 times"]),
            ("/fault/redirect?to=file:///etc/passwd", "redirect", ["other than http or https"]),
            ("/fault/redirect?to=ftp://127.0.0.1/x", "redirect", ["other than http or https"]),
            ("/fault/redirect?to=http://", "redirect", ["not a URL"]),
            ("http://127.0.0.1:1/fact", "connect", ["127.0.0.1:1 refused the connection", "nothing listens there"]),
            ("http://\(String(repeating: "a", count: 64)).invalid/", "dns", ["the name aaa", "was not found"]),
            ("file:///etc/passwd", "config", ["only http and https"]), ("gopher://127.0.0.1/", "config", ["only http"]),
            ("http://", "config", ["not a URL"]), ("http://a b/", "config", ["not a URL"]),
            ("http://host:99999/", "config", ["not a URL"]),
        ] as [(String, String, [String])])
    func everyFaultHasItsCodeAndItsWords(target: String, code: String, words: [String]) async throws {
        try await CurlBench.run { bench in
            let failure = try await bench.failure(bench.request(target))
            #expect(failure.code.rawValue == code, "\(failure.message)")
            for word in words { #expect(failure.message.contains(word), "\(failure.message)") }
            #expect(!failure.message.contains("?") && !failure.message.contains("passwd"), "\(failure.message)")
        }
    }

    /// libcurl takes no buffer size on a handle whose last request came to no connection.
    @Test(arguments: ["http://\(String(repeating: "a", count: 64)).invalid/", "file:///etc/passwd", "http://"])
    func theNextRequestIsNoneTheWorse(for target: String) async throws {
        try await CurlBench.run { bench in
            _ = try await bench.failure(bench.request(target))
            let answer = try await bench.get("/fact")
            #expect(answer.status == 200)
        }
    }

    @Test(
        arguments: [
            ("/fault/silence", .milliseconds(50), "no answer from 127.0.0.1:"),
            ("/fault/delay?delay=60000", .milliseconds(50), "no answer from 127.0.0.1:"),
            // The first byte has to come in time on a busy machine too.
            ("/fault/drip/fact?every=100", .seconds(1), "was not complete within 1 s"),
            ("/fault/drip/fact?every=60000", .seconds(1), "was not complete within 1 s"),
        ] as [(String, Duration, String)])
    func oneDeadlineCoversEverythingUpToTheLastByte(target: String, timeout: Duration, words: String) async throws {
        try await CurlBench.run { bench in
            let start = bench.loop.clock.now
            let failure = try await bench.failure(bench.request(target, timeout: timeout))
            #expect(failure.code == .timeout && failure.message.contains(words), "\(failure.message)")
            #expect(start.duration(to: bench.loop.clock.now) >= timeout - .milliseconds(1))
        }
    }

    @Test func theDeadlineEndsAnEndlessBodyToo() async throws {
        try await CurlBench.run { bench in
            var request = bench.request("/fault/endless", timeout: .seconds(1))
            request.maxBody = 1 << 40
            let failure = try await bench.failure(request)
            #expect(failure.code == .timeout && failure.message.contains("was not complete within 1 s"))
            let begun = try #require(failure.begun)
            #expect(begun.status == 200 && begun.timing.bytes > 0 && begun.timing.total >= 999)
        }
    }

    @Test func aBombIsStoppedWellBeforeItIsUnpacked() async throws {
        try await CurlBench.run { bench in
            let failure = try await bench.failure(bench.request("/fault/bomb?bytes=100000000"))
            #expect(failure.code == .tooLarge)
            // 100 MB are 100 KB on the wire; a megabyte of body is a few kilobytes of them.
            let begun = try #require(failure.begun)
            #expect(begun.status == 200 && begun.timing.bytes < 60_000)
        }
    }

    @Test func aNameThatDoesNotExistIsNotFound() async throws {
        try await CurlBench.run { bench in
            let failure = try await bench.failure(bench.request("http://nosuchhost.invalid/", timeout: .seconds(3)))
            // Where no name server answers at all, it is the deadline that comes.
            #expect(failure.code == .dns || failure.code == .timeout)
            #expect(failure.message.contains("the name nosuchhost.invalid was not"))
        }
    }

    @Test(
        arguments: [
            ("SSH-2.0-OpenSSH_9.2\r\n", "protocol", "does not speak HTTP"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "protocol", "does not speak HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", "closed", "after 2 bytes of a longer answer"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", "closed", "after"),
            ("", "closed", "without an answer"),
        ] as [(String, String, String)])
    func whatIsNoHTTPIsSaidToBeNone(text: String, code: String, words: String) async throws {
        let failure = try await Self.failure(of: .text(text))
        #expect(failure.code.rawValue == code && failure.message.contains(words), "\(failure.message)")
    }

    @Test(arguments: ["X-Cat: \(String(repeating: "a", count: 1_000))\r\n", String(repeating: "a", count: 1_000)])
    func headersWithoutEndAreCutShort(again: String) async throws {
        let failure = try await Self.failure(of: .endless(head: "HTTP/1.1 200 OK\r\n", again: again))
        #expect(failure.code == .tooLarge, "\(failure.message)")
        #expect(failure.message.contains("headers"), "\(failure.message)")
    }

    private static func failure(of answer: RawServer.Answer) async throws -> HTTPFailure {
        try await CurlBench.run { bench in
            let server = try RawServer(on: bench.loop) { _ in answer }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                defer { group.cancelAll() }
                return try await bench.failure(bench.request(server.origin))
            }
        }
    }

    // MARK: Redirects

    @Test func redirectsAreFollowedAndTheirTimeCounts() async throws {
        try await CurlBench.run { bench in
            let answer = try await bench.get("/fault/redirect/fact?times=10&delay=30")
            #expect(answer.status == 200 && answer.timing.total >= 30)
            #expect(await bench.server.requestCount == 11)
            let failure = try await bench.failure(bench.request("/fault/redirect/fact?times=11"))
            #expect(failure.code == .redirect)
        }
    }

    @Test func oneDeadlineCoversAllRedirects() async throws {
        try await withLoop { loop in
            let server = try RawServer(on: loop) { request in
                let hop = Int(request.dropFirst("GET /".count).prefix { $0 != " " }) ?? 0
                return hop < 8
                    ? .late(
                        .milliseconds(100),
                        "HTTP/1.1 302 x\r\nLocation: /\(hop + 1)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    : .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            }
            let transport = try CurlTransport(on: loop)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                defer { group.cancelAll() }
                var request = HTTPRequest(url: server.origin + "/0")
                request.timeout = .milliseconds(500)
                do throws(HTTPFailure) {
                    let answer = try await transport.get(request)
                    Issue.record("there was an answer after \(answer.timing.total) ms")
                } catch {
                    #expect(error.code == .timeout && error.message.contains("within 500 ms"), "\(error.message)")
                }
            }
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func whatIsSecretStaysWithItsOrigin(code: Int) async throws {
        try await CurlBench.run { bench in
            let other = try RawServer(on: bench.loop) { request in
                // Back to where it came from: what was left behind stays behind.
                request.hasPrefix("GET /back")
                    ? .text("HTTP/1.1 302 Found\r\nLocation: \(bench.server.origin)/fact\r\nContent-Length: 0\r\n\r\n")
                    : .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await other.run() }
                defer { group.cancelAll() }
                for path in ["/there", "/back"] {
                    var request = bench.request("/fault/redirect?code=\(code)&to=\(other.origin)\(path)")
                    request.headers = ["Authorization: Bearer SECRET", "X-Api-Key: SECRET", "Cookie: SECRET"]
                    let answer = try await bench.transport.get(request)
                    #expect(answer.status == 200)
                }
                let requests = await other.requests
                #expect(requests.count == 2)
                for head in requests { #expect(!head.contains("SECRET") && head.contains("User-Agent: "), "\(head)") }
            }
        }
    }

    @Test func aRedirectToAnOriginThatIsNotAllowedIsNotFollowed() async throws {
        try await CurlBench.run { bench in
            let other = try RawServer(on: bench.loop) { _ in .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await other.run() }
                defer { group.cancelAll() }
                var request = bench.request("/fault/redirect?to=\(other.origin)/there")
                request.origins = [bench.server.origin]
                let failure = try await bench.failure(request)
                #expect(failure.code == .redirect && failure.begun?.status == 302)
                let words = "redirects to \(other.origin), which is only followed when other origins are allowed"
                #expect(failure.message.hasSuffix(words), "\(failure.message)")
                #expect(await other.requests.isEmpty)
                request.origins?.insert(other.origin)
                #expect(try await bench.transport.get(request).status == 200)
                request = bench.request("/fault/redirect/fact?times=3")
                request.origins = [bench.server.origin]
                #expect(try await bench.transport.get(request).status == 200)
            }
        }
    }

    @Test func headersAreSentAgainToTheSameOrigin() async throws {
        try await withLoop { loop in
            let server = try RawServer(on: loop) { request in
                request.hasPrefix("GET /first")
                    ? .text("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                    : .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                defer { group.cancelAll() }
                var request = HTTPRequest(url: server.origin + "/first")
                request.headers = ["X-Api-Key: key"]
                let transport = try CurlTransport(on: loop)
                let answer = try await transport.get(request)
                #expect(answer.status == 200)
                let heads = await server.requests
                #expect(heads.count == 2 && heads.allSatisfy { $0.contains("X-Api-Key: key\r\n") })
            }
        }
    }

    @Test(arguments: ["/fault/redirect/fact?times=3", "/fault/loop"])
    func noRedirectIsFollowedWhenNoneIsAllowed(target: String) async throws {
        try await CurlBench.run { bench in
            var request = bench.request(target)
            request.maxRedirects = 0
            let failure = try await bench.failure(request)
            #expect(failure.code == .redirect && failure.message.contains("more than 0 times"))
            #expect(await bench.server.requestCount == 1)
        }
    }
}
