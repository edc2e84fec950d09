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
}
