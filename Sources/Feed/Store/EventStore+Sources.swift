internal import Reactor

/// Sources come, change and go.
extension EventStore {
    /// Adds a source; one of a name that is known, retired or not, is that source with its series and their history, and
    /// takes the new description: see `FeedState.register`. Readers are told by `greetAll`.
    package func register(_ description: SourceDescription) -> SourceID {
        state.register(description, at: wall.now)
    }

    /// Takes a source out of the list until it is registered again.
    ///
    /// What it has still to publish is published; its windows close.
    package func retire(named name: String) {
        if let id = state.source(named: name) { state.retire(id) }
    }

    /// The agent itself as a source, for what it says of itself.
    package var agentSource: SourceID {
        if let known = ownSource { return known }
        let id = register(SourceDescription(name: "catwatch", type: "memory"))
        ownSource = id
        return id
    }

    /// Gives the windows that are still open their line: the inputs have come to their end, and `finish` follows.
    ///
    /// Waits, like an input that can, for outputs that must get everything.
    package func complete() async throws(CancellationError) {
        var next: Int? = 0
        while let first = next {
            try await admit()
            guard ending == nil else { return }
            holdLines()
            next = state.complete(from: first, atMost: 64, wall: wall.now, now: loop.clock.now)
            wakeReaders()
        }
    }
}
