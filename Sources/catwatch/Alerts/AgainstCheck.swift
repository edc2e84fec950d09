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

    private var past: PastAlerts
    private var episodes = AlertEpisodes()
    private var tallies: [Board.Name: Tally] = [:]
    private var printer: EpisodePrinter
    private var comparison = AlertComparison()
    /// The run of the newest line, and whether it has ended well.
    private var run: String?
    private var hasEnded = false
    /// The recorded alerts of conditions that are not given.
    private var others = 0
    private var badLines = 0
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
        past = PastAlerts(rules)
        printer = EpisodePrinter(
            options.alertFormat, isTerminal: platform.outputIsTerminal, names: rules.map(\.name))
    }

    /// Reads the recording and prints what comes of it.
    ///
    /// - Returns: the exit status: 1 when there are no lines, or alerts are not the recorded ones; 2 when the recording cannot be
    ///   read, or output not be written, which was reported.
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
        badLines = result.badLines
        if let failure = result.failure { return fail(failure) }
        return true
    }

    /// The number of lines of a journal, or of bytes of a file; nil if it is not known.
    private func total(from: Timestamp?) -> Int? {
        guard path != "-" else { return nil }
        if JournalStream.isJournal(path) {
            guard let rows = try? JournalRows(path: path), let rowIDs = try? rows.rowIDs(from: from, until: nil) else {
                return nil
            }
            return try? rows.reach(of: rowIDs).total
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
        // Looked up once, not for each line.
        let isCompared = options[\.same]
        let isRead = try await read(from: since.map { $0 - past.memory }) { line in
            if isCompared, case .other(let relayed) = line { compare(relayed.line) }
            past.apply(line)
            while let (source, alert) = past.nextAlert() {
                if isCompared, beganInRange(alert) { comparison.add(computed: alert) }
                if let ended = episodes.add(alert, of: source) { try add(ended) }
            }
        }
        guard isRead else { return 2 }
        // Those that fired already where it begins were not told by then.
        for (alert, source) in past.firing { _ = episodes.add(alert, of: source) }
        for episode in episodes.firing { try add(episode) }
        try flush()
        guard lines > 0 else {
            notice("there is no line in it")
            return 1
        }
        if options.alertFormat == .text { try write(summary) }
        if past.refused > 0 { notice("too many series for alerts: \(past.refused) lines were left out") }
        if episodes.leftOut > 0 { notice("\(episodes.leftOut) alerts were left out: too many fire at once") }
        return isCompared ? judge() : 0
    }

    /// Notes what a line says of recorded alerts.
    private func compare(_ line: Line) {
        switch line.body {
        case .hello(let hello):
            if let run, run != hello.run, !hasEnded { comparison.noteCrash() }
            (run, hasEnded) = (hello.run, false)
        case .bye: hasEnded = true
        case .alert(let alert) where line.agent == nil:
            if !past.has(rule: alert.condition) {
                others += 1
            } else if beganInRange(alert) {
                comparison.add(recorded: alert)
            }
        default: break
        }
    }

    /// Whether an alert's episode began since the time that was asked for.
    private func beganInRange(_ alert: Alert) -> Bool {
        guard let since else { return true }
        return switch alert.state {
        case .firing: alert.at >= since
        case .reminder: alert.since >= since
        case .resolved: alert.at - (alert.down ?? .zero) >= since
        }
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
                text += past.hasSubject(index) ? "would not have fired\n" : "is about nothing in it\n"
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

    private func judge() -> Int32 {
        comparison.finish()
        if others > 0 { notice("\(others) recorded alert\(others == 1 ? " is" : "s are") of other conditions") }
        for text in comparison.differences { complain("catwatch: \(Sanitizer.visible(text, limit: 1_000))\n") }
        if comparison.count > comparison.differences.count {
            complain("catwatch: and \(comparison.count - comparison.differences.count) other differences\n")
        }
        guard comparison.count == 0 else { return 1 }
        guard comparison.same > 0 || others == 0, badLines == 0 else {
            notice(badLines > 0 ? "not all of it can be compared" : "none of these conditions has a recorded alert")
            return 1
        }
        notice("recorded and computed alerts are the same: \(comparison.same)")
        return 0
    }

    // MARK: Output

    private func flush() throws(SystemError) {
        if printer.count > 0 { try write(printer.removeText()) }
    }

    func write(_ text: String) throws(SystemError) {
        bar?.end()
        try Descriptor.write(text, to: STDOUT_FILENO)
    }
}
