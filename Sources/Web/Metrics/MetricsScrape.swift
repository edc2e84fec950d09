internal import Feed
internal import HTTPServer
internal import Reactor

/// One scrape in progress: family after family, each from the store's state when it begins, piece by piece.
///
/// It holds one piece, the numbers of one family, and a number for each name that may be ambiguous.
final class MetricsScrape: @unchecked Sendable {  // used on the store's loop only
    /// The parts of the answer, in order.
    private enum Part: CaseIterable {
        case agent, agentUp, agentAge, agentLost, agentRepeated, up, ready, polls, errors, latency, newestLatency,
            value, age, leftOut
    }

    /// The kinds of items with a limit.
    private enum Many: Int, CaseIterable {
        case sources, endpoints, series, agents

        var word: StaticString {
            switch self {
            case .sources: "sources"
            case .endpoints: "endpoints"
            case .series: "series"
            case .agents: "agents"
            }
        }
    }

    private enum Value {
        case whole(Int)
        case number(Double)
        case time(microseconds: Int64)
    }

    /// Writes the next samples of a family; returns false after its last ones.
    private typealias Samples = (inout MetricsWriter) -> Bool

    private let store: EventStore
    private let format: MetricsFormat
    /// The most sources, endpoints, series and agents, each.
    private let limit: Int
    private let run: String
    private var parts = Part.allCases[...]
    /// The rest of the current part; nil between two parts.
    private var samples: Samples?
    private var leftOut = [Int](repeating: 0, count: Many.allCases.count)
    /// The written piece; the part from `offset` on is not sent yet.
    private var piece: [UInt8] = []
    private var offset = 0

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
        run = store.assumeIsolated { $0.identity.run }
    }

    /// Copies the next bytes of the answer.
    func next(into buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Step {
        // A part may come to nothing.
        while offset == piece.count {
            guard samples != nil || !parts.isEmpty else { return .end }
            // Must not mix two runs; the reader notices that the answer is incomplete.
            guard store.assumeIsolated({ $0.identity.run }) == run else { return .broken(byReset: false) }
            fill()
            offset = 0
        }
        let count = min(buffer.count, piece.count - offset)
        buffer.copyBytes(from: piece[offset..<offset + count])
        offset += count
        return .bytes(count)
    }

    private func fill() {
        piece = LineWriter.bytes(atMost: Self.mostPiece + Self.mostAtOnce) { line in
            let full = line.next + Self.mostPiece
            var writer = MetricsWriter(line, format)
            while writer.line.next < full {
                if samples == nil { samples = parts.popFirst().map { begin($0) } }
                guard let samples else { break }
                if !samples(&writer) { self.samples = nil }
            }
            line = writer.line
        }
    }

    private func begin(_ part: Part) -> Samples {
        switch part {
        case .agent: agent(store.assumeIsolated { $0.numbers })
        case .agentUp: members(.agentUp) { .whole($0.isLive ? 1 : 0) }
        case .agentAge: members(.agentAge) { $0.age.map { .time(microseconds: $0.microseconds) } }
        case .agentLost: members(.agentLost) { .whole($0.lost) }
        case .agentRepeated: members(.agentRepeated) { $0.repeated.map { .whole($0) } }
        case .up: sources(.up) { $0.state == .ok }
        case .ready: sources(.ready) { $0.timeliness.isGood }
        case .polls: codes(.polls, \.answers)
        case .errors: codes(.errors, \.errors)
        case .latency: latencies
        case .newestLatency: newestLatencies
        case .value: series(.value) { series, writer in writer.value(series.value) }
        case .age:
            series(.age) { [now = store.assumeIsolated { $0.feedTime }] series, writer in
                writer.value(microseconds: max(0, (now - series.time).microseconds))
            }
        case .leftOut: theRest
        }
    }

    /// The samples of a family that has some for each item, up to the limit.
    ///
    /// - Parameters:
    ///   - suffix: of the first sample's name; nil for that of the family's kind.
    ///   - isOptional: whether the family has no head without samples.
    ///   - labels: begins the item's first sample. Of items whose labels are equal here, the first one is written.
    ///   - values: completes it, and writes the item's other samples.
    private func family<Item>(
        _ family: MetricFamily, _ many: Many, _ items: [Item], suffix: StaticString? = nil,
        isOptional: Bool = false,
        labels: @escaping (Item, inout MetricsWriter) -> Void,
        values: @escaping (Item, inout MetricsWriter) -> Void
    ) -> Samples {
        var rest = items[...]
        var written = 0
        var names: Set<Int> = []
        var hasHead = isOptional && (items.isEmpty || limit == 0)
        return { [unowned self] writer in
            if !hasHead { writer.head(family) }
            hasHead = true
            guard written < limit, let item = rest.popFirst() else {
                leftOut[many.rawValue] = max(leftOut[many.rawValue], items.count - written)
                return false
            }
            let start = writer
            writer.begin(family, suffix)
            labels(item, &writer)
            if writer.isAmbiguous {
                var hasher = Hasher()
                hasher.combine(bytes: UnsafeRawBufferPointer(writer.written))
                guard names.insert(hasher.finalize()).inserted else {
                    writer = start
                    return true
                }
            }
            written += 1
            values(item, &writer)
            return true
        }
    }

    // MARK: The agent

    private static func values(of numbers: AgentNumbers) -> [(family: MetricFamily, value: Value)] {
        var values: [(family: MetricFamily, value: Value)] = []
        func add(_ family: MetricFamily, _ value: Value?) { if let value { values.append((family, value)) } }
        let attachment = numbers.attachment
        let isKnown = attachment == nil || attachment?.silence != nil
        if isKnown {
            add(.start, .time(microseconds: numbers.identity.started.microseconds))
            add(.window, .time(microseconds: numbers.interval.microseconds))
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

    private func agent(_ numbers: AgentNumbers) -> Samples {
        var values = Self.values(of: numbers)[...]
        var hasBegun = false
        return { writer in
            if !hasBegun {
                writer.head(.build)
                writer.begin(.build)
                writer.label("version", numbers.identity.version)
                writer.value(1)
            } else if let (family, value) = values.popFirst() {
                writer.head(family)
                writer.begin(family)
                Self.write(value, &writer)
            }
            hasBegun = true
            return !values.isEmpty
        }
    }

    private static func write(_ value: Value, _ writer: inout MetricsWriter) {
        switch value {
        case .whole(let value): writer.value(value)
        case .number(let value): writer.value(value)
        case .time(let microseconds): writer.value(microseconds: microseconds)
        }
    }

    // MARK: Agents of a fleet

    private func members(_ family: MetricFamily, _ value: (MemberNumbers) -> Value?) -> Samples {
        let members = store.assumeIsolated { $0.memberNumbers }
            .compactMap { member in value(member).map { (member.name, $0) } }
        return self.family(family, .agents, members, isOptional: true) { member, writer in
            writer.label("agent", member.0)
        } values: { member, writer in
            Self.write(member.1, &writer)
        }
    }

    /// Writes the labels of a source, its agent's first.
    private func label(_ source: String, _ writer: inout MetricsWriter) {
        if let agent = store.assumeIsolated({ $0.agent(ofSource: source) }) { writer.label("agent", agent) }
        writer.label("source", source)
    }

    // MARK: Sources and endpoints

    private func sources(_ family: MetricFamily, _ isSo: @escaping (SourceNumbers) -> Bool) -> Samples {
        // The agent itself is not a watched source.
        let sources = store.assumeIsolated { $0.sourceNumbers }
            .filter { $0.isListed && $0.name != EventStore.ownName }
        return self.family(family, .sources, sources) { [unowned self] source, writer in
            label(source.name, &writer)
        } values: { source, writer in
            writer.value(isSo(source) ? 1 : 0)
        }
    }

    private func codes(_ family: MetricFamily, _ tally: KeyPath<SourceNumbers, CodeTally>) -> Samples {
        // An attached feed's lines do not have these.
        if store.isRelay { return { _ in false } }
        let sources = store.assumeIsolated { $0.sourceNumbers }.filter { !$0[keyPath: tally].entries.isEmpty }
        return self.family(family, .sources, sources) { [unowned self] source, writer in
            label(source.name, &writer)
        } values: { source, writer in
            let labels = writer.written
            for (index, entry) in source[keyPath: tally].entries.enumerated() {
                if index > 0 { writer.begin(family, repeating: labels) }
                writer.label("code", entry.code)
                writer.value(entry.count)
            }
        }
    }

    private var latencies: Samples {
        // An attached feed has percentiles only.
        if store.isRelay { return { _ in false } }
        let endpoints = store.assumeIsolated { $0.endpoints }
        return family(.latency, .endpoints, endpoints, suffix: "_bucket") { [unowned self] endpoint, writer in
            label(endpoint.source, &writer)
            writer.label("endpoint", endpoint.endpoint)
        } values: { endpoint, writer in
            let labels = writer.written
            var bound = 0
            endpoint.histogram.count(atMost: Self.bounds) { count in
                if bound > 0 { writer.begin(.latency, "_bucket", repeating: labels) }
                writer.label("le", own: Self.boundLabels[bound])
                writer.value(count)
                bound += 1
            }
            writer.begin(.latency, "_bucket", repeating: labels)
            writer.label("le", own: "+Inf")
            writer.value(endpoint.histogram.count)
            writer.begin(.latency, "_count", repeating: labels)
            writer.value(endpoint.histogram.count)
            writer.begin(.latency, "_sum", repeating: labels)
            writer.value(endpoint.histogram.sum / 1_000)
        }
    }

    // MARK: Series

    private var newestLatencies: Samples {
        let latencies = store.assumeIsolated { $0.seriesNumbers }.filter { $0.kind == .latency }
        return family(.newestLatency, .sources, latencies) { [unowned self] series, writer in
            label(series.source, &writer)
        } values: { series, writer in
            writer.value(series.value / 1_000)
        }
    }

    private func series(
        _ family: MetricFamily, _ write: @escaping (SeriesNumbers, inout MetricsWriter) -> Void
    ) -> Samples {
        let series = store.assumeIsolated { $0.seriesNumbers }.filter { $0.kind == .data }
        return self.family(family, .series, series) { [unowned self] series, writer in
            label(series.source, &writer)
            writer.label("series", series.name, key: series.key)
        } values: { series, writer in
            write(series, &writer)
        }
    }

    // MARK: The end

    private var theRest: Samples {
        { [leftOut] writer in
            writer.head(.leftOut)
            for many in Many.allCases {
                writer.begin(.leftOut)
                writer.label("of", own: many.word)
                writer.value(leftOut[many.rawValue])
            }
            writer.end()
            return false
        }
    }
}
