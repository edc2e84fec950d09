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

    private var outage = Outage<String>()
    /// The width of the agent's windows, from its greeting.
    private var interval = Duration.seconds(10)
    /// What was asked of the agent and is to be done for it.
    private var asked: [(source: String, work: @Sendable () async throws(HTTPFailure) -> Void)] = []
    private let hasAsked: Wakeup

    // Bound: poll requests by HTTP that wait to be passed on to an agent | 16 | refused
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
            }, window: { self.interval },
            receive: { await self.receive($0, id) },
            lost: { ending, pause in
                await self.report(ending, id, retryIn: pause)
                return true
            })
    }

    /// Says why nothing comes: once, and again when that changes.
    private func report(_ ending: PeerEnding, _ id: MemberID, retryIn pause: Duration) async {
        let isNews = outage.fail(by: ending.reason, at: loop.clock.now)
        await store.setLink(ending.isFinal ? .refused : .broken, of: id)
        guard isNews, !ending.isFinal else { return }
        var failure = Failure(ending.code, "\(name): \(ending.reason)")
        (failure.attempt, failure.retryIn) = (outage.attempts, pause)
        await store.say(.error(failure), of: id)
    }

    /// Records that the agent has greeted.
    private func begin(_ id: MemberID) async {
        await store.setLink(.open, of: id)
        guard let recovery = outage.end(at: loop.clock.now) else { return }
        await store.say(.recovered(recovery), of: id)
    }

    /// Gives lines to the store; says why nothing more is to be read, if the store does.
    private func receive(_ items: [PeerLines.Item], _ id: MemberID) async -> PeerEnding? {
        var lines: [Result<Line, LineFault>] = []
        for item in items {
            switch item {
            case .line(let line, _):
                if case .hello(let hello) = line.body {
                    interval = hello.interval
                    if !hello.isFleet, peer.greet() { await begin(id) }
                }
                lines.append(.success(line))
            case .fault(let fault): lines.append(.failure(fault))
            case .refused, .breach: break  // these end the connection
            }
        }
        return await store.receive(lines, from: id).map { PeerEnding(code: .protocol, reason: $0, isFinal: true) }
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
