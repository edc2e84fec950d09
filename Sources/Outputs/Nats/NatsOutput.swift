package import Feed
package import Nats
package import Reactor

/// Publishes the feed to a stream: one more cursor, whose messages are sent one after the other, each one unchanged until the
/// stream has it. Whatever the servers do holds nobody up but this.
///
/// What the log has let go of meanwhile is the `gap` that every slow reader gets, told to the stream as well.
package actor NatsOutput {
    private let name: String
    private let host: String
    private let settings: NatsSettings
    private let broker: any Broker
    private let store: EventStore
    private let loop: EventLoop
    private let worker: any Worker
    private let tell: @Sendable (Event.Body) -> Void
    private var random: any RandomNumberGenerator & Sendable
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var batch = NatsBatch()
    /// What the batch comes to, from when it is to be sent until it is stored.
    private var pieces: ArraySlice<NatsBatch.Piece> = []
    private var fence: NatsFence
    /// Whose lines are read.
    private var run = ""
    /// What was read and is not yet in a batch.
    private var rest: (span: LineSpan, done: Int, next: Int)?
    private var owesGreeting = false
    /// Nil before it is known whose feed this is.
    private var nextGreeting: LoopInstant?
    private var nextMessage: LoopInstant
    /// Whether those are a fleet's, which are not published: there would be circles.
    private var isFleet = false
    private var isEnded = false
    /// The last number of the run that the stream has.
    private var stored = 0
    /// When the stream took the last message, or the feed was over if that was later.
    private var progressed: LoopInstant
    /// Called when there may be something to do.
    private let more: Wakeup

    private var isConnected = false
    /// How long a message may be, in bytes.
    private var room = 0
    private var isTooLongTold = false
    private var outage = Outage<NatsFault.Kind>()
    /// The time since something was said to be wrong with single messages.
    private var complaint = Outage<Bool>()
    /// When it was last looked for what is wrong with the stream.
    private var diagnosed = LoopInstant(nanoseconds: 0)
    private var backoff = Backoff()
    private var isPrepared = false
    /// The longest message that the stream takes, if it says so.
    private var mostOfStream: Int?

    /// How often `hello` and `stats` are told: who has read nothing for so long knows no more.
    package static let greetingPeriod = Duration.seconds(60)
    /// How often a conflict is looked at.
    private static let conflictPause = Duration.seconds(10)
    /// How long a server that is behind the others is given.
    private static let outdatedPause = Duration.milliseconds(200)
    /// How often it is asked for the reason that nobody takes a message, from that time of an outage on.
    private static let diagnosisTime = Duration.seconds(20)
    /// How long servers that take nothing are waited for once the feed is over: outputs have 5 s for their ends.
    private static let lastPatience = Duration.seconds(4)
    /// How often it is looked whether the feed is over.
    private static let glance = Duration.milliseconds(500)
    /// How many messages in a row may get another name at once.
    private static let mostRenamed = 3
    /// What a message must have room for, in bytes.
    private static let leastRoom = 4 << 10

    /// - Parameters:
    ///   - name: of the agent.
    ///   - host: the machine's own name.
    ///   - broker: used on `worker` only, which may be kept by a server that was stopped.
    ///   - id: of this process, which no other has: messages are called after it.
    ///   - tell: says in the feed, or to a person, how it goes.
    package init(
        as name: String, of host: String, _ settings: NatsSettings, to broker: any Broker, id: String,
        store: EventStore,
        on loop: EventLoop, worker: any Worker, random: any RandomNumberGenerator & Sendable,
        tell: @escaping @Sendable (Event.Body) -> Void
    ) {
        self.name = name
        self.host = NatsHeader.word(of: host) ?? "localhost"
        (nextMessage, progressed) = (loop.clock.now, loop.clock.now)
        self.settings = settings
        self.broker = broker
        self.store = store
        self.loop = loop
        self.worker = worker
        self.random = random
        self.tell = tell
        fence = NatsFence(run: id)
        more = Wakeup(loop: loop)
    }

    /// Publishes until the feed ends or the task is cancelled: what a server does by then is left alone.
    package func run() async throws(CancellationError) {
        let (reader, greeting) = await store.open("nats:\(name)") { [more] in more.signal() }
        run = await store.run
        owesGreeting = !greeting.isEmpty
        let isDone =
            (try? await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { try await self.publishAll(reader) }
                group.addTask { try await self.loseLastPatience() }
                defer { group.cancelAll() }
                return try await group.next()
            }) ?? false
        if !isDone, await store.isOver {
            let missing = await store.nextSequence - 1 - (store.run == run ? stored : 0)
            if missing > 0 { complain(.closed, "the last \(missing) lines were not published") }
        }
        loop.leave(to: worker) { [broker] in broker.close() }
        await store.close(reader)
        if !isDone { throw CancellationError() }
    }

    /// Returns when the feed is over, and nothing was stored for too long. Whatever is waited for, a pause or an answer, is left then.
    private func loseLastPatience() async throws -> Bool {
        while await !store.isOver { try await loop.sleep(for: Self.glance) }
        progressed = loop.clock.now
        while case let end = progressed.advanced(by: Self.lastPatience), loop.clock.now < end {
            try await loop.sleep(until: end)
        }
        return false
    }

    /// Returns when the stream has all.
    private func publishAll(_ reader: ReaderID) async throws -> Bool {
        while true {
            try await connect(reader)
            try await gather(reader)
            nextMessage = loop.clock.now.advanced(by: settings.every)
            // It is empty at the end of a feed of which nothing was ever known.
            if settings.sendsLines || batch.isEmpty {
                pieces = batch.piece.lines(agent: name, run: run)[...]
            } else {
                pieces = [batch.piece]
            }
            while !pieces.isEmpty { try await publishFirst(reader) }
            if isEnded { return true }
        }
    }

    // MARK: What is sent

    /// Waits until there is something that is to be sent now.
    private func gather(_ reader: ReaderID) async throws {
        pieces = []
        batch.begin(room: room)
        while true {
            if batch.isEmpty, let nextGreeting, loop.clock.now >= nextGreeting { owesGreeting = true }
            let isFull = await fill(reader)
            if isFull || isEnded || (!batch.isEmpty && loop.clock.now >= nextMessage) { return }
            let timer = (batch.isEmpty ? nextGreeting : nextMessage).map { time in
                loop.schedule(at: time) { [more] in more.signal() }
            }
            defer { if let timer { loop.cancel(timer) } }
            try await more.wait()
        }
    }

    /// Takes what there is; true when the message takes no more.
    private func fill(_ reader: ReaderID) async -> Bool {
        while true {
            if owesGreeting {
                guard batch.isEmpty else { return true }
                await greet(reader)
            }
            if batch.isFull { return true }
            if rest != nil {
                if takeRest() { return true }
                continue
            }
            guard let delivery = await store.take(for: reader) else { return false }
            _ = await isOfFleet(reader)
            switch delivery {
            case .lines where isFleet, .gap where isFleet: break
            case .lines(let span):
                rest = (span, 0, span.sequences.lowerBound)
                // What is attached to may have begun long before.
                if stored == 0 { stored = span.sequences.lowerBound - 1 }
            case .gap(let line): batch.add(line, naming: Line.Gap(line[...])?.numbers)
            // One that is over before it was known whose it is says nothing.
            case .greeting: owesGreeting = nextGreeting != nil ? true : await !store.isOver
            case .end(let line):
                if nextGreeting != nil { batch.add(line) }
                isEnded = true
                return true
            case .interrupted: break
            }
        }
    }

    /// Begins a message with who this is, and how its sources are.
    private func greet(_ reader: ReaderID) async {
        let now = await store.run
        if now != run { (run, stored) = (now, 0) }
        owesGreeting = false
        guard await !isOfFleet(reader) else { return }
        batch.add(await store.greeting(isFiltered: false, atMost: batch.capacity))
        nextGreeting = loop.clock.now.advanced(by: Self.greetingPeriod)
    }

    /// Whether the feed is a fleet's, which may be known by a line only; said once.
    private func isOfFleet(_ reader: ReaderID) async -> Bool {
        let wasFleet = isFleet
        isFleet = await store.isOfFleet
        guard isFleet, !wasFleet else { return isFleet }
        nextGreeting = nil
        let reason = "a fleet's feed is not published: attach to its agents, which publish their own"
        await store.setState("refused: \(reason)", of: reader)
        tell(.error(Failure(.config, "nats: \(reason)")))  // to the end
        return true
    }

    /// Takes of what was read what there is room for; true when that is not all.
    private func takeRest() -> Bool {
        guard let (span, done, next) = rest else { return false }
        let intake = span.withUnsafeBytes { batch.add(UnsafeRawBufferPointer(rebasing: $0[done...]), from: next) }
        let taken: (bytes: Int, lines: Int)
        switch intake {
        case .taken(let bytes, let lines): taken = (bytes, lines)
        case .tooLong(let bytes):
            leaveOut(next, bytes)
            taken = (bytes, 1)
        }
        rest = done + taken.bytes < span.count ? (span, done + taken.bytes, next + taken.lines) : nil
        return rest != nil
    }

    /// Names a line in the stream that fits no message.
    private func leaveOut(_ number: Int, _ bytes: Int) {
        batch.add(
            ControlLine.gap(time: store.wallTime, missing: number...number, reason: "too_large"),
            naming: number...number)
        guard !isTooLongTold else { return }
        isTooLongTold = true
        complain(
            .tooLarge,
            "line \(number) of \(bytes) bytes fits no message, and is left out; let max_payload and max_msg_size be 2 MB"
        )
    }

    // MARK: Sending

    /// Sends the first of the pieces until the stream has it, or until others have come in its place.
    private func publishFirst(_ reader: ReaderID) async throws {
        guard let piece = pieces.first else { return }
        let message = message(of: piece)
        var (renamed, outrun) = (0, 0)
        while true {
            try await connect(reader)
            switch fence.step {
            case .look:
                if try await look(reader) { return note(piece, reader) }
            case .send(let id, let expected):
                var next = message
                (next.id, next.expected) = (id, expected)
                if let behind = fence.behind { next.headers.append(.init(NatsHeader.behind, behind)) }
                fence.send()
                switch try await ask({ [next] broker throws(NatsFault) in try broker.publish(next) }) {
                case .success(let receipt):
                    if fence.accept(receipt) { return note(piece, reader) }
                    renamed += 1
                    let text = "the stream knew message \(id) before it was sent; it gets another name"
                    if renamed < Self.mostRenamed {
                        complain(.protocol, text)
                    } else {
                        try await wait(after: NatsFault(.other, text), reader)
                    }
                case .failure(let fault) where fault.kind == .outrun:
                    fence.refuse()
                    outrun += 1
                    // Who has overtaken it would have been found.
                    if outrun > 3 {
                        let reason = "the stream says that it has another last message than the one it gives"
                        try await wait(after: NatsFault(.other, reason), reader)
                    }
                case .failure(let fault) where fault.kind == .tooLarge && !piece.isGap:
                    if fence.decline() { return cut(piece) }
                case .failure(let fault): try await wait(after: fault, reader)
                }
            }
        }
    }

    private func message(of piece: NatsBatch.Piece) -> NatsMessage {
        var message = NatsMessage(subject: NatsSubject.of(name), stream: settings.stream)
        message.payload = piece.bytes
        message.headers = [.init(NatsHeader.run, run)]
        if let numbers = piece.numbers {
            message.headers.append(.init(NatsHeader.first, "\(numbers.lowerBound)"))
            message.headers.append(.init(NatsHeader.last, "\(numbers.upperBound)"))
        }
        message.headers.append(.init(NatsHeader.host, host))
        // What was added last.
        if isEnded, pieces.count == 1 { message.headers.append(.init(NatsHeader.ended, "yes")) }
        return message
    }

    /// Looks at what the subject has; true when the message under way is there.
    private func look(_ reader: ReaderID) async throws -> Bool {
        let (stream, subject) = (settings.stream, NatsSubject.of(name))
        switch try await ask({ broker throws(NatsFault) in try broker.last(in: stream, of: subject) }) {
        case .success(let last):
            switch fence.see(last, at: loop.clock.now) {
            case .stored: return true
            case .clear: break
            case .outdated: try await loop.sleep(for: Self.outdatedPause)
            case .taken(let host):
                let host = host.map { "on \($0) " } ?? ""
                note(NatsFault(.outrun, "conflict: another agent \(host)publishes as \(name), too"), reader)
                // Nothing becomes of that any more.
                if await store.isOver { throw CancellationError() }
                try await sleep(for: Self.conflictPause)
            }
        case .failure(let fault) where fault.kind == .denied: fence.deny()
        case .failure(let fault): try await wait(after: fault, reader)
        }
        return false
    }

    /// Has two messages follow in the place of one that is too large for the stream, or a `gap`.
    private func cut(_ piece: NatsBatch.Piece) {
        pieces = pieces.dropFirst()
        if let (first, second) = piece.halves {
            pieces = [first, second] + pieces
        } else {
            if !isTooLongTold {
                isTooLongTold = true
                complain(
                    .tooLarge,
                    "a line of \(piece.bytes.count) bytes is larger than the stream takes, and is left out; let max_msg_size be 2 MB"
                )
            }
            guard let numbers = piece.numbers else { return }
            let gap = ControlLine.gap(time: store.wallTime, missing: numbers, reason: "too_large")
            pieces = [NatsBatch.Piece(bytes: gap, numbers: numbers)] + pieces
        }
    }

    private func note(_ piece: NatsBatch.Piece, _ reader: ReaderID) {
        pieces = pieces.dropFirst()
        if let numbers = piece.numbers { stored = numbers.upperBound }
        progressed = loop.clock.now
        backoff.succeed()
        if outage.since != nil { store.assumeIsolated { $0.setState("ok", of: reader) } }
        let (recovery, other) = (outage.end(at: loop.clock.now), complaint.end(at: loop.clock.now))
        if let recovery = recovery ?? other { tell(.recovered(recovery)) }
    }

    // MARK: The servers

    private func ask<Value: Sendable>(
        _ work: @escaping @Sendable (any Broker) throws(NatsFault) -> Value
    ) async throws -> Result<Value, NatsFault> {
        let broker = broker
        return try await loop.offload(to: worker) { Result { () throws(NatsFault) in try work(broker) } }
    }

    /// Has a connection, however long that takes.
    private func connect(_ reader: ReaderID) async throws {
        while !isConnected {
            if outage.since == nil { await store.setState("connecting", of: reader) }
            let result = try await ask { broker throws(NatsFault) in
                try broker.connect()
                return broker.mostMessage
            }
            switch result {
            case .success(let most): try await prepare(most, reader)
            case .failure(let fault): try await wait(after: fault, reader)
            }
        }
    }

    /// Looks once at what there is to publish to, as long as it may: what is wrong there would be hard to tell from servers that
    /// choose a leader.
    private func prepare(_ most: Int, _ reader: ReaderID) async throws {
        if !isPrepared, let fault = try await diagnosis() { return try await wait(after: fault, reader) }
        room = min(most, mostOfStream ?? most) - NatsHeader.room
        isPrepared = room >= Self.leastRoom
        guard isPrepared else {
            let limits = "max_payload or max_msg_size of \(room + NatsHeader.room)"
            return try await wait(after: NatsFault(.settings, "\(limits) is too little; let both be 2 MB"), reader)
        }
        isConnected = true
        if outage.since == nil { await store.setState("ok", of: reader) }
    }

    /// What is wrong with the stream, if that can be told.
    private func diagnosis() async throws -> NatsFault? {
        let (name, subject) = (settings.stream, NatsSubject.of(name))
        switch try await ask({ broker throws(NatsFault) in try broker.stream(name) }) {
        case .success(let stream):
            guard stream.takes(subject) else {
                return NatsFault(
                    .absent, "stream \(name) takes \(stream.subjectsText), and not \(subject)")
            }
            guard stream.allowsDirect else {
                return NatsFault(
                    .absent, "stream \(name) has no allow_direct, by which an agent sees its own last message")
            }
            mostOfStream = stream.mostMessage
            return nil
        case .failure(let fault): return [.absent, .lost].contains(fault.kind) ? fault : nil
        }
    }

    /// Says what is in the way, and lets some time pass.
    private func wait(after fault: NatsFault, _ reader: ReaderID) async throws {
        var fault = fault
        // Not at once: servers that choose a leader would be waited for, when that was over long ago.
        if [.nobody, .silent].contains(fault.kind), let since = outage.since,
            max(since, diagnosed).duration(to: loop.clock.now) >= Self.diagnosisTime
        {
            diagnosed = loop.clock.now
            fault = try await diagnosis() ?? fault
        }
        let patience = note(fault, reader)
        if !patience.keepsConnection { isConnected = false }
        if fault.kind == .lost, outage.attempts == 1 { return }
        try await sleep(for: backoff.fail(upTo: patience.pause, using: &random))
    }

    /// Lets some time pass, but no more than a glance once the feed is over.
    private func sleep(for time: Duration) async throws {
        let end = loop.clock.now.advanced(by: time)
        repeat {
            try await loop.sleep(until: min(end, loop.clock.now.advanced(by: Self.glance)))
        } while await !store.isOver && loop.clock.now < end
    }

    @discardableResult
    private func note(_ fault: NatsFault, _ reader: ReaderID) -> NatsPatience {
        let state = fault.kind == .outrun ? fault.reason : "retrying: \(fault.reason)"
        store.assumeIsolated { $0.setState(state, of: reader) }
        let patience = NatsPatience(after: fault.kind, telling: 2, pause: .seconds(30))
        if outage.fail(by: fault.kind, at: loop.clock.now, from: patience.telling, isBrief: patience.isBrief) {
            complain(fault.kind.code, fault.reason)
        }
        return patience
    }

    private func complain(_ code: Failure.Code, _ text: String) {
        _ = complaint.fail(by: true, at: loop.clock.now)
        tell(.error(Failure(code, "nats: \(text)")))
    }
}
