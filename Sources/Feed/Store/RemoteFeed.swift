package import Reactor

/// A line of another agent, decoded and in its original bytes, without its newline.
package struct RelayedLine: Sendable {
    package var line: Line
    package var bytes: Bytes

    package init(_ line: Line, bytes: Bytes) {
        self.line = line
        self.bytes = bytes
    }
}

/// The next line of a recording.
package enum RecordedLine {
    /// Its bytes are valid only until the next line is read.
    case plain(PlainLine, UnsafeBufferPointer<UInt8>)
    /// Boxed, because it is large and often moved.
    indirect case other(RelayedLine)

    /// Reads a line without its newline.
    ///
    /// - Returns: nil if it is no line of a feed.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let plain = PlainLine(bytes) {
            self = .plain(plain, bytes)
        } else if let line = try? LineDecoder.decode(Bytes(bytes)) {
            self = .other(RelayedLine(line, bytes: Bytes(bytes)))
        } else {
            return nil
        }
    }

    package var time: Timestamp {
        switch self {
        case .plain(let line, _): line.time
        case .other(let relayed): relayed.line.time
        }
    }
}

/// The agent whose feed is relayed: what its lines say of itself, and how they get into the tables, which are the same as
/// for our own feed.
struct RemoteFeed: Sendable {
    private var saysFleet = false
    /// Whether its first `hello` has come.
    private(set) var hasBegun = false
    /// Whether it has sent `bye` since.
    private(set) var hasEnded = false
    /// The sequence number of the newest line that was received, or named in a gap.
    private(set) var lastSequence = 0
    /// The last sequence number included in its `stats`; older lines after it are a replay.
    private(set) var asOf = 0
    /// The number of further endpoints and sources that did not fit in its `stats`.
    private(set) var moreEndpoints = 0
    private(set) var moreSources = 0
    /// The number below which kept lines may come: the first of the connection's numbered lines; 0 once those come.
    private var keptEnd = 0
    /// The number of the last kept line that was received, and of the last one that its `hello` announced.
    private var lastKept = 0
    private var keptSequence = 0
    /// Its counts, as far as its newest `agent` line gives them.
    private(set) var counts: StoreCounts?
    /// The agents of its fleet, if it is a hub.
    private(set) var agents: ShownAgents
    /// Whether any line named an agent of a fleet.
    private var hasAgents = false
    /// The agent's time by rule 3 of `Board`, and the arrival of its newest line.
    private(set) var clock: Timestamp?
    private var heard: LoopInstant?
    /// Whether the connection to it is open.
    var isConnected: Bool
    /// The source, series and endpoint of plain lines, by their names.
    private var names = PlainNames<PlainMeaning>()
    /// How many series were removed when they were learnt: indices are reused.
    private var removals = 0

    /// - Parameters:
    ///   - mostAgents: the most agents to track, if it is a hub.
    ///   - old: its run before this one.
    init(mostAgents: Int, after old: RemoteFeed? = nil) {
        agents = ShownAgents(limit: mostAgents)
        (isConnected, heard) = (old?.isConnected ?? false, old?.heard)
    }

    /// Records that lines arrived.
    mutating func hear(at now: LoopInstant) { heard = now }

    /// From its `hello`, or from its lines: a recorded excerpt may have no `hello`.
    var isFleet: Bool { saysFleet || hasAgents }

    /// The agent's time now: that of its newest line, plus the time elapsed since.
    func time(at now: LoopInstant) -> Timestamp? {
        guard let clock, let heard else { return nil }
        return clock + heard.duration(to: now)
    }

    /// Whether it has sent the kept lines that were there when it greeted.
    var hasSentKept: Bool { keptEnd == 0 || max(lastKept, lastSequence) >= keptSequence }

    // MARK: Lines

