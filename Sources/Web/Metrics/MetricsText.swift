internal import Feed
internal import Reactor

/// All metrics of a store as they are now: family after family, each with one sample for every item.
struct MetricsText {
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

    private typealias Write<Item> = (Item, inout MetricsWriter) -> Void

    private let format: MetricsFormat
    /// The most samples of a family.
    private let limit: Int
    private let now: Timestamp
    private let numbers: AgentNumbers
    /// The agents of a fleet by the sources that they own.
    private var agents: [String: String] = [:]
    private var text: [UInt8] = []
    /// The most samples that a family left out, by kind of item.
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

    private var scratch = [UInt8](repeating: 0, count: mostAtOnce)

    /// - Parameter limit: the most samples of a family.
    static func bytes(of store: isolated EventStore, as format: MetricsFormat, atMost limit: Int) -> [UInt8] {
        var metrics = MetricsText(store.numbers, at: store.feedTime, format, limit)
        metrics.write(store)
        return metrics.text
    }

    private init(_ numbers: AgentNumbers, at now: Timestamp, _ format: MetricsFormat, _ limit: Int) {
        (self.numbers, self.now, self.format, self.limit) = (numbers, now, format, limit)
    }

    private mutating func write(_ store: isolated EventStore) {
        let all = store.sources
        for source in all { agents[source.name] = store.agent(ofSource: source.name) }
        // The agent itself is not a watched source.
        let sources = all.filter { $0.isListed && $0.name != EventStore.ownName }
        let isAttached = numbers.attachment != nil

        writeAgent(sources)
        writeMembers(store.members)
        add(.up, of: .sources, sources, ofSource) { $1.value($0.state == .ok ? 1 : 0) }
        add(.ready, of: .sources, sources, ofSource) { $1.value($0.timeliness.isGood ? 1 : 0) }
        for (family, tally) in [(MetricFamily.polls, \SourceNumbers.answers), (.errors, \.errors)] where !isAttached {
            let some = sources.filter { !$0[keyPath: tally].entries.isEmpty }
            add(family, of: .sources, some, ofSource) { source, writer in
                Self.repeating(family, source[keyPath: tally].entries, &writer) { entry, writer in
                    writer.label("code", entry.code)
                    writer.value(entry.count)
                }
            }
        }
        if !isAttached { writeEndpoints(store.endpoints) }
        writeSeries(store.series)
        writeAlerts(store.alertCounts, store.alerts)

        head(.leftOut)
        for many in Many.allCases {
            sample { [leftOut] in
                $0.begin(.leftOut)
                $0.label("of", own: many.word)
                $0.value(leftOut[many.rawValue])
            }
        }
        sample { $0.end() }
    }

    // MARK: Samples

    private mutating func sample(_ body: (inout MetricsWriter) -> Void) {
        // Room that is used again: a new array for each of 10,000 samples would cost as much as the samples.
        scratch.withUnsafeMutableBufferPointer { [format] room in
            guard let start = room.baseAddress else { return }
            var writer = MetricsWriter(LineWriter(start), format)
            body(&writer)
            precondition(writer.line.next - start <= room.count, "more was written than was reserved for it")
            text.append(contentsOf: room[..<(writer.line.next - start)])
        }
    }

    private mutating func head(_ family: MetricFamily) { sample { $0.head(family) } }

    /// Writes a family with one sample for each item, or several with the same first labels.
    ///
    /// Of those with the same labels the first is written: others, and those beyond the limit, are left out and counted.
    ///
    /// - Parameters:
    ///   - hasHead: whether the family has samples already.
    ///   - mayRepeat: whether items may have the same labels even if no text was changed.
    private mutating func add<Item>(
        _ family: MetricFamily, suffix: StaticString? = nil, hasHead: Bool = false, of many: Many, _ items: [Item],
        mayRepeat: Bool = false, _ labels: Write<Item>, _ values: Write<Item>
    ) {
        if !hasHead { head(family) }
        var names: Set<Int> = []
        var written = 0
        for item in items where written < limit {
            sample { writer in
                let start = writer
                if let suffix { writer.begin(family, suffix) } else { writer.begin(family) }
                labels(item, &writer)
                if mayRepeat || writer.isAmbiguous {
                    var hasher = Hasher()
                    hasher.combine(bytes: UnsafeRawBufferPointer(writer.written))
                    guard names.insert(hasher.finalize()).inserted else {
                        writer = start
                        return
                    }
                }
                values(item, &writer)
                written += 1
            }
        }
        leftOut[many.rawValue] = max(leftOut[many.rawValue], items.count - written)
    }

    /// Writes samples that begin with the same labels, those of the sample that has been begun.
    private static func repeating<Item>(
        _ family: MetricFamily, suffix: StaticString? = nil, _ items: [Item], _ writer: inout MetricsWriter,
        _ write: Write<Item>
    ) {
        let labels = writer.written
        for (index, item) in items.enumerated() {
            if index > 0 {
                if let suffix { writer.begin(family, suffix) } else { writer.begin(family) }
                writer.repeated(labels: labels)
            }
            write(item, &writer)
        }
    }

    private static func write(_ value: Value, _ writer: inout MetricsWriter) {
        switch value {
        case .whole(let value): writer.value(value)
        case .number(let value): writer.value(value)
        case .time(let microseconds): writer.value(microseconds: microseconds)
        }
    }

