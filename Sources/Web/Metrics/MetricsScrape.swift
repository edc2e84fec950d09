internal import Feed
internal import HTTPServer
internal import Reactor

/// One scrape in progress: family after family, piece by piece, each from the store's current state. An item that
/// exists all the time appears once in each family.
///
/// It holds one piece, and a number for each name that may be ambiguous.
final class MetricsScrape: @unchecked Sendable {  // used on the store's loop only
    /// The parts of the answer, in order.
    private enum Part: Int {
        case agent, window, agentUp, agentAge, agentLost, agentRepeated, agentUnknown, up, ready, polls, errors
        case latency, newestLatency, value, age, state, alerts, alertStart, leftOut, end
    }

    /// The kinds of items with a limit.
    private enum Many: Int, CaseIterable {
        case sources, endpoints, series, agents, alerts

        var word: StaticString {
            switch self {
            case .sources: "sources"
            case .endpoints: "endpoints"
            case .series: "series"
            case .agents: "agents"
            case .alerts: "alerts"
            }
        }
    }

    private enum Value {
        case whole(Int)
        case number(Double)
        case time(microseconds: Int64)
    }

    private let store: EventStore
    private let format: MetricsFormat
    /// The most sources, endpoints, series, agents, conditions of alerts and alerts, each.
    private let limit: Int
    private let isAttached: Bool
    /// The agent's own metrics that are not written yet, in reverse order.
    private var ahead: [(family: MetricFamily, value: Value)]
    private let version: String
    /// The width of a window; nil while unknown.
    private let interval: Value?
    private var part: Part? = .agent
    private var hasHead = false
    private var walk: FeedWalk
    /// The feed's time when the current piece was begun.
    private var now = Timestamp(microseconds: 0)
    /// The numbers of items written and left out in this part.
    private var told = 0
    private var omitted = 0
    /// Hashes of labels that may be ambiguous.
    private var names: Set<Int> = []
    private var leftOut = [Int](repeating: 0, count: Many.allCases.count)

    /// The upper bounds of a histogram's buckets, in milliseconds.
    static let bounds: [Double] = [
        1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000,
    ]
    private static let boundLabels: [StaticString] = [
        "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.0", "4.0", "8.0", "16.0",
        "32.0", "64.0",
    ]
    /// The most bytes of one source's codes, or of one histogram.
    private static let mostAtOnce = 26 * MetricsWriter.mostSample
    private static let mostPiece = 12 << 10

    init(of store: EventStore, as format: MetricsFormat, limit: Int) {
        self.store = store
        self.format = format
        self.limit = limit
        let (walk, numbers) = store.assumeIsolated { ($0.walk, $0.numbers) }
        self.walk = walk
        version = numbers.identity.version
        isAttached = numbers.attachment != nil
        let isKnown = numbers.attachment.map { $0.silence != nil } ?? true
        interval = isKnown ? .time(microseconds: numbers.interval.microseconds) : nil
        ahead = Self.values(of: numbers).reversed()
    }

    /// Returns the next bytes of the answer.
    func next() -> StreamedAnswers.Piece {
        guard part != nil else { return .end }
        // Must not mix two runs; the reader notices that the answer is incomplete.
        guard store.assumeIsolated({ $0.identity.run }) == walk.run else { return .broken }
        return .bytes(store.assumeIsolated { piece($0) })
    }

    private func piece(_ store: isolated EventStore) -> [UInt8] {
        now = store.feedTime
        return LineWriter.bytes(atMost: Self.mostPiece + Self.mostAtOnce) { line in
            let full = line.next + Self.mostPiece
            var writer = MetricsWriter(line, format)
            while let part, writer.line.next < full { tell(part, store, &writer) }
            line = writer.line
        }
    }

