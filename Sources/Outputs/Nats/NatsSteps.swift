internal import Feed
internal import Nats
internal import Reactor

/// The steps of publishing a feed to a stream: what the next message has and when it is sent, and what an answer or a
/// fault leads to. Each message stays unchanged until the stream has it.
///
/// It has neither connection, clock nor executor: `next` returns a step, and the method of the same name takes its result.
struct NatsSteps {
    enum Step: Equatable {
        /// Connect anew, to any server.
        case connect
        /// Ask for the stream.
        case check
        case publish(NatsMessage)
        /// Make `hello` and `stats`, of at most so many bytes.
        case greet(atMost: Int)
        /// Read the kept lines behind a cursor; nil for the first ones.
        case readKept(KeptCursor?, KeptCursor.Limit)
        /// Read the next lines of the log.
        case read
        /// Wait for more lines, until this time if there is one.
        case wait(until: LoopInstant?)
        /// Wait for servers: only briefly once the feed is over.
        case pause(Duration)
        /// Stop: all is published.
        case end
    }

    /// What the message that is being collected gets next.
    private enum Stage {
        /// It is empty, and may begin with a greeting.
        case greeting
        /// It may get kept lines: once, or lines of the log would have to wait.
        case kept
        case lines
        /// The log has no more lines for now.
        case drained
        /// It is the last one.
        case ended
    }

    /// The kept lines, which are published in rounds.
    private struct Kept {
        /// When the next round may begin; in the past until there are any kept lines.
        var due: LoopInstant
        /// The cursor of the next kept line; nil to start over.
        var cursor: KeptCursor?
        /// How many may still be published in this round.
        var left = 0
        /// The number of lines of the log that were published in this round.
        var logLines = 0
    }

    private let name: String
    private let host: String
    private let settings: NatsSettings

    private var stage = Stage.greeting
    private var batch = NatsBatch()
    /// The lines that were read but are not in a batch yet.
    private var rest: (span: LineSpan, done: Int, next: Int)?
    /// Nil while the feed's agent is unknown, and for a fleet.
    private var nextGreeting: LoopInstant?
    private var nextMessage: LoopInstant
    private var kept: Kept
    /// Whether the feed is a fleet's, which is not published because it might come back in a circle.
    private var isFleet = false

    /// Whose a message of the same id is, that the stream has already.
    private enum IDOwner { case another, ours, anybody }

    /// The messages of the batch that the stream does not have yet.
    private var pieces: ArraySlice<NatsBatch.Piece> = []
    /// Of the first of them: ours once it was sent; it goes without an id when there is another's.
    private var idOwner = IDOwner.another
    /// The run that begins with the next message; if it has ended already, with its greeting.
    private var begun: (run: String, greeting: [UInt8]?)?
    /// The run of the message that is being collected, and the last of its numbers that the stream has. No name while the
    /// feed's agent is unknown.
    private var stored = LineID("", 0)
    /// When the stream accepted the last message.
    private(set) var progressed: LoopInstant

    /// The most bytes of a message for the server; nil without a connection.
    private var most: Int?
    /// The most bytes of a message for the stream; nil until it was checked.
    private var limit: Int?
    /// The step that comes before all lines, because of a fault.
    private var pending: Step?
    /// The fault that the stream is checked for.
    private var faultToDiagnose: NatsFault?
    private var backoff: Backoff
    private var outage = Outage<NatsFault.Kind>()
    /// The fault of the outage, for people.
    private var trouble: String?
    /// When the stream was last checked because of a fault.
    private var diagnosed = LoopInstant(nanoseconds: 0)
    /// The time since a fault of a single message was reported.
    private var complaint = Outage<Bool>()
    private var isTooLongTold = false
    /// What is to be reported, in the feed or to a person.
    private var news: [Event.Body] = []

    /// How often `hello` and `stats` are published; readers that join later learn these within this time.
    private static let greetingPeriod = Duration.seconds(60)
    /// How often the kept lines are published.
    private static let keptPeriod = Duration.seconds(15 * 60)
    // Kept lines published in 15 minutes: 1,000, or a tenth of the log's lines in that time; rest in the next 15.
    /// The least that may be published in a round, and the share of other lines.
    private static let leastKept = 1_000
    private static let keptShare = 10
    /// How often the stream is diagnosed in an outage without answers, and after which time first.
    private static let diagnosisTime = Duration.seconds(20)
    /// The least bytes that a message must have room for.
    private static let leastRoom = 4 << 10

