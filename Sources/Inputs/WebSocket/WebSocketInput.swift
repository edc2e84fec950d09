package import Feed
package import Reactor
internal import WebSocket

/// Reads the messages of a WebSocket until its task is cancelled, and reconnects whenever the connection ends.
///
/// Every message is a JSON document. While a lossless output is behind, nothing is read, and TCP makes the server wait.
/// Nothing the server does ends the input (RFC 6455).
package actor WebSocketInput: Input {
    private let source: WebSocketSource
    private let store: EventStore
    private let polls: PollRequests
    private let transport: any StreamTransport
    private let loop: EventLoop
    private let wall: any WallClock
    private let worker: (any Worker)?
    private var random: any RandomNumberGenerator & Sendable
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var extractor: Extractor
    private var session: WebSocketSession?
    private var faults = FaultTally { "in \($0 == 1 ? "a message" : "\($0) messages, the first one"): " }
    private var withoutValue = FaultTally.withoutValue
    private var batch = EventBatch()
    /// Reset by a message: a server that accepts connections and closes them at once gets ever longer pauses too.
    private var retries: Retries
    /// Signalled when a deadline changes, or a poll is requested.
    private let pulse: Wakeup
    /// A reader has asked for a poll: a ping, or a reconnection at once.
    private var isPollWanted = false
    private let buffer = ReadBuffer(count: 64 << 10)
    /// The work done before other tasks on the loop run.
    private var slice: TimeSlice

    private var endpoint: Endpoint { source.request.endpoint }
    private var peer: String { endpoint.authority }

    /// How far an attempt may exceed its deadline before the agent itself counts as stuck.
    private static let grace = Duration.seconds(5)
    /// How long the peer may take to close the connection after both close frames.
    private static let farewell = Duration.seconds(1)

    private typealias Ending = WebSocketEnding

    /// - Parameters:
    ///   - worker: reads long messages; nil for the loop.
    ///   - random: makes the pauses, the handshake's key and the masks, so its numbers must be unpredictable.
    package init(
        _ source: WebSocketSource, store: EventStore, polls: PollRequests, transport: any StreamTransport,
        on loop: EventLoop, wall: any WallClock, worker: (any Worker)? = nil,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        extractor = Extractor(source.extraction, of: .lines)
        self.store = store
        self.polls = polls
        self.transport = transport
        self.loop = loop
        self.wall = wall
        self.worker = worker
        self.random = random
        retries = Retries(every: nil, most: source.retryMost, random: random)
        pulse = Wakeup(loop: loop)
        slice = TimeSlice(of: loop)
    }

    /// Registers the source and reads it until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        let name = source.description.name
        await polls.allowPolling(of: name) { [weak self] request in
            if let refusal = request.refusal(by: name) { return refusal }
            self?.assumeIsolated { $0.wantPoll() }
            return nil
        }
        var due = loop.clock.now
        while true {
            let start = loop.clock.now
            await polls.expect(name, by: start.advanced(by: source.request.timeout + Self.grace))
            let ending = await connect(id, due: due)
            if Task.isCancelled { throw CancellationError() }
            due = await report(ending, id)
            await polls.expect(name, by: due.advanced(by: source.request.timeout + Self.grace))
            try await wait(until: due, since: start)
            due = min(due, loop.clock.now)
        }
    }

    /// Tells the polls when the connection must have shown life or been given up: a ping interval and timeout from now.
    private func expectLife() async {
        let time = loop.clock.now.advanced(by: source.pingEvery + source.pingTimeout + Self.grace)
        await polls.expect(source.description.name, by: time)
    }

    private func wantPoll() {
        isPollWanted = true
        pulse.signal()
    }

    /// Publishes why a connection ended.
    ///
    /// - Returns: when the next attempt is due.
    private func report(_ ending: Ending, _ id: SourceID) async -> LoopInstant {
        let now = loop.clock.now
        reportFaults(id, isLast: true)
        var failure = ending.failure
        let pause = retries.fail(failure.code, at: now, retryAfter: ending.retryAfter)
        failure.endpoint = endpoint.name
        failure.attempt = retries.attempt
        failure.retryIn = pause
        batch.add(Event(time: wall.now, source: id, body: .error(failure)))
        await publish()
        return now.advanced(by: pause)
    }

    /// Waits until the next attempt is due, or a reader asks for one; see `HTTPPoller`.
    private func wait(until due: LoopInstant, since start: LoopInstant) async throws(CancellationError) {
        while true {
            let asked = retries.allowed(at: start.advanced(by: KeepAlive.pollPause))
            let target = isPollWanted ? min(due, asked) : due
            guard loop.clock.now < target else { break }
            try await pulse.wait(until: target)
        }
        isPollWanted = false
    }

    /// Publishes the collected events.
    private func publish() async {
        guard batch.count > 0 else { return }
        let collected = batch
        batch = EventBatch()
        await store.publish(collected)
    }

    /// Adds the faults of messages to the batch, if their report is due.
    private func reportFaults(_ id: SourceID, isLast: Bool = false) {
        if let failure = faults.report(at: loop.clock.now, isLast: isLast) { batch.add(event(failure, id)) }
        if isLast, let failure = withoutValue.report(at: loop.clock.now, isLast: true) { batch.add(event(failure, id)) }
    }

    // MARK: One connection

    /// Connects, reads until the connection ends, and returns why it did.
    private func connect(_ id: SourceID, due: LoopInstant) async -> Ending {
        let began = loop.clock.now
        let late = due.duration(to: began).milliseconds
        do throws(HTTPFailure) {
            let (stream, timing) = try await transport.connect(source.request)
            let session = WebSocketSession(stream.value, of: source, buffer: buffer, on: loop)
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
            if Task.isCancelled {
                ending.closeCode = .goingAway
                reportFaults(id, isLast: true)
            }
            await publish()
            if let code = ending.closeCode { await sayFarewell(session, code, waits: ending.waitsForPeer) }
            return ending
        } catch {
            return Ending(error.code, error.message)
        }
    }

    /// Performs the handshake, and publishes how long that took.
    ///
    /// - Parameters:
    ///   - timing: the duration of connecting.
    ///   - late: how late the attempt began, in milliseconds.
    private func shakeHands(
        _ session: WebSocketSession, _ id: SourceID, _ timing: HTTPTiming, began: LoopInstant, late: Double
    ) async throws(Ending) {
        let key = Handshake.key(of: (random.next(), random.next()))
        let outcome = try await WebSocketHandshake(source: source, loop: loop, key: key).perform(
            on: session, began: began)
        var sample = LatencySample(
            endpoint: endpoint.name, status: 101, ms: began.duration(to: loop.clock.now).milliseconds,
            dns: timing.dns, connect: timing.connect, tls: timing.tls, late: late)
        sample.wait = max(0, sample.ms - sample.dns - sample.connect - sample.tls)
        if case .refused(let status, _) = outcome {
            sample.status = status
        } else if let recovery = retries.answer(at: loop.clock.now) {
            batch.add(Event(time: wall.now, source: id, body: .recovered(recovery)))
        }
        batch.add(Event(time: wall.now, source: id, body: .latency(sample)))
        if case .refused(let status, let retryAfter) = outcome {
            var ending = Ending(refusedBy: peer, status)
            ending.retryAfter = retryAfter.flatMap { RetryAfter.delay($0, now: wall.now) }
            throw ending
        }
        await publish()
    }

    /// Reads, writes and watches deadlines side by side until one of them ends the connection.
    private func converse(_ session: WebSocketSession, _ id: SourceID) async -> Ending {
        if let text = source.subscribe { session.text = Array(text.utf8) }
        session.alive = KeepAlive(every: source.pingEvery, timeout: source.pingTimeout, at: loop.clock.now)
        await expectLife()
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

    /// Sends a close frame if there is room for one, and gives the peer time to close the connection if it should (RFC
    /// 6455, section 7.1.1).
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
                try await loop.sleep(for: .zero)  // keeps a peer that still sends from occupying the loop
            } catch {
                return
            }
        }
    }

    // MARK: Reading

    /// Reads messages until the connection ends; nil when the task is cancelled.
    private func readMessages(_ id: SourceID) async -> Ending? {
        guard let session else { return nil }
        do {
            while true {
                try await admit(session)
                if session.pending.isEmpty {
                    guard let count = try session.stream.read(into: session.buffer.memory) else {
                        try await session.stream.waitUntilReadable()
                        continue
                    }
                    guard count > 0 else {
                        return Ending(.closed, "\(peer) closed the connection without a word")
                    }
                    session.alive.hear(at: loop.clock.now)
                    session.pending = 0..<count
                }
                slice.restart()
                let ending = try await handlePending(session, id)
                reportFaults(id)
                await publish(session)
                if let ending { return ending }
                // A server that sends as fast as we read would otherwise occupy the loop.
                try await loop.sleep(for: .zero)
            }
        } catch let error as SystemError {
            return Ending(error, of: peer)
        } catch {
            return nil
        }
    }

    /// Handles all pending bytes; returns why the connection is over, or nil.
    private func handlePending(_ session: WebSocketSession, _ id: SourceID) async throws(CancellationError) -> Ending? {
        // In bounds: pending bytes lie in the part that was read, and nothing else is read before they are handled.
        var input = UnsafeRawBufferPointer(rebasing: session.buffer.memory[session.pending])
        session.pending = 0..<0
        let time = wall.now
        while true {
            let item: FrameDecoder.Item?
            do throws(WebSocketFault) {
                item = try session.decoder.next(from: &input)
            } catch {
                return Ending(error, of: peer)
            }
            switch item {
            case nil: return nil
            case .text, .binary: try await read(session.decoder.payload, session, id, at: time)
            case .ping(let payload):
                session.pong = payload
                session.outgoing.signal()
            case .pong(let payload): handlePong(payload, session, id, at: time)
            case .close(let code, let reason): return Ending(closedBy: peer, code, reason)
            }
            // For every kind of item: faulty messages and pings can come by the thousands too.
            if batch.isFull || !slice.goesOn() { try await breathe(session) }
        }
    }

    /// Adds the events of one message, and publishes them if there are many.
    private func read(
        _ message: [UInt8], _ session: WebSocketSession, _ id: SourceID, at time: Timestamp
    ) async throws(CancellationError) {
        let document: Extractor.Document
        do throws(JSONFault) {
            // Also when the task is cancelled meanwhile: the message will not come again.
            document =
                if let document = try await extractor.read(message[...], on: loop, or: worker) {
                    document
                } else {
                    try extractor.read(message[...])
                }
        } catch {
            return addFault(error.failure)
        }
        var reading: ItemReading?
        do throws(Failure) {
            reading = try extractor.begin(document, from: id, at: time)
            if reading == nil { await finish(try extractor.add(document, from: id, at: time, to: &batch), id) }
            retries.startOver()
        } catch {
            addFault(error)
        }
        guard var reading else { return }
        while reading.read(into: &batch, during: &slice) {
            do throws(CancellationError) {
                try await breathe(session)
            } catch {
                // This is a cancellation from outside: the connection is not given up while its messages are published.
                addFault(reading.cutShort)
                throw error
            }
        }
        await finish(reading.outcome, id)
    }

    /// Reports the faults of a message, and fixes the value's pointer for later messages.
    private func finish(_ outcome: Extractor.Outcome, _ id: SourceID) async {
        if let problem = outcome.problem { addFault(problem) }
        if let pointer = outcome.valuePointer { extractor = extractor.fixingValue(at: pointer) }
        guard let missing = outcome.missing else { return }
        withoutValue.add(extractor.failure(of: missing), count: missing.count)
        guard let failure = withoutValue.report(at: loop.clock.now) else { return }
        // Before the events, which end the error state of the source.
        await store.publish([event(failure, id)])
    }

    private func event(_ failure: Failure, _ id: SourceID) -> Event {
        var failure = failure
        failure.endpoint = endpoint.name
        return Event(time: wall.now, source: id, body: .error(failure))
    }

    /// Publishes the collected events, and waits while a lossless output is behind.
    private func publish(_ session: WebSocketSession) async {
        guard batch.count > 0 else { return }
        let collected = batch
        batch = EventBatch()
        session.alive.hold()
        await store.publish(collected, waitingUntil: nil)
        session.alive.goOn(at: loop.clock.now)
    }

    /// Publishes the collected events, lets other tasks on the loop run, and waits while an output is behind.
    private func breathe(_ session: WebSocketSession) async throws(CancellationError) {
        await publish(session)
        try await loop.sleep(for: .zero)
        try await admit(session)
        slice.restart()
    }

    /// Waits while a lossless output is behind.
    private func admit(_ session: WebSocketSession) async throws(CancellationError) {
        session.alive.hold()
        try await store.admit()
        session.alive.goOn(at: loop.clock.now)
    }

    private func addFault(_ failure: Failure) {
        faults.add(failure)
        pulse.signal()  // its report may be due later
    }

    private func handlePong(_ payload: [UInt8], _ session: WebSocketSession, _ id: SourceID, at time: Timestamp) {
        guard let ms = session.alive.answer(payload, at: loop.clock.now)?.milliseconds else { return }
        let name = "PING" + endpoint.name.dropFirst("GET".count)
        let sample = LatencySample(
            endpoint: name, status: 101, ms: ms, wait: ms, bytes: payload.count, reused: true)
        batch.add(Event(time: time, source: id, body: .latency(sample)))
    }

    // MARK: Writing

    /// Sends queued frames; returns when sending fails, which the reader notices too.
    private func sendFrames() async -> Ending? {
        guard let session else { return nil }
        do {
            while true {
                guard let (opcode, payload) = session.nextFrame() else {
                    try await session.outgoing.wait()
                    continue
                }
                var frame: [UInt8] = []
                FrameEncoder.append(opcode, payload, key: random.next(), to: &frame)
                if opcode == .ping { session.alive.send(payload, at: loop.clock.now) }
                session.isInsideFrame = true
                try await session.stream.write(all: frame)
                session.isInsideFrame = false
            }
        } catch {
            return nil
        }
    }

    // MARK: The time

    /// Sends pings, and ends a silent connection; returns nil when the task is cancelled.
    private func keepAlive(_ id: SourceID) async -> Ending? {
        guard let session else { return nil }
        while true {
            let now = loop.clock.now
            switch session.alive.next(at: now, isAsked: isPollWanted) {
            case .giveUp: return Ending(silenceOf: peer, after: source.pingTimeout)
            case .ping(let payload):
                isPollWanted = false
                session.ping = payload
                session.outgoing.signal()
                await expectLife()
            case .wait(let due):
                reportFaults(id)
                await publish()
                do {
                    try await pulse.wait(until: min(due, faults.due ?? due))
                } catch {
                    return nil
                }
            }
        }
    }
}
