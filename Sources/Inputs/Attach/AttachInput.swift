package import Feed
package import Reactor

/// Relays a running agent's feed from its socket, and survives any loss of the connection.
///
/// It reconnects, resumes behind the last line it has, and notices a new run.
package actor AttachInput {
    private let peer: PeerReader
    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    private let reconnects: Bool
    private let tell: @Sendable (Status) async -> Void
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// How the connection is doing.
    package enum Status: Sendable, Equatable {
        case connected
        /// A complaint of the agent about our request; the first one in a connection.
        case warned(String)
        /// A line that cannot be read, and that a gap names; the first one in a connection.
        case unreadable(LineFault)
        /// The connection is gone; `retryIn` is nil when there is no retry.
        case lost(reason: String, retryIn: Duration?)

        /// Whether no other status follows.
        package var isFinal: Bool { if case .lost(_, retryIn: nil) = self { true } else { false } }

        /// The message for a person; nil when there is nothing to say.
        package var text: String? {
            switch self {
            case .connected: nil
            case .warned(let message): "the agent says: \(message)"
            case .unreadable(let fault): "a line of the agent cannot be read, and is left out: \(fault)"
            case .lost(let reason, nil): "the agent is lost: \(reason)"
            case .lost(let reason, let pause?): "\(reason); next try in \(pause.shortText)"
            }
        }
    }

    /// Whether it was told what the agent says of what we asked for.
    private var isWarned = false
    private var isFaultTold = false

    /// How long a new run waits for readers that still lack lines of the previous run and exert no backpressure.
    private static let timeForReaders = Duration.seconds(1)

    /// - Parameters:
    ///   - transport: how to reach the agent.
    ///   - reconnects: whether to reconnect when the agent is lost.
    ///   - tell: reports the state of the connection.
    package init(
        store: EventStore, polls: PollRequests, on loop: EventLoop, by transport: any FeedTransport,
        reconnects: Bool = true, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
        tell: @escaping @Sendable (Status) async -> Void
    ) {
        self.store = store
        self.polls = polls
        self.loop = loop
        self.reconnects = reconnects
        self.tell = tell
        peer = PeerReader(of: transport, for: store, on: loop, random: random)
    }

    /// Reads until the task is cancelled; returns when the agent is lost and must not be retried.
    package func run() async throws(CancellationError) {
        await polls.forwardPolls { [weak self] source, request in
            guard let self else { return PollRefusal("there is no agent", .away) }
            return assumeIsolated { $0.ask(source, request) }
        }
        // The greeting and a replay come first all the same; the store leaves out what it has.
        try await peer.follow(
            resuming: { await store.newestRelayed.map { FeedResumption(behind: $0) } },
            prefix: "no agent to attach to: ", window: { nil },
            receive: { items in
                try await self.pass(items)
                return nil
            },
            lost: { ending, pause in
                (self.isWarned, self.isFaultTold) = (false, false)
                await self.store.setConnected(false)
                await self.tell(.lost(reason: ending.reason, retryIn: self.reconnects ? pause : nil))
                return self.reconnects
            })
    }

    /// Relays lines. Skips items that cannot be decoded: a gap names their numbers.
    private func pass(_ items: [PeerLines.Item]) async throws {
        var lines: [RelayedLine] = []
        for item in items {
            if case .fault(let fault) = item, !isFaultTold {
                isFaultTold = true
                await tell(.unreadable(fault))
            }
            guard case .line(let line, let bytes) = item else { continue }
            if peer.greet() {
                await store.setConnected(true)
                await tell(.connected)
            }
            if case .hello(let hello) = line.body {
                await store.relay(lines)
                lines = []
                // The log keeps nothing of a run once another one begins.
                if let position = await store.newestRelayed, position.run != hello.run {
                    try await store.waitForReaders(atMost: Self.timeForReaders)
                }
            }
            if let refusal = PeerLines.refusal(line), !isWarned {
                isWarned = true
                await tell(.warned(refusal))
            }
            lines.append(RelayedLine(line, bytes: bytes))
        }
        await store.relay(lines)
    }

    /// Forwards a poll request from one of our own readers.
    private func ask(_ source: String, _ request: PollRequest) -> PollRefusal? {
        switch peer.ask(source, request) {
        case .taken: return nil
        case .refused(let refusal): return refusal
        case .later: return PollRefusal("an agent that is passed on by HTTP is asked at its own page", .away)
        }
    }
}