    /// - Parameters:
    ///   - name: the agent's name.
    ///   - host: the machine's name.
    init(
        as name: String, of host: String, _ settings: NatsSettings,
        random: any RandomNumberGenerator & Sendable, at now: LoopInstant
    ) {
        self.name = name
        self.host = NatsHeader.word(of: host) ?? "localhost"
        self.settings = settings
        backoff = Backoff(random: random)
        (nextMessage, progressed) = (now, now)
        kept = Kept(due: now)
    }

    /// The state of the output, for people.
    var state: String {
        if let trouble { return trouble }
        guard most != nil, limit != nil else { return "connecting" }
        return isFleet ? "refused: \(Self.refusal)" : "ok"
    }

    /// Returns what is to be reported since the last call.
    mutating func takeNews() -> [Event.Body] {
        defer { news = [] }
        return news
    }

    /// The number of lines up to `last` of a run that the stream does not have.
    func missing(of run: String, through last: Int) -> Int { last - (run == stored.run ? stored.sequence : 0) }

    mutating func next(at moment: Moment) -> Step {
        if let step = pending.take() { return step }
        guard let most else { return .connect }
        guard let limit else { return .check }
        let room = min(most, limit) - NatsHeader.room
        guard room >= Self.leastRoom else {
            self.limit = nil
            let reason = "max_payload or max_msg_size of \(min(most, limit)) is too little; let both be 2 MB"
            retry(after: NatsFault(.settings, reason), at: moment.now)
            return next(at: moment)
        }
        if pieces.isEmpty, let step = collect(room, at: moment) { return step }
        // There is no message at the end of a feed whose agent was never known.
        guard let piece = pieces.first else { return .end }
        return .publish(message(of: piece))
    }

    // MARK: What a message has

    /// Returns the step that adds to the message; nil once it is complete.
    private mutating func collect(_ room: Int, at moment: Moment) -> Step? {
        switch stage {
        case .greeting:
            batch.begin(room: room)
            stage = .kept
            if let (run, greeting) = begun.take() {
                if run != stored.run { (stored, kept) = (LineID(run, 0), Kept(due: moment.now)) }
                if let greeting {
                    batch.add(greeting)
                    stage = .lines
                    return .read
                }
            }
            if let nextGreeting, nextGreeting <= moment.now { return .greet(atMost: batch.capacity) }
            fallthrough
        case .kept:
            stage = .lines
            if kept.left > 0 {
                var limit = KeptCursor.Limit()
                (limit.lines, limit.bytes) = (kept.left, batch.roomForKept)
                return .readKept(kept.cursor, limit)
            }
            fallthrough
        case .lines:
            addRest(at: moment)
            if rest == nil, !batch.isFull { return .read }
        case .drained:
            stage = batch.isEmpty ? .greeting : .lines
            if batch.isEmpty { return .wait(until: nextGreeting) }
            if moment.now < nextMessage { return .wait(until: nextMessage) }
        case .ended: return nil
        }
        complete(at: moment.now)
        return nil
    }

    /// Lets the collected lines be sent.
    private mutating func complete(at now: LoopInstant) {
        nextMessage = now.advanced(by: settings.every)
        let isWhole = !settings.sendsLines && !batch.isEmpty
        pieces = isWhole ? [batch.piece] : batch.piece.lines(agent: name, run: stored.run)[...]
        if stage != .ended { stage = .greeting }
    }

    /// - Parameter greeting: nil while the reader is in an earlier run than the feed: a greeting follows that run.
    mutating func greet(_ greeting: [UInt8]?, isFleet: Bool, at now: LoopInstant) {
        setFleet(isFleet)
        guard let greeting, !isFleet else { return }
        batch.add(greeting)
        nextGreeting = now.advanced(by: Self.greetingPeriod)
        // Behind a greeting, which tells readers that come later of the sources.
        if !settings.sendsLines, kept.due <= now {
            (kept.left, kept.logLines) = (max(Self.leastKept, kept.logLines / Self.keptShare), 0)
        }
    }