    /// Writes one item, or advances to the next part.
    private func tell(_ part: Part, _ store: isolated EventStore, _ writer: inout MetricsWriter) {
        let isAhead =
            switch part {
            case .agent: tellAgent(&writer)
            case .window: tellWindow(store, &writer)
            case .agentUp: tellMember(.agentUp, store, &writer) { .whole($0.isLive ? 1 : 0) }
            case .agentAge:
                tellMember(.agentAge, store, &writer) { $0.age.map { .time(microseconds: $0.microseconds) } }
            case .agentLost: tellMember(.agentLost, store, &writer) { .whole($0.lost) }
            case .agentRepeated: tellMember(.agentRepeated, store, &writer) { $0.repeated.map { .whole($0) } }
            case .agentUnknown: tellMember(.agentUnknown, store, &writer) { $0.unknown.map { .whole($0) } }
            case .up: tellSource(.up, store, &writer) { .whole($0.state == .ok ? 1 : 0) }
            case .ready: tellSource(.ready, store, &writer) { .whole($0.timeliness.isGood ? 1 : 0) }
            case .polls: !isAttached && tellCodes(.polls, \.answers, store, &writer)
            case .errors: !isAttached && tellCodes(.errors, \.errors, store, &writer)
            case .latency: !isAttached && tellEndpoint(store, &writer)
            case .newestLatency: tellLatency(store, &writer)
            case .value: tellValue(store, &writer)
            case .age: tellAge(store, &writer)
            case .state: tellState(store, &writer)
            case .alerts: tellConditions(store, &writer)
            case .alertStart: tellAlert(store, &writer)
            case .leftOut: tellLeftOut(&writer)
            case .end: tellEnd(&writer)
            }
        if !isAhead { turn(from: part) }
    }

    private func turn(from part: Part) {
        let many: Many =
            switch part {
            case .value, .age, .state: .series
            case .latency: .endpoints
            case .agentUp, .agentAge, .agentLost, .agentRepeated, .agentUnknown: .agents
            case .alerts, .alertStart: .alerts
            default: .sources
            }
        leftOut[many.rawValue] = max(leftOut[many.rawValue], omitted)
        (told, omitted, names, hasHead) = (0, 0, [], false)
        walk.restart()
        self.part = Part(rawValue: part.rawValue + 1)
    }

    private func tellHead(_ family: MetricFamily, _ writer: inout MetricsWriter) {
        if !hasHead { writer.head(family) }
        hasHead = true
    }

    /// Accepts an item by the labels just written, if they are new; otherwise removes them again.
    ///
    /// - Parameter mayRepeat: whether others may have the same labels, even if no text was changed.
    private func admit(_ writer: inout MetricsWriter, from start: MetricsWriter, mayRepeat: Bool = false) -> Bool {
        var isNew = true
        if mayRepeat || writer.isAmbiguous {
            var hasher = Hasher()
            hasher.combine(bytes: UnsafeRawBufferPointer(writer.written))
            isNew = names.insert(hasher.finalize()).inserted
        }
        if isNew {
            told += 1
        } else {
            omitted += 1
            writer = start
        }
        return isNew
    }

    /// Whether there is room for another item; counts it as left out otherwise.
    private var hasRoom: Bool {
        if told < limit { return true }
        omitted += 1
        return false
    }

    // MARK: The agent

    private static func values(of numbers: AgentNumbers) -> [(family: MetricFamily, value: Value)] {
        var values: [(family: MetricFamily, value: Value)] = []
        func add(_ family: MetricFamily, _ value: Value?) { if let value { values.append((family, value)) } }
        let attachment = numbers.attachment
        let isKnown = attachment == nil || attachment?.silence != nil
        if isKnown {
            add(.start, .time(microseconds: numbers.identity.started.microseconds))
            add(.history, .time(microseconds: numbers.history.microseconds))
            add(.resident, numbers.memory.map { .whole($0.resident) })
            add(.peak, numbers.memory.map { .whole($0.peak) })
            add(.privateMemory, numbers.memory.map { .whole($0.privateBytes) })
            add(.processor, numbers.agent.map { .number($0.cpu / 1_000) })
            add(.lag, numbers.agent.map { .number($0.loopLag / 1_000) })
            add(.lines, .whole(numbers.lines))
        }
        if let counts = numbers.counts {
            add(.events, .whole(counts.data))
            add(.readers, .whole(counts.readers))
            add(.gaps, .whole(counts.gaps))
            add(.late, .whole(counts.late))
            add(.series, .whole(counts.series))
            add(.refusedSeries, .whole(counts.refusedSeries))
            add(.refusedEndpoints, .whole(counts.refusedEndpoints))
            // An attached feed's lines do not have these.
            if attachment == nil {
                add(.stalled, .whole(counts.stalledReaders))
                add(.future, .whole(counts.future))
                add(.refusedAgents, .whole(counts.refusedAgents))
            }
        }
        add(.attached, attachment.map { .whole($0.isConnected ? 1 : 0) })
        add(.silence, attachment?.silence.map { .time(microseconds: $0.microseconds) })
        return values
    }

