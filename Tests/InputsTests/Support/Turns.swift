import Feed
import Reactor

/// What an input does between two turns of the others on its loop.
struct Turns: Sendable {
    /// The most data events that came in one.
    private(set) var most = 0
    /// In how many some came.
    private(set) var count = 0

    /// Takes its turn again and again until as many data events have come.
    ///
    /// - Parameter hasBegun: whether there is something to read; virtual time stands still from then on.
    static func watch(
        _ store: EventStore, on loop: EventLoop, until all: Int, hasBegun: () async -> Bool
    ) async throws -> Turns {
        var turns = Turns()
        while await !hasBegun() { try await loop.sleep(for: .microseconds(100)) }
        var seen = 0
        while seen < all {
            try await loop.sleep(for: .zero)
            let now = await store.counts.data
            turns.most = max(turns.most, now - seen)
            turns.count += now > seen ? 1 : 0
            seen = now
        }
        return turns
    }
}