    mutating func readKept(_ lines: [UInt8], _ count: Int, _ next: KeptCursor, at now: LoopInstant) {
        guard count > 0 else {
            // A round begins where the last one ended, or at the start.
            if kept.due > now || kept.cursor == nil { kept.left = 0 }
            (kept.cursor, stage) = (nil, .kept)
            return
        }
        if kept.due <= now { kept.due = now.advanced(by: Self.keptPeriod) }
        if batch.add(kept: lines) { (kept.cursor, kept.left) = (next, kept.left - count) }
    }

    /// - Parameters:
    ///   - delivery: nil when there is nothing for now.
    ///   - run: the feed's run.
    ///   - isFleet: whether the feed is a fleet's, which only a line may reveal.
    mutating func read(_ delivery: Delivery?, of run: String, isFleet: Bool, at now: LoopInstant) {
        let wasFleet = self.isFleet
        setFleet(isFleet)
        switch delivery {
        case nil: stage = .drained
        case .lines? where isFleet, .gap? where isFleet, .greeting? where isFleet, .ended? where isFleet: break
        case .lines(let span)?:
            rest = (span, 0, span.sequences.lowerBound)
            // Of a fleet, neither run nor sources were published.
            if wasFleet { (nextGreeting, begun, stage) = (now, (run, nil), .greeting) }
            // An attached agent may have begun long before.
            if stored.sequence == 0 { stored.sequence = span.sequences.lowerBound - 1 }
        case .gap(let line)?: batch.add(line, naming: Line.Gap(line[...])?.numbers)
        case .ended(let greeting, let run)?: begin(run, greeting, at: now)
        // Of a feed whose agent was never known, there is no greeting.
        case .greeting? where !run.isEmpty:
            nextGreeting = now
            begin(run, nil, at: now)
        case .end(let line)?:
            if isKnown, !isFleet { batch.add(line) }
            stage = .ended
            complete(at: now)
        case .greeting?, .kept?, .interrupted?: break
        }
    }

    /// Whether the agent of the feed is known.
    private var isKnown: Bool { !stored.run.isEmpty }

    /// Has the next message begin a run.
    private mutating func begin(_ run: String, _ greeting: [UInt8]?, at now: LoopInstant) {
        begun = (run, greeting)
        if batch.isEmpty { stage = .greeting } else { complete(at: now) }
    }

    private static let refusal = "a fleet's feed is not published: attach to its agents, which publish their own"

    /// Reports once that a fleet's feed is not published.
    private mutating func setFleet(_ isFleet: Bool) {
        if isFleet, !self.isFleet { news.append(.error(Failure(.config, "nats: \(Self.refusal)"))) }  // to the end
        if isFleet { nextGreeting = nil }
        self.isFleet = isFleet
    }

    /// Adds as much of the rest as there is room for.
    private mutating func addRest(at moment: Moment) {
        guard let (span, done, next) = rest else { return }
        let taken = span.withUnsafeBytes { batch.add(UnsafeRawBufferPointer(rebasing: $0[done...]), from: next) }
        kept.logLines += taken.lines
        if taken.isLeftOut {
            let text = "line \(next) of \(taken.bytes) bytes fits no message, and is left out"
            let gap = leaveOut(next...next, "\(text); let max_payload and max_msg_size be 2 MB", at: moment)
            batch.add(gap, naming: next...next)
        }
        rest = done + taken.bytes < span.count ? (span, done + taken.bytes, next + taken.lines) : nil
    }

    /// Returns the gap to publish for lines that are too long; reports the first one.
    private mutating func leaveOut(_ numbers: ClosedRange<Int>, _ text: String, at moment: Moment) -> [UInt8] {
        if !isTooLongTold { complain(.tooLarge, text, at: moment.now) }
        isTooLongTold = true
        return ControlLine.gap(time: moment.wall, missing: numbers, reason: "too_large")
    }

    // MARK: Answers to a message

    /// The id of a message is its run and numbers: one that is sent again is stored once, within the stream's duplicate window.
    private func message(of piece: NatsBatch.Piece) -> NatsMessage {
        var message = NatsMessage(subject: NatsSubject.of(name), stream: settings.stream)
        message.payload = piece.bytes
        message.headers[NatsHeader.run] = stored.run
        if let numbers = piece.numbers {
            if idOwner != .anybody {
                message.id = "\(stored.run)-\(numbers.lowerBound)-\(numbers.upperBound)"
            }
            message.headers[NatsHeader.first] = "\(numbers.lowerBound)"
            message.headers[NatsHeader.last] = "\(numbers.upperBound)"
        }
        message.headers[NatsHeader.host] = host
        // The `bye` is in the last message.
        if case .ended = stage, pieces.count == 1 { message.headers[NatsHeader.ended] = "yes" }
        return message
    }

