import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Documents of so many items that others on the loop must have their turns in between.
@Suite(.limited) struct ManyItemsTests {
    private static let items = 5_000
    private static let body = "[\((0..<items).map(String.init).joined(separator: ","))]"

    private static func extraction() throws -> Extraction {
        Extraction(items: try JSONPointer(""), value: .at(try JSONPointer("")), text: .nowhere)
    }

    /// Runs an input beside somebody who takes turns.
    private static func run(
        _ input: @escaping @Sendable (SimulatedFeed.Place) throws -> any Input
    ) async throws -> (SimulatedFeed, Turns) {
        let seen = Seen()
        let feed = try await SimulatedFeed.run(for: .seconds(1)) { _, _ in
            .answer(200, body, after: .milliseconds(1))
        } input: { place in
            let input = try input(place)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await input.run() }
                seen.turns = try await Turns.watch(place.store, on: place.loop, until: items) {
                    await place.transport.calls.first?.ended != nil
                }
                try await group.waitForAll()
            }
        }
        return (feed, seen.turns)
    }

    private final class Seen: @unchecked Sendable {  // touched on one loop, and after its end
        var turns = Turns()
    }

    private static func check(_ feed: SimulatedFeed, _ turns: Turns) {
        feed.expectWellFormed()
        #expect(feed.data.map(\.value).elementsEqual((0..<items).map(Double.init)))
        #expect(feed.latencies.count == 1 && feed.errors.isEmpty && feed.state == .ok)
        #expect(turns.most <= 1_024 && turns.count >= items / 1_024)
    }

    @Test func ofAPoll() async throws {
        let (feed, turns) = try await Self.run { place in
            HTTPPoller(
                HTTPSource(
                    SourceDescription(name: "x"), request: HTTPRequest(url: "http://cats.test/"), every: .seconds(60),
                    extraction: try Self.extraction()),
                store: place.store, polls: place.polls, transport: place.transport, on: place.loop, wall: place.wall)
        }
        Self.check(feed, turns)
        #expect(feed.texts.last { $0.contains(#""type":"latency""#) } == feed.texts.dropLast().last)
    }
}
