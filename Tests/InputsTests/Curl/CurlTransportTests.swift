import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// What the real transport makes of a real server that behaves.
@Suite(.limited) struct CurlTransportTests {
    @Test func getsADocumentWithItsHeadersAndItsPhases() async throws {
        try await CurlBench.run { bench in
            let answer = try await bench.get("/fact?max_length=40")
            #expect(answer.status == 200)
            #expect(answer.headers.contentType == "application/json")
            #expect(String(decoding: answer.body, as: UTF8.self).hasPrefix(#"{"fact":""#))
            let timing = answer.timing
            #expect(timing.total > 0 && timing.bytes == answer.body.count && !timing.reused)
            let phases = [timing.dns, timing.connect, timing.tls, timing.wait, timing.receive]
            #expect(phases.allSatisfy { $0 >= 0 } && timing.tls == 0)
            #expect(abs(phases.reduce(0, +) - timing.total) < 0.01)
        }
    }

    @Test func usesAConnectionAgain() async throws {
        try await CurlBench.run { bench in
            var reused: [Bool] = []
            for _ in 0..<5 {
                let timing = try await bench.get("/fact").timing
                reused.append(timing.reused)
                if timing.reused { #expect(timing.dns == 0 && timing.connect == 0) }
            }
            #expect(reused == [false, true, true, true, true])
        }
    }

    @Test func saysWhereARedirectLed() async throws {
        try await withLoop { loop in
            let server = try RawServer(on: loop) { request in
                request.hasPrefix("GET /old ")
                    ? .text(
                        "HTTP/1.1 302 Found\r\nLocation: /new?x=1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    : .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                defer { group.cancelAll() }
                let transport = try CurlTransport(on: loop)
                #expect(
                    try await transport.get(HTTPRequest(url: server.origin + "/old")).location == server.origin
                        + "/new?x=1")
                #expect(try await transport.get(HTTPRequest(url: server.origin + "/new")).location == nil)
            }
        }
    }

    @Test func aConnectionThatTheServerClosedMeanwhileIsMadeAnew() async throws {
        try await CurlBench.run { bench in
            _ = try await bench.get("/fact")
            _ = try? await bench.get("/fault/truncated?sent=0")
            let answer = try await bench.get("/fact")
            #expect(answer.status == 200 && !answer.timing.reused)
        }
    }

    @Test func manyRequestsAtOnceAreAllAnsweredAndTheLoopTurns() async throws {
        try await CurlBench.run { bench in
            let statuses = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<100 {
                    group.addTask { try? await bench.get("/fault/delay/fact?delay=\(number % 10)").status }
                }
                var statuses: [Int?] = []
                for await status in group { statuses.append(status) }
                return statuses
            }
            #expect(statuses.count == 100 && statuses.allSatisfy { $0 == 200 })
            #expect(bench.transport.idleHandles == 8)
        }
    }

    @Test(arguments: [200, 204, 304, 400, 404, 418, 429, 500, 503, 599])
    func everyStatusIsAnAnswer(status: Int) async throws {
        try await CurlBench.run { bench in
            let answer = try await bench.get("/fault/status?code=\(status)&retry-after=7")
            #expect(answer.status == status && answer.headers.retryAfter == "7")
        }
    }

    @Test func validatorsGoThereAndBack() async throws {
        try await CurlBench.run { bench in
            let first = try await bench.get("/fault/etag/fact")
            #expect(first.status == 200)
            let tag = try #require(first.headers.etag)
            let date = try #require(first.headers.lastModified)
            for header in ["If-None-Match: \(tag)", "If-Modified-Since: \(date)"] {
                var request = bench.request("/fault/etag/fact")
                request.headers = [header]
                let second = try await bench.transport.get(request)
                #expect(second.status == 304 && second.body.isEmpty)
            }
        }
    }

    @Test func unpacksACompressedBodyAndCountsWhatCameOverTheWire() async throws {
        try await CurlBench.run { bench in
            let answer = try await bench.get("/fault/bomb?bytes=500000")
            #expect(answer.body.count >= 500_000 && answer.body.count <= 1 << 20)
            #expect(answer.timing.bytes < answer.body.count / 10)
        }
    }

    @Test func aBodyUpToTheCapIsTaken() async throws {
        try await CurlBench.run { bench in
            let exact = try await bench.get("/fault/large?bytes=1048576")
            #expect(exact.body.count == 1 << 20)
            let failure = try await bench.failure(bench.request("/fault/large?bytes=1048577"))
            #expect(failure.code == .tooLarge && failure.message.contains("larger than 1048576 bytes"))
        }
    }

    @Test func sendsItsHeadersAndItsName() async throws {
        try await withLoop { loop in
            let server = try RawServer(on: loop) { _ in .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                defer { group.cancelAll() }
                var request = HTTPRequest(url: server.origin + "/x?y=z#never-sent")
                request.headers = ["Authorization: Bearer token", "X-Cats: 9"]
                request.userAgent = "catwatch/1.2.3"
                let transport = try CurlTransport(on: loop)
                let answer = try await transport.get(request)
                #expect(answer.body == Array("{}".utf8))
                let head = try #require(await server.requests.first)
                #expect(head.hasPrefix("GET /x?y=z HTTP/1.1\r\n"))
                for line in ["Authorization: Bearer token", "X-Cats: 9", "User-Agent: catwatch/1.2.3"] {
                    #expect(head.contains("\r\n\(line)\r\n"))
                }
                for encoding in ["gzip", "br", "zstd"] { #expect(head.contains(encoding)) }
            }
        }
    }

    @Test func aCancelledRequestIsGoneAtOnceAndOthersGoOn() async throws {
        try await CurlBench.run { bench in
            let code = await withTaskGroup(of: Failure.Code?.self) { group in
                group.addTask {
                    do throws(HTTPFailure) {
                        _ = try await bench.get("/fault/silence")
                        return nil
                    } catch {
                        return error.code
                    }
                }
                while await bench.server.requestCount == 0 { try? await bench.loop.sleep(for: .milliseconds(1)) }
                group.cancelAll()
                return await group.next() ?? nil
            }
            #expect(code == .closed)
            #expect(bench.transport.underWay == 0)
            let after = try await bench.get("/fact")
            #expect(after.status == 200)
        }
    }

    @Test func aRequestOfATaskThatIsCancelledAlreadyIsNotMade() async throws {
        try await CurlBench.run { bench in
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask {
                    await #expect(throws: HTTPFailure.self) { _ = try await bench.get("/fact") }
                }
            }
            #expect(await bench.server.requestCount == 0)
        }
    }
}