    /// Applies a line about the connection or the agent, which has no sequence number.
    ///
    /// - Returns: whether the descriptions of the agent's sources have changed.
    mutating func apply(_ line: Line, to tables: inout FeedTables) -> Bool {
        let (last, before) = (lastSequence, clock)
        if line.seq == nil { advance(to: line.time, onlyForward: false) }
        switch line.body {
        case .hello(let hello):
            // The limits of our own settings: what is late, and what is kept, goes by these.
            tables.interval = min(max(hello.interval, .seconds(1)), .seconds(3_600))
            (tables.history, saysFleet) = (hello.history, hello.isFleet)
            (hasBegun, hasEnded, keptEnd) = (true, false, hello.firstSeq)
            keptSequence = hello.keptSeq ?? 0
        case .stats(let stats) where stats.asOf >= last:
            // Endpoints have other indices then.
            names.removeAll()
            let (isNews, refused) = tables.list(stats, at: line.time, clock: before)
            (asOf, moreEndpoints) = (stats.asOf, stats.moreEndpoints)
            moreSources = stats.moreSources.addingSaturated(refused)
            return isNews
        case .gap(let gap):
            lastSequence = max(lastSequence, gap.to)
            skip(through: gap.to, in: &tables)
        case .bye: hasEnded = true
        default: break
        }
        return false
    }

    /// Skips sequence numbers that the agent has no lines for.
    func skip(through sequence: Int, in tables: inout FeedTables) {
        if sequence >= tables.log.nextSequence, sequence < .max { tables.log.skip(to: sequence + 1) }
    }