    /// - Parameter result: whether the stream had a message with this id already.
    mutating func publish(_ result: Result<Bool, NatsFault>, at moment: Moment) {
        switch result {
        // Two agents may publish one attached feed, and a recording may be played twice.
        case .success(true) where idOwner == .another: idOwner = .anybody
        case .success: recordStored(at: moment.now)
        case .failure(let fault) where fault.kind == .tooLarge && pieces.first?.isGap == false: cut(at: moment)
        case .failure(let fault):
            if idOwner == .another { idOwner = .ours }
            fail(fault, at: moment.now)
        }
    }

    /// Replaces a message that is too large for the stream by two, or by a `gap`.
    private mutating func cut(at moment: Moment) {
        guard let piece = pieces.popFirst() else { return }
        if let (first, second) = piece.halves {
            pieces = [first, second] + pieces
        } else {
            let text = "a line of \(piece.bytes.count) bytes is larger than the stream takes, and is left out"
            let gap = leaveOut(piece.numbers ?? 0...0, "\(text); let max_msg_size be 2 MB", at: moment)
            if piece.numbers != nil { pieces = [NatsBatch.Piece(bytes: gap, numbers: piece.numbers)] + pieces }
        }
    }

    private mutating func recordStored(at now: LoopInstant) {
        if let numbers = pieces.popFirst()?.numbers { stored.sequence = numbers.upperBound }
        (progressed, trouble, idOwner) = (now, nil, .another)
        backoff.succeed()
        let (recovery, other) = (outage.end(at: now), complaint.end(at: now))
        if let recovery = recovery ?? other { news.append(.recovered(recovery)) }
    }

    // MARK: The servers

    /// - Parameter result: the most bytes of a message that the server takes.
    mutating func connect(_ result: Result<Int, NatsFault>, at now: LoopInstant) {
        switch result {
        case .success(let most): self.most = max(0, most)
        case .failure(let fault): fail(fault, at: now)
        }
    }

    /// Checks the stream once before publishing: later, its faults would be hard to distinguish from an election of
    /// servers.
    mutating func check(_ result: Result<NatsStream, NatsFault>, at now: LoopInstant) {
        var found = faultToDiagnose.take()
        switch result {
        case .success(let stream):
            if let reason = stream.refusal(of: NatsSubject.of(name), in: settings.stream) {
                found = NatsFault(.absent, reason)
            } else {
                limit = stream.mostMessage ?? .max
            }
        case .failure(let fault) where [.absent, .lost].contains(fault.kind): found = fault
        case .failure: limit = limit ?? .max
        }
        if let found { retry(after: found, at: now) }
    }

    /// Finds out more about a fault that lasts, or tries again after a pause.
    private mutating func fail(_ fault: NatsFault, at now: LoopInstant) {
        // Not at once: during an election of servers, the diagnosis would take longer than the election.
        guard [.nobody, .silent].contains(fault.kind), let since = outage.since,
            max(since, diagnosed).duration(to: now) >= Self.diagnosisTime
        else { return retry(after: fault, at: now) }
        (diagnosed, faultToDiagnose, pending) = (now, fault, .check)
    }

    /// Reports a fault if it lasts, and tries again after a pause.
    private mutating func retry(after fault: NatsFault, at now: LoopInstant) {
        trouble = "retrying: \(fault.reason)"
        let rule = RetryRule(after: fault.kind, telling: 2, pause: .seconds(30))
        if outage.fail(by: fault.kind, at: now, from: rule.telling, isBrief: rule.isBrief) {
            complain(fault.kind.code, fault.reason, at: now)
        }
        if !rule.keepsConnection { most = nil }
        if fault.kind == .lost, outage.attempts == 1 { return }
        pending = .pause(backoff.fail(upTo: rule.pause))
    }

    private mutating func complain(_ code: Failure.Code, _ text: String, at now: LoopInstant) {
        _ = complaint.fail(by: true, at: now)
        news.append(.error(Failure(code, "nats: \(text)")))
    }
}
