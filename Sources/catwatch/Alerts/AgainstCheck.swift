internal import Conditions
internal import Feed
internal import Glibc
internal import Inputs
internal import Journal
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// `catwatch check --against FILE`: which alerts a journal or a recording comes to, or which threshold would suit a series.
///
/// Nothing else runs on the loop, so it blocks for whoever reads its output.
actor AgainstCheck {
    private let platform: Platform
    private let loop: EventLoop
    private let path: String
    private let options: Options
    private let rules: [AlertRule]
    private let since: Timestamp?
    private let bar: JournalProgress?
    private let complain: @Sendable (String) -> Void
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var past: PastAlerts
    private var episodes = Episodes()
    private var tallies: [String: Tally] = [:]
    private var printer: EpisodePrinter
    private var comparison = AlertComparison()
    private var oldest: Timestamp?
    private var lines = 0

    // Text that is gathered before it is written: 64 KiB.
    private static let pieceSize = 64 << 10
    private static let week = Duration.seconds(7 * 86_400)

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
    private func read(from: Timestamp?, _ body: (RecordedLine) throws -> Void) async throws -> Bool {
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
            guard let rows = try? JournalRows(path: path), let rowIDs = try? rows.rowIDs(from: from, until: nil) else {
                return nil
            }
            return try? rows.reach(of: rowIDs).total
        }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    private var name: String { path == "-" ? "standard input" : Sanitizer.visible(path, limit: 500) }

    private func fail(_ reason: String) -> Bool {
        complain("catwatch: \(name): \(Sanitizer.visible(reason))\n")
        return false
    }

    private func notice(_ text: String) {
        if options.verbosity > .quiet { complain("catwatch: \(name): \(text)\n") }
    }

    // MARK: Alerts

    private func check() async throws -> Int32 {
        let isRead = try await read(from: since.map { $0 - past.memory }) { line in
            if case .other(let relayed) = line, case .hello = relayed.line.body { comparison.beginRun() }
            past.apply(line)
            if options[\.same], case .other(let relayed) = line, relayed.line.agent == nil,
                case .alert(let alert) = relayed.line.body, isLate(alert)
            {
                comparison.add(recorded: alert)
            }
            while let (source, alert) = past.nextAlert() {
                if options[\.same], isLate(alert) { comparison.add(computed: alert) }
                if let ended = episodes.add(alert, of: source) { add(ended) }
            }
            if printer.count >= Self.pieceSize { try flush() }
        }
        guard isRead else { return 2 }
        for episode in episodes.firing { add(episode) }
        try flush()
        guard lines > 0 else {
            notice("there is no line in it")
            return 1
        }
        if options.alertFormat == .text { try write(summary) }
        if past.refused > 0 { notice("too many series for alerts: \(past.refused) were left out") }
        if episodes.leftOut > 0 { notice("\(episodes.leftOut) alerts were left out: too many fire at once") }
        return options[\.same] ? judge() : 0
    }

    /// Whether an alert's episode began since the time that was asked for.
    private func isLate(_ alert: Alert) -> Bool {
        guard let since else { return true }
        return switch alert.state {
        case .firing: alert.at >= since
        case .reminder: alert.since >= since
        case .resolved: alert.at - (alert.down ?? .zero) >= since
        }
    }

    private func add(_ episode: Episode) {
        if let since, let ended = episode.ended, ended < since { return }
        printer.add(episode)
        var tally = tallies[episode.newest.condition] ?? Tally()
        tally.count += 1
        if episode.ended == nil {
            tally.firing += 1
        } else {
            let length = episode.length(until: episode.begun)
            (tally.total, tally.longest) = (tally.total + length, max(tally.longest, length))
        }
        tallies[episode.newest.condition] = tally
    }

    /// A line for each rule.
    private var summary: String {
        var text = tallies.isEmpty ? "" : "\n"
        for (index, rule) in rules.enumerated() {
            text += "\(Sanitizer.visible(rule.name, limit: 100)): "
            guard let tally = tallies[rule.name] else {
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

    private static func times(_ count: Int) -> String { "\(count) time\(count == 1 ? "" : "s")" }

    private func judge() -> Int32 {
        comparison.finish()
        for text in comparison.differences { complain("catwatch: \(Sanitizer.visible(text, limit: 1_000))\n") }
        if comparison.count > comparison.differences.count {
            complain("catwatch: and \(comparison.count - comparison.differences.count) other differences\n")
        }
        guard comparison.count == 0 else { return 1 }
        notice("the \(comparison.same) recorded alerts are the computed ones")
        return 0
    }

    // MARK: A threshold

    private func suggest() async throws -> Int32 {
        guard let series = options[\.suggest] else { return 2 }
        let kind = SeriesKind.prefixed.first { series.utf8.starts(with: $0.prefix.utf8) }
        let isLatency = kind?.prefix == SeriesKind.latency.prefix
        let source = isLatency ? String(series.dropFirst(SeriesKind.latency.prefix.count)) : nil
        var (values, first, last) = (ThresholdSuggestion(), Timestamp?.none, Timestamp?.none)
        let isRead = try await read(from: since) { line in
            (first, last) = (first ?? line.time, line.time)
            if let value = Self.value(in: line, of: series, latencyOf: source) { values.add(value) }
        }
        guard isRead else { return 2 }
        guard values.count > 0, let range = values.range, let first, let last else {
            complain("catwatch: \(name): no line has a value of '\(Sanitizer.visible(series, limit: 200))'\n")
            return 1
        }
        let span = max(.zero, last - first)
        let most = max(1, Int((Double(options[\.perWeek]) * span.seconds / Self.week.seconds).rounded()))
        var text =
            "\(Sanitizer.visible(series, limit: 200)): \(values.count) value\(values.count == 1 ? "" : "s") in "
            + "\(EpisodePrinter.spoken(span)), \(NumberText.short(range.lowerBound)) to \(NumberText.short(range.upperBound))\n"
        text += Self.histogram(values.histogram(parts: 12), isASCII: platform.capabilities.isASCII)
        let subject = source ?? series
        func line(_ sign: String, _ limit: ThresholdSuggestion.Limit?, _ beyond: Double) -> String {
            let measure = source == nil ? "" : "ms "
            let isUpper = sign == ">="
            guard let limit else {
                let test = "\(measure)\(isUpper ? ">" : "<") \(Self.digits(beyond))"
                return "\(Condition.line(about: subject, test)): would not have fired; a "
                    + "\(isUpper ? "lower" : "higher") limit would have fired more than \(Self.times(most))\n"
            }
            let test = "\(measure)\(sign) \(Self.digits(limit.value))"
            return "\(Condition.line(about: subject, test)): would have fired \(Self.times(limit.crossings))\n"
        }
        text += Sanitizer.lines(line(">=", values.upper(atMost: most), range.upperBound))
        if source == nil { text += Sanitizer.lines(line("<", values.lower(atMost: most), range.lowerBound)) }
        try write(text)
        if span < Self.week {
            notice("it spans less than a week: what happens once a week may not be in it")
        }
        return 0
    }

    private static func digits(_ number: Double) -> String {
        String(decoding: LineWriter.bytes(atMost: LineWriter.mostNumber) { $0.number(number) }, as: UTF8.self)
    }

    /// The value of an event of the series, or how long an answer of the source took.
    private static func value(in line: RecordedLine, of series: String, latencyOf source: String?) -> Double? {
        let bytes: Line
        switch line {
        case .plain(let plain, let line):
            guard plain.kind == (source == nil ? .data : .latency) else { return nil }
            let head = LineHead(UnsafeRawBufferPointer(line))
            // Most lines are of other series.
            if source == nil, let event = head?.event {
                return event.series.elementsEqual(series.utf8) ? event.value : nil
            }
            guard let decoded = try? LineDecoder.decode(Bytes(line)) else { return nil }
            bytes = decoded
        case .other(let relayed): bytes = relayed.line
        }
        switch bytes.body {
        case .data(let data) where source == nil: return data.series.utf8.elementsEqual(series.utf8) ? data.value : nil
        case .latency(let sample) where bytes.source == source && source != nil: return sample.ms
        default: return nil
        }
    }

    /// A bar for each part, the longest 40 columns wide.
    private static func histogram(_ parts: [(from: Double, count: Int)], isASCII: Bool) -> String {
        let most = parts.map(\.count).max() ?? 0
        guard most > 0 else { return "" }
        let (heads, counts) = (parts.map { NumberText.short($0.from) }, parts.map { "\($0.count)" })
        func padded(_ text: String, _ texts: [String]) -> String {
            String(repeating: " ", count: (texts.map(\.unicodeScalars.count).max() ?? 0) - text.unicodeScalars.count)
                + text
        }
        return zip(parts, zip(heads, counts)).map { part, texts in
            let width = part.count == 0 ? 0 : max(1, Int((40 * Double(part.count) / Double(most)).rounded()))
            let bar = String(repeating: isASCII ? "#" : "█", count: width)
            return "  \(padded(texts.0, heads))  \(padded(texts.1, counts))  \(bar)".trimmingEnd + "\n"
        }.joined()
    }

    // MARK: Output

    private func flush() throws(SystemError) {
        if printer.count > 0 { try write(printer.take()) }
    }

    private func write(_ text: String) throws(SystemError) {
        bar?.end()
        try Descriptor.write(text, to: STDOUT_FILENO)
    }
}

extension String {
    /// Without blanks at its end.
    fileprivate var trimmingEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map { index(after: $0) } ?? startIndex)])
    }
}
