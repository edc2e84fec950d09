internal import Reactor

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
}

/// The state of the agent whose feed is relayed, from its lines about itself. Its sources, series and endpoints are in
/// the same tables as our own.
struct RemoteFeed: Sendable {
    /// The width of a window, and the period for which lines are kept, from its `hello`.
    private(set) var interval: Duration?
    private(set) var history: Duration?
    private var saysFleet = false
    /// Whether its first `hello` has come.
    private(set) var hasBegun = false
    /// Whether it has sent `bye` since.
    private(set) var hasEnded = false
    /// The sequence number of the newest line that was received, or named in a gap.
    var lastSequence = 0
    /// The last sequence number included in its `stats`; older lines after it are a replay.
    private(set) var asOf = 0
    /// The number of further endpoints and sources that did not fit in its `stats`.
    private(set) var moreEndpoints = 0
    private(set) var moreSources = 0
    /// The number below which kept lines may come: the first of the connection's numbered lines; 0 once those come.
    var keptEnd = 0
    /// The number of the last kept line that was received, and of the last one that its `hello` announced.
    var lastKept = 0
    private var keptSequence = 0
    /// Its newest `agent` line.
    private(set) var agent: Line.Agent?
    /// The agents of its fleet, if it is a hub.
    private(set) var agents: ShownAgents
    /// Whether any line named an agent of a fleet.
    private var hasAgents = false
    /// The agent's time by rule 3 of `Board`, and the arrival of its newest line.
    var clock: Timestamp?
    var heard: LoopInstant?
    /// Whether the connection to it is open.
    var isConnected = false
    /// The source, series and endpoint of plain lines, by their names.
    var names = PlainNames()

    /// - Parameter mostAgents: the most agents to track, if it is a hub.
    init(mostAgents: Int) { agents = ShownAgents(limit: mostAgents) }

    /// From its `hello`, or from its lines: a recorded excerpt may have no `hello`.
    var isFleet: Bool { saysFleet || hasAgents }

    /// The agent's time now: that of its newest line, plus the time elapsed since.
    func time(at now: LoopInstant) -> Timestamp? {
        guard let clock, let heard else { return nil }
        return clock + heard.duration(to: now)
    }

    /// Whether it has sent the kept lines that were there when it greeted.
    var hasSentKept: Bool { keptEnd == 0 || max(lastKept, lastSequence) >= keptSequence }

    /// Applies a line's statements about the agent itself.
    mutating func apply(_ line: Line) {
        switch line.body {
        case .hello(let hello):
            // The limits of our own settings: what is late, and what is kept, goes by these.
            interval = min(max(hello.interval, .seconds(1)), .seconds(3_600))
            (history, saysFleet) = (hello.history, hello.isFleet)
            (hasBegun, hasEnded, keptEnd) = (true, false, hello.firstSeq)
            keptSequence = hello.keptSeq ?? 0
        case .agent(let agent) where line.agent == nil: self.agent = agent
        case .gap(let gap): lastSequence = max(lastSequence, gap.to)
        case .bye: hasEnded = true
        default: break
        }
        guard line.seq == nil else { return }
        advance(to: line.time, onlyForward: false)
    }

    /// Takes over the counts of `stats` that are no older than the lines here. Endpoints have other indices then.
    ///
    /// - Parameter refused: the number of its sources that there is no room for here.
    mutating func rebase(on stats: Line.Stats, refused: Int) {
        (asOf, moreEndpoints) = (stats.asOf, stats.moreEndpoints)
        moreSources = stats.moreSources.addingSaturated(refused)
        names.removeAll()
    }

    /// Applies a numbered line.
    mutating func apply(_ line: Line, sequence: Int) {
        (lastSequence, keptEnd) = (sequence, 0)
        let isEvent = if case .data = line.body { true } else { false }
        advance(to: line.time, onlyForward: isEvent || line.agent != nil)
        apply(line)
        guard let agent = line.agent else { return }
        hasAgents = true
        agents.apply(line, of: agent, at: clock ?? line.time)
    }

    /// Moves the agent's time to that of a line. An event's own time only moves it forward.
    @inline(__always)
    mutating func advance(to time: Timestamp, onlyForward: Bool) {
        clock = onlyForward ? max(clock ?? time, time) : time
    }

    /// Its counts, as far as its newest `agent` line gives them.
    var counts: StoreCounts? {
        agent.map { agent in
            var counts = StoreCounts()
            (counts.data, counts.readers, counts.gaps, counts.late) =
                (agent.events, agent.readers, agent.gaps, agent.late)
            (counts.series, counts.refusedSeries, counts.refusedEndpoints) =
                (agent.series, agent.refusedSeries, agent.refusedEndpoints)
            return counts
        }
    }

    /// The agent of its fleet at an index; nil after the last one.
    func member(_ index: Int, at time: Timestamp?) -> MemberNumbers? {
        guard index < agents.agents.count else { return nil }
        let agent = agents.agents[index]
        return MemberNumbers(
            name: agent.name, isLive: agent.state == MemberState.Standing.live.rawValue,
            age: agent.heard.flatMap { heard in time.map { max(.zero, $0 - heard) } }, lost: agent.lost)
    }
}

/// Maps the names in plain lines to their meaning, so that lines with known names need no decoding.
struct PlainNames: Sendable {
    struct Meaning: Sendable {
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

    // Bound: series and endpoints whose lines are relayed without decoding | 4,096, with names of 1 KiB each | lines of
    //   others are decoded one by one
    private static let most = 4_096
    private static let longest = 1_024

    private var entries: [(names: [UInt8], meaning: Meaning)] = []
    private var indices: [UInt64: Int] = [:]
    private var newest = -1
    private let hash = KeyHash(seed: (.random(in: 0...(.max)), .random(in: 0...(.max))))

    @inline(__always)
    mutating func meaning(of names: UnsafeRawBufferPointer) -> Meaning? {
        if newest >= 0, isEntry(newest, named: names) { return entries[newest].meaning }
        guard names.count <= Self.longest, let index = indices[hash(names, source: 0)], isEntry(index, named: names)
        else { return nil }
        newest = index
        return entries[index].meaning
    }

    @inline(__always)
    private func isEntry(_ index: Int, named names: UnsafeRawBufferPointer) -> Bool {
        guard entries[index].names.count == names.count else { return false }
        return entries[index].names.withUnsafeBytes { KeyHash.areEqual($0, names) }
    }

    mutating func learn(_ names: UnsafeRawBufferPointer, _ meaning: Meaning) {
        guard names.count <= Self.longest else { return }
        let key = hash(names, source: 0)
        if let index = indices[key] {
            // On a collision, the earlier names stay.
            if isEntry(index, named: names) { entries[index].meaning = meaning }
            return
        }
        guard entries.count < Self.most else { return }
        indices[key] = entries.count
        entries.append((Array(names), meaning))
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        indices.removeAll(keepingCapacity: true)
        newest = -1
    }
}
