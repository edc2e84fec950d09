package import Feed
package import Nats
package import Reactor

/// Reads a stream that many agents publish to, as many sources of a fleet: what their lines come to is up to the store.
///
/// It goes on by itself whatever happens to servers and stream, behind the last message that was taken. What there is on the way is
/// one answer: the next one is asked for when the store has that.
package actor NatsInput: Input {
    private let source: NatsSource
    private let broker: any BrokerReader
    private let store: EventStore
    private let desk: PollDesk
    private let loop: EventLoop
    private let worker: any Worker
    private var random: any RandomNumberGenerator & Sendable
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var isConnected = false
    /// Whether something could be read since it was last said that nothing can.
    private var isThere = false
    /// Nil before the stream was looked through.
    private var cursor: StreamCursor?
    private var backoff = Backoff()
    private var outage = Outage<Failure.Code>()
    /// The time since something was said of messages that no agent stands for: the stream itself is well.
    private var complaint = Outage<Failure.Code>()
    private var slice: TimeSlice
    /// By agents, by their names.
    private var agents: [String: Agent] = [:]
    /// What was said of agents, which is said once.
    private var told: Set<String> = []

    private struct Agent {
        let subject: String
        /// Of which run nothing is taken.
        var refused: String?
        /// The time in which its messages are refused.
        var outage = Outage<String>()
    }

    /// Lines that are passed on together: what one of them costs is up to who wrote it.
    private static let linesAtOnce = 16
    /// Of how many subjects the last message is looked at, or a few more: not all of them need to be agents.
    private let mostFound: Int
    /// How often in a row an answer may be late when the last messages are looked at.
    private static let mostSilences = 3
    /// Of how many agents it is looked up whether the stream has the message that their newest line came by: mostly the first one is
    /// there, or none.
    private static let mostLookedAt = 8
    /// Of how much that is wrong with single agents it is said.
    private static let mostTold = 1_000
    /// The least time between two questions that nothing comes of.
    private static let pause = Duration.milliseconds(20)

    /// - Parameters:
    ///   - broker: used on `worker` only, which may be kept by a server that was stopped.
    package init(
        _ source: NatsSource, from broker: any BrokerReader, store: EventStore, desk: PollDesk, on loop: EventLoop,
        worker: any Worker, mostFound: Int = 20_000,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.source = source
        self.mostFound = mostFound
        self.broker = broker
        self.store = store
        self.desk = desk
        self.loop = loop
        self.worker = worker
        self.random = random
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
        await store.noteBroker(name, isConnected: false)
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
            await store.noteBroker(name, isConnected: nil)
            await store.whenForgotten(by: id, nil)
            told = []
            for agent in agents.keys { forget(agent) }
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

    /// Has a consumer behind the last message that was taken.
    private func begin(_ id: SourceID) async throws {
        try await store.waitForPositions()
        let (streamName, subject) = (source.stream, source.subject)
        if !isConnected { try await ask { broker throws(NatsFault) in try broker.connect() } }
        isConnected = true
        let stream = try await ask { broker throws(NatsFault) in try broker.stream(streamName) }
        guard stream.mayTake(subject) else {
            throw NatsFault(.absent, "stream \(streamName) takes \(stream.subjectsText), and not \(subject)")
        }
        var cursor: StreamCursor
        if let known = self.cursor { cursor = known } else { cursor = try await lookThrough(stream, id) }
        let start = cursor.begin(on: stream)
        self.cursor = cursor
        _ = try await ask { broker throws(NatsFault) in
            try broker.read(subject, of: streamName, from: start, isBrief: false)
        }
        // At once, as it may be long before the first message comes; after a failure not before something was read.
        if outage.since == nil { await noteReading(id) }
    }

    /// Looks at the last message of each agent: who is there, or was, and from where on there is something new.
    private func lookThrough(_ now: NatsStream, _ id: SourceID) async throws -> StreamCursor {
        let (stream, subject) = (source.stream, source.subject)
        let said = try await ask { broker throws(NatsFault) in
            try broker.read(subject, of: stream, from: .lastOfEach, isBrief: true)
        }
        var found: [NatsDelivery] = []
        while found.count < said {
            let messages = try await nextLate()
            for message in messages {
                guard message.number == UInt64(found.count) + 1 else { throw Self.hole }
                found.append(message)
            }
            // There may be fewer than was said, but not none; what has come since is not waited for.
            if found.isEmpty { throw Self.nothing }
            if messages.isEmpty || messages.contains(where: { $0.sequence > now.last })
                || found.count > mostFound
            {
                break
            }
            try await loop.sleep(for: .zero)
        }
        let history = await store.numbers.history
        let from = (store.wallTime - history).microseconds.multipliedReportingOverflow(by: 1_000).partialValue
        let last = found.map { (String(NatsSubject.agent(of: $0.subject)), $0.sequence) }
        let positions = StreamPositions(
            await store.knownPositions, last: Dictionary(last, uniquingKeysWith: max))
        let taken = try await find(positions.newest)
        for (index, message) in found.enumerated() {
            let isOld =
                if positions.newest.isEmpty { message.time < from } else {
                    taken.map { message.sequence < $0 } ?? false
                }
            if isOld { await recall(message, id) }
            // Others have their turn.
            if index % 32 == 31 { try await loop.sleep(for: .zero) }
        }
        if positions.newest.isEmpty { return StreamCursor(from: .time(from)) }
        // One that has agents of ours and not their lines is another stream, of which nothing was taken.
        guard let taken else { return StreamCursor(from: .sequence(1)) }
        let behind = positions.behind(taken)
        let oldest = try await find(behind) ?? behind.dropFirst(Self.mostLookedAt).first?.number
        return StreamCursor(
            from: .sequence(oldest ?? taken), passing: taken,
            behind: Dictionary(behind.map { ($0.position.agent, $0.number) }, uniquingKeysWith: max))
    }

    /// The number of the first message of these that the stream has with the position's line in it; nil for none of those that are
    /// looked at.
    private func find(
        _ positions: [(position: AgentPosition, number: UInt64)]
    ) async throws -> UInt64? {
        let (stream, subject) = (source.stream, source.subject)
        for (position, number) in positions.prefix(Self.mostLookedAt) {
            let left = try await ask { broker throws(NatsFault) in
                try broker.read(subject, of: stream, from: .sequence(number), isBrief: true)
            }
            guard left > 0 else { continue }
            guard let message = try await nextLate().first else { throw Self.nothing }
            guard message.number == 1 else { throw Self.hole }
            if message.sequence == number, StreamPositions.isMessage(message, of: position) { return number }
        }
        return nil
    }

    /// The next messages that are known to be there, however late they are; none when they do not come.
    private func nextLate() async throws -> [NatsDelivery] {
        for _ in 0..<Self.mostSilences {
            let messages = try await ask { broker throws(NatsFault) in try broker.next() }
            if !messages.isEmpty { return messages }
            try await loop.sleep(for: Self.pause)
        }
        return []
    }

    /// Knows an agent by its last message, of which nothing is read.
    private func recall(_ message: NatsDelivery, _ id: SourceID) async {
        guard let member = await member(of: message, id), let run = message.run, RunName.isValid(run) else { return }
        let last = message.last.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        let host = AgentIdentity.Host(name: message.host ?? "")
        await store.meet(
            member, run: run, last: last, host: host, hasEnded: message.ended != nil,
            heard: Self.time(of: message))
    }

    // MARK: Messages

    private static let hole = NatsFault(.silent, "messages have been lost on the way")
    private static let setBack = NatsFault(.silent, "the stream was set back to what it had before")
    private static let nothing = NatsFault(.silent, "the stream says that it has messages, and sends none")

    /// Takes what comes, until it cannot be had any more.
    private func readOn(_ id: SourceID) async throws {
        while true {
            let messages = try await ask { broker throws(NatsFault) in try broker.next() }
            for message in messages {
                switch cursor?.see(message) {
                case .next?:
                    try await take(message, id)
                    cursor?.take(message)
                case .known?: break
                case .other?: throw Self.setBack
                case .hole?, nil: throw Self.hole
                }
            }
            await recover(id)
            // A server that answers at once that there is nothing is not asked again at once.
            if messages.isEmpty { try await loop.sleep(for: Self.pause) }
        }
    }

    /// The agent that a message is of; nil, and said once, when there is none.
    private func member(of message: NatsDelivery, _ id: SourceID) async -> MemberID? {
        let agent = String(NatsSubject.agent(of: message.subject))
        guard AgentName.isValid(agent) else {
            await complain(
                "names", "subject \(message.subject) names no agent, whose name has \(AgentName.rule)", id)
            return nil
        }
        if let known = agents[agent], known.subject != message.subject {
            await complain("subject \(agent)", "\(agent) publishes to \(known.subject), and not \(message.subject)", id)
            return nil
        }
        switch await store.member(agent, by: id) {
        case .success(let member):
            if agents[agent] == nil {
                agents[agent] = Agent(subject: message.subject)
                await desk.allowPolling(ofAgent: agent) { _, _ in .byBroker(agent) }
            }
            return member
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

    /// An agent is none of the fleet's any more: its name may be another's, and what is wrong then is said anew.
    private func forget(_ agent: String) {
        agents[agent] = nil
        told = told.filter { !$0.hasSuffix(" \(agent)") }
        desk.assumeIsolated { $0.release("\(agent).\(EventStore.ownName)") }
    }

    private func take(_ message: NatsDelivery, _ id: SourceID) async throws {
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
        if agents[agent]?.refused == run { return }
        agents[agent]?.refused = nil
        let origin = StreamMessage(
            run: run, sequence: Int(clamping: message.sequence), heard: Self.time(of: message))
        var lines = LineSplitter(limit: LineEncoder.longestLine)
        lines.push(message.payload[...])
        var rest: LineSplitter.Item? = lines.next() ?? lines.finish()
        while rest != nil {
            var some: [Result<Line, LineFault>] = []
            while let item = rest, some.count < Self.linesAtOnce {
                some.append(Self.line(item))
                rest = lines.next() ?? lines.finish()
            }
            // A slow output slows this down, and then messages wait where they are.
            try await store.admit()
            // Anew, as it may have been forgotten meanwhile, and its place be another one's.
            guard let member = await self.member(of: message, id) else { return }
            if await store.receive(some, from: member, by: origin) != nil {
                agents[agent]?.refused = run
                _ = agents[agent]?.outage.fail(by: "run", at: loop.clock.now)
                return await store.note(.unfit, of: member)
            }
            if let recovery = agents[agent]?.outage.end(at: loop.clock.now) {
                await store.say(.recovered(recovery), of: member)
            }
            guard !slice.goesOn() else { continue }
            // Others have their turn: an agent may write as much as it likes.
            try await loop.sleep(for: .zero)
            slice.restart()
        }
    }

    private static func time(of message: NatsDelivery) -> Timestamp {
        Timestamp(microseconds: message.time / 1_000)
    }

    private static func line(_ item: LineSplitter.Item) -> Result<Line, LineFault> {
        switch item {
        case .line(let bytes): Result { () throws(LineFault) in try LineDecoder.decode(bytes) }
        case .tooLong: .failure(LineFault(offset: LineEncoder.longestLine, reason: .tooLong))
        }
    }

    // MARK: What is wrong

    /// Says what is in the way, and lets some time pass.
    private func wait(after fault: NatsFault, _ id: SourceID) async throws {
        let patience = NatsPatience(after: fault.kind, telling: 3, pause: .seconds(5))
        if !patience.keepsConnection { isConnected = false }
        let pause = backoff.fail(upTo: patience.pause, using: &random)
        if outage.fail(
            by: fault.kind.code, at: loop.clock.now, from: patience.telling, isBrief: patience.isBrief)
        {
            isThere = false
            await store.noteBroker(name, isConnected: false)
            var failure = Failure(fault.kind.code, "\(name): \(fault.reason)")
            (failure.attempt, failure.retryIn) = (outage.attempts, pause)
            await say(.error(failure), id)
        }
        if outage.attempts > 1 || !patience.isBrief { try await loop.sleep(for: pause) }
    }

    /// It can be read.
    private func recover(_ id: SourceID) async {
        backoff.succeed()
        await noteReading(id)
        let (recovery, other) = (outage.end(at: loop.clock.now), complaint.end(at: loop.clock.now))
        if let recovery = recovery ?? other { await say(.recovered(recovery), id) }
    }

    /// The stream is read, whether it has something new or not.
    private func noteReading(_ id: SourceID) async {
        if !isThere { await store.noteBroker(name, isConnected: true) }
        isThere = true
        await store.noteAnswer(from: id)
    }

    /// A message is not taken. That is its agent's fault, whose state says so until one is.
    private func refuse(_ member: MemberID, _ agent: String, _ topic: String, _ text: String, _ id: SourceID) async {
        await store.note(.unfit, of: member)
        guard await mayTell("\(topic) \(agent)", id) else { return }
        _ = agents[agent]?.outage.fail(by: topic, at: loop.clock.now)
        await store.say(.error(Failure(.protocol, "\(agent) \(text)")), of: member)
    }

    /// Says what is wrong with a message that no agent stands for. The stream goes on, so that is over with what is read next.
    private func complain(_ topic: String, _ text: String, _ id: SourceID) async {
        guard await mayTell(topic, id) else { return }
        await say(text, id)
    }

    /// Whether something was not said before. Names are others', and there is no end of them.
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
