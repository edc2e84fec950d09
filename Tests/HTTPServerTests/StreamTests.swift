import Glibc
import HTTPServer
import Reactor
import TestSupport
import Testing

/// Responses that come bit by bit, and those that come later.
@Suite(.limited) struct StreamTests {
    @Test(arguments: ["HTTP/1.1", "HTTP/1.0"])
    func aStreamWaitsUntilThereIsMore(version: String) async throws {
        try await ServerBench.run { bench in
            let descriptor = try await bench.open("GET /stream \(version)\r\nHost: x\r\n\r\n")
            defer { close(descriptor) }
            try await bench.until { bench.feeds.first?.asked == 1 }
            let head = try await bench.talk { try $0.receive(from: descriptor, until: "\r\n\r\n") }
            #expect(head.statuses == [200] && head.text.contains("chunked") == (version == "HTTP/1.1"))
            // Asked once more after each part, which the client may have before that, and not again and again.
            for (text, asked) in [("one ", 3), ("two ", 5)] {
                bench.feeds[0].give(text)
                let outcome = try await bench.talk { try $0.receive(from: descriptor, until: text) }
                #expect(outcome.text.contains(text))
                try await bench.until { bench.feeds[0].asked >= asked }
            }
            try await bench.loop.sleep(for: .milliseconds(20))
            #expect(bench.feeds[0].asked == 5 && bench.feeds[0].isComplete == nil)
            bench.feeds[0].finish()
            if version == "HTTP/1.0" {
                let outcome = try await bench.talk { try $0.receive(from: descriptor) }
                #expect(outcome.ended)
            } else {
                let outcome = try await bench.talk { try $0.receive(from: descriptor, until: "0\r\n\r\n") }
                #expect(outcome.text == "0\r\n\r\n")
            }
            try await bench.until { bench.feeds[0].isComplete == true }
        }
    }

    enum Leaving: CaseIterable { case end, reset, halfClose }

    /// While the stream waits: nobody has to write for it to be noticed.
    @Test(arguments: Leaving.allCases)
    func aClientThatLeavesWhileItsStreamWaitsIsNoticedAtOnce(by leaving: Leaving) async throws {
        try await ServerBench.run { bench in
            let descriptor = try await bench.open(bench.thread.client.request("GET", "/stream"))
            try await bench.until { bench.feeds.first?.asked == 1 }
            #expect(bench.feeds[0].isComplete == nil)
            if leaving == .reset {
                var now = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
            }
            if leaving == .halfClose { shutdown(descriptor, Int32(SHUT_WR)) } else { close(descriptor) }
            try await bench.until { bench.feeds[0].isComplete != nil }
            #expect(bench.feeds[0].isComplete == false && bench.feeds[0].asked == 1)
            try await bench.until { bench.server.connectionCount == 0 }
            bench.feeds[0].give("too late")
            let answer = try await bench.get("/")
            #expect(answer.status == 200)
            #expect(bench.feeds[0].asked == 1)
            if leaving == .halfClose { close(descriptor) }
        }
    }

    @Test func aClientThatLeavesInTheMiddleOfABodyIsNoticed() async throws {
        try await ServerBench.run { bench in
            let descriptor = try await bench.open(bench.thread.client.request("GET", "/stream"))
            try await bench.until { bench.feeds.count == 1 }
            bench.feeds[0].give(String(repeating: "purr", count: 8 << 20))
            _ = try await bench.talk { try $0.receive(from: descriptor, atMost: 100_000) }
            close(descriptor)
            try await bench.until { bench.feeds[0].isComplete == false }
            try await bench.until { bench.server.connectionCount == 0 }
        }
    }

    @Test func aStreamThatBreaksOffIsSeenToBeIncomplete() async throws {
        try await ServerBench.run { bench in
            for byReset in [false, true] {
                let descriptor = try await bench.open(bench.thread.client.request("GET", "/stream"))
                defer { close(descriptor) }
                try await bench.until { bench.feeds.last?.asked == 1 && bench.feeds.last?.isComplete == nil }
                let feed = bench.feeds[bench.feeds.count - 1]
                feed.give("purr")
                let first = try await bench.talk { try $0.receive(from: descriptor, until: "purr\r\n") }
                feed.finish(.broken(byReset: byReset))
                let rest = try await bench.talk { try $0.receive(from: descriptor) }
                #expect(first.statuses == [200] && rest.ended && rest.bytes.isEmpty && rest.wasReset == byReset)
                try await bench.until { feed.isComplete == false }
            }
        }
    }

