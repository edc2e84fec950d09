package import Feed
package import Nats
package import Reactor

/// Publishes the feed to a stream: a cursor whose messages are sent one after the other, each unchanged until the
/// stream has it. Slow servers block nothing but this output.
///
/// Lines that the log drops meanwhile become a `gap`, as for every slow reader; the stream gets it too.
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
    /// The messages of the batch that the stream does not have yet.
    private var pieces: ArraySlice<NatsBatch.Piece> = []
    private var fence: NatsFence
    /// The run of the lines that are read.
    private var run = ""
    /// The lines that were read but are not in a batch yet.
    private var rest: (span: LineSpan, done: Int, next: Int)?
    private var owesGreeting = false
    /// Nil while the feed's agent is unknown.
    private var nextGreeting: LoopInstant?
    private var nextMessage: LoopInstant
    /// When the kept lines are published next; nil while the feed's agent is unknown.
    private var nextKept: LoopInstant?
    /// Where that goes on, nil for at the start, and how many may still be published in this period.
    private var kept: (next: KeptCursor?, left: Int) = (nil, 0)
    /// The number of lines of the log that were published in this period.
    private var published = 0
    /// Whether the batch may get kept lines: once for each message, or lines of the log would have to wait.
    private var mayAddKept = false
    /// Whether the feed is a fleet's, which is not published because it might come back in a circle.
    private var isFleet = false
    private var isEnded = false
    /// The run's last sequence number that the stream has.
    private var stored = 0
    /// When the stream accepted the last message; or the end of the feed, if later.
    private var progressed: LoopInstant
    /// Signalled when there may be something to do.
    private let more: Wakeup

    private var isConnected = false
    /// The most bytes of a message.
    private var room = 0
    private var isTooLongTold = false
    private var outage = Outage<NatsFault.Kind>()
    /// The time since a fault of a single message was reported.
    private var complaint = Outage<Bool>()
    /// When the stream was last diagnosed.
    private var diagnosed = LoopInstant(nanoseconds: 0)
    private var backoff = Backoff()
    private var isPrepared = false
    /// The most bytes of a message in the stream, if it has a limit.
    private var mostOfStream: Int?

    /// How often `hello` and `stats` are published; readers that join later learn these within this time.
    package static let greetingPeriod = Duration.seconds(60)
    /// How often the kept lines are published.
    package static let keptPeriod = Duration.seconds(15 * 60)
    // Bound: kept lines published in 15 minutes | 1,000, or a tenth of the lines of the log in that time | the others come in
    //   the next ones
    /// The least that may be published in a period, and the share of other lines.
    private static let leastKept = 1_000
    private static let keptShare = 10
    /// How often a conflict is checked again.
    private static let conflictPause = Duration.seconds(10)
    /// The pause for a server that is behind the others.
    private static let outdatedPause = Duration.milliseconds(200)
    /// How often the stream is diagnosed in an outage without answers, and after which time first.
    private static let diagnosisTime = Duration.seconds(20)
    /// How long to wait after the end of the feed for servers that accept nothing: outputs have 5 s for their end.
    private static let lastPatience = Duration.seconds(4)
    /// How often the end of the feed is checked.
    private static let glance = Duration.milliseconds(500)
    /// The number of renamed messages in a row before a pause.
    private static let mostRenamed = 3
    /// The least bytes that a message must have room for.
    private static let leastRoom = 4 << 10

    /// - Parameters:
    ///   - name: the agent's name.
    ///   - host: the machine's name.
    ///   - broker: used only on `worker`, which a stopped server may block.
    ///   - id: unique to this process: the ids of messages start with it.
    ///   - tell: reports the output's state, in the feed or to a person.
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

    /// Publishes until the feed ends or the task is cancelled: a request in progress is then abandoned.
    package func run() async throws(CancellationError) {
        let (reader, greeting) = await store.open("nats:\(name)") { [more] in more.signal() }
        run = await store.run
        owesGreeting = !greeting.isEmpty
        let isDone =
            (try? await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { try await self.publishAll(reader) }
                group.addTask { try await self.enforceShutdownDeadline() }
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

    /// Enforces the deadline at shutdown: returns when the feed is over and nothing was stored for too long, whatever
    /// else is waiting.
    private func enforceShutdownDeadline() async throws -> Bool {
        while await !store.isOver { try await loop.sleep(for: Self.glance) }
        progressed = loop.clock.now
        while case let end = progressed.advanced(by: Self.lastPatience), loop.clock.now < end {
            try await loop.sleep(until: end)
        }
        return false
    }

    /// Publishes everything; returns at the end of the feed.
    private func publishAll(_ reader: ReaderID) async throws -> Bool {
        while true {
            try await connect(reader)
            try await gather(reader)
            nextMessage = loop.clock.now.advanced(by: settings.every)
            // The batch is empty at the end of a feed whose agent was never known.
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

    /// Collects lines until there is something to send now.
    private func gather(_ reader: ReaderID) async throws {
        pieces = []
        batch.begin(room: room)
        mayAddKept = true
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

    /// Adds available lines to the batch; returns true when it accepts no more.
    private func fill(_ reader: ReaderID) async -> Bool {
        while true {
            if owesGreeting {
                guard batch.isEmpty else { return true }
                await greet(reader)
            }
            if mayAddKept, kept.left > 0 { await addKept() }
            if batch.isFull { return true }
            if rest != nil {
                if addRest() { return true }
                continue
            }
            guard let delivery = await store.dequeue(for: reader) else { return false }
            _ = await isOfFleet(reader)
            switch delivery {
            case .lines where isFleet, .gap where isFleet: break
            case .lines(let span):
                rest = (span, 0, span.sequences.lowerBound)
                // An attached agent may have begun long before.
                if stored == 0 { stored = span.sequences.lowerBound - 1 }
            case .gap(let line): batch.add(line, naming: Line.Gap(line[...])?.numbers)
            // After the end of a feed whose agent was never known, no greeting is due.
            case .greeting: owesGreeting = nextGreeting != nil ? true : await !store.isOver
            case .end(let line):
                if nextGreeting != nil { batch.add(line) }
                isEnded = true
                return true
            case .kept, .interrupted: break
            }
        }
    }

    /// Starts a message with `hello` and `stats`.
    private func greet(_ reader: ReaderID) async {
        let now = await store.run
        if now != run {
            (run, stored, published) = (now, 0, 0)
            (nextKept, kept) = (nil, (nil, 0))
        }
        owesGreeting = false
        guard await !isOfFleet(reader) else { return }
        batch.add(await store.greeting(isFiltered: false, atMost: batch.capacity))
        nextGreeting = loop.clock.now.advanced(by: Self.greetingPeriod)
        // Behind a greeting, which tells readers that come later of the sources.
        if !settings.sendsLines, nextKept.map({ $0 <= loop.clock.now }) ?? true { await beginKept() }
    }

    /// Begins to publish the kept lines again, where that ended, or from the start.
    private func beginKept() async {
        kept.left = max(Self.leastKept, published / Self.keptShare)
        published = 0
        if await nextOfKept(atMost: 1) == nil { kept.next = await store.keptCursor }
        // Until there are any, with each greeting.
        let hasAny = await nextOfKept(atMost: 1) != nil
        nextKept = hasAny ? loop.clock.now.advanced(by: Self.keptPeriod) : nil
    }

    /// The next kept lines; nil when there are no more.
    private func nextOfKept(atMost lines: Int) async -> (lines: [UInt8], count: Int, next: KeptCursor)? {
        guard let cursor = kept.next else { return nil }
        var limit = KeptCursor.Limit()
        (limit.lines, limit.bytes) = (lines, batch.roomForKept)
        let some = await store.keptLines(at: cursor, atMost: limit)
        return some.count > 0 ? some : nil
    }

    /// Adds the next kept lines to the batch.
    private func addKept() async {
        mayAddKept = false
        guard let some = await nextOfKept(atMost: kept.left) else {
            kept = (nil, 0)
            return
        }
        if batch.add(kept: some.lines) { kept = (some.next, kept.left - some.count) }
    }

    /// Whether the feed is a fleet's, which only a line may reveal; reports it once.
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

    /// Adds as much of the rest as there is room for; returns true when some is left.
    private func addRest() -> Bool {
        guard let (span, done, next) = rest else { return false }
        let intake = span.withUnsafeBytes { batch.add(UnsafeRawBufferPointer(rebasing: $0[done...]), from: next) }
        let taken: (bytes: Int, lines: Int)
        switch intake {
        case .taken(let bytes, let lines):
            taken = (bytes, lines)
            published += lines
        case .tooLong(let bytes):
            leaveOut(next, bytes)
            taken = (bytes, 1)
        }
        rest = done + taken.bytes < span.count ? (span, done + taken.bytes, next + taken.lines) : nil
        return rest != nil
    }

    /// Publishes a gap for a line that fits no message.
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

    /// Sends the first message until the stream has it, or until others have replaced it.
    private func publishFirst(_ reader: ReaderID) async throws {
        guard let piece = pieces.first else { return }
        let message = message(of: piece)
        var (renamed, sequenceConflict) = (0, 0)
        while true {
            try await connect(reader)
            switch fence.step {
            case .look:
                if try await look(reader) { return recordStored(piece, reader) }
            case .send(let id, let expected):
                var next = message
                (next.id, next.expected) = (id, expected)
                if let behind = fence.behind { next.headers.append(.init(NatsHeader.behind, behind)) }
                fence.send()
                switch try await ask({ [next] broker throws(NatsFault) in try broker.publish(next) }) {
                case .success(let receipt):
                    if fence.accept(receipt) { return recordStored(piece, reader) }
                    renamed += 1
                    let text = "the stream knew message \(id) before it was sent; it gets another name"
                    if renamed < Self.mostRenamed {
                        complain(.protocol, text)
                    } else {
                        try await wait(after: NatsFault(.other, text), reader)
                    }
                case .failure(let fault) where fault.kind == .sequenceConflict:
                    fence.refuse()
                    sequenceConflict += 1
                    // `look` would have found another publisher.
                    if sequenceConflict > 3 {
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
        // The `bye` is in the last message.
        if isEnded, pieces.count == 1 { message.headers.append(.init(NatsHeader.ended, "yes")) }
        return message
    }

    /// Checks the subject's last message; returns true when the stream already has the current one.
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
                report(NatsFault(.sequenceConflict, "conflict: another agent \(host)publishes as \(name), too"), reader)
                // After the end of the feed, there is no point in waiting.
                if await store.isOver { throw CancellationError() }
                try await sleep(for: Self.conflictPause)
            }
        case .failure(let fault) where fault.kind == .denied: fence.deny()
        case .failure(let fault): try await wait(after: fault, reader)
        }
        return false
    }

    /// Replaces a message that is too large for the stream by two, or by a `gap`.
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

    private func recordStored(_ piece: NatsBatch.Piece, _ reader: ReaderID) {
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

    /// Connects, however long that takes.
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

    /// Checks the stream once before publishing: later, its faults would be hard to distinguish from an election of
    /// servers.
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

    /// Returns what is wrong with the stream, if that can be determined.
    private func diagnosis() async throws -> NatsFault? {
        let (name, subject) = (settings.stream, NatsSubject.of(name))
        switch try await ask({ broker throws(NatsFault) in try broker.stream(name) }) {
        case .success(let stream):
            if let reason = stream.refusal(of: subject, in: name) { return NatsFault(.absent, reason) }
            guard stream.allowsDirect else {
                return NatsFault(
                    .absent, "stream \(name) has no allow_direct, by which an agent sees its own last message")
            }
            mostOfStream = stream.mostMessage
            return nil
        case .failure(let fault): return [.absent, .lost].contains(fault.kind) ? fault : nil
        }
    }

    /// Reports a fault if it lasts, and waits before the next attempt.
    private func wait(after fault: NatsFault, _ reader: ReaderID) async throws {
        var fault = fault
        // Not at once: during an election of servers, the diagnosis would take longer than the election.
        if [.nobody, .silent].contains(fault.kind), let since = outage.since,
            max(since, diagnosed).duration(to: loop.clock.now) >= Self.diagnosisTime
        {
            diagnosed = loop.clock.now
            fault = try await diagnosis() ?? fault
        }
        let patience = report(fault, reader)
        if !patience.keepsConnection { isConnected = false }
        if fault.kind == .lost, outage.attempts == 1 { return }
        try await sleep(for: backoff.fail(upTo: patience.pause, using: &random))
    }

    /// Sleeps, but only briefly once the feed is over.
    private func sleep(for time: Duration) async throws {
        let end = loop.clock.now.advanced(by: time)
        repeat {
            try await loop.sleep(until: min(end, loop.clock.now.advanced(by: Self.glance)))
        } while await !store.isOver && loop.clock.now < end
    }

    @discardableResult
    private func report(_ fault: NatsFault, _ reader: ReaderID) -> RetryRule {
        let state = fault.kind == .sequenceConflict ? fault.reason : "retrying: \(fault.reason)"
        store.assumeIsolated { $0.setState(state, of: reader) }
        let patience = RetryRule(after: fault.kind, telling: 2, pause: .seconds(30))
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