    /// Adds a line unchanged, or without parts that some readers could not read, unless it is here already.
    ///
    /// - Parameter plain: the line as a plain one, if it is one.
    mutating func relay(_ new: RelayedLine, plain: PlainLine? = nil, to tables: inout FeedTables, at now: LoopInstant) {
        let line = new.line
        guard let sequence = line.seq, sequence >= tables.log.nextSequence, sequence < .max else { return }
        guard let bytes = line.flaws.isEmpty ? new.bytes : LineMending.mended(new) else {
            return skip(through: sequence, in: &tables)
        }
        (lastSequence, keptEnd) = (sequence, 0)
        let isEvent = if case .data = line.body { true } else { false }
        advance(to: line.time, onlyForward: isEvent || line.agent != nil)
        if let agent = line.agent {
            hasAgents = true
            agents.apply(line, of: agent, at: clock ?? line.time)
        }
        let meaning = apply(line, sequence, to: &tables)
        bytes.withUnsafeBufferPointer { bytes in
            if let plain, let meaning {
                names.learn(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[plain.names])), meaning)
            }
            append(bytes, sequence, to: &tables.log, now)
        }
    }

    /// Receives a kept line of the run: a line of the log, between gaps for the others, if it was missed while the
    /// connection was away.
    ///
    /// - Returns: whether it is to be kept instead.
    mutating func receive(_ kept: Line.Kept, _ sequence: Int, to tables: inout FeedTables, at now: LoopInstant) -> Bool
    {
        let end = keptEnd
        guard sequence < end else { return false }
        lastKept = sequence
        guard sequence >= tables.log.nextSequence else { return true }
        relay(RelayedLine(kept.line, bytes: kept.bytes), to: &tables, at: now)
        keptEnd = end
        return false
    }

    /// Moves the agent's time to that of a line. An event's own time only moves it forward.
    @inline(__always)
    private mutating func advance(to time: Timestamp, onlyForward: Bool) {
        clock = onlyForward ? max(clock ?? time, time) : time
    }

    /// Applies a numbered line.
    ///
    /// - Returns: the meaning of its names, for plain lines with the same names.
    private mutating func apply(_ line: Line, _ sequence: Int, to tables: inout FeedTables) -> PlainMeaning? {
        let time = line.time
        let isCounted = sequence > asOf
        switch line.body {
        case .data(let data):
            tables.counts.data += 1
            if data.valuePointer != nil { (tables.newestReport, tables.newestPointer) = (sequence, sequence) }
            guard let source = tables.remoteSource(line.source, at: time) else { return nil }
            var meaning = PlainMeaning(source: source)
            // A name that does not start with its source's is from no agent.
            let name = SeriesName(data.series, of: tables.sources.name(of: source.index))
            let index = tables.seriesIndex(source, data.value == nil ? .text : .data, name)
            if data.value == nil { meaning.text = index } else { meaning.series = index }
            meaning.isRefused = index == nil
            if let index, let word = data.word {
                _ = tables.series.follow(Array(word.utf8), in: index, at: time, since: data.since)
            }
            apply(data.value, .data, meaning, time, sequence, to: &tables, hasWord: data.word != nil)
            if isCounted, let pointer = data.valuePointer { tables.sources.setValuePointer(pointer, of: source) }
            return meaning
        case .latency(let sample):
            tables.newestAnswer = sequence
            guard let source = tables.remoteSource(line.source, at: time) else { return nil }
            let endpoint = LineEncoder.cut(sample.endpoint)
            tables.updateEndpoint(endpoint, of: source) { _ in }
            let index = tables.seriesIndex(source, .latency, .own)
            let meaning = PlainMeaning(
                source: source, series: index, endpoint: tables.endpointTable.index(of: endpoint, source: source.index),
                isConfirmation: sample.status == 304, isRefused: index == nil)
            apply(sample.ms, .latency, meaning, time, sequence, to: &tables)
            return meaning
        case .error(let failure):
            tables.newestReport = sequence
            guard let source = tables.remoteSource(line.source, at: time) else { return nil }
            if isCounted, let endpoint = failure.endpoint {
                tables.updateEndpoint(LineEncoder.cut(endpoint), of: source) { $0.recordErrors() }
            }
            if tables.sources.isNews(sequence, of: source) {
                tables.sources.fail(source, by: SourceFailure(failure, at: time), at: time)
            }
        case .progress(let progress):
            tables.newestReport = sequence
            guard let source = tables.remoteSource(line.source, at: time) else { return nil }
            confirm(source, at: time, sequence, in: &tables)
            for key in progress.gone { tables.markGone(key, of: source, by: sequence) }
            if let items = progress.items { record(Double(items), .count, of: source, at: time, sequence, to: &tables) }
        case .recovered:
            tables.newestReport = sequence
            guard let source = tables.remoteSource(line.source, at: time), tables.sources.isNews(sequence, of: source)
            else { break }
            tables.sources.setState(.ok, of: source, time)
            tables.sources.hear(from: source, at: clock ?? time)
        case .memory(let sample):
            // It adds no source.
            if line.agent == nil { tables.memory = sample }
            guard let source = line.source.flatMap({ tables.sources.source(named: $0) }) else { return nil }
            record(Double(sample.resident), .memory, of: source, at: time, sequence, to: &tables)
            if tables.sources.state(of: source) == .starting {
                tables.sources.setState(.ok, of: source, time)
                tables.sources.hear(from: source, at: clock ?? time)
            }
        case .alert(let alert):
            guard let source = tables.remoteSource(line.source, at: time) else { return nil }
            tables.mark(alert, of: source, agent: line.forwardingAgent, by: sequence)
        case .agent(let said):
            guard line.agent == nil else { break }
            var counts = StoreCounts()
            (counts.data, counts.readers, counts.gaps, counts.late) = (said.events, said.readers, said.gaps, said.late)
            (counts.series, counts.refusedSeries, counts.refusedEndpoints) =
                (said.series, said.refusedSeries, said.refusedEndpoints)
            self.counts = counts
            tables.agent = AgentSample(loopLag: said.loopLag, cpu: said.cpu)
        default: break  // says nothing of a source of the agent's
        }
        return nil
    }

    /// Adds a plain line whose names are known; false when it needs decoding.
    @inline(__always)
    mutating func relay(
        _ line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>, to tables: inout FeedTables, at now: LoopInstant
    ) -> Bool {
        guard line.sequence >= tables.log.nextSequence else { return true }
        if line.kind == .window {
            advance(to: line.time, onlyForward: false)
        } else {
            let names = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[line.names]))
            if tables.series.removals != removals {
                removals = tables.series.removals
                self.names.removeAll()
            }
            guard let meaning = self.names.meaning(of: names),
                (line.value == nil ? meaning.text : meaning.series) != nil || meaning.isRefused
            else { return false }
            advance(to: line.time, onlyForward: line.kind == .data)
            if line.kind == .data { tables.counts.data += 1 } else { tables.newestAnswer = line.sequence }
            apply(line.value, line.kind, meaning, line.time, line.sequence, to: &tables)
        }
        (lastSequence, keptEnd) = (line.sequence, 0)
        append(bytes, line.sequence, to: &tables.log, now)
        return true
    }

    /// Applies an event or an answer.
    @inline(__always)
    private mutating func apply(
        _ value: Double?, _ kind: PlainLine.Kind, _ meaning: PlainMeaning, _ time: Timestamp, _ sequence: Int,
        to tables: inout FeedTables, hasWord: Bool = false
    ) {
        if let index = value == nil ? meaning.text : meaning.series {
            if let value {
                record(value, in: index, at: time, sequence, to: &tables)
            } else {
                tables.series.mark(index, sequence)
            }
            if !hasWord, tables.series[index].hasWords {
                _ = tables.series.follow(nil, in: index, at: time, since: nil)
            }
            tables.log.kept.mark(index, sequence: sequence)
        }
        if let value, let index = meaning.endpoint, sequence > asOf { tables.endpointTable.record(value, at: index) }
        // A data line may have its event's time: the latency line behind it has the answer's.
        if tables.sources.isAnswer(kind, of: meaning.source) || meaning.isConfirmation {
            confirm(meaning.source, at: time, sequence, in: &tables)
        }
    }

    /// Records a source's success.
    @inline(__always)
    private func confirm(_ source: SourceID, at time: Timestamp, _ sequence: Int, in tables: inout FeedTables) {
        guard tables.sources.isNews(sequence, of: source) else { return }
        tables.sources.setState(.ok, of: source, time)
        tables.sources.hear(from: source, at: clock ?? time, answered: clock ?? time)
    }

    /// Records a value of a series whose windows arrive as lines.
    @inline(__always)
    func record(_ value: Double, in index: Int, at time: Timestamp, _ sequence: Int, to tables: inout FeedTables) {
        let clock = clock ?? time
        if case .full = tables.series.record(value, in: index, at: time, sequence: sequence, now: clock) {
            tables.series[index].ring.flush(now: clock) { _ in }
            _ = tables.series.record(value, in: index, at: time, sequence: sequence, now: clock)
        }
    }

    /// Records the value of a line in the source's own series of a kind.
    private func record(
        _ value: Double, _ kind: SeriesKind, of source: SourceID, at time: Timestamp, _ sequence: Int,
        to tables: inout FeedTables
    ) {
        guard let index = tables.seriesIndex(source, kind, .own) else { return }
        record(value, in: index, at: time, sequence, to: &tables)
        tables.log.kept.mark(index, sequence: sequence)
    }

    @inline(__always)
    private func append(
        _ line: UnsafeBufferPointer<UInt8>, _ sequence: Int, to log: inout LineLog, _ now: LoopInstant
    ) {
        if sequence > log.nextSequence { log.skip(to: sequence) }
        log.append(atMost: line.count + 1, at: now) { _, start in
            var writer = start
            writer.raw(line)
            writer.byte(UInt8(ascii: "\n"))
            return writer
        }
    }

    /// The metrics of the agents of a relayed fleet.
    func members(at time: Timestamp?) -> [MemberNumbers] {
        agents.agents.map { agent in
            MemberNumbers(
                name: agent.name, isLive: agent.state == MemberState.Standing.live.rawValue,
                age: agent.heard.flatMap { heard in time.map { max(.zero, $0 - heard) } }, lost: agent.lost)
        }
    }
}

/// What the names in a plain line mean: the series and the endpoint that such lines are about.
struct PlainMeaning: Sendable {
    var source: SourceID
    /// Nil when there is none yet, or it was refused.
    var series: Int?
    /// The series of lines without a value; nil likewise.
    var text: Int?
    /// The endpoint's index in a latency line; nil likewise.
    var endpoint: Int?
    /// Whether it is a latency line with the status that nothing has changed.
    var isConfirmation = false
    /// Whether there is no room for the series.
    var isRefused = false
}
