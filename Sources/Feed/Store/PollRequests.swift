package import Reactor

/// Dispatches polls out of turn, and tracks the deadlines of sources' next attempts.
///
/// It runs on the loop; each store has one beside it.
package actor PollRequests {
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// By source name.
    private var expected: [String: LoopInstant] = [:]
    private var pollers: [String: @Sendable (PollRequest) -> PollRefusal?] = [:]
    /// By the names of agents whose feeds are sources.
    private var agents: [String: @Sendable (String, PollRequest) -> PollRefusal?] = [:]
    private var forwarder: (@Sendable (String, PollRequest) -> PollRefusal?)?

    package init(on loop: EventLoop) { self.loop = loop }

    /// Sets the latest time by which a source's next attempt will have a result, by the loop's clock; nil to expect
    /// none.
    ///
    /// Ignores a cancelled task, whose source is ending.
    package func expect(_ source: String, by deadline: LoopInstant?) {
        if !Task.isCancelled { expected[source] = deadline }
    }

    /// Whether no source's attempt, failed or not, is overdue.
    package var isOnTime: Bool { expected.values.allSatisfy { $0 >= loop.clock.now } }

    /// Sets the function that polls a source out of turn. `poll` is called on the loop and must not wait; it returns a
    /// refusal, or nil.
    package func allowPolling(of source: String, _ poll: @escaping @Sendable (PollRequest) -> PollRefusal?) {
        pollers[source] = poll
    }

    /// The same for all sources of an agent of a fleet; the function gets their names at that agent.
    package func allowPolling(
        ofAgent name: String, _ poll: @escaping @Sendable (String, PollRequest) -> PollRefusal?
    ) {
        agents[name] = poll
    }

    /// Sets the function that forwards poll requests for all sources to the agent that the feed belongs to.
    package func forwardPolls(_ forward: @escaping @Sendable (String, PollRequest) -> PollRefusal?) {
        forwarder = forward
    }

    /// Removes a source's deadline and poll function: its task has ended or is about to, and a successor may be of
    /// another kind.
    package func release(_ source: String) {
        expected[source] = nil
        pollers[source] = nil
        if let (agent, own) = AgentName.split(source), own == EventStore.ownName { agents[agent] = nil }
    }

    /// Polls a source now.
    ///
    /// - Returns: the reason for a refusal, such as an unknown source; nil on success.
    @discardableResult
    package func requestPoll(of source: String, _ request: PollRequest = PollRequest()) -> PollRefusal? {
        if let forwarder { return forwarder(source, request) }
        if let (agent, own) = AgentName.split(source), let poll = agents[agent] { return poll(own, request) }
        guard let poll = pollers[source] else {
            return PollRefusal("there is no source \"\(source)\" that can be polled", .unknown)
        }
        return poll(request)
    }
}