    @Test func whatIsGivenWhileTheProducerIsAskedIsNotForgotten() async throws {
        try await withLoop { loop in
            let socket = try StreamSocket.listening(at: SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
            let server = try HTTPServer(on: loop, listeningAt: socket) { _ in
                var calls = 0
                weak var itself: HTTPStream?
                let stream = HTTPStream { buffer, position in
                    calls += 1
                    guard calls > 1 else {
                        itself?.resume()
                        return .nothingNow
                    }
                    guard position == 0 else { return .end }
                    buffer[0] = UInt8(ascii: "x")
                    return .bytes(1)
                }
                itself = stream
                return .now(HTTPResponse(status: 200, body: .stream(stream)))
            }
            let thread = try ClientThread(RawClient(port: server.port), besides: loop)
            let answer = try await thread.get("/")
            #expect(answer.body == Array("x".utf8))
            server.stop()
            thread.stop()
        }
    }

    @Test func othersAreServedWhileManyStreamsWaitAndOneIsNotRead() async throws {
        try await ServerBench.run { bench in
            var open: [Int32] = []
            for _ in 0..<50 { open.append(try await bench.open(bench.thread.client.request("GET", "/stream"))) }
            try await bench.until { bench.feeds.count == 50 && bench.feeds.allSatisfy { $0.asked > 0 } }
            bench.feeds[0].give(String(repeating: "x", count: 32 << 20))
            for feed in bench.feeds[1...] { feed.give("purr") }
            for descriptor in open[1...] {
                let outcome = try await bench.talk { try $0.receive(from: descriptor, until: "purr") }
                #expect(outcome.statuses == [200])
            }
            let answer = try await bench.get("/")
            #expect(answer.status == 200)
            #expect(bench.feeds.allSatisfy { $0.isComplete == nil })
            for descriptor in open { close(descriptor) }
            try await bench.until { bench.feeds.allSatisfy { $0.isComplete == false } }
        }
    }

    @Test func stoppingEndsEveryStreamAndEveryPromiseAndTellsThem() async throws {
        try await ServerBench.run { bench in
            let client = bench.thread.client
            var open: [Int32] = []
            for target in ["/stream", "/later", "/stream", "/"] {
                open.append(try await bench.open(client.request("GET", target)))
            }
            try await bench.until { bench.requests.count == 4 && bench.feeds.allSatisfy { $0.asked == 1 } }
            bench.server.stop()
            bench.server.stop()
            #expect(bench.feeds.map(\.isComplete) == [false, false] && bench.left == 1)
            for descriptor in open {
                let outcome = try await bench.talk { try $0.receive(from: descriptor) }
                #expect(outcome.ended)
                close(descriptor)
            }
            #expect(bench.loop.timerCount == 0 && bench.server.connectionCount == 0)
            bench.feeds[0].give("too late")
            bench.promises[0].answer(.now(.text("too late")))
        }
    }

    // MARK: Promises

    @Test func aPromiseIsKeptByATask() async throws {
        try await ServerBench.run { bench in
            let loop = bench.loop
            let descriptor = try await bench.open(
                bench.thread.client.request("GET", "/later", fields: ["Connection: close"]))
            defer { close(descriptor) }
            try await bench.until { bench.promises.count == 1 }
            let promise = LoopBound(bench.promises[0])
            await withTaskGroup { group in
                group.addTask {
                    try? await loop.sleep(for: .milliseconds(20))
                    promise.value.answer(.now(.text("kept")))
                    promise.value.answer(.now(.text("kept twice")))
                }
            }
            let outcome = try await bench.talk { try $0.receive(from: descriptor) }
            #expect(outcome.text.hasSuffix("\r\n\r\nkept") && bench.left == 0)
        }
    }

    @Test func aPromiseThatNobodyWaitsForIsToldSo() async throws {
        try await ServerBench.run { bench in
            let descriptor = try await bench.open(bench.thread.client.request("GET", "/later"))
            try await bench.until { bench.promises.count == 1 }
            close(descriptor)
            try await bench.until { bench.left == 1 }
            bench.promises[0].answer(.now(.text("too late")))
            try await bench.until { bench.server.connectionCount == 0 }
            #expect(bench.left == 1)
        }
    }
}
