internal import Feed
internal import Reactor

/// Why a connection to another agent has ended.
struct PeerEnding {
    var code: Failure.Code
    var reason: String
    /// Whether the peer broke the protocol: then the backoff is not reset, however long the connection lasted.
    var isBreach = false
    /// Whether the store refused the agent and has reported it: the next attempt is a minute later.
    var isFinal = false

    static func breach(_ reason: String) -> PeerEnding {
        PeerEnding(
            code: .protocol, reason: "what answers there breaks the protocol: \(reason)", isBreach: true)
    }
}

/// Follows another agent's feed, connection after connection: the one loop of all inputs that do. Belongs to its input.
final class PeerReader {
    private let transport: any FeedTransport
    private let store: EventStore
    private let loop: EventLoop
    private let buffer = ReadBuffer(count: 64 << 10)
    /// The open connection.
    private var stream: (any ByteStream)?
    /// When the agent greeted us in this connection.
    private var greeted: LoopInstant?
    private var backoff: Backoff

    /// The most lines handed on together, because their sender decides what each costs.
    private static let linesAtOnce = 16
    /// The number of windows without a line after which a connection counts as dead, if its end does not show by itself.
    private static let silentWindows = 3
    /// The pause before we try an agent again that cannot be a member.
    private static let refusedPause = Duration.seconds(60)

    init(
        of transport: any FeedTransport, for store: EventStore, on loop: EventLoop,
        random: any RandomNumberGenerator & Sendable
    ) {
        (self.transport, self.store, self.loop) = (transport, store, loop)
        // Short, because a local agent is back soon or not at all.
        backoff = Backoff(base: .milliseconds(250), cap: .seconds(10), random: random)
    }

    /// Follows the feed until the task is cancelled, or `lost` returns false.
    ///
    /// - Parameters:
    ///   - resumption: returns how the feed goes on; nil for all there is.
    ///   - prefix: precedes the message of a server that cannot be reached by HTTP.
    ///   - window: the width of the agent's windows; nil if it may be silent for any time.
    ///   - receive: receives lines and faults in their order; returns the reason to stop, if there is one.
    ///   - lost: is told why a connection has ended, and the pause before the next one; returns whether there is one.
    func follow(
        resuming resumption: () async -> FeedResumption?, prefix: String = "",
        isolation: isolated any Actor = #isolation,
        window: () -> Duration?, receive: ([PeerLines.Item]) async throws -> PeerEnding?,
        lost: (PeerEnding, _ pause: Duration) async -> Bool
    ) async throws(CancellationError) {
        while true {
            let ending: PeerEnding
            do {
                ending = try await connect(await resumption(), prefix, window: window, receive: receive)
            } catch {
                throw CancellationError()
            }
            if let greeted = greeted.take(), !ending.isFinal, !ending.isBreach {
                backoff.lasted(greeted.duration(to: loop.clock.now))
            }
            let pause = ending.isFinal ? Self.refusedPause : backoff.fail()
            guard await lost(ending, pause) else { return }
            try await loop.sleep(for: pause)
        }
    }

    /// Records that the agent has greeted us; returns false when it had in this connection.
    func greet() -> Bool {
        guard greeted == nil else { return false }
        greeted = loop.clock.now
        return true
    }

    /// Forwards a poll request to an agent that has greeted us.
    func ask(_ source: String, _ request: PollRequest) -> Asking {
        guard let stream, greeted != nil else { return .refused(PollRefusal("the agent is not there", .away)) }
        return transport.ask(source, request, on: stream)
    }

    /// Connects, and reads the connection to its end.
    ///
    /// - Throws: `CancellationError`.
    private func connect(
        _ resumption: FeedResumption?, _ prefix: String, isolation: isolated any Actor = #isolation,
        window: () -> Duration?, receive: ([PeerLines.Item]) async throws -> PeerEnding?
    ) async throws -> PeerEnding {
        let stream: any ByteStream
        do {
            stream = try await transport.open(resumption).value
        } catch let error as CancellationError {
            throw error
        } catch let failure as HTTPFailure {
            try Task.checkCancellation()
            return PeerEnding(code: failure.code, reason: prefix + failure.message)
        } catch {
            return PeerEnding(code: .connect, reason: "no agent to attach to: \(error)")
        }
        self.stream = stream
        defer {
            stream.close()
            self.stream = nil
        }
        do {
            return try await read(stream, isResuming: resumption != nil, window: window, receive: receive)
        } catch let error as SystemError {
            return PeerEnding(code: .reset, reason: "the connection to the agent broke: \(error.reason)")
        }
    }

    private func read(
        _ stream: any ByteStream, isResuming: Bool, isolation: isolated any Actor = #isolation,
        window: () -> Duration?, receive: ([PeerLines.Item]) async throws -> PeerEnding?
    ) async throws -> PeerEnding {
        var peer = PeerLines(isResuming: isResuming, greetsFirst: transport.greetsFirst)
        var slice = TimeSlice(of: loop)
        var hasMore = false
        while true {
            // A slow output slows this connection, and then the agent says what was missed.
            try await store.admit()
            if !hasMore {
                guard let count = try stream.read(into: buffer.memory) else {
                    let silence = transport.showsItsEnd ? nil : window().map { $0 * Self.silentWindows }
                    guard try await stream.waitUntilReadable(atMost: silence, on: loop) else {
                        let reason = "the agent has said nothing for \(Self.silentWindows) windows"
                        return PeerEnding(code: .timeout, reason: reason)
                    }
                    continue
                }
                guard count > 0 else { return PeerEnding(code: .closed, reason: peer.ending()) }
                peer.push(Bytes(buffer.memory[..<count]))
                hasMore = true
            }
            slice.restart()
            repeat {
                var items: [PeerLines.Item] = []
                var ending: PeerEnding?
                while items.count < Self.linesAtOnce, ending == nil {
                    switch peer.next() {
                    case nil: hasMore = false
                    case .refused(let reason): ending = PeerEnding(code: .protocol, reason: reason)
                    case .breach(let reason): ending = .breach(reason)
                    case let item?: items.append(item)
                    }
                    if !hasMore || items.last.map(Self.isCostly) == true { break }
                }
                // Lines before a breach are handed on too, because the feed resumes behind them.
                if let ending = try await receive(items) ?? ending { return ending }
                if !hasMore, peer.isTooLong { return .breach(PeerLines.tooLong) }
            } while hasMore && slice.goesOn()
            // An agent that writes as fast as it is read would otherwise have the loop to itself.
            try await loop.sleep(for: .zero)
        }
    }

    /// Whether an item costs as much as many others: `stats` name all sources and endpoints.
    private static func isCostly(_ item: PeerLines.Item) -> Bool {
        if case .line(let line, _) = item, case .stats = line.body { true } else { false }
    }
}
