package import Reactor

/// Sources come, change and go.
extension EventStore {
    /// Adds a source; one of a name that is known, retired or not, is that source with its series and their history, and
    /// takes the new description: see `FeedState.register`. Readers are told by `greetAll`.
    package func register(_ description: SourceDescription) -> SourceID {
        state.register(description, at: wall.now)
    }

    /// Takes a source out of the list: nothing is expected of it, and it cannot be polled, until it is registered again.
    ///
    /// What it has still to publish is published; its windows close.
    package func retire(named name: String) {
        if let id = state.source(named: name) { retire(id) }
    }

    /// The same for a source that was registered.
    package func retire(_ id: SourceID) {
        release(id)
        state.retire(id)
    }

    /// Expects nothing of a source, and lets nobody have it polled, until somebody says otherwise: what ran for it has ended,
    /// and what follows may be of another kind.
    package func release(named name: String) {
        if let id = state.source(named: name) { release(id) }
    }

    private func release(_ id: SourceID) {
        expected[id] = nil
        pollers[state.sources[id.index].name] = nil
    }

    /// The agent itself as a source, for what it says of itself.
    package var agentSource: SourceID {
        if let known = ownSource { return known }
        let id = register(SourceDescription(name: "catwatch", type: "memory"))
        ownSource = id
        return id
    }

    /// Says when a source's next attempt will have come to something at the latest, by the loop's clock.
    ///
    /// Of a retired source nothing is expected, whatever its last task may still say.
    package func expect(_ source: SourceID, by deadline: LoopInstant) {
        if state.sources[source.index].isRetired { return }
        expected[source] = deadline
    }

    /// Whether every source's attempts, failed ones too, came to something when they should.
    package var isOnTime: Bool { expected.values.allSatisfy { $0 >= loop.clock.now } }

    /// Says how a source is polled out of turn; `poll` is called on the loop and must not wait. It says why it does not.
    package func allowPolling(of source: String, _ poll: @escaping @Sendable (PollRequest) -> PollRefusal?) {
        pollers[source] = poll
    }

    /// Says who passes requests on to the agent whose feed this is; like `allowPolling`, for all its sources.
    package func forwardPolls(_ forward: @escaping @Sendable (String, PollRequest) -> PollRefusal?) {
        forwarder = forward
    }

    /// Has a source polled now.
    ///
    /// - Returns: why not, when it is not; such as that there is no such source, or it cannot be polled.
    package func requestPoll(of source: String, _ request: PollRequest = PollRequest()) -> PollRefusal? {
        if let forwarder { return forwarder(source, request) }
        guard let poll = pollers[source] else {
            return PollRefusal("there is no source \"\(source)\" that can be polled")
        }
        return poll(request)
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
