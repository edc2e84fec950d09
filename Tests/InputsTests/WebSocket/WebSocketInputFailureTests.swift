import Feed
import Inputs
import Reactor
import TestSupport
import Testing
import WebSocket

/// What the input makes of servers that refuse, fail, lie or wait, in virtual time.
@Suite(.limited) struct WebSocketInputFailureTests {
    private static let delhi = #"{"city":"Delhi","aqi":412}"#
    private static let upgraded =
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "

    @Test(
        arguments: [
            (
                "HTTP/1.1 401 x\r\n\r\n", .status,
                "cats.test answered 401 (unauthorized: a token may be missing or wrong)"
            ),
            (
                "HTTP/1.1 301 x\r\nLocation: /\r\n\r\n", .redirect,
                "cats.test redirects the handshake (301): give the URL that it leads to"
            ),
            (
                "HTTP/1.1 200 x\r\n\r\n", .status,
                "cats.test answered 200 and not 101: there is no WebSocket at this URL"
            ),
            ("HTTP/1.1 429 x\r\nRetry-After: 60\r\n\r\n", .rateLimited, "cats.test asks for fewer requests (429)"),
            (upgraded + "x\r\n\r\n", .protocol, "cats.test answered with a wrong Sec-WebSocket-Accept"),
            ("SSH-2.0-OpenSSH\r\n", .protocol, "cats.test does not speak HTTP"),
            ("HTTP/1.1 101 x\r\n", .closed, "cats.test closed the connection during the handshake"),
            (
                "HTTP/1.1 200 " + String(repeating: "x", count: 20_000), .tooLarge,
                "cats.test sent more than 16384 bytes of headers"
            ),
        ] as [(String, Failure.Code, String)])
    func aRefusedHandshakeIsAnError(answer: String, code: Failure.Code, message: String) async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(30)) { _, peer in
            try await peer.value.shakeHands(answer)
        }
        let error = try #require(feed.errors.first)
        #expect(error.code == code && error.message == message)
        #expect(error.attempt == 1 && error.retryIn != nil)
        #expect(feed.errors.map(\.attempt) == (1...feed.errors.count).map { $0 })
        #expect(code == .rateLimited ? feed.attempts.count == 1 : feed.attempts.count > 2)
        #expect(feed.data.isEmpty)
        if let status = Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)), answer.hasSuffix("\r\n\r\n"), status != 101
        {
            #expect(feed.latencies.first?.status == status)
        }
    }

    @Test func theHandshakeHasADeadline() async throws {
        var source = try SimulatedSocket.source()
        source.request.timeout = .seconds(3)
        let feed = try await SimulatedSocket.run(source, for: .seconds(3) + .milliseconds(1)) { _, peer in
            try await peer.value.sleep(.seconds(60))
        }
        #expect(feed.errors.map(\.code) == [.timeout])
        #expect(feed.errors.first?.message == "cats.test did not answer the handshake within 3 s")
    }

    @Test(
        arguments: [
            ([0x83, 0x00], .protocol, 1002, "cats.test sent a frame of the reserved kind 3"),
            ([0x81, 0x80, 0, 0, 0, 0], .protocol, 1002, "cats.test sent a masked frame"),
            (
                [0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0], .tooLarge, 1009,
                "cats.test sent a message of more than 1048576 bytes"
            ),
            ([0x81, 0x01, 0xFF], .encoding, 1007, "cats.test sent text that is not UTF-8"),
            ([0x88, 0x02, 0x03, 0xE9], .closed, 1001, "cats.test closed the connection with 1001 (going away)"),
            ([0x88, 0x03, 0x0F, 0xA0, 0x1B], .closed, 4000, "cats.test closed the connection with 4000: ␛"),
            ([0x88, 0x00], .closed, 1000, "cats.test closed the connection"),
        ] as [([UInt8], Failure.Code, UInt16, String)])
    func theEndOfAConnectionSaysWhy(
        bytes: [UInt8], code: Failure.Code, closeCode: UInt16, message: String
    ) async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .milliseconds(100)) { number, peer in
            guard number == 0 else { return }
            try await peer.value.shakeHands()
            try await peer.value.send("[\(Self.delhi)]")
            try await peer.value.send(raw: bytes)
            #expect(try await peer.value.next() == .close(closeCode))
        }
        let error = try #require(feed.errors.first)
        #expect(error.code == code && error.message == message, "\(error.message)")
        #expect(feed.data.count == 1)
    }

    /// The server closes in the middle of a long frame, and makes room for more of it some turns later.
    @Test func noFrameIsWrittenInsideAnother() async throws {
        var source = try SimulatedSocket.source()
        source.subscribe = String(repeating: "a", count: 10_000)
        let feed = try await SimulatedSocket.run(source, for: .seconds(600), capacity: 4_096) { number, peer in
            try await peer.value.shakeHands()
            try await peer.value.sleep(.milliseconds(1))
            try await peer.value.send(.close, [])
            for _ in 0..<number % 12 { try await peer.value.sleep(.zero) }
            var bytes: [UInt8] = []
            while case let more = try await peer.value.nextBytes(), !more.isEmpty { bytes += more }
            // A text frame's head: two bytes, two of its length, and the mask.
            try #require(bytes.count >= 4_096 && bytes.starts(with: [0x81, 0xFE]))
            // The answer to the close may follow a whole one.
            let text = bytes.prefix(8 + 10_000).indices.dropFirst(8)
            let isText = text.allSatisfy { bytes[$0] ^ bytes[4 + $0 % 4] == UInt8(ascii: "a") }
            #expect(isText, "connection \(number), \(bytes.count) bytes")
        }
        #expect(feed.attempts.count > 12)
    }

    @Test func onlyAMessageEndsARowOfFailures() async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(600)) { number, peer in
            try await peer.value.shakeHands()
            if number == 5 { try await peer.value.send("[\(Self.delhi)]") }
        }
        #expect(feed.errors.prefix(8).map(\.attempt) == [1, 2, 3, 4, 5, 1, 2, 3])
        #expect(feed.errors.first?.message == "cats.test closed the connection without a word")
        let pauses = zip(feed.attempts.dropFirst(), feed.attempts).map { $1.duration(to: $0) }
        for (pause, error) in zip(pauses, feed.errors) {
            let bound = Backoff(random: SeededGenerator(seed: 0)).bound(after: error.attempt ?? 0)
            #expect(pause <= bound + .milliseconds(1))
        }
    }

    @Test func whatWasWrongWithTheLastMessagesOfAConnectionIsToldAtItsEnd() async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .milliseconds(300)) { number, peer in
            guard number == 0 else { return try await peer.value.sleep(.seconds(60)) }
            try await peer.value.shakeHands()
            try await peer.value.send("first")
            try await peer.value.sleep(.milliseconds(50))
            for _ in 0..<3 { try await peer.value.send("more") }
            try await peer.value.sleep(.milliseconds(50))
        }
        #expect(feed.errors.prefix(3).map(\.code) == [.notJSON, .notJSON, .closed])
        #expect(feed.errors.count > 1 && feed.errors[1].message.hasPrefix("in 3 messages, the first one: "))
    }

    @Test func badMessagesAreToldOnceASecondAndEndNothing() async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(10)) { _, peer in
            try await peer.value.shakeHands()
            for _ in 0..<25 {
                try await peer.value.send("no JSON")
                try await peer.value.send(#"[{"city":"Pune","aqi":"high"},{"aqi":1}]"#)
                try await peer.value.send("[\(Self.delhi)]")
                try await peer.value.sleep(.milliseconds(100))
            }
            try await WebSocketInputTests.answerPings(peer)
        }
        #expect(feed.data.count { $0.series == "aqi/Delhi" } == 25)
        #expect((3...4).contains(feed.errors.count) && feed.attempts.count == 1, "\(feed.errors.map(\.message))")
        #expect(feed.errors.allSatisfy { $0.code == .notJSON && $0.attempt == nil })
        let first = try #require(feed.errors.first)
        #expect(first.message.hasPrefix("in 2 messages, the first one: ") || first.message.hasPrefix("in a message: "))
        let total = feed.errors.reduce(0) { sum, error in
            sum + (error.message.hasPrefix("in a message") ? 1 : Int(error.message.split(separator: " ")[1]) ?? 0)
        }
        #expect(total == 50)
    }

    /// A server that sends more than the outputs take is not read, and is not taken for silent either.
    @Test func aSlowOutputMakesTheServerWait() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            var limits = FeedState.Limits()
            limits.logCapacity = 64 << 10
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity, limits: limits)
            let sent = LoopBound(Counter())
            let peers = ScriptedPeers(on: loop, capacity: 4_096) { _, peer in
                try await peer.value.shakeHands()
                for _ in 0..<2_000 {
                    try await peer.value.send("[\(Self.delhi)]")
                    sent.value.count += 1
                }
                try await WebSocketInputTests.answerPings(peer)
            }
            let input = WebSocketInput(
                try SimulatedSocket.source(), store: store, polls: PollRequests(on: loop), transport: peers, on: loop,
                wall: wall,
                random: SeededGenerator(seed: 3))
            let (reader, _) = await store.open("slow", holdsInputs: true)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await input.run() }
                group.addTask { await peers.run() }
                try? await loop.sleep(for: .seconds(120))
                let before = sent.value.count
                #expect(before < 1_500)
                #expect(await peers.attempts.count == 1)
                var lines = 0
                while lines < 2_000, case .lines(let span)? = try? await store.next(for: reader) {
                    span.withUnsafeBytes { lines += $0.count { $0 == 0x0A } }
                }
                try? await loop.sleep(for: .seconds(1))
                #expect(sent.value.count == 2_000 && lines >= 2_000)
                #expect(await peers.attempts.count == 1)
                #expect(await store.counts.data == 2_000)
                group.cancelAll()
            }
        }
    }

    private final class Counter { var count = 0 }

    @Test func survivesWhateverAServerSays() async throws {
        for seed in 1...UInt64(LongRun.rounds(short: 40, long: 5_000)) {
            let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(5), seed: seed) {
                number, peer in
                var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
                let good = ["[\(Self.delhi)]", "[]", "1", "", "{", "[[[[", #"[{"city":1,"aqi":null}]"#]
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 0...20, using: &random) {
                    let text = good.randomElement(using: &random) ?? ""
                    bytes += ScriptedPeer.frame(
                        Opcode.allCases.randomElement(using: &random) ?? .text, Array(text.utf8))
                }
                if !bytes.isEmpty, Bool.random(using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
                }
                try await peer.value.shakeHands(then: bytes)
                if Bool.random(using: &random) { try await WebSocketInputTests.answerPings(peer) }
            }
            #expect(!feed.attempts.isEmpty, "seed \(seed)")
        }
    }
}
