package import Reactor

/// Where polls are asked for out of turn, and where sources say when their next attempt will have come to something.
///
/// It runs on the loop, and whoever makes the store makes one beside it.
package actor PollDesk {
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// By the names of sources.
    private var expected: [String: LoopInstant] = [:]
    private var pollers: [String: @Sendable (PollRequest) -> PollRefusal?] = [:]
    /// By the names of agents whose feeds are sources.
    private var agents: [String: @Sendable (String, PollRequest) -> PollRefusal?] = [:]
    private var forwarder: (@Sendable (String, PollRequest) -> PollRefusal?)?

    package init(on loop: EventLoop) { self.loop = loop }

    /// Says when a source's next attempt will have come to something at the latest, by the loop's clock; nil when nothing
    /// is expected of it.
    ///
    /// Of a task that was told to end nothing new is expected, whatever it may still say.
    package func expect(_ source: String, by deadline: LoopInstant?) {
        if !Task.isCancelled { expected[source] = deadline }
    }

    /// Whether every source's attempts, failed ones too, came to something when they should.
    package var isOnTime: Bool { expected.values.allSatisfy { $0 >= loop.clock.now } }

    /// Says how a source is polled out of turn; `poll` is called on the loop and must not wait. It says why it does not.
    package func allowPolling(of source: String, _ poll: @escaping @Sendable (PollRequest) -> PollRefusal?) {
        pollers[source] = poll
    }

    /// The same of all sources of an agent of a fleet, which get the names they have there.
    package func allowPolling(
        ofAgent name: String, _ poll: @escaping @Sendable (String, PollRequest) -> PollRefusal?
    ) {
        agents[name] = poll
    }

    /// Says who passes requests on to the agent whose feed this is; like `allowPolling`, for all its sources.
    package func forwardPolls(_ forward: @escaping @Sendable (String, PollRequest) -> PollRefusal?) {
        forwarder = forward
    }

    /// Expects nothing of a source, and lets nobody have it polled, until somebody says otherwise: what ran for it has ended
    /// or is to end, and what follows may be of another kind.
    package func release(_ source: String) {
        expected[source] = nil
        pollers[source] = nil
        if let (agent, own) = Self.parts(of: source), own == EventStore.ownName { agents[agent] = nil }
    }

    /// The agent of a fleet whose source it would be, and what that calls it: the first dot ends the agent's name.
    private static func parts(of source: String) -> (agent: String, source: String)? {
        guard let dot = source.firstIndex(of: ".") else { return nil }
        return (String(source[..<dot]), String(source[source.index(after: dot)...]))
    }

    /// Has a source polled now.
    ///
    /// - Returns: why not, when it is not; such as that there is no such source, or it cannot be polled.
    @discardableResult
    package func requestPoll(of source: String, _ request: PollRequest = PollRequest()) -> PollRefusal? {
        if let forwarder { return forwarder(source, request) }
        if let (agent, own) = Self.parts(of: source), let poll = agents[agent] { return poll(own, request) }
        guard let poll = pollers[source] else {
            return PollRefusal("there is no source \"\(source)\" that can be polled", .unknown)
        }
        return poll(request)
    }
}