    private var ofSource: Write<SourceNumbers> { { [agents] in Self.label($0.name, agents, &$1) } }

    /// Writes the labels of a source, its agent's first.
    private static func label(_ source: String, _ agents: [String: String], _ writer: inout MetricsWriter) {
        if let agent = agents[source] { writer.label("agent", agent) }
        writer.label("source", source)
    }

    // MARK: Agents

    private mutating func writeAgent(_ sources: [SourceNumbers]) {
        head(.build)
        sample { [numbers] in
            $0.begin(.build)
            $0.label("version", numbers.identity.version)
            $0.value(1)
        }
        let attachment = numbers.attachment
        let isKnown = attachment == nil || attachment?.silence != nil
        func add(_ family: MetricFamily, _ value: Value?) {
            guard let value else { return }
            head(family)
            sample {
                $0.begin(family)
                Self.write(value, &$0)
            }
        }
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
        guard isKnown else { return }
        // The width of windows, then that of each source's.
        add(.window, .time(microseconds: numbers.interval.microseconds))
        self.add(.window, hasHead: true, of: .sources, sources, ofSource) {
            $1.value(microseconds: $0.window.microseconds)
        }
    }

    private mutating func writeMembers(_ members: [MemberNumbers]) {
        func add(_ family: MetricFamily, _ value: (MemberNumbers) -> Value?) {
            let known = members.compactMap { member in value(member).map { (member.name, $0) } }
            if known.isEmpty { return }
            self.add(family, of: .agents, known, { $1.label("agent", $0.0) }, { Self.write($0.1, &$1) })
        }
        add(.agentUp) { .whole($0.isLive ? 1 : 0) }
        add(.agentAge) { $0.age.map { .time(microseconds: $0.microseconds) } }
        add(.agentLost) { .whole($0.lost) }
        add(.agentRepeated) { $0.repeated.map { .whole($0) } }
        add(.agentUnknown) { $0.unknown.map { .whole($0) } }
    }

    // MARK: Endpoints, series and alerts

    private mutating func writeEndpoints(_ endpoints: [EndpointStatistics]) {
        add(.latency, suffix: "_bucket", of: .endpoints, endpoints) { [agents] endpoint, writer in
            Self.label(endpoint.source, agents, &writer)
            writer.label("endpoint", endpoint.endpoint)
        } _: { endpoint, writer in
            let labels = writer.written
            var counts: [(StaticString, Int)] = []
            endpoint.histogram.count(atMost: Self.bounds) { counts.append((Self.boundLabels[counts.count], $0)) }
            counts.append(("+Inf", endpoint.histogram.count))
            Self.repeating(.latency, suffix: "_bucket", counts, &writer) { count, writer in
                writer.label("le", own: count.0)
                writer.value(count.1)
            }
            writer.begin(.latency, "_count")
            writer.repeated(labels: labels)
            writer.value(endpoint.histogram.count)
            writer.begin(.latency, "_sum")
            writer.repeated(labels: labels)
            writer.value(endpoint.histogram.sum / 1_000)
        }
    }

    private mutating func writeSeries(_ all: [SeriesNumbers]) {
        let latencies = all.filter { $0.kind == .latency }
        add(.newestLatency, of: .series, latencies) { [agents] in
            Self.label($0.source, agents, &$1)
        } _: {
            $1.value($0.value / 1_000)
        }
        let series = all.filter { $0.kind == .data || $0.kind == .count }
        let labels: Write<SeriesNumbers> = { [agents] series, writer in
            Self.label(series.source, agents, &writer)
            let name = series.kind == .count ? series.kind.prefix + series.source : series.source
            writer.label("series", name, key: series.key)
        }
        add(.value, of: .series, series, labels) { $1.value($0.value) }
        add(.age, of: .series, series, labels) { [now] in
            $1.value(microseconds: max(0, (now - $0.time).microseconds))
        }
        add(.state, of: .series, series.filter { $0.word != nil }) { series, writer in
            labels(series, &writer)
            if let word = series.word { writer.label("state", String(decoding: word, as: UTF8.self)) }
        } _: {
            $1.value(1)
        }
    }

    private mutating func writeAlerts(_ counts: [AlertCount], _ alerts: [FiringAlert]) {
        var states: [(count: AlertCount, state: StaticString, number: Int)] = []
        for count in counts {
            states.append((count, "firing", count.firing))
            states.append((count, "pending", count.pending))
        }
        add(.alerts, of: .alerts, states, mayRepeat: true) { state, writer in
            if let agent = state.count.agent { writer.label("agent", agent) }
            writer.label("condition", state.count.condition)
            writer.label("state", own: state.state)
        } _: {
            $1.value($0.number)
        }
        let known = alerts.compactMap { firing in firing.alert.map { (agent: firing.agent, alert: $0) } }
        // Those of two sources may be about the same, whatever their agent says.
        add(.alertStart, of: .alerts, known, mayRepeat: true) { firing, writer in
            if let agent = firing.agent { writer.label("agent", agent) }
            writer.label("condition", firing.alert.condition)
            writer.label("series", firing.alert.about)
        } _: {
            $1.value(microseconds: $0.alert.since.microseconds)
        }
        leftOut[Many.alerts.rawValue] = max(leftOut[Many.alerts.rawValue], alerts.count - known.count)
    }
}