    private func tellAgent(_ writer: inout MetricsWriter) -> Bool {
        if !hasHead {
            tellHead(.build, &writer)
            writer.begin(.build)
            writer.label("version", version)
            writer.value(1)
            return true
        }
        guard let (family, value) = ahead.popLast() else { return false }
        writer.head(family)
        writer.begin(family)
        write(value, &writer)
        return true
    }

    private func write(_ value: Value, _ writer: inout MetricsWriter) {
        switch value {
        case .whole(let value): writer.value(value)
        case .number(let value): writer.value(value)
        case .time(let microseconds): writer.value(microseconds: microseconds)
        }
    }

    // MARK: Agents of a fleet

    private func tellMember(
        _ family: MetricFamily, _ store: isolated EventStore, _ writer: inout MetricsWriter,
        _ value: (MemberNumbers) -> Value?
    ) -> Bool {
        guard let member = store.nextMember(&walk) else { return false }
        guard let value = value(member), hasRoom else { return true }
        tellHead(family, &writer)
        told += 1
        writer.begin(family)
        writer.label("agent", member.name)
        write(value, &writer)
        return true
    }

    /// Writes the labels of a source, its agent's first.
    private func label(_ source: String, _ store: isolated EventStore, _ writer: inout MetricsWriter) {
        if let agent = store.agent(ofSource: source) { writer.label("agent", agent) }
        writer.label("source", source)
    }

    // MARK: Sources and endpoints

    private func tellSource(
        _ family: MetricFamily, _ store: isolated EventStore, _ writer: inout MetricsWriter,
        _ value: (SourceNumbers) -> Value
    ) -> Bool {
        tellHead(family, &writer)
        guard let source = store.nextSource(&walk) else { return false }
        // The agent itself is not a watched source.
        guard source.isListed, source.name != EventStore.ownName, hasRoom else { return true }
        let start = writer
        writer.begin(family)
        label(source.name, store, &writer)
        if admit(&writer, from: start) { write(value(source), &writer) }
        return true
    }

    /// The width of windows, then that of each source's.
    private func tellWindow(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        guard let interval else { return false }
        guard hasHead else {
            tellHead(.window, &writer)
            writer.begin(.window)
            write(interval, &writer)
            return true
        }
        return tellSource(.window, store, &writer) { .time(microseconds: $0.window.microseconds) }
    }

    private func tellCodes(
        _ family: MetricFamily, _ tally: KeyPath<SourceNumbers, CodeTally>, _ store: isolated EventStore,
        _ writer: inout MetricsWriter
    ) -> Bool {
        tellHead(family, &writer)
        guard let source = store.nextSource(&walk) else { return false }
        let entries = source[keyPath: tally].entries
        guard !entries.isEmpty, hasRoom else { return true }
        let start = writer
        writer.begin(family)
        label(source.name, store, &writer)
        guard admit(&writer, from: start) else { return true }
        let labels = writer.written
        for (index, entry) in entries.enumerated() {
            if index > 0 {
                writer.begin(family)
                writer.repeated(labels: labels)
            }
            writer.label("code", entry.code)
            writer.value(entry.count)
        }
        return true
    }

