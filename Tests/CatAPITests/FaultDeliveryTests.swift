import CatAPI
import Glibc
import HTTPServer
import Reactor
import TestSupport
import Testing

/// Every fault as a client sees it on a real socket.
@Suite(.limited) struct FaultDeliveryTests {
    @Test(arguments: ["0", "20", "1-30"])
    func aDelayIsMadeAndReported(delay: String) async throws {
        try await ServerUnderTest.run { test in
            let answer = try await test.get("/fault/delay/fact?delay=\(delay)")
            #expect(answer.status == 200)
            let reported = try #require(answer.fields["x-delay-ms"].flatMap(Double.init))
            #expect(reported >= Double(delay.split(separator: "-")[0]) ?? 0)
            #expect(await test.server.servedDelays.map(\.milliseconds) == [reported])
        }
    }

    @Test func waitingRequestsHoldNobodyBack() async throws {
        try await ServerUnderTest.run { test in
            let open = try await test.talk { client in
                try (0..<50).map { number in
                    let descriptor = try client.connect()
                    try client.send(client.request("GET", "/fault/delay?delay=\(600_000 - number)"), to: descriptor)
                    return descriptor
                }
            }
            let fact = try await test.get("/fact")
            #expect(fact.status == 200)
            let silent = try await test.talk { client in open.allSatisfy(client.isSilent) }
            #expect(silent)
            for descriptor in open { close(descriptor) }
        }
    }

    @Test(arguments: [
        ("/fault/status", 500), ("/fault/status?code=429&retry-after=7", 429), ("/fault/no-content", 204),
        ("/fault/status?code=304", 304), ("/fault/redirect?to=file:///etc/passwd", 302), ("/fault/loop?code=308", 308),
        ("/fault/flaky", 503), ("/fault/html", 200), ("/fault/empty", 200), ("/fault/nothing", 400),
        ("/fault/etag", 200),
    ])
    func statusAndHeadersAreDelivered(target: String, status: Int) async throws {
        let expected = FaultRouterTests.reply(target).answer
        try await ServerUnderTest.run { test in
            let answer = try await test.get(target)
            #expect(answer.status == status)
            for field in expected.headers { #expect(answer.fields[field.name.lowercased()] == field.value) }
            if !target.hasSuffix("etag") { #expect(answer.body == expected.body) }
            #expect(!answer.outcome.wasReset)
        }
    }

    @Test func aFlakyPathRecovers() async throws {
        try await ServerUnderTest.run { test in
            var statuses: [Int] = []
            for _ in 0..<5 { statuses.append(try await test.get("/fault/flaky?id=x&fail=3").status) }
            #expect(statuses == [503, 503, 503, 200, 200])
        }
    }

    @Test(arguments: [("", 2), ("?sent=0", 0), ("?sent=1", 1), ("?sent=999999", nil)] as [(String, Int?)])
    func aTruncatedBodyIsShorterThanPromised(query: String, sent: Int?) async throws {
        try await ServerUnderTest.run { test in
            let answer = try await test.get("/fault/truncated/breeds\(query)")
            let promised = try #require(answer.fields["content-length"].flatMap { Int($0) })
            #expect(answer.status == 200)
            #expect(answer.body.count < promised)
            #expect(answer.outcome.ended && !answer.outcome.wasReset)
            switch sent {
            case 2: #expect(answer.body.count == promised / 2)
            case nil: #expect(answer.body.count == promised - 1)
            case let count?: #expect(answer.body.count == count)
            }
        }
    }

    @Test(arguments: [0, 1, 100])
    func aResetIsAReset(after: Int) async throws {
        try await ServerUnderTest.run { test in
            let outcome = try await test.talk { client in
                try client.talk(client.request("GET", "/fault/reset/breeds?after=\(after)"))
            }
            #expect(outcome.wasReset)
            if after == 0 {
                #expect(outcome.bytes.isEmpty)
            } else {
                #expect(try WireAnswer(outcome).body.count == after)
            }
        }
    }

    @Test func aClosedConnectionEndsWithoutAnAnswer() async throws {
        try await ServerUnderTest.run { test in
            let outcome = try await test.talk { try $0.talk($0.request("GET", "/fault/close")) }
            #expect(outcome.bytes.isEmpty && outcome.ended && !outcome.wasReset)
        }
    }

    @Test func anEndlessBodyGoesOnForAsLongAsItIsRead() async throws {
        try await ServerUnderTest.run { test in
            let answer = try await test.get("/fault/endless", atMost: 5_000_000)
            #expect(answer.fields["transfer-encoding"] == "chunked")
            #expect(answer.body.count > 4_900_000)
            #expect(answer.body.starts(with: #"{"fact":"purr purr "#.utf8))
            #expect(!answer.outcome.ended)
            let fact = try await test.get("/fact")
            #expect(fact.status == 200)
        }
    }

    @Test func aDripIsComplete() async throws {
        try await ServerUnderTest.run { test in
            let answer = try await test.get("/fault/drip/fact?every=1&max_length=40")
            #expect(try #require(JSONValue(answer.body))["length"]?.integer == 40)
            #expect(answer.fields["content-length"] == "\(answer.body.count)")
        }
    }

    @Test(arguments: [("/fault/large", 10_000_000), ("/fault/large?bytes=1048577", 1_048_577)])
    func aLargeDocumentArrivesWhole(target: String, size: Int) async throws {
        try await ServerUnderTest.run { test in
            let answer = try await test.get(target)
            #expect(answer.body.count == size)
            #expect(answer.body == FaultRouterTests.reply(target).answer.body)
        }
    }

    @Test func encodingsAreDeclared() async throws {
        try await ServerUnderTest.run { test in
            let bomb = try await test.get("/fault/bomb")
            #expect(bomb.fields["content-encoding"] == "gzip")
            #expect(bomb.body.count < 150_000 && bomb.body.starts(with: [0x1F, 0x8B]))
            let garbled = try await test.get("/fault/garbled?encoding=deflate")
            #expect(garbled.fields["content-encoding"] == "deflate")
            #expect(garbled.body.count == 512)
        }
    }

    @Test func clientsThatLeaveWhileTheyWaitDoNoHarm() async throws {
        try await ServerUnderTest.run { test in
            try await test.talk { client in
                for target in ["/fault/delay?delay=1", "/fault/drip?every=1", "/fault/endless", "/fault/large"] {
                    for _ in 0..<10 {
                        let descriptor = try client.connect()
                        try client.send(client.request("GET", target), to: descriptor)
                        close(descriptor)
                    }
                }
            }
            for _ in 0..<50 {
                let fact = try await test.get("/fact")
                #expect(fact.status == 200)
            }
        }
    }
}
