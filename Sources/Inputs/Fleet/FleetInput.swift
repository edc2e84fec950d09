package import Feed
package import Reactor

/// Reads another agent's feed as a source of a fleet, and survives any loss of the connection: the store interprets the
/// lines. It reconnects by itself and resumes behind the last line that the store accepted.
package actor FleetInput: Input {
    private let name: String
    private let peer: PeerReader
    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What was asked of the agent and is to be done for it.
    private var asked: [(source: String, work: @Sendable () async throws(HTTPFailure) -> Void)] = []
    private let hasAsked: Wakeup

    // Poll requests to be passed on to an agent: 16; refused.
    private static let mostAsked = 16

    package init(
        _ name: String, by transport: any FeedTransport, store: EventStore, polls: PollRequests, on loop: EventLoop,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.name = name
        peer = PeerReader(of: transport, for: store, on: loop, random: random)
        self.store = store
        self.polls = polls
        self.loop = loop
        hasAsked = Wakeup(loop: loop)
    }

    package func run() async throws(CancellationError) {
        let id = await store.member(name)
        await store.setLink(.opening, of: id)
        await polls.allowPolling(ofAgent: name) { [weak self] source, request in
            guard let self else { return PollRefusal("there is no agent", .away) }
            return assumeIsolated { $0.ask(source, request) }
        }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.read(id) }
                group.addTask { try await self.askLater(id) }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            throw CancellationError()
        }
    }

    private func read(_ id: MemberID) async throws(CancellationError) {
        try await store.waitForPositions()
        try await peer.follow(
            resuming: {
                let member = await store.member(id)
                return member.place.map { FeedResumption(behind: $0, wantsAllKept: !member.knowsKept) }
            }, window: { self.store.assumeIsolated { $0.member(id).state.interval } },
            receive: { await self.receive($0, id) },
            lost: { ending, pause in
                // After a final ending the store has already reported the refusal.
                if !ending.isFinal {
                    var failure = Failure(ending.code, "\(self.name): \(ending.reason)")
                    failure.retryIn = pause
                    await self.store.fail(id, .broken, by: ending.reason, failure)
                }
                return true
            })
    }

    /// Gives lines to the store; says why nothing more is to be read, if the store does.
    private func receive(_ items: [PeerLines.Item], _ id: MemberID) async -> PeerEnding? {
        let lines: [Result<Line, LineFault>] = items.compactMap { item in
            switch item {
            case .line(let line, _): .success(line)
            case .fault(let fault): .failure(fault)
            case .refused, .breach: nil  // these end the connection
            }
        }
        if let reason = await store.receive(lines, from: id) {
            return PeerEnding(code: .protocol, reason: reason, isFinal: true)
        }
        if !lines.isEmpty { _ = peer.greet() }
        return nil
    }

    private func ask(_ source: String, _ request: PollRequest) -> PollRefusal? {
        switch peer.ask(source, request) {
        case .taken: return nil
        case .refused(let refusal): return refusal
        case .later(let work):
            guard asked.count < Self.mostAsked else {
                return PollRefusal("the agent is asked much already", .busy)
            }
            asked.append((source, work))
            hasAsked.signal()
            return nil
        }
    }

    /// Sends the waiting poll requests one after the other; an error event says why a source is not polled.
    private func askLater(_ id: MemberID) async throws(CancellationError) {
        while true {
            while !asked.isEmpty {
                let (source, work) = asked.removeFirst()
                do throws(HTTPFailure) {
                    try await work()
                } catch {
                    guard !Task.isCancelled else { throw CancellationError() }
                    await store.say(.error(Failure(error.code, "\(name): \(error.message)")), of: id, source: source)
                }
            }
            try await hasAsked.wait()
        }
    }
}
