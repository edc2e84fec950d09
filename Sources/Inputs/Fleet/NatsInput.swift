package import Feed
package import Nats
package import Reactor

/// Reads a stream that many agents publish to, as many sources of a fleet: the store interprets the lines.
///
/// It survives any loss of servers or stream and resumes behind the last message it read. One batch of messages is in
/// flight: the next one is requested when the store has accepted it.
package actor NatsInput: Input {
    private let source: NatsSource
    private let broker: any BrokerReader
    private let store: EventStore
    private let polls: PollRequests
    private let loop: EventLoop
    private let worker: any Worker
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var isConnected = false
    /// Nil before the first connection.
    private var cursor: StreamCursor?
    private var backoff: Backoff
    private var outage = Outage<Failure.Code>()
    /// The time since a message without an agent was reported: the stream itself works.
    private var complaint = Outage<Failure.Code>()
    private var slice: TimeSlice
    /// The topics already reported about agents; each is reported once.
    private var told: Set<String> = []

    /// The most lines passed to the store in one call: the agent decides how much work a line is.
    private static let linesAtOnce = 16
    /// The most topics that are reported about agents.
    private static let mostTold = 1_000
    /// The least time between two requests while the answers are empty.
    private static let pause = Duration.milliseconds(20)

    /// - Parameters:
    ///   - broker: used only on `worker`, which a stopped server may block.
    package init(
        _ source: NatsSource, from broker: any BrokerReader, store: EventStore, polls: PollRequests, on loop: EventLoop,
        worker: any Worker, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        self.broker = broker
        self.store = store
        self.polls = polls
        self.loop = loop
        self.worker = worker
        backoff = Backoff(random: random)
        slice = TimeSlice(of: loop)
    }

    package func run() async throws(CancellationError) {
        let id = await store.register(source.description)
        guard worker.start() else {
            return await say(.error(Failure(.config, "\(name): there is no thread left for it")), id)
        }
        defer {
            loop.leave(to: worker) { [broker] in broker.close() }
            worker.stop()
        }
        await store.setBroker(name, isConnected: false)
        await store.beginInput(by: id)
        await store.whenForgotten(by: id) { [weak self] agent in self?.assumeIsolated { $0.forget(agent) } }
        do {
            while true {
                do {
                    try await begin(id)
                    try await readOn(id)
                } catch let fault as NatsFault {
                    try await wait(after: fault, id)
                }
            }
        } catch {
            await store.setBroker(name, isConnected: nil)
            await store.whenForgotten(by: id, nil)
            told = []
            for agent in await store.agents(by: id) { forget(agent) }
            throw CancellationError()
        }
    }

    private var name: String { source.description.name }

    private func ask<Value: Sendable>(
        _ work: @escaping @Sendable (any BrokerReader) throws(NatsFault) -> Value
    ) async throws -> Value {
        let broker = broker
        return try await loop.offload(to: worker) { try work(broker) }
    }

    // MARK: Where to begin

    /// Creates a consumer behind the last message that was read.
    private func begin(_ id: SourceID) async throws {
        try await store.waitForPositions()
        let (streamName, subject) = (source.stream, source.subject)
        if !isConnected { try await ask { broker throws(NatsFault) in try broker.connect() } }
        isConnected = true
        let stream = try await ask { broker throws(NatsFault) in try broker.stream(streamName) }
        if let reason = stream.refusal(of: subject, in: streamName) { throw NatsFault(.absent, reason) }
        let from = await historyStart
        if cursor == nil {
            cursor = StreamCursor(from: from, after: await position)
            await store.listUnheard(by: id)
        }
        guard let start = cursor?.begin(on: stream, from: from) else { return }
        if cursor?.isOther == true {
            await say("stream \(streamName) was made anew or set back: it is read from a --history ago on", id)
        }
        try await ask { broker throws(NatsFault) in try broker.read(subject, of: streamName, from: start) }
        // At once, because the first message may take long to come; after a failure, not before something was read.
        if outage.since == nil { await recordReading(id) }
    }

    /// When a history ago was, in nanoseconds since 1970.
    private var historyStart: Int64 {
        get async {
            let start = store.wallTime - (await store.limits.history)
            return start.microseconds.multipliedReportingOverflow(by: 1_000).partialValue
        }
    }

    /// The newest message that an earlier input or process has taken.
    private var position: (created: Int64, sequence: UInt64)? {
        get async {
            guard let line = await store.position(inStreamOf: name), let created = Int64(line.run) else { return nil }
            return (created, UInt64(clamping: line.sequence))
        }
    }

    // MARK: Messages

    private static let hole = NatsFault(.silent, "messages have been lost on the way")

    /// Reads messages until a fault.
    private func readOn(_ id: SourceID) async throws {
        while true {
            let messages = try await ask { broker throws(NatsFault) in try broker.next() }
            for message in messages {
                guard cursor?.isNext(message) == true else { throw Self.hole }
                try await handle(message, id)
                cursor?.advance(past: message)
                let position = LineID("\(cursor?.created ?? 0)", Int(clamping: message.sequence))
                await store.setPosition(position, inStreamOf: name)
            }
            await recover(id)
            // Keeps us from asking a server again at once that answers at once that there is nothing.
            if messages.isEmpty { try await loop.sleep(for: Self.pause) }
        }
    }

    /// Returns the agent of a message; nil when there is none, which is reported once for each name.
    private func member(of message: NatsDelivery, _ id: SourceID) async -> MemberID? {
        let agent = String(NatsSubject.agent(of: message.subject))
        guard AgentName.isValid(agent) else {
            let text = "subject \(message.subject) names no agent, whose name has \(AgentName.rule)"
            // Leaves the other half to what is wrong with agents.
            guard told.count < Self.mostTold / 2 else { return nil }
            await complain("name \(agent.prefix(100))", text, id)
            return nil
        }
        switch await store.member(agent, by: id, subject: message.subject) {
        case .success(let member):
            await polls.allowPolling(ofAgent: agent) { _, _ in .byBroker(agent) }
            return member
        case .failure(.elsewhere(let subject)):
            await complain("subject \(agent)", "\(agent) publishes to \(subject), and not \(message.subject)", id)
        case .failure(.taken(let other)):
            await complain(
                "taken \(agent)", "agent \(agent) is not read, as that name is taken: by the source \(other)", id)
        case .failure(.reserved):
            await complain(
                "taken \(agent)", "agent \(agent) is not read, as no source may be called so: choose another name", id)
        case .failure(.tooMany(let most)):
            await complain("many", "there are more than \(most) agents: further ones are not read", id)
        }
        return nil
    }

    /// Forgets an agent that is no longer in the fleet: its name may be used anew, and faults are then reported anew.
    private func forget(_ agent: String) {
        told = told.filter { !$0.hasSuffix(" \(agent)") }
        polls.assumeIsolated { $0.release("\(agent).\(EventStore.ownName)") }
    }

    private func handle(_ message: NatsDelivery, _ id: SourceID) async throws {
        guard let member = await member(of: message, id) else { return }
        let agent = String(NatsSubject.agent(of: message.subject))
        guard message.size == message.payload.count else {
            return await refuse(
                member, agent, "size", "sends a message of \(message.size) bytes: more than a line may have", id)
        }
        guard let run = message.run, RunName.isValid(run) else {
            return await refuse(
                member, agent, "run", "sends a message that does not say of which run it is: it is none of catwatch's",
                id)
        }
        if await store.member(member).state.refusedRun == run { return }
        let origin = StreamMessage(
            run: run, host: message.host, stored: Timestamp(microseconds: message.time / 1_000),
            isReread: cursor?.mayBeRepeated(message) ?? false)
        var lines = LineSplitter(limit: LineEncoder.longestLine)
        lines.push(message.payload[...])
        var rest: LineSplitter.Item? = lines.next() ?? lines.finish()
        while rest != nil {
            var some: [Result<Line, LineFault>] = []
            while let item = rest, some.count < Self.linesAtOnce {
                some.append(Self.line(item))
                rest = lines.next() ?? lines.finish()
            }
            // A slow output slows this down, and messages then wait in the stream.
            try await store.admit()
            // Again, because the agent may have been forgotten meanwhile and its member slot reused.
            guard let member = await self.member(of: message, id) else { return }
            if await store.receive(some, from: member, by: origin) != nil { return }
            guard !slice.goesOn() else { continue }
            // Lets other tasks on the loop run: an agent may write any amount.
            try await loop.sleep(for: .zero)
            slice.restart()
        }
    }

    private static func line(_ item: LineSplitter.Item) -> Result<Line, LineFault> {
        switch item {
        case .line(let bytes): Result { () throws(LineFault) in try LineDecoder.decode(bytes) }
        case .tooLong: .failure(LineFault(offset: LineEncoder.longestLine, reason: .tooLong))
        }
    }

    // MARK: What is wrong

    /// Reports a fault if it lasts, and waits before the next attempt.
    private func wait(after fault: NatsFault, _ id: SourceID) async throws {
        let rule = RetryRule(after: fault.kind, telling: 3, pause: .seconds(5))
        if !rule.keepsConnection { isConnected = false }
        let pause = backoff.fail(upTo: rule.pause)
        if outage.fail(
            by: fault.kind.code, at: loop.clock.now, from: rule.telling, isBrief: rule.isBrief)
        {
            await store.setBroker(name, isConnected: false)
            var failure = Failure(fault.kind.code, "\(name): \(fault.reason)")
            (failure.attempt, failure.retryIn) = (outage.attempts, pause)
            await say(.error(failure), id)
        }
        if outage.attempts > 1 || !rule.isBrief { try await loop.sleep(for: pause) }
    }

    /// Ends an outage, as the stream can be read.
    private func recover(_ id: SourceID) async {
        backoff.succeed()
        await recordReading(id)
        let (recovery, other) = (outage.end(at: loop.clock.now), complaint.end(at: loop.clock.now))
        if let recovery = recovery ?? other { await say(.recovered(recovery), id) }
    }

    /// Records that the stream is being read, whether it has new messages or not.
    private func recordReading(_ id: SourceID) async {
        await store.setBroker(name, isConnected: true)
        await store.recordAnswer(from: id)
    }

    /// Refuses a message and marks its agent as unfit until one is accepted.
    private func refuse(_ member: MemberID, _ agent: String, _ topic: String, _ text: String, _ id: SourceID) async {
        guard await mayTell("\(topic) \(agent)", id) else { return await store.setLink(.unfit, of: member) }
        await store.fail(member, .unfit, by: topic, Failure(.protocol, "\(agent) \(text)"))
    }

    /// Reports a message that belongs to no agent. The stream itself works, so the next successful read ends this
    /// outage.
    private func complain(_ topic: String, _ text: String, _ id: SourceID) async {
        guard await mayTell(topic, id) else { return }
        await say(text, id)
    }

    /// Whether this topic may be reported: it is new, and the limit is not reached. Names come from outside, without a
    /// limit.
    private func mayTell(_ topic: String, _ id: SourceID) async -> Bool {
        guard told.count <= Self.mostTold, told.insert(topic).inserted else { return false }
        guard told.count > Self.mostTold else { return true }
        await say("more is wrong with its messages than is said", id)
        return false
    }

    private func say(_ text: String, _ id: SourceID) async {
        _ = complaint.fail(by: .protocol, at: loop.clock.now)
        await say(.error(Failure(.protocol, "\(name): \(text)")), id)
    }

    private func say(_ body: Event.Body, _ id: SourceID) async {
        await store.publish([Event(time: store.wallTime, source: id, body: body)])
    }
}
