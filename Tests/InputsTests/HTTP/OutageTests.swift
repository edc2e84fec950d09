import Feed
import Inputs
import Reactor
import TestSupport
import Testing
import WebSocket

/// How soon an upstream that is back is noticed, and what is said of it, in virtual time.
@Suite(.limited) struct OutageTests {
    /// Polls an upstream that refuses connections between two times.
    private func poll(
        _ source: HTTPSource, refused: Range<Duration>, for duration: Duration = .seconds(60), seed: UInt64
    ) async throws -> SimulatedFeed {
        try await SimulatedFeed.run(for: duration) { _, _ in
            .answer(after: .milliseconds(3))
        } input: { place in
            await place.transport.refuse(refused)
            let poller = HTTPPoller(
                source, store: place.store, polls: place.polls, transport: place.transport, on: place.loop,
                wall: place.wall, random: SeededGenerator(seed: seed))
            try await poller.run()
        }
    }

    private func time(_ line: Line) -> Duration { line.time - SimulatedFeed.wallStart }

    @Test(arguments: UInt64(1)...20)
    func anOutageOfThirteenSecondsIsNoticedAsOverWithinTwo(seed: UInt64) async throws {
        let source = try SimulatedFeed.source(every: .milliseconds(500))
        let feed = try await poll(source, refused: .seconds(5)..<(.seconds(18)), seed: seed)
        feed.expectWellFormed()
        let index = try #require(feed.lines.firstIndex { $0.type == "recovered" })
        let line = feed.lines[index]
        #expect(time(line) >= .seconds(18) && time(line) < .milliseconds(20_010), "\(time(line)), seed \(seed)")
        // It says what the errors before it say, and what the answer came to is the next line.
        let first = try #require(feed.lines.first { $0.type == "error" })
        let recovery = Recovery(
            down: .milliseconds(((line.time - first.time) / .milliseconds(1)).rounded()), attempts: feed.errors.count)
        #expect(line.body == .recovered(recovery) && line.source == "fact")
        guard case .data = feed.lines[index + 1].body else {
            Issue.record("\(feed.lines[index + 1])")
            return
        }
        #expect(feed.recoveries == [recovery] && feed.state == .ok)
    }

    @Test(arguments: UInt64(1)...2)
    func whatIsSaidOfTheLongestWaitHolds(seed: UInt64) async throws {
        var source = try SimulatedFeed.source(every: .milliseconds(100))
        source.retryMost = .seconds(90)
        let feed = try await poll(source, refused: .zero..<(.seconds(3_000)), for: .seconds(3_100), seed: seed)
        let pauses = feed.errors.compactMap(\.retryIn)
        #expect(pauses.contains { $0 > .seconds(45) } && pauses.allSatisfy { $0 <= .seconds(91) }, "seed \(seed)")
        source.retryMost = .milliseconds(100)
        let eager = try await poll(source, refused: .zero..<(.seconds(30)), seed: seed)
        #expect(eager.errors.allSatisfy { ($0.retryIn ?? .zero) <= .milliseconds(201) }, "seed \(seed)")
    }

    @Test func aListingTellsBeforeThePageThatComesAgain() async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source { $0.total = nil }) { number, request in
            [1, 2].contains(number)
                ? .failure(.connect, "refused")
                : SimulatedListing.page([number], next: request.url.hasSuffix("breeds") ? #""?page=2""# : "null")
        }
        let types = feed.lines.map(\.type).filter { !["hello", "stats", "window", "bye"].contains($0) }
        #expect(
            types == [
                "breed", "latency", "progress", "error", "error", "recovered", "breed", "latency", "progress",
            ])
        #expect(feed.recoveries.map(\.attempts) == [2])
    }

    @Test func nobodyCanAskBeforeTheUpstreamWantsToBeAsked() async throws {
        let source = try SimulatedFeed.source(every: .seconds(3_600))
        let feed = try await SimulatedFeed.run(for: .milliseconds(100_450)) { number, _ in
            number == 0 ? .answer(429, "", headers: HTTPAnswerHeaders(retryAfter: "60")) : .answer()
        } input: { place in
            let poller = HTTPPoller(
                source, store: place.store, polls: place.polls, transport: place.transport, on: place.loop,
                wall: place.wall, random: SeededGenerator(seed: 1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await poller.run() }
                while true {
                    try await place.loop.sleep(for: .milliseconds(700))
                    #expect(await place.polls.requestPoll(of: "fact") == nil)
                }
            }
        }
        #expect(feed.begun[1] == .seconds(60), "\(feed.begun)")
        #expect(zip(feed.begun.dropFirst(2), feed.begun.dropFirst()).allSatisfy { $0 - $1 >= .seconds(1) })
        #expect((30...42).contains(feed.begun.count))
    }

    @Test func norConnectToAWebSocketBefore() async throws {
        let feed = try await SimulatedSocket.run(
            SimulatedSocket.source(), for: .milliseconds(100_450),
            beside: { _, polls, loop in
                while true {
                    await polls.requestPoll(of: "aqi")
                    try await loop.sleep(for: .milliseconds(100))
                }
            },
            serve: { number, peer in
                let retry = number == 0 ? "Retry-After: 60\r\n" : ""
                try await peer.value.shakeHands("HTTP/1.1 503 x\r\n\(retry)\r\n")
            })
        let first = feed.attempts[0].duration(to: feed.attempts[1])
        #expect(first >= .seconds(60) && first < .seconds(61), "\(first)")
        #expect(feed.attempts.count > 30)
    }

    @Test func aWebSocketHasRecoveredWhenItIsOpen() async throws {
        let feed = try await SimulatedSocket.run(SimulatedSocket.source(), for: .seconds(60)) { number, peer in
            if number < 3 { return }
            try await peer.value.shakeHands()
            if number == 4 { try await WebSocketInputTests.answerPings(peer) }
        }
        // Opened and closed at once: an outage of its own, though the pauses go on growing.
        #expect(feed.recoveries.map(\.attempts) == [3, 1] && feed.errors.map(\.attempt) == [1, 2, 3, 4])
        for (index, line) in feed.lines.enumerated() where line.type == "recovered" {
            guard case .latency(let sample) = feed.lines[index + 1].body else {
                Issue.record("\(feed.lines[index + 1])")
                continue
            }
            #expect(sample.status == 101)
        }
        #expect(feed.data.isEmpty && feed.state == .ok)
    }
}
