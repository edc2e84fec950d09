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

    private var board: ConditionBoard
    /// The number of conditions to wait for; those of `--fail` come behind them.
    private let wanted: Int
    private let begun: LoopInstant
    private var ended: LoopInstant?
    /// The feed's time at one time of the loop. From there on the loop's clock counts, which neither steps nor sleeps.
    private var base: (time: Timestamp, at: LoopInstant)
    /// Whether lines come as they are written.
    private var isLive: Bool
    /// The agents of a fleet whose older lines have come, and those of which they come.
    private var agents: [String: NewLines] = [:]
    private var seen: Set<String> = []
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
    /// How long the lines of an agent count as old that come by a broker, which does not say which are.
    private static let backlog = Duration.seconds(2)

    /// The lines of an agent that are new.
    private enum NewLines {
        case since(number: Int)
        case after(LoopInstant)
    }

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
        base = (time, start)
        statusDue = start.advanced(by: Self.statusPause)
        wanted = options[\.waitFor].count
        let isLive = origin == .sources || origin == .fleet
        self.isLive = isLive
        board = ConditionBoard(
            options[\.waitFor] + options[\.waitFail], from: isLive ? time : nil,
            isJudging: isLive || origin == .recording && options[\.since] == nil,
            isByLines: origin == .sources || origin == .recording || options[\.since] != nil)
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
        if !isLive, isCaughtUp { goLive() }
        board.finish()
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
        switch line.body {
        case .hello(let hello):
            if !isLive { past = hello.nextSeq - 1 }
            if hello.run != run { lastSequence = 0 }
            run = hello.run
        case .gap(let gap): lastSequence = gap.to
        default: lastSequence = line.seq ?? lastSequence
        }
        let time = time(of: line)
        if !isLive, let since, line.seq != nil, line.time >= since {
            if let time { board.advance(to: time) }
            board.judge()
        }
        sortOut(line)
        if let time { pass(to: time) }
        guard outcome == nil else { return }
        board.apply(line, at: time)
        judge(line.seq == nil ? nil : bytes)
    }

    /// Lets the board judge the lines of an agent of a fleet once they are new.
    private func sortOut(_ line: Line) {
        var (line, isOwn) = (line, line.isForwarded)
        if case .kept(let kept) = line.body { (line, isOwn) = (kept.line, kept.line.agent != nil) }
        guard origin == .fleet, isOwn, let agent = line.agent else { return }
        let isSince = since.map { line.seq != nil && line.time >= $0 } ?? false
        board.setPast(!isSince && !areNew(linesFrom: line.seq ?? 0, of: agent), of: agent)
    }

    /// Whether the lines of an agent of a fleet are new from this number on.
    private func areNew(linesFrom number: Int, of agent: String) -> Bool {
        switch agents[agent] {
        case .since(let first): return number >= first
        case .after(let time): return loop.clock.now >= time
        case nil:
            switch store.assumeIsolated({ $0.isReplayed(agent: agent) }) {
            case true?:
                // All that is in the log by now came with the replay.
                let first = store.assumeIsolated { $0.nextSequence }
                agents[agent] = .since(number: first)
            case false?: break
            case nil: agents[agent] = .after(loop.clock.now.advanced(by: Self.backlog))
            }
            seen.insert(agent)
            return false
        }
    }

    /// Judges the agents whose older lines have all come.
    private func judgeAgents() {
        for agent in seen where areNew(linesFrom: lastSequence + 1, of: agent) {
            seen.remove(agent)
            board.setPast(false, of: agent)
        }
    }

    /// Lets time pass, and looks at the states at each moment when one of them changes.
    private func pass(to time: Timestamp) {
        while outcome == nil, let due = board.nextDeadline, due <= time {
            board.advance(to: due)
            judge()
        }
        if outcome == nil { board.advance(to: time) }
    }

    /// The time at which a line counts; nil if it says nothing of that.
    private func time(of line: Line) -> Timestamp? {
        if isLive { return now }
        let written: Timestamp
        if case .kept(let kept) = line.body {
            written = kept.line.time
        } else if line.seq != nil {
            written = line.time
        } else {
            return nil
        }
        return origin == .recording ? written : min(written, now)
    }

    /// The feed's time now.
    private var now: Timestamp { isConnected ? base.time + base.at.duration(to: loop.clock.now) : base.time }

    /// There is nothing more to read for now.
    private func rest() {
        if !isLive, isCaughtUp { goLive() }
        judgeAgents()
        if isLive, isConnected { pass(to: now) }
        judge()
    }

    private func goLive() {
        isLive = true
        // From now on by the clock of the agent, which may be another than ours.
        base = (store.assumeIsolated { $0.feedTime }, loop.clock.now)
        pass(to: now)
        board.judge()
        board.takeStatus()
    }

    /// Whether everything that was there in the beginning is read.
    private var isCaughtUp: Bool {
        origin == .agent && run != nil && lastSequence >= past && store.assumeIsolated { $0.areAgentsReplayed }
    }

    /// Decides if it is time to.
    ///
    /// - Parameter line: the line that has just come.
    private func judge(_ line: Bytes? = nil) {
        guard outcome == nil, board.isJudging else { return }
        let numbers = board.conditions.indices
        if numbers.dropFirst(wanted).contains(where: { board.isMet($0) }) {
            decide(.failed)
        } else if isAny
            ? numbers.prefix(wanted).contains(where: { board.isMet($0) })
            : numbers.prefix(wanted).allSatisfy({ board.isMet($0) })
        {
            decide(.met)
        } else {
            return
        }
        // A set is decided by the line that ends an answer, which says nothing itself.
        if let line, let number = deciding.first, let finding = board.finding(of: number),
            let decoded = try? LineDecoder.decode(line), finding.isAbout(decoded)
        {
            decisive = Array(line)
        }
    }

    private func decide(_ outcome: Outcome) {
        self.outcome = outcome
        ended = loop.clock.now
    }

    /// The loop's time when something may change without a line.
    private var nextDeadline: LoopInstant? {
        var next: LoopInstant?
        for agent in seen { if case .after(let time) = agents[agent] { next = min(next ?? time, time) } }
        guard isLive, isConnected, let deadline = board.nextDeadline else { return next }
        let due = loop.clock.now.advanced(by: max(.zero, deadline - now))
        return min(next ?? due, due)
    }

    // MARK: Words

    /// The newest line of the series, source or agent that decided it.
    private var newestLine: [UInt8]? {
        guard let number = deciding.first, let finding = board.finding(of: number) else { return nil }
        var newest: [UInt8]?
        for piece in store.assumeIsolated({ $0.newestOfEach }) ?? [] {
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
        let numbers = board.conditions.indices
        let met = numbers.filter { board.isMet($0) }
        switch outcome {
        case .failed: return met.filter { $0 >= wanted }
        case .met: return met.filter { $0 < wanted }
        default: return numbers.prefix(wanted).first { !board.isMet($0) }.map { [$0] } ?? []
        }
    }

    /// The measurements of the conditions that matter.
    private var state: String {
        let findings = deciding.prefix(3).map { number in
            guard let finding = board.finding(of: number) else {
                return "'\(Sanitizer.visible(board.conditions[number].text, limit: 80))': nothing like that came yet"
            }
            let name = Sanitizer.visible(finding.name, limit: 80)
            guard outcome == .met || outcome == .failed else {
                let age =
                    origin == .recording ? "" : finding.time.map { ", \(Self.seconds(now - $0)) ago" } ?? ""
                return "\(name) \(finding.text)\(age)"
            }
            return "\(name) \(finding.text)\(finding.sequence > 0 ? " (line \(finding.sequence))" : "")"
        }
        return findings.joined(separator: "; ")
    }

    private var counts: String {
        func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        if board.answers == 0, board.events == 0, board.errors > 0 {
            let last = Sanitizer.visible(board.newestError ?? "", limit: 200)
            return "never answered; \(board.errors == 1 ? "1 try" : "\(board.errors) tries"), last: \(last)"
        }
        let came = board.answers > 0 ? counted(board.answers, "answer") : counted(board.events, "event")
        let away = isConnected ? "" : "; the agent is away"
        return "\(state)\(away); \(came)" + (board.errors > 0 ? ", \(counted(board.errors, "error"))" : "")
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
