import Glibc
import HTTPServer
import Reactor
import TestSupport
import Testing

/// What happens to clients that want more than there is for them.
@Suite(.limited) struct LimitTests {
    private static func limits(_ change: (inout HTTPServer.Limits) -> Void) -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        change(&limits)
        return limits
    }

    @Test(arguments: [8 << 10, 32 << 10])
    func aHeadThatIsTooLongIsRefused(memory: Int) async throws {
        try await ServerBench.run(limits: Self.limits { $0.memory = memory }) { bench in
            let long = String(repeating: "x", count: memory)
            let fields = try await bench.talk { try $0.talk($0.request("GET", "/", fields: ["X: \(long)"])) }
            #expect(fields.statuses == [431] && fields.ended)
            let many = try await bench.talk { client in
                try client.talk(client.request("GET", "/", fields: (0..<memory / 8).map { "X-\($0): y" }))
            }
            #expect(many.statuses == [431] && many.ended)
            let target = try await bench.talk { try $0.talk($0.request("GET", "/\(long)")) }
            #expect(target.statuses == [414] && target.ended)
            let half = try await bench.get("/", fields: ["X: \(long.prefix(memory / 8))"])
            #expect(half.status == 200 && bench.requests.count == 1)
        }
    }

    @Test func aBodyMayBeAsLongAsTheLimit() async throws {
        try await ServerBench.run(limits: Self.limits { $0.body = 100_000 }) { bench in
            let body = String(repeating: "x", count: 100_000)
            let fits = try await bench.talk { client in
                try client.talk(
                    client.request("POST", "/", fields: ["Content-Length: 100000", "Connection: close"]) + body)
            }
            #expect(fits.text.hasSuffix("POST / 100000"))
            let chunked = try await bench.talk { client in
                let head = client.request("POST", "/", fields: ["Transfer-Encoding: chunked", "Connection: close"])
                return try client.talk(head + "186A0\r\n\(body)\r\n0\r\n\r\n")
            }
            #expect(chunked.text.hasSuffix("POST / 100000"))
        }
    }

    @Test func aLongerBodyIsRefusedBeforeItComesWhenItSaysSo() async throws {
        try await ServerBench.run(limits: Self.limits { $0.body = 1_000 }) { bench in
            let outcome = try await bench.talk { client in
                try client.talk(client.request("POST", "/", fields: ["Content-Length: 1001", "Expect: 100-continue"]))
            }
            #expect(outcome.statuses == [413] && outcome.ended && !outcome.wasReset)
            #expect(bench.requests.isEmpty)
        }
    }

    @Test func aLongerBodyInChunksIsDroppedAndRefused() async throws {
        try await ServerBench.run(limits: Self.limits { $0.body = 1_000 }) { bench in
            let outcome = try await bench.talk { client in
                let chunk = "3E8\r\n\(String(repeating: "x", count: 1_000))\r\n"
                let head = client.request("POST", "/", fields: ["Transfer-Encoding: chunked"])
                return try client.talk(head + String(repeating: chunk, count: 100) + "0\r\n\r\n")
            }
            #expect(outcome.statuses == [413] && outcome.ended && !outcome.wasReset)
            #expect(bench.requests.isEmpty)
        }
    }

    @Test func whoeverIsOneTooManyIsToldSo() async throws {
        try await ServerBench.run(limits: Self.limits { $0.connections = 3 }) { bench in
            var open: [Int32] = []
            for _ in 0..<3 { open.append(try await bench.open(bench.thread.client.request("GET", "/later"))) }
            try await bench.until { bench.promises.count == 3 }
            let refused = try await bench.talk { try WireAnswer($0.talk($0.request("GET", "/"))) }
            #expect(refused.fields["connection"] == "close")
            #expect(refused.status == 503 && refused.fields["retry-after"] == "1" && refused.outcome.ended)
            #expect(bench.requests.count == 3)
            // Those who were there before are served.
            bench.promises[0].answer(.now(.text("LATER")))
            let outcome = try await bench.talk { [open] in try $0.receive(from: open[0], until: "LATER") }
            #expect(outcome.statuses == [200])
            close(open.removeFirst())
            try await bench.until { bench.server.connectionCount == 2 }
            let answer = try await bench.get("/")
            #expect(answer.status == 200)
            for descriptor in open { close(descriptor) }
        }
    }

    /// However many say nothing, or never finish what they say, who asks is answered, long before their time is over.
    @Test(arguments: ["", "GET / HTTP/1.1\r\nX: "])
    func whoeverHasBeenSilentLongestGivesWay(part: String) async throws {
        try await ServerBench.run(limits: Self.limits { ($0.connections, $0.head) = (3, .seconds(600)) }) { bench in
            let busy = try await bench.open(bench.thread.client.request("GET", "/later"))
            try await bench.until { bench.promises.count == 1 }
            var open: [Int32] = []
            for _ in 0..<3 * HTTPServer.surplus { open.append(try await bench.open(part)) }
            #expect(try await bench.get("/").status == 200)
            try await bench.until { bench.server.connectionCount <= 3 }
            // The first ones were told why.
            for descriptor in open.prefix(2 * HTTPServer.surplus) {
                let outcome = try await bench.talk { try $0.receive(from: descriptor) }
                #expect(outcome.statuses == [503] && outcome.text.contains("Retry-After: 1\r\n"))
            }
            bench.promises[0].answer(.now(.text("LATER")))
            #expect(try await bench.talk { try $0.receive(from: busy, until: "LATER") }.statuses == [200])
            for descriptor in open + [busy] { close(descriptor) }
        }
    }

    /// How far a client has come when it leaves.
    @Test(
        arguments: [
            "", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX: ",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
            "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /",
        ])
    func whoeverLeavesInTheMiddleOfARequestTakesNoPlace(part: String) async throws {
        try await ServerBench.run(limits: Self.limits { $0.head = $0.patience }) { bench in
            // Its end comes after what it said, or together with that, when there is no event for it of its own.
            for pause in [20_000, 0] as [UInt32] {
                try await bench.talk { client in
                    for _ in 0..<10 {
                        let descriptor = try client.connect()
                        try client.send(part, to: descriptor)
                        usleep(pause)
                        close(descriptor)
                    }
                }
                // Whoever comes later is let in later.
                #expect(try await bench.get("/").status == 200)
                // Long before a deadline would have ended them: those are longer than this waits.
                try await bench.until { bench.server.connectionCount == 0 }
            }
        }
    }

    @Test(.enabled(if: RawClient.ownAddress != nil, "this machine has no address but loopback's"))
    func anAddressHasItsShareOfConnections() async throws {
        let host = try #require(RawClient.ownAddress)
        try await ServerBench.run(host: host, limits: Self.limits { $0.connectionsPerAddress = 2 }) { bench in
            let open = [try await bench.open(""), try await bench.open("")]
            try await bench.until { bench.server.connectionCount == 2 }
            for _ in 0..<3 {
                let third = try await bench.talk { client in
                    let descriptor = try client.connect()
                    defer { close(descriptor) }
                    return try client.receive(from: descriptor)
                }
                #expect(third.ended && third.bytes.isEmpty)
            }
            close(open[0])
            try await bench.until { bench.server.connectionCount == 1 }
            let answer = try await bench.get("/")
            #expect(answer.status == 200)
            close(open[1])
        }
    }

    /// How the beginning of a further request comes: after the answer to the first one, or together with the first one.
    @Test(arguments: [nil, "GET / HTTP/1.1\r\nX: ", "G", "GET /x HT"])
    func aHeadThatTricklesInIsCutOffLongBeforeTheRest(further: String?) async throws {
        try await ServerBench.run(limits: Self.limits { $0.head = .milliseconds(300) }) { bench in
            let begin = bench.loop.clock.now
            let outcome = try await bench.talk { client in
                let descriptor = try client.connect()
                defer { close(descriptor) }
                if further != nil {
                    try client.send(client.request("GET", "/first"), to: descriptor)
                    _ = try client.receive(from: descriptor, until: "GET /first 0")
                }
                try client.send(further ?? "GET / HTTP/1.1\r\nX: ", to: descriptor)
                while client.isSilent(descriptor) {
                    try? client.send("x", to: descriptor)
                    usleep(10_000)
                }
                return try client.receive(from: descriptor)
            }
            #expect(outcome.ended && outcome.statuses.allSatisfy { $0 != 200 })
            #expect(bench.requests.map(\.target) == (further == nil ? [] : ["/first"]))
            #expect((.milliseconds(300) ... .seconds(10)).contains(begin.duration(to: bench.loop.clock.now)))
        }
    }

    /// How much of a head comes, of a connection's first one or of a further one, before its client says no more and stays.
    @Test(arguments: ["", "G", "GET / HTTP/1.1\r\nHost: x\r\n"], [true, false])
    func halfAHeadOfAClientThatStaysIsCutOff(part: String, isFirst: Bool) async throws {
        try await ServerBench.run(limits: Self.limits { $0.head = .milliseconds(200) }) { bench in
            let client = bench.thread.client
            let descriptor = try await bench.open(isFirst ? part : client.request("GET", "/first"))
            defer { close(descriptor) }
            if !isFirst {
                _ = try await bench.talk { try $0.receive(from: descriptor, until: "GET /first 0") }
                try await bench.talk { try $0.send(part, to: descriptor) }
                if part.isEmpty {  // who only waits to ask again has longer for it
                    try await bench.loop.sleep(for: .milliseconds(400))
                    #expect(client.isSilent(descriptor))
                    return
                }
            }
            let outcome = try await bench.talk { try $0.receive(from: descriptor) }
            #expect(outcome.ended && outcome.bytes.isEmpty && bench.requests.count == (isFirst ? 0 : 1))
        }
    }

    @Test func whoeverAsksAgainAndAgainIsNotCutOffForTheTimeOfAHead() async throws {
        try await ServerBench.run(limits: Self.limits { $0.head = .milliseconds(200) }) { bench in
            let descriptor = try await bench.open(bench.thread.client.request("GET", "/0"))
            defer { close(descriptor) }
            for number in 0..<4 {
                let text = try await bench.talk { try $0.receive(from: descriptor, until: "GET /\(number) 0").text }
                #expect(text.contains("200 OK"))
                try await bench.loop.sleep(for: .milliseconds(250))
                try await bench.talk { try $0.send($0.request("GET", "/\(number + 1)"), to: descriptor) }
            }
        }
    }

    @Test func aBodyHasMoreTimeThanAHead() async throws {
        try await ServerBench.run(limits: Self.limits { $0.head = .milliseconds(100) }) { bench in
            let head = bench.thread.client.request("POST", "/", fields: ["Content-Length: 4"])
            let descriptor = try await bench.open(head)
            defer { close(descriptor) }
            try await bench.loop.sleep(for: .milliseconds(300))
            let outcome = try await bench.talk { client in
                try client.send("purr", to: descriptor)
                return try client.receive(from: descriptor, until: "POST / 4")
            }
            #expect(outcome.statuses == [200])
        }
    }

    @Test func aBodyThatTricklesInIsCutOff() async throws {
        try await ServerBench.run(limits: Self.limits { $0.patience = .milliseconds(300) }) { bench in
            let descriptor = try await bench.open("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx")
            let outcome = try await bench.talk { try $0.receive(from: descriptor) }
            #expect(outcome.ended && outcome.bytes.isEmpty && bench.requests.isEmpty)
            close(descriptor)
        }
    }

    @Test func aConnectionWithoutAnotherRequestIsClosedButNotOneThatWaitsForAnAnswer() async throws {
        try await ServerBench.run(limits: Self.limits { $0.patience = .milliseconds(200) }) { bench in
            let idle = try await bench.open(bench.thread.client.request("GET", "/"))
            let waiting = try await bench.open(bench.thread.client.request("GET", "/stream"))
            let outcome = try await bench.talk { try $0.receive(from: idle) }
            #expect(outcome.statuses == [200] && outcome.ended)
            try await bench.loop.sleep(for: .milliseconds(400))
            bench.feeds[0].give("purr")
            let text = try await bench.talk { try $0.receive(from: waiting, until: "purr") }.text
            #expect(text.contains("purr") && bench.server.connectionCount == 1)
            for descriptor in [idle, waiting] { close(descriptor) }
        }
    }

    @Test func aClientThatTakesNothingOfItsStreamIsCutOff() async throws {
        try await ServerBench.run(limits: Self.limits { $0.patience = .milliseconds(400) }) { bench in
            var open: [Int32] = []
            for index in 0..<2 {
                open.append(try await bench.open(bench.thread.client.request("GET", "/stream")))
                try await bench.until { bench.feeds.count == index + 1 }
            }
            let begin = bench.loop.clock.now
            bench.feeds[0].give(String(repeating: "purr", count: 2 << 20))
            try await bench.until { bench.feeds[0].isComplete != nil }
            #expect(bench.feeds[0].isComplete == false && bench.feeds[0].asked > 1)
            #expect(begin.duration(to: bench.loop.clock.now) >= .milliseconds(400))
            let first = open[0]
            let outcome = try await bench.talk { try $0.receive(from: first) }
            #expect(outcome.wasReset)
            // What waits has nothing to take.
            #expect(bench.feeds[1].isComplete == nil)
            for descriptor in open { close(descriptor) }
            try await bench.until { bench.server.connectionCount == 0 }
        }
    }

    @Test func aClientThatTakesALittleNowAndThenIsNotCutOff() async throws {
        try await ServerBench.run(limits: Self.limits { $0.patience = .seconds(1) }) { bench in
            let descriptor = try await bench.open(bench.thread.client.request("GET", "/stream"))
            defer { close(descriptor) }
            try await bench.until { bench.feeds.count == 1 }
            bench.feeds[0].give(String(repeating: "purr", count: 16 << 20))
            let asked = bench.feeds[0].asked
            for _ in 0..<10 {
                try await bench.loop.sleep(for: .milliseconds(200))
                _ = try await bench.talk { try $0.receive(from: descriptor, atMost: 4 << 20) }
            }
            #expect(bench.feeds[0].isComplete == nil && bench.feeds[0].asked > asked)
        }
    }

    @Test func aClientThatTakesNothingOfABodyIsCutOff() async throws {
        try await withLoop { loop in
            let socket = try StreamSocket.listening(at: SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
            let body = [UInt8](repeating: 0x70, count: 32 << 20)
            let server = try HTTPServer(
                on: loop, listeningAt: socket, limits: Self.limits { $0.patience = .seconds(1) }
            ) { _ in .now(HTTPResponse(status: 200, body: .bytes(body))) }
            let thread = try ClientThread(RawClient(port: server.port), besides: loop)
            let descriptor = try await thread.talk { client in
                let descriptor = try client.connect()
                try client.send(client.request("GET", "/"), to: descriptor)
                _ = try client.receive(from: descriptor, atMost: 1)
                return descriptor
            }
            let deadline = loop.clock.now.advanced(by: .seconds(20))
            while server.connectionCount > 0, loop.clock.now < deadline { try await loop.sleep(for: .milliseconds(5)) }
            #expect(server.connectionCount == 0)
            close(descriptor)
            server.stop()
            thread.stop()
        }
    }
}
