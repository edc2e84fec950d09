package import Feed
package import Reactor
internal import WebSocket

/// Reads the messages of a WebSocket for as long as its task lives, and connects again whenever the connection ends.
///
/// Every message is a JSON document. While an output that must get everything is behind, nothing is read, and TCP makes
/// the server wait. Nothing the server does ends it (RFC 6455).
package actor WebSocketInput: Input {
    let source: WebSocketSource
    let store: EventStore
    let desk: PollDesk
    private let transport: any StreamTransport
    let loop: EventLoop
    let wall: any WallClock
    var random: any RandomNumberGenerator & Sendable
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let extractor: Extractor
    var endpoint: Endpoint { source.request.endpoint }
    var session: WebSocketSession?
    var faults = MessageFaults()
    var batch = EventBatch()
    /// Reset by a message: a server that accepts connections and closes them gets longer and longer pauses, too.
    var backoff = Backoff()
    /// Called when one of the times changes that are waited for, or a poll is asked for.
    let pulse: Wakeup
    /// Somebody asks for a sign of life: a ping, or the next try at once.
    var isPollWanted = false
    /// Until when the server wants to be left alone, whoever asks.
    private var notBefore = LoopInstant(nanoseconds: 0)
    private let buffer = ReadBuffer(count: 64 << 10)
    /// What is read and published before others have their turn.
    var slice: TimeSlice

    /// What may be asked for out of turn comes at most so often.
    static let pollPause = Duration.seconds(1)
    /// What an attempt may take beyond its deadline before something is wrong with the agent.
    static let grace = Duration.seconds(5)
    /// How long a peer has to close a connection itself that both have said they are done with.
    private static let farewell = Duration.seconds(1)

    typealias Ending = WebSocketSession.Ending

    /// - Parameter random: makes the handshake's key and the masks, so it must be one that nobody can guess; and the pauses.
    package init(
        _ source: WebSocketSource, store: EventStore, desk: PollDesk, transport: any StreamTransport,
        on loop: EventLoop,
        wall: any WallClock, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        extractor = Extractor(source.extraction)
        self.store = store
        self.desk = desk
        self.transport = transport
        self.loop = loop
        self.wall = wall
        self.random = random
        pulse = Wakeup(loop: loop)
        slice = TimeSlice(of: loop, steps: ItemReading.steps)
    }

    /// Registers the source and reads it until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        let name = source.description.name
        await desk.allowPolling(of: name) { [weak self] request in
            if let refusal = request.refusal(by: name) { return refusal }
            self?.assumeIsolated { $0.wantPoll() }
            return nil
        }
        var due = loop.clock.now
        while true {
            let start = loop.clock.now
            await desk.expect(name, by: start.advanced(by: source.request.timeout + Self.grace))
            let ending = await connect(id, due: due)
            if Task.isCancelled { throw CancellationError() }
            due = await report(ending, id)
            await desk.expect(name, by: due.advanced(by: source.request.timeout + Self.grace))
            try await wait(until: due, since: start)
            due = min(due, loop.clock.now)
        }
    }

    private func wantPoll() {
        isPollWanted = true
        pulse.signal()
    }

    /// Publishes why a connection ended.
    ///
    /// - Returns: when the next try is due.
    private func report(_ ending: Ending, _ id: SourceID) async -> LoopInstant {
        let now = loop.clock.now
        let pause = max(backoff.fail(using: &random), ending.retryAfter ?? .zero)
        if let retryAfter = ending.retryAfter { notBefore = now.advanced(by: retryAfter) }
        takeFaults(id, isLast: true)
        var failure = ending.failure
        failure.endpoint = endpoint.name
        failure.attempt = backoff.attempt
        failure.retryIn = pause
        batch.add(Event(time: wall.now, source: id, body: .error(failure)))
        await publish()
        return now.advanced(by: pause)
    }

    /// Waits for the next try's time, or until somebody asks for one before; see `HTTPPoller`.
    private func wait(until due: LoopInstant, since start: LoopInstant) async throws(CancellationError) {
        while true {
            let asked = max(start.advanced(by: Self.pollPause), notBefore)
            let target = isPollWanted ? min(due, asked) : due
            guard loop.clock.now < target else { break }
            try await waitForPulse(until: target)
        }
        isPollWanted = false
    }

    /// Suspends until `deadline` has come, or something that was waited for has changed.
    func waitForPulse(until deadline: LoopInstant) async throws(CancellationError) {
        let timer = loop.schedule(at: deadline) { [pulse] in pulse.signal() }
        defer { loop.cancel(timer) }
        try await pulse.wait()
    }

    /// Publishes what has been collected.
    func publish() async {
        guard batch.count > 0 else { return }
        let collected = batch
        batch = EventBatch()
        await store.publish(collected)
    }

    /// Adds what was wrong with messages, when it is time to tell.
    func takeFaults(_ id: SourceID, isLast: Bool = false) {
        guard var failure = faults.take(at: loop.clock.now, isLast: isLast) else { return }
        failure.endpoint = endpoint.name
        batch.add(Event(time: wall.now, source: id, body: .error(failure)))
    }

    // MARK: One connection

    /// Connects, reads until the connection ends, and says why it did.
    private func connect(_ id: SourceID, due: LoopInstant) async -> Ending {
        let began = loop.clock.now
        let late = due.duration(to: began).milliseconds
        do throws(HTTPFailure) {
            let (stream, timing) = try await transport.connect(source.request)
            let session = WebSocketSession(stream.value, limit: source.request.maxBody, buffer: buffer, on: loop)
            self.session = session
            defer {
                session.stream.close()
                self.session = nil
            }
            var ending: Ending
            do throws(Ending) {
                try await shakeHands(session, id, timing, began: began, late: late)
                ending = await converse(session, id)
            } catch {
                ending = error
            }
            await publish()
            if Task.isCancelled { ending.closeCode = .goingAway }
            if let code = ending.closeCode { await sayFarewell(session, code, waits: ending.waitsForPeer) }
            return ending
        } catch {
            return Ending(error.code, error.message)
        }
    }

    /// Reads, writes and watches the time side by side until one of them says that it is over.
    private func converse(_ session: WebSocketSession, _ id: SourceID) async -> Ending {
        if let text = source.subscribe { session.text = Array(text.utf8) }
        return await withTaskGroup(of: Ending?.self) { group in
            group.addTask { await self.readMessages(id) }
            group.addTask { await self.sendFrames() }
            group.addTask { await self.keepAlive(id) }
            for await ending in group {
                guard let ending else { continue }
                group.cancelAll()
                return ending
            }
            return Ending(.closed, "the connection was given up")  // the task is cancelled
        }
    }

    /// Sends a close frame if there is room for one, and lets the peer close the connection if it is its turn
    /// (RFC 6455, section 7.1.1).
    private func sayFarewell(_ session: WebSocketSession, _ code: CloseCode, waits: Bool) async {
        guard !session.isInsideFrame else { return }
        var frame: [UInt8] = []
        FrameEncoder.appendClose(code, key: random.next(), to: &frame)
        guard let sent = try? frame.withUnsafeBytes({ bytes throws(SystemError) in try session.stream.write(bytes) }),
            sent == frame.count, waits, !Task.isCancelled
        else { return }
        let timer = loop.schedule(after: Self.farewell) { session.stream.close() }
        defer { loop.cancel(timer) }
        while true {
            do {
                guard let count = try session.stream.read(into: buffer.memory) else {
                    try await session.stream.waitUntilReadable()
                    continue
                }
                guard count > 0 else { return }
                try await loop.sleep(for: .zero)  // one that goes on sending does not get the loop
            } catch {
                return
            }
        }
    }
}
