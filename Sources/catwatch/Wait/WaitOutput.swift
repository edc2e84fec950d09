internal import Conditions
internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// Waits until conditions are met: a reader of the feed, which ends the agent.
actor WaitOutput {
    /// How the waiting ended.
    enum Outcome: Int32, Sendable {
        case met = 0
        /// The input ended, and nothing can be met any more.
        case ended = 1
        /// A condition of `--fail` was met.
        case failed = 3
        /// The time is over, as timeout(1) says it.
        case timeUp = 124
    }

    /// How the lines of the feed relate to the time of this process.
    enum Origin: Sendable {
        /// They come from this agent's sources.
        case sources
        /// They come from another agent, or from several. Lines from before we came set values, but are not judged.
        case agent, fleet
        /// They are a recording, with its own time.
        case recording
    }

    private let store: EventStore
    private let notices: Notices
    private let loop: EventLoop
    private let origin: Origin
    /// With a past, the time from which on it counts.
    private let since: Timestamp?
    private let limit: Duration
    private let isAny: Bool
    private let isQuiet: Bool
    /// The columns for the status line, if there is one.
    private let columns: (@Sendable () -> Int)?
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var evaluator: ConditionEvaluator
    /// The number of conditions to wait for; those of `--fail` come behind them.
    private let wanted: Int
    private let begun: LoopInstant
    private var ended: LoopInstant?
    /// The feed's time when the agent was last there. From there on the loop's clock counts, which neither steps nor sleeps.
    private var base: (moment: Moment, at: LoopInstant)
    /// The time of lines that were there before.
    private var recorded = RecordedTime()
    private var lastTime: Timestamp?
    /// The lines since answers were last evaluated.
    private var unsettled: [UInt8] = []
    /// The number of answers, of errors and of events, and the message of the newest error.
    private var (answers, errors, events) = (0, 0, 0)
    private var newestError: String?
    /// Whether lines come as they are written.
    private var isLive: Bool
    /// The feed's run; nil before it begins.
    private var run: String?
    private var isConnected = true
    /// The end of the lines that were there in the beginning.
    private var past = 0
    private var lastSequence = 0
    /// When the status line is due.
    private var statusDue: LoopInstant
    /// The line that decided.
    private var decisive: [UInt8]?
    private(set) var outcome: Outcome?
    private let news: Wakeup

    private static let statusPause = Duration.milliseconds(500)
    // Lines of one time that `wait` holds: 1 MiB; then they count as two answers.
    private static let longestBatch = 1 << 20
    /// How long the lines of a fleet count as old.
    private static let backlog = Duration.seconds(2)

    init(
        _ options: Options, _ origin: Origin, store: EventStore, notices: Notices, in platform: Platform
    ) {
        (self.store, self.notices, self.origin) = (store, notices, origin)
        loop = platform.loop
        (limit, isAny) = (options[\.within], options[\.waitAny])
        isQuiet = options.verbosity == .quiet
        let size = platform.screenSize
        let hasStatus = !isQuiet && platform.errorIsTerminal
        columns = hasStatus ? { @Sendable in size(STDERR_FILENO).columns } : nil
        since = options[\.since]?.time(now: platform.machineWall.now) { LocalTime.offset(at: $0) }
        let (start, time) = (platform.loop.clock.now, platform.wall.now)
        begun = start
        // The steady clock of a feed with a past begins with its first line.
        let moment = Moment(wall: time, now: origin == .sources ? start : RecordedTime.start)
        base = (moment, start)
        statusDue = start.advanced(by: Self.statusPause)
        wanted = options[\.waitFor].count
        isLive = origin == .sources
        evaluator = ConditionEvaluator(
            options[\.waitFor] + options[\.waitFail], at: moment,
            isEvaluating: origin == .sources || origin == .recording && options[\.since] == nil, reportsChanges: false)
        news = Wakeup(loop: loop)
    }

    /// Reads the feed until it is decided, then prints the line that decided it.
    ///
    /// - Returns: the reason to stop the agent; nil when it ends anyway.
    func run() async -> Agent.Stop? {
        do {
            try await watch()
            await notices.show(nil)
            return outcome == .ended ? nil : .waited
        } catch {
            return nil  // cancelled, as the agent ends
        }
    }

    /// Prints the line that decided it.
    ///
    /// - Parameter isStopped: whether a signal came before.
    /// - Throws: `SystemError` when it cannot be written.
    func print(
        isStopped: Bool, to open: @Sendable (EventLoop) throws(SystemError) -> any ByteStream, isTerminal: Bool
    ) async throws {
        let stream = try open(loop)
        defer { stream.close() }
        guard !isStopped, outcome == .met || outcome == .failed, let line = decisive ?? newestLine else { return }
        let text = line + [UInt8(ascii: "\n")]
        try await stream.write(all: isTerminal ? text.withUnsafeBytes { TerminalEscaper.escaped($0) ?? text } : text)
    }

    /// Whether the attached agent is there; while it is not, no time passes in its feed.
    func show(_ status: AttachInput.Status) {
        switch status {
        case .connected:
            base.at = loop.clock.now
            isConnected = true
        case .lost:
            base = (now, loop.clock.now)
            isConnected = false
        case .warned, .unreadable: return
        }
        news.signal()
    }

    // MARK: Reading

    private func watch() async throws(CancellationError) {
        // A state that lasts for one line counts as any other: inputs wait for this reader.
        let (reader, greeting) = await store.open(nil, keptAfter: 0, holdsInputs: true) { [news] in news.signal() }
        try await apply(greeting)
        try await read(reader)
        await store.close(reader)
    }

    private func read(_ reader: ReaderID) async throws(CancellationError) {
        let end = begun.advanced(by: limit)
        while true {
            while outcome == nil, loop.clock.now < end, let delivery = await store.dequeue(for: reader) {
                try await apply(delivery)
            }
            if outcome == nil { rest() }
            if outcome == nil, loop.clock.now >= end { decide(.timeUp) }
            guard outcome == nil else { return }
            if let columns, loop.clock.now >= statusDue {
                await notices.show(status(columns: columns() - 1))
                statusDue = loop.clock.now.advanced(by: Self.statusPause)
            }
            try await news.wait(until: min(end, nextDeadline ?? end, columns == nil ? end : statusDue))
        }
    }

    private func apply(_ delivery: Delivery) async throws(CancellationError) {
        guard let piece = delivery.piece else { return }
        try await apply(piece.withUnsafeBytes { Array($0) })
        guard case .end = delivery, outcome == nil else { return }
        settle()
        if !isLive, isCaughtUp { goLive() }
        if evaluator.isEvaluating { evaluator.evaluateAll(at: now) }
        judge()
        if outcome == nil { decide(.ended) }
    }

    private func apply(_ bytes: [UInt8]) async throws(CancellationError) {
        var slice = TimeSlice(of: loop)
        var start = 0
        while outcome == nil, let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            apply(bytes[start..<end])
            start = end + 1
            guard !slice.goesOn() else { continue }
            try await loop.sleep(for: .zero)
            slice.restart()
        }
    }

    private func apply(_ bytes: Bytes) {
        guard let line = try? LineDecoder.decode(bytes) else { return }
        var clock: ClockChange?
        switch line.body {
        case .hello(let hello):
            if !isLive { past = hello.nextSeq - 1 }
            if hello.run != run {
                lastSequence = 0
                recorded.beginRun()
            }
            run = hello.run
        case .gap(let gap): lastSequence = gap.to
        case .latency: answers += 1
        case .data: events += 1
        case .error(let failure):
            errors += 1
            newestError = failure.message
        case .clock(let change) where line.agent == nil: clock = change
        default: break
        }
        guard line.seq != nil else {
            if case .kept(let kept) = line.body { return recall(kept.line) }
            return evaluator.apply(line, at: now)
        }
        lastSequence = line.seq ?? lastSequence
        // The lines of a batch have one time.
        if unsettled.count >= Self.longestBatch || lastTime.map({ $0 != line.time }) ?? false { settle() }
        lastTime = line.time
        guard outcome == nil else { return }
        if !isLive {
            pass(to: recorded.advance(to: line.time, clock))
            base = (recorded.moment ?? base.moment, loop.clock.now)
            if let since, line.time >= since, !evaluator.isEvaluating { evaluator.evaluateAll(at: now) }
        } else {
            pass(to: now)
        }
        guard outcome == nil else { return }
        evaluator.apply(line, at: now)
        unsettled += bytes + [UInt8(ascii: "\n")]
        judge(among: bytes)
    }

    /// Evaluates the answers that are complete.
    private func settle() {
        evaluator.settle(at: now)
        judge(among: unsettled[...])
        unsettled.removeAll(keepingCapacity: true)
    }

    /// Reads the newest line of a series that was there before.
    private func recall(_ line: Line) {
        guard !isLive else { return }
        evaluator.apply(line, at: now)
    }

    /// Lets time pass, and looks at the states at each moment when one of them changes.
    private func pass(to moment: Moment) {
        while outcome == nil, evaluator.isEvaluating, let due = evaluator.nextDue, due <= moment.now {
            evaluator.tick(at: Moment(wall: moment.wall - due.duration(to: moment.now), now: due))
            judge()
        }
    }

    /// The feed's time now.
    private var now: Moment {
        guard isConnected, isLive else { return base.moment }
        let passed = base.at.duration(to: loop.clock.now)
        return Moment(wall: base.moment.wall + passed, now: base.moment.now.advanced(by: passed))
    }

    /// There is nothing more to read for now.
    private func rest() {
        settle()
        if !isLive, isCaughtUp { goLive() }
        if isLive, isConnected { pass(to: now) }
        judge()
    }

    private func goLive() {
        // From now on by the clock of the agent, which may be another than ours.
        let time = recorded.moment ?? Moment(wall: store.assumeIsolated { $0.feedTime }, now: base.moment.now)
        base = (time, loop.clock.now)
        isLive = true
        evaluator.evaluateAll(at: now)
    }

    /// Whether everything that was there in the beginning is read.
    private var isCaughtUp: Bool {
        guard store.assumeIsolated({ $0.areAgentsReplayed }) else { return false }
        return switch origin {
        case .agent: run != nil && lastSequence >= past
        case .fleet: loop.clock.now >= begun.advanced(by: Self.backlog)
        case .sources, .recording: false
        }
    }

    /// Decides if it is time to.
    ///
    /// - Parameter lines: the lines that have just come.
    private func judge(among lines: Bytes = []) {
        guard outcome == nil, evaluator.isEvaluating else { return }
        let numbers = evaluator.conditions.indices
        if numbers.dropFirst(wanted).contains(where: { evaluator.isMet($0) }) {
            decide(.failed)
        } else if isAny
            ? numbers.prefix(wanted).contains(where: { evaluator.isMet($0) })
            : numbers.prefix(wanted).allSatisfy({ evaluator.isMet($0) })
        {
            decide(.met)
        } else {
            return
        }
        guard let number = deciding.first, let finding = evaluator.finding(of: number) else { return }
        for line in lines.split(separator: UInt8(ascii: "\n")).reversed() {
            guard let decoded = try? LineDecoder.decode(line), decoded.seq != nil, finding.isAbout(decoded) else {
                continue
            }
            decisive = Array(line)
            if decoded.seq == finding.sequence { return }
        }
    }

    private func decide(_ outcome: Outcome) {
        self.outcome = outcome
        ended = loop.clock.now
    }

    /// The loop's time when something may change without a line.
    private var nextDeadline: LoopInstant? {
        if !isLive, origin == .fleet { return begun.advanced(by: Self.backlog) }
        guard isLive, isConnected, let due = evaluator.nextDue else { return nil }
        return loop.clock.now.advanced(by: max(.zero, now.now.duration(to: due)))
    }

    // MARK: Words

    /// The newest line of the series, source or agent that decided it.
    private var newestLine: [UInt8]? {
        guard let number = deciding.first, let finding = evaluator.finding(of: number) else { return nil }
        var newest: [UInt8]?
        for piece in store.assumeIsolated({ $0.newestOfEach() }) ?? [] {
            piece.withUnsafeBytes { bytes in
                bytes.forEachLine { line in
                    guard let decoded = try? LineDecoder.decode(Array(line)[...]), case .kept(let kept) = decoded.body,
                        newest == nil || kept.line.seq == finding.sequence, finding.isAbout(kept.line)
                    else { return }
                    newest = Array(kept.bytes)
                }
            }
        }
        return newest
    }

    /// The conditions to speak of: those that decided, or the first one that is not met.
    private var deciding: [Int] {
        let numbers = evaluator.conditions.indices
        let met = numbers.filter { evaluator.isMet($0) }
        switch outcome {
        case .failed: return met.filter { $0 >= wanted }
        case .met: return met.filter { $0 < wanted }
        default: return numbers.prefix(wanted).first { !evaluator.isMet($0) }.map { [$0] } ?? []
        }
    }

    /// The measurements of the conditions that matter.
    private var state: String {
        let findings = deciding.prefix(3).map { number in
            guard let finding = evaluator.finding(of: number) else {
                return
                    "'\(Sanitizer.visible(evaluator.conditions[number].text, limit: 80))': nothing like that came yet"
            }
            let name = Sanitizer.visible(finding.name, limit: 80)
            guard outcome == .met || outcome == .failed else {
                let age =
                    origin == .recording
                    ? "" : finding.time.map { ", \(Self.seconds($0.duration(to: now.now))) ago" } ?? ""
                return "\(name) \(finding.text)\(age)"
            }
            return "\(name) \(finding.text)\(finding.sequence > 0 ? " (line \(finding.sequence))" : "")"
        }
        return findings.joined(separator: "; ")
    }

    private var counts: String {
        func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        if answers == 0, events == 0, errors > 0 {
            let last = Sanitizer.visible(newestError ?? "", limit: 200)
            return "never answered; \(errors == 1 ? "1 try" : "\(errors) tries"), last: \(last)"
        }
        let came = answers > 0 ? counted(answers, "answer") : counted(events, "event")
        let away = isConnected ? "" : "; the agent is away"
        let left =
            evaluator.refused > 0 ? "; conditions are about more than 10,000 series, further ones were left out" : ""
        return "\(state)\(left)\(away); \(came)" + (errors > 0 ? ", \(counted(errors, "error"))" : "")
    }

    /// The sentence for stderr; nil when nothing is to be said.
    ///
    /// - Parameter signal: the signal that ended it, if one did.
    func sentence(signal: String?) -> String? {
        guard !isQuiet else { return nil }
        let elapsed = begun.duration(to: ended ?? loop.clock.now).shortText
        if let signal { return "\(signal) after \(elapsed): \(counts)" }
        switch outcome {
        case .met: return "met after \(elapsed): \(state)"
        case .failed: return "failed after \(elapsed): \(state)"
        case .timeUp: return "not met in \(DurationText.format(limit)): \(counts)"
        case .ended, nil: return "ended after \(elapsed), and not met: \(counts)"
        }
    }

    /// A duration to a tenth of a second, at least 0.1 s.
    private static func seconds(_ duration: Duration) -> String {
        let tenths = max(1, Int((duration / .milliseconds(100)).rounded()))
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    private func status(columns: Int) -> String {
        let elapsed = begun.duration(to: loop.clock.now).components.seconds
        let text = "waiting \(elapsed) s of \(DurationText.format(limit)): \(counts)"
        guard text.unicodeScalars.count > columns else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(max(0, columns - 1)))) + "…"
    }
}
