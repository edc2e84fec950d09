import CatAPI
import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct CatAPIServerTests {
    @Test func theRoutesAreServedWithTheNameTheClientUsed() async throws {
        try await ServerUnderTest.run(faults: false) { test in
            let fact = try await test.get("/fact?max_length=60")
            #expect(fact.status == 200)
            #expect(fact.fields["content-type"] == "application/json")
            #expect(try #require(JSONValue(fact.body))["length"]?.integer ?? 61 <= 60)
            let breeds = try await test.get("/breeds?limit=40&page=3")
            #expect(breeds.body == answer("GET", "/breeds?limit=40&page=3", host: "cats.test").body)
            #expect(test.server.origin == "http://127.0.0.1:\(test.client.port)")
            #expect(await test.server.requestCount == 2)
        }
    }

    @Test func faultsAreOffUnlessAskedFor() async throws {
        try await ServerUnderTest.run(faults: false) { test in
            let answer = try await test.get("/fault/bomb")
            #expect(answer.status == 404)
        }
    }

    @Test func theSameSeedServesTheSameFacts() async throws {
        let bodies = try await [UInt64(5), 5, 6].asyncMap { seed in
            try await ServerUnderTest.run(seed: seed) { test in
                var body: [UInt8] = []
                for _ in 0..<5 { body += try await test.get("/fact").body }
                return body
            }
        }
        #expect(bodies[0] == bodies[1])
        #expect(bodies[0] != bodies[2])
    }

    @Test func oneConnectionServesManyRequests() async throws {
        try await ServerUnderTest.run { test in
            let outcome = try await test.talk { client in
                let many = String(repeating: client.request("GET", "/fact"), count: 50)
                return try client.talk(many + client.request("GET", "/fact", fields: ["Connection: close"]))
            }
            let text = String(decoding: outcome.bytes, as: UTF8.self)
            #expect(text.split(separator: "HTTP/1.1 200 OK").count == 51)
            #expect(await test.server.requestCount == 51)
        }
    }

    @Test func headHasTheLengthButNotTheBody() async throws {
        try await ServerUnderTest.run { test in
            let outcome = try await test.talk { client in
                try client.talk(client.request("HEAD", "/breeds", fields: ["Connection: close"]))
            }
            let head = try WireAnswer(outcome)
            #expect(head.body.isEmpty)
            #expect(head.fields["content-length"] == "\(answer("GET", "/breeds", host: "cats.test").body.count)")
        }
    }

    @Test func aBodyIsReadAndTheMethodRefused() async throws {
        try await ServerUnderTest.run { test in
            let outcome = try await test.talk { client in
                let fields = ["Connection: close", "Content-Length: 100000"]
                return try client.talk(
                    client.request("POST", "/fact", fields: fields) + String(repeating: "x", count: 100_000))
            }
            #expect(try WireAnswer(outcome).status == 405)
            #expect(try WireAnswer(outcome).fields["allow"] == "GET, HEAD")
        }
    }

    @Test(arguments: [
        "\r\n\r\n", "GET\r\n\r\n", "GET /fact\r\n\r\n", "\0\u{1}\u{2}\r\n\r\n", "GET /fact HTTP/9.9\r\n\r\n",
    ])
    func whatIsNotHTTPDoesNotHurt(text: String) async throws {
        try await ServerUnderTest.run { test in
            let descriptor = try await test.talk { client in
                let descriptor = try client.connect()
                try client.send(text, to: descriptor)
                return descriptor
            }
            defer { close(descriptor) }
            let fact = try await test.get("/fact")
            #expect(fact.status == 200)
        }
    }

    @Test func everySplitOfARequestIsAnswered() async throws {
        try await ServerUnderTest.run { test in
            try await test.talk { client in
                let text = client.request("GET", "/fact", fields: ["Connection: close"])
                for length in 1..<text.utf8.count {
                    let descriptor = try client.connect()
                    defer { close(descriptor) }
                    var on: Int32 = 1
                    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
                    try client.send(String(text.prefix(length)), to: descriptor)
                    try client.send(String(text.dropFirst(length)), to: descriptor)
                    #expect(try WireAnswer(client.receive(from: descriptor)).status == 200, "split at \(length)")
                }
            }
        }
    }

    @Test func aTakenPortIsAnError() async throws {
        try await ServerUnderTest.run { test in
            let loop = test.loop
            let error = #expect(throws: SystemError.self) {
                _ = try CatAPIServer(loop: loop, port: test.client.port, seed: 1)
            }
            #expect(error?.code == EADDRINUSE)
        }
    }

    @Test func stoppingEndsEveryConnection() async throws {
        try await ServerUnderTest.run { test in
            let open = try await test.talk { client in
                try ["/fault/silence", "/fault/delay?delay=600000", "/fault/drip?every=600000"].map { target in
                    let descriptor = try client.connect()
                    try client.send(client.request("GET", target), to: descriptor)
                    return descriptor
                }
            }
            while await test.server.requestCount < 3 { _ = try await test.get("/fact") }
            await test.server.stop()
            await test.server.stop()
            for descriptor in open {
                #expect(try await test.talk { try $0.receive(from: descriptor) }.ended)
                close(descriptor)
            }
        }
    }

    /// In a process of its own, as descriptors are the process's.
    @Test func startingAndStoppingLeaksNoDescriptor() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                func descriptors() -> Int { (0..<256).count { fcntl(Int32($0), F_GETFD) != -1 } }
                // The first one leaves what the process needs once.
                var before = 0
                for round in 0..<100 {
                    if round == 1 { before = descriptors() }
                    let server = try CatAPIServer(loop: loop, seed: 1)
                    #expect(server.port != 0)
                    await server.stop()
                }
                // One a server would be a hundred; what runs the test may open one of its own meanwhile.
                #expect(descriptors() < before + 50)
                #expect(loop.timerCount == 0)
            }
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
