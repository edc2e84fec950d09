internal import Conditions
internal import Feed
internal import Glibc
internal import Inputs
internal import Journal
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// `catwatch check --against FILE`: which alerts a journal or a recording would have had, or which threshold would suit a series.
///
/// Nothing else runs on the loop, so it blocks for whoever reads its output.
actor AgainstCheck {
    let platform: Platform
    private let loop: EventLoop
    private let path: String
    let options: Options
    private let rules: [AlertRule]
    let since: Timestamp?
    private let bar: JournalProgress?
    let complain: @Sendable (String) -> Void
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var engine: AlertEngine
    private var recorded = RecordedEvents()
    private var time = RecordedTime()
    private var lastTick = LoopInstant(nanoseconds: .min)
    private var episodes = AlertEpisodes()
    private var tallies: [Board.Name: Tally] = [:]
    private var printer: EpisodePrinter
    /// The run of the newest line.
    private var run: String?
    private var lines = 0

    // Text that is gathered before it is written: 64 KiB.
    private static let pieceSize = 64 << 10

    /// The episodes of a rule.
    private struct Tally {
        var count = 0
        var firing = 0
        var total = Duration.zero
        var longest = Duration.zero
    }

    /// - Parameter bar: shows the progress; nil for no bar.
    init(
        _ plan: WatchPlan, _ path: String, in platform: Platform, bar: JournalProgress?,
        complain: @escaping @Sendable (String) -> Void
    ) {
        (self.platform, self.path, self.bar, self.complain) = (platform, path, bar, complain)
        loop = platform.loop
        (options, rules) = (plan.options, plan.alerts)
        since = options[\.since]?.time(now: platform.wall.now) { LocalTime.offset(at: $0) }
        engine = AlertEngine(
            rules, run: "", window: .seconds(10),
            at: Moment(wall: platform.wall.now, now: RecordedTime.start))
        printer = EpisodePrinter(
            options.alertFormat, isTerminal: platform.outputIsTerminal, names: rules.map(\.name))
    }

    /// Reads the recording and prints what comes of it.
    ///
    /// - Returns: the exit status: 1 when there are no lines; 2 when the recording cannot be read, or output not be written, which
    ///   was reported.
    func run() async throws -> Int32 {
        defer { platform.stopWorkers() }
        do {
            return try await options[\.suggest] == nil ? check() : suggest()
        } catch let error as SystemError {
            bar?.end()
            if error.code == EPIPE { return 0 }
            complain("catwatch: stdout: \(error.reason)\n")
            return 2
        }
    }

    // MARK: Reading

    /// Passes the lines to `body`.
    ///
    /// - Returns: whether the recording could be read to its end; what was wrong is reported.
    func read(from: Timestamp?, _ body: (RecordedLine) throws -> Void) async throws -> Bool {
        let stream: any ByteStream
        let total = bar == nil ? nil : self.total(from: from)
        do {
            stream = try await platform.openRecording(path, from: from).value
        } catch let error as SystemError {
            return fail(error.reason)
        }
        let isJournal = stream is JournalStream
        let result = try await RecordingReader(stream, from: from, on: loop).read(
            command: "catwatch check \(SettingTable.rows.against.flag) -", isolation: self,
            progress: { bytes in bar?.show(isJournal ? lines : bytes, of: total) },
            body: { line in
                lines += 1
                try body(line)
            })
        bar?.end()
        for text in result.faults { notice(text) }
        if let failure = result.failure { return fail(failure) }
        return true
    }

    /// The number of lines of a journal, or of bytes of a file; nil if it is not known.
    private func total(from: Timestamp?) -> Int? {
        guard path != "-" else { return nil }
        if JournalStream.isJournal(path) {
            guard let rows = try? JournalRows(path: path), let all = try? rows.rowIDs(from: from, until: nil),
                let rowIDs = try? rows.ends(of: all)
            else { return nil }
            return Int(rowIDs.upperBound - rowIDs.lowerBound).addingSaturated(1)
        }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    var name: String { path == "-" ? "standard input" : Sanitizer.visible(path, limit: 500) }

    private func fail(_ reason: String) -> Bool {
        complain("catwatch: \(name): \(Sanitizer.visible(reason))\n")
        return false
    }

    func notice(_ text: String) {
        if options.verbosity > .quiet { complain("catwatch: \(name): \(text)\n") }
    }

    // MARK: Alerts

    private func check() async throws -> Int32 {
        let isRead = try await read(from: since.map { $0 - engine.memory }) { line in
            apply(line)
            try takeAlerts()
        }
        guard isRead else { return 2 }
        if let moment = time.moment { engine.settle(at: moment) }
        try takeAlerts()
        for episode in episodes.firing { try add(episode) }
        try flush()
        guard lines > 0 else {
            notice("there is no line in it")
            return 1
        }
        if options.alertFormat == .text { try write(summary) }
        if engine.refused > 0 { notice("conditions are about more than 10,000 series: further ones were left out") }
        if episodes.leftOut > 0 { notice("\(episodes.leftOut) alerts were left out: too many fire at once") }
        return 0
    }

    private func takeAlerts() throws(SystemError) {
        while let (source, alert) = engine.nextAlert() {
            if let ended = episodes.add(alert, of: source) { try add(ended) }
        }
    }

    /// Shows the rules a line, at its time.
    private func apply(_ line: RecordedLine) {
        var clock: ClockChange?
        if case .other(let relayed) = line {
            switch relayed.line.body {
            case .hello(let hello) where hello.run != run:
                time.beginRun()
                // As after a restart: the states stay, and what was read does not count.
                if let moment = time.moment { engine = engine.next(run: hello.run, window: hello.interval, at: moment) }
                recorded.forgetNames()
                run = hello.run
            case .clock(let change) where relayed.line.agent == nil: clock = change
            case .kept, .bye, .gap, .refusal: return
            default: break
            }
            guard relayed.line.seq != nil else {
                return engine.apply(
                    relayed.line, at: time.moment ?? time.moment(at: RecordedTime.start))
            }
        }
        let old = time.moment
        let moment = time.advance(to: line.time, clock)
        if let old, moment.now > old.now { engine.settle(at: old) }
        while let due = engine.nextDue, case let next = max(due, lastTick.advanced(by: .seconds(1))), next <= moment.now
        {
            lastTick = next
            engine.tick(at: time.moment(at: next))
        }
        recorded.show(line, to: &engine, at: moment)
    }

    private func add(_ episode: AlertEpisode) throws(SystemError) {
        if let since, let ended = episode.ended, ended < since { return }
        printer.add(episode)
        var tally = tallies[Board.Name(episode.newest.condition)] ?? Tally()
        tally.count += 1
        if episode.ended == nil {
            tally.firing += 1
        } else {
            let length = episode.length(until: episode.begun)
            (tally.total, tally.longest) = (tally.total + length, max(tally.longest, length))
        }
        tallies[Board.Name(episode.newest.condition)] = tally
        if printer.count >= Self.pieceSize { try flush() }
    }

    /// A line for each rule.
    private var summary: String {
        var text = tallies.isEmpty ? "" : "\n"
        for (index, rule) in rules.enumerated() {
            text += "\(Sanitizer.visible(rule.name, limit: 100)): "
            guard let tally = tallies[Board.Name(rule.name)] else {
                text += engine.hasSubject(index) ? "would not have fired\n" : "is about nothing in it\n"
                continue
            }
            text += "would have fired \(Self.times(tally.count))"
            let ended = tally.count - tally.firing
            if ended > 0 { text += ", for \(EpisodePrinter.spoken(tally.total))" }
            if ended > 1 { text += ", at most \(EpisodePrinter.spoken(tally.longest)) at a time" }
            if tally.firing > 0 {
                text += "; \(tally.firing == tally.count ? "" : "\(tally.firing) ")still fires at the end"
            }
            text += "\n"
        }
        return text
    }

    static func times(_ count: Int) -> String { "\(count) time\(count == 1 ? "" : "s")" }

    // MARK: Output

    private func flush() throws(SystemError) {
        if printer.count > 0 { try write(printer.removeText()) }
    }

    func write(_ text: String) throws(SystemError) {
        bar?.end()
        try Descriptor.write(text, to: STDOUT_FILENO)
    }
}