    private func tellEndpoint(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellHead(.latency, &writer)
        guard let endpoint = store.nextEndpoint(&walk) else { return false }
        guard hasRoom else { return true }
        let start = writer
        writer.begin(.latency, "_bucket")
        label(endpoint.source, store, &writer)
        writer.label("endpoint", endpoint.endpoint)
        guard admit(&writer, from: start) else { return true }
        let labels = writer.written
        var bound = 0
        endpoint.histogram.count(atMost: Self.bounds) { count in
            if bound > 0 {
                writer.begin(.latency, "_bucket")
                writer.repeated(labels: labels)
            }
            writer.label("le", own: Self.boundLabels[bound])
            writer.value(count)
            bound += 1
        }
        writer.begin(.latency, "_bucket")
        writer.repeated(labels: labels)
        writer.label("le", own: "+Inf")
        writer.value(endpoint.histogram.count)
        writer.begin(.latency, "_count")
        writer.repeated(labels: labels)
        writer.value(endpoint.histogram.count)
        writer.begin(.latency, "_sum")
        writer.repeated(labels: labels)
        writer.value(endpoint.histogram.sum / 1_000)
        return true
    }

    // MARK: Series

    private func tellLatency(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellHead(.newestLatency, &writer)
        guard let series = store.nextSeries(&walk, at: now) else { return false }
        guard series.kind == .latency, hasRoom else { return true }
        let start = writer
        writer.begin(.newestLatency)
        label(series.source, store, &writer)
        if admit(&writer, from: start) { writer.value(series.value / 1_000) }
        return true
    }

    private func tellValue(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellSeries(.value, store, &writer) { series, writer in writer.value(series.value) }
    }

    private func tellAge(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellSeries(.age, store, &writer) { series, writer in
            writer.value(microseconds: max(0, (now - series.time).microseconds))
        }
    }

    private func tellState(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellSeries(.state, store, &writer, isState: true) { _, writer in writer.value(1) }
    }

    private func tellSeries(
        _ family: MetricFamily, _ store: isolated EventStore, _ writer: inout MetricsWriter,
        isState: Bool = false, _ write: (SeriesNumbers, inout MetricsWriter) -> Void
    ) -> Bool {
        tellHead(family, &writer)
        guard let series = store.nextSeries(&walk, at: now) else { return false }
        guard series.kind == .data || series.kind == .count, !isState || series.word != nil, hasRoom else {
            return true
        }
        let start = writer
        writer.begin(family)
        label(series.source, store, &writer)
        let name = series.kind == .count ? series.kind.prefix + series.name : series.name
        writer.label("series", name, key: series.key)
        if isState, let word = series.word { writer.label("state", String(decoding: word, as: UTF8.self)) }
        if admit(&writer, from: start) { write(series, &writer) }
        return true
    }

    // MARK: Alerts

    private func tellConditions(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellHead(.alerts, &writer)
        guard let count = store.nextAlertCount(&walk) else { return false }
        guard hasRoom else { return true }
        for (state, number) in [("firing" as StaticString, count.firing), ("pending", count.pending)] {
            guard let number else { continue }
            let start = writer
            writer.begin(.alerts)
            if let agent = count.agent { writer.label("agent", agent) }
            writer.label("condition", count.condition)
            writer.label("state", own: state)
            // Conditions may have been configured meanwhile.
            if admit(&writer, from: start, mayRepeat: true) { writer.value(number) }
        }
        return true
    }

    private func tellAlert(_ store: isolated EventStore, _ writer: inout MetricsWriter) -> Bool {
        tellHead(.alertStart, &writer)
        guard let firing = store.nextAlert(&walk) else { return false }
        guard hasRoom else { return true }
        guard let alert = firing.alert else {
            omitted += 1
            return true
        }
        let start = writer
        writer.begin(.alertStart)
        if let agent = firing.agent { writer.label("agent", agent) }
        writer.label("condition", alert.condition)
        writer.label("series", alert.about)
        // Those of two sources may be about the same, whatever their agent says.
        if admit(&writer, from: start, mayRepeat: true) { writer.value(microseconds: alert.since.microseconds) }
        return true
    }

    // MARK: The end

    private func tellLeftOut(_ writer: inout MetricsWriter) -> Bool {
        tellHead(.leftOut, &writer)
        for many in Many.allCases {
            writer.begin(.leftOut)
            writer.label("of", own: many.word)
            writer.value(leftOut[many.rawValue])
        }
        return false
    }

    private func tellEnd(_ writer: inout MetricsWriter) -> Bool {
        writer.end()
        return false
    }
}
