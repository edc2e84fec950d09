import Feed
import Inputs
import Reactor
import TestSupport
import Testing
import WebSocket

/// The input against a server in memory, in virtual time.
@Suite(.limited) struct WebSocketInputTests {
    private static let delhi = #"{"city":"Delhi","aqi":412}"#

    /// Keeps a connection open and answers pings until the client leaves.
    static func answerPings(_ peer: LoopBound<ScriptedPeer>) async throws {
        while true {
            switch try await peer.value.next() {
            case .ping(let payload): try await peer.value.send(.pong, payload)
            case .end: return
            default: continue
            }
        }
    }

    @Test func everyMessageBecomesItsEvents() async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(5)) { _, peer in
            // The first message may come in the same segment as the answer.
            try await peer.value.shakeHands(then: ScriptedPeer.frame(.text, Array("[\(Self.delhi)]".utf8)))
            try await peer.value.send(#"[{"city":"Pune","aqi":80},{"city":"Kochi","aqi":30}]"#)
            try await peer.value.send(.binary, Array("[\(Self.delhi)]".utf8))
            try await Self.answerPings(peer)
        }
        #expect(feed.data.map(\.series) == ["aqi/Delhi", "aqi/Pune", "aqi/Kochi", "aqi/Delhi"])
        #expect(feed.data.map(\.value) == [412, 80, 30, 412])
        #expect(feed.errors.isEmpty)
        let handshake = try #require(feed.latencies.first)
        #expect(handshake.endpoint == "GET ws://cats.test/aqi" && handshake.status == 101)
    }

    @Test func aByteOrderMarkIsPassedOverAndWhatNotEveryReaderTakesIsSaid() async throws {
        let mark = "\u{FEFF}"
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(5)) { _, peer in
            try await peer.value.shakeHands()
            try await peer.value.send(mark + "[\(Self.delhi)]")
            try await peer.value.send(#"[{"city":"\ud800","aqi":1},{"city":"b","aqi":2,"more":1e999}]"#)
            try await Self.answerPings(peer)
        }
        #expect(feed.errors.isEmpty)
        #expect(feed.data.map(\.series) == ["aqi/Delhi", "aqi/\u{FFFD}", "aqi/b"])
        #expect(
            feed.data.map(\.altered) == [false, true, false] && feed.data.map(\.truncated) == [false, false, true])
        #expect(feed.data[1].data.map { String(decoding: $0, as: UTF8.self) } == #"{"city":"\ufffd","aqi":1}"#)
    }

    @Test func asksForWhatItIsToldTo() async throws {
        var source = try SimulatedSocket.source("ws://cats.test:80/a%20b?key=s3cret#part")
        source.request.credentials = HTTPRequest.Credentials(name: "user", password: "p@ss")
        source.subprotocols = ["aqi.v2", "aqi.v1"]
        source.request.headers = ["X-Key: 1"]
        source.subscribe = #"{"subscribe":"aqi"}"#
        let feed = try await SimulatedSocket.run(source, for: .seconds(5)) { _, peer in
            try await peer.value.shakeHands(
                "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: aqi.v1\r\n"
                    + "Sec-WebSocket-Accept: ACCEPT\r\n\r\n")
            #expect(peer.value.request.hasPrefix("GET /a%20b?key=s3cret HTTP/1.1\r\nHost: cats.test\r\n"))
            #expect(peer.value.field("Authorization") == "Basic dXNlcjpwQHNz")
            #expect(peer.value.field("X-Key") == "1" && peer.value.field("User-Agent") == "catwatch")
            #expect(peer.value.field("Sec-WebSocket-Protocol") == "aqi.v2, aqi.v1")
            #expect(Handshake.isKey(peer.value.field("Sec-WebSocket-Key") ?? ""))
            #expect(try await peer.value.next() == .text(#"{"subscribe":"aqi"}"#))
            try await peer.value.send("[\(Self.delhi)]")
            try await Self.answerPings(peer)
        }
        #expect(feed.data.count == 1)
        #expect(feed.latencies.first?.endpoint == "GET ws://cats.test:80/a%20b")
    }

    @Test func aHeaderOfItsOwnGoesBeforeCredentials() async throws {
        var source = try SimulatedSocket.source()
        source.request.headers = ["authorization: Bearer own", "USER-AGENT: own"]
        source.request.credentials = HTTPRequest.Credentials(name: "user", password: "p@ss")
        _ = try await SimulatedSocket.run(source, for: .seconds(1)) { _, peer in
            try await peer.value.shakeHands()
            let fields = peer.value.request.lowercased().split(separator: "\r\n")
            #expect(
                fields.count { $0.hasPrefix("authorization:") } == 1 && fields.contains("authorization: bearer own"))
            #expect(fields.count { $0.hasPrefix("user-agent:") } == 1)
            try await Self.answerPings(peer)
        }
    }

    // MARK: Pings

    @Test func pingsAreMeasuredAndAnswered() async throws {
        var source = try SimulatedSocket.source()
        source.pingEvery = .seconds(20)
        let feed = try await SimulatedSocket.run(source, for: .seconds(70)) { _, peer in
            try await peer.value.shakeHands()
            try await peer.value.send(.ping, [1, 2])
            #expect(try await peer.value.next() == .pong([1, 2]))
            try await Self.answerPings(peer)
        }
        #expect(
            feed.latencies.map(\.endpoint) == ["GET ws://cats.test/aqi"]
                + .init(repeating: "PING ws://cats.test/aqi", count: 3))
        #expect(feed.errors.isEmpty && feed.attempts.count == 1)
    }

    @Test func silenceAfterAPingEndsTheConnection() async throws {
        var source = try SimulatedSocket.source()
        source.pingEvery = .seconds(20)
        source.pingTimeout = .seconds(10)
        let feed = try await SimulatedSocket.run(source, for: .seconds(31)) { number, peer in
            try await peer.value.shakeHands()
            guard number == 0 else { return try await Self.answerPings(peer) }
            while try await peer.value.next() != .close(1001) {}
            #expect(try await peer.value.next() == .end)
        }
        let error = try #require(feed.errors.first)
        #expect(error.code == .timeout && error.message == "nothing came from cats.test within 10 s after a ping")
        #expect(error.attempt == 1 && error.endpoint == "GET ws://cats.test/aqi")
        #expect(
            feed.lines.first { if case .error = $0.body { true } else { false } }?.time == SimulatedFeed.wallStart
                + .seconds(30))
        #expect(feed.attempts.count == 2)
    }

    @Test func whateverComesIsASignOfLife() async throws {
        var source = try SimulatedSocket.source()
        source.pingEvery = .seconds(20)
        source.pingTimeout = .seconds(10)
        let feed = try await SimulatedSocket.run(source, for: .seconds(300)) { _, peer in
            try await peer.value.shakeHands()
            // No pongs, but a byte of a frame that never ends every now and then.
            try await peer.value.send(raw: [0x81, 126, 0x10, 0x00])
            for _ in 0..<40 {
                try await peer.value.sleep(.seconds(9))
                try await peer.value.send(raw: [0x20])
            }
        }
        #expect(feed.errors.isEmpty && feed.attempts.count == 1)
    }

    @Test func aPollIsAPingAtMostOnceASecond() async throws {
        let source = try SimulatedSocket.source()
        let feed = try await SimulatedSocket.run(
            source, for: .seconds(10),
            beside: { _, polls, loop in
                try await loop.sleep(for: .seconds(2))
                for _ in 0..<30 {
                    #expect(await polls.requestPoll(of: "aqi") == nil)
                    try await loop.sleep(for: .milliseconds(100))
                }
            },
            serve: { _, peer in
                try await peer.value.shakeHands()
                try await Self.answerPings(peer)
            })
        let pings = feed.latencies.filter { $0.endpoint.hasPrefix("PING") }
        #expect((3...4).contains(pings.count), "\(pings.count)")
    }

    @Test func aPollDoesNotWaitForTheNextTry() async throws {
        let feed = try await SimulatedSocket.run(
            SimulatedSocket.source(), for: .seconds(100),
            beside: { _, polls, loop in
                while true {
                    await polls.requestPoll(of: "aqi")
                    try await loop.sleep(for: .milliseconds(100))
                }
            },
            serve: { _, peer in try await peer.value.shakeHands("HTTP/1.1 503 x\r\n\r\n") })
        let pauses = zip(feed.attempts.dropFirst(), feed.attempts).map { $1.duration(to: $0) }
        #expect(pauses.allSatisfy { $0 <= .milliseconds(1_100) } && feed.attempts.count >= 90, "\(feed.attempts.count)")
    }
}
