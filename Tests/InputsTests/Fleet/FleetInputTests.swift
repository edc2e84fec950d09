import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// An agent as a source, by HTTP, against one in memory and in virtual time.
@Suite(.limited) struct FleetInputTests {
    private typealias Peer = LoopBound<ScriptedPeer>

    /// What came of a scripted agent.
    private struct Came: Sendable {
        /// When connections were begun, since the first.
        var attempts: [Duration] = []
        var lines: [String] = []
        func said(_ type: String) -> [String] { lines.filter { $0.contains("\"type\":\"\(type)\"") } }
        var origins: [Int] {
            lines.compactMap { text in
                guard let range = text.firstRange(of: "\"origin_seq\":") else { return nil }
                return Int(text[range.upperBound...].prefix { $0.isNumber })
            }
        }
    }

    /// - Parameters:
    ///   - log: how many bytes of lines the store keeps.
    ///   - body: what is done in that time, besides.
    private static func run(
        for duration: Duration, log: Int = 8 << 20,
        serve: @escaping @Sendable (Int, Peer) async throws -> Void,
        beside body: @escaping @Sendable (EventStore, PollRequests, EventLoop) async throws -> Void = { _, _, _ in }
    ) async throws -> Came {
        try await withLoop(virtual: true) { loop in
            let start = Timestamp(seconds: 1_767_225_600)
            let wall = SteppedWallClock(following: loop.clock, startingAt: start)
            let identity = AgentIdentity(run: "fleet", version: "1", started: start)
            var limits = FeedState.Limits()
            limits.logCapacity = log
            let store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isFleet: true)
            let polls = PollRequests(on: loop)
            let peers = ScriptedPeers(on: loop, serve: serve)
            let feed = HTTPFeed(HTTPRequest(url: "http://web1.test/"), by: peers)
            let input = FleetInput(
                "web1", by: feed, store: store, polls: polls, on: loop, random: SeededGenerator(seed: 1))
            let (reader, _) = await store.open(nil)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await input.run() }
                group.addTask { await peers.run() }
                let end = loop.clock.now.advanced(by: duration)
                try await body(store, polls, loop)
                try await loop.sleep(until: end)
                group.cancelAll()
            }
            #expect(loop.timerCount <= 1)  // of a greeting
            var came = Came()
            let attempts = await peers.attempts
            came.attempts = attempts.map { attempts[0].duration(to: $0) }
            while let delivery = await store.dequeue(for: reader) {
                guard case .lines(let span) = delivery else { continue }
                let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                came.lines += text.split(separator: "\n").map(String.init)
            }
            return came
        }
    }

    private static func write(_ lines: [String], to peer: Peer) async throws {
        try await peer.value.send(raw: Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    private static func stay(_ peer: Peer) async throws { while try await !peer.value.nextBytes().isEmpty {} }

    @Test func oneThatFallsSilentForThreeWindowsIsAskedAnew() async throws {
        let came = try await Self.run(for: .seconds(200)) { number, peer in
            peer.value.answer(200)
            switch number {
            case 0:
                #expect(peer.value.asked?.url == "http://web1.test/feed")
                let hello = PeerLinesTests.hello("a", #","interval_s":4"#)
                try await Self.write([hello, PeerLinesTests.fact(1)], to: peer)
                // As long as there is something within three windows, all is well.
                // At the very end of the third, its bytes may have come before the loop looked at the time.
                for (number, pause) in [(2, 11_900), (3, 11_900), (4, 12_000)] {
                    try await peer.value.sleep(.milliseconds(pause))
                    try await Self.write([PeerLinesTests.fact(number)], to: peer)
                }
                try await Self.stay(peer)
            case 1:
                #expect(peer.value.asked?.url == "http://web1.test/feed?since=4&run=a")
                // Windows are as wide as it says, 10 s when it does not.
                try await Self.write([PeerLinesTests.hello("a"), PeerLinesTests.fact(5)], to: peer)
                try await Self.stay(peer)
            default:
                #expect(peer.value.asked?.url == "http://web1.test/feed?since=\(number + 3)&run=a")
                try await Self.write([PeerLinesTests.hello("a"), PeerLinesTests.fact(number + 4)], to: peer)
                for _ in 0..<30 {
                    try await peer.value.sleep(.seconds(29))
                    try await peer.value.send(raw: Array(" \n".utf8))
                }
            }
        }
        #expect(came.attempts.count == 3)
        let first = came.attempts[1] - .milliseconds(2 * 11_900 + 2 * 12_000)
        let second = came.attempts[2] - came.attempts[1] - .seconds(30)
        // The pause before a try is 250 ms, or 500 at the second, and by chance.
        #expect(.zero...(.milliseconds(500)) ~= first && .zero...(.seconds(1)) ~= second, "\(came.attempts)")
        #expect(came.origins == Array(1...6))
        let errors = came.said("error").filter { $0.contains(#""code":"timeout""#) }
        #expect(errors.count == 2 && errors[0].contains("web1: the agent has said nothing for 3 windows"), "\(errors)")
        #expect(errors.allSatisfy { $0.contains(#""attempt":1,"#) } && came.said("recovered").count == 2)
    }

    @Test func whatCannotBeHadIsSaidOnceAndTriedOn() async throws {
        let came = try await Self.run(for: .seconds(120)) { number, peer in
            switch number {
            case 0..<3: peer.value.answer(401)
            case 3..<6: peer.value.answer(503)
            case 6: peer.value.fail(.protocol, "web1.test does not speak HTTP")
            case 7: peer.value.answer(500)
            case 8:  // It says nothing at all.
                try await peer.value.sleep(.seconds(100))
            default:
                peer.value.answer(200)
                try await Self.write([PeerLinesTests.hello("a"), PeerLinesTests.fact(1)], to: peer)
                try await Self.stay(peer)
            }
            peer.value.close()
        }
        let words = [
            "web1: web1.test lets nobody in without the right token (status 401)",
            "web1.test has no room for another reader (status 503)", "web1.test does not speak HTTP",
            "web1.test answers with status 500", "no answer within 10 s",
        ]
        // Each once; what follows is of the last one, which falls silent.
        let errors = came.said("error").filter { !$0.contains("has said nothing") }
        #expect(errors.count == words.count, "\(errors)")
        for (error, words) in zip(errors, words) { #expect(error.contains(words)) }
        #expect(came.attempts.count >= 10 && came.origins.first == 1)
    }

    /// One that greets in order each time, and then goes wrong, is asked less and less often.
    @Test func aPeerThatBreaksTheProtocolIsLeftAloneForLonger() async throws {
        let came = try await Self.run(for: .seconds(900)) { number, peer in
            peer.value.answer(200)
            try await Self.write([PeerLinesTests.hello("a"), PeerLinesTests.fact(number + 1)], to: peer)
            try await peer.value.sleep(.seconds(29))
            try await Self.write([String(repeating: "x", count: (1 << 20) + 2)], to: peer)
            try await Self.stay(peer)
        }
        let pauses = zip(came.attempts, came.attempts.dropFirst()).map { $1 - $0 - .seconds(29) }
        #expect(pauses.count > 15 && pauses.reduce(.zero, +) > .seconds(30), "\(pauses)")
        #expect(came.origins == Array(1...came.attempts.count))
        let errors = came.said("error")
        #expect(errors.allSatisfy { $0.contains("breaks the protocol: a line has more than 1 MiB") }, "\(errors)")
    }

    @Test func aFleetIsLeftAloneForAMinute() async throws {
        let came = try await Self.run(for: .seconds(170)) { _, peer in
            peer.value.answer(200)
            try await Self.write([PeerLinesTests.hello("a", #","fleet":true"#), PeerLinesTests.fact(1)], to: peer)
            try await Self.stay(peer)
        }
        #expect(came.attempts == [.zero, .seconds(60), .seconds(120)])
        #expect(came.lines.count == 1 && came.lines[0].contains("web1 is a fleet itself"), "\(came.lines)")
    }

    // MARK: Both ways

    /// Asks so many times before anything is passed on.
    private static func requestPolls(_ count: Int, of polls: PollRequests) -> [PollRefusal?] {
        polls.assumeIsolated { polls in (0..<count).map { _ in polls.requestPoll(of: "web1.fact") } }
    }

    /// Each by a connection of its own, one after the other.
    @Test func pollsArePassedOnAndOnlySoManyWait() async throws {
        let came = try await Self.run(for: .seconds(10)) { number, peer in
            guard number == 0 else {
                #expect(peer.value.asked?.url == "http://web1.test/poll/fact" && peer.value.asked?.body == "{}")
                return peer.value.answer(202)
            }
            peer.value.answer(200)
            try await Self.write([PeerLinesTests.hello("a"), PeerLinesTests.fact(1)], to: peer)
            try await Self.stay(peer)
        } beside: { _, polls, loop in
            try await loop.sleep(for: .seconds(1))
            let refusals = Self.requestPolls(20, of: polls)
            #expect(refusals.firstIndex { $0 != nil } == 16)
            #expect(refusals[16...].allSatisfy { $0?.reason == "the agent is asked much already" })
            try await loop.sleep(for: .seconds(1))
            // By then there is room again.
            #expect(await polls.requestPoll(of: "web1.fact") == nil)
        }
        #expect(came.attempts.count == 18)  // the feed, 16 polls, and one more
        #expect(came.said("error").isEmpty)
    }

    /// What waits for an output stays with the agent.
    @Test func aSlowOutputSlowsTheAgentDown() async throws {
        let text = String(repeating: "x", count: 4_000)
        let lines = (1...400).map {
            PeerLinesTests.fact($0).replacing("\"value\"", with: "\"text\":\"\(text)\",\"value\"")
        }
        _ = try await Self.run(for: .seconds(60), log: 1 << 20) { _, peer in
            peer.value.answer(200)
            try await Self.write([PeerLinesTests.hello("a")] + lines, to: peer)
            try await Self.stay(peer)
        } beside: { store, _, loop in
            let (slow, _) = await store.open("slow", holdsInputs: true)
            try await loop.sleep(for: .seconds(10))
            let before = await store.nextSequence
            #expect(before < 200)
            try await loop.sleep(for: .seconds(10))
            #expect(await store.nextSequence == before)
            var count = 0
            for _ in 0..<300 where count < lines.count {
                while let delivery = await store.dequeue(for: slow) {
                    if case .lines(let span) = delivery { count += span.sequences.count }
                    if case .gap = delivery { Issue.record("lines were let go of") }
                }
                try await loop.sleep(for: .milliseconds(100))
            }
            #expect(count == lines.count)
        }
    }
}
