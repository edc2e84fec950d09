import Feed
import Inputs
import Outputs
import Reactor
import TestSupport
import Testing

/// What an attached feed that is as fast as it can be leaves to the others on the loop.
@Suite(.limited) struct AttachTurnTests {
    private static let count = 20_000

    @Test func everyLineIsPassedOnAndOthersHaveTheirTurn() async throws {
        // A real clock: a slice of lines ends by time.
        let (most, last) = try await withLoop { loop in
            let origin = await FeedStage(on: loop)
            await origin.publish(Self.count)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, tell: { _ in },
                connect: { _ throws(SystemError) in try origin.openStream(capacity: 1 << 20) })
            return try await origin.serving { _ in
                try await running {
                    try await input.run()
                } while: {
                    var seen = 0
                    var most = 0
                    while seen < Self.count {
                        try await loop.sleep(for: .zero)
                        let now = await relay.store.counts.data
                        most = max(most, now - seen)
                        seen = now
                    }
                    return (most, await relay.store.counts.data)
                }
            }
        }
        #expect(last == Self.count)
        // As many as one step has, and what fits into 0.1 ms by a processor that needs 1 µs a line. 64 KiB are 400 lines.
        #expect(most <= 116, "\(most) lines came in one turn")
    }

    @Test func eachPieceThatIsReadHasASliceOfItsOwn() async throws {
        // Time stands still, so a slice ends with what was read: some 400 lines a turn and not 16.
        let turns = try await withLoop(virtual: true) { loop in
            let origin = await FeedStage(on: loop) { $0.logCapacity = 16 << 20 }
            await origin.publish(Self.count)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, tell: { _ in },
                connect: { _ throws(SystemError) in try origin.openStream(capacity: 1 << 20) })
            return try await origin.serving { _ in
                try await running {
                    try await input.run()
                } while: {
                    var turns = 0
                    while await relay.store.counts.data < Self.count, turns < 10_000 {
                        try await loop.sleep(for: .zero)
                        turns += 1
                    }
                    return turns
                }
            }
        }
        #expect(turns < 500, "\(turns) turns for \(Self.count) lines")
    }
}
