package import Feed
package import Reactor
internal import Testing

/// A store whose sources are other agents, in the loop's time, with a reader of all of it.
package struct FleetStage: Sendable {
    package let loop: EventLoop
    package let wall: SteppedWallClock
    package let store: EventStore
    package let reader: ReaderID

    package init(
        on loop: EventLoop, at start: Timestamp, holdsInputs: Bool = false, isFleet: Bool = true,
        awaitsPositions: Bool = false,
        _ adjust: (inout FeedState.Limits) -> Void = { _ in }
    ) async {
        var limits = FeedState.Limits()
        adjust(&limits)
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: start)
        let identity = AgentIdentity(run: "fleet", version: "1", started: start)
        store = EventStore(
            on: loop, wall: wall, identity: identity, limits: limits, isFleet: isFleet, awaitsPositions: awaitsPositions
        )
        (reader, _) = await store.open(nil, holdsInputs: holdsInputs)
    }

    @discardableResult
    package func receive(_ lines: [Line], from agent: String = "web1") async -> String? {
        await store.receive(lines.map { .success($0) }, from: await store.member(agent))
    }

    /// The numbered lines since the last time, and how often was greeted.
    package func read() async -> (lines: [String], greetings: Int) {
        var (lines, greetings): ([String], Int) = ([], 0)
        while let delivery = await store.dequeue(for: reader) {
            switch delivery {
            case .lines(let span):
                let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                lines += text.split(separator: "\n").map(String.init)
            case .greeting: greetings += 1
            default: Issue.record("\(delivery)")
            }
        }
        return (lines, greetings)
    }
}

extension EventStore {
    /// Runs `body` beside the store's own `run`, which is cancelled afterwards.
    nonisolated package func whileRunning<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await running {
            try await self.run()
        } while: {
            try await body()
        }
    }
}
