internal import Reactor

/// A line of another agent, decoded and as it came, without its newline.
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
    /// Its bytes are lent until the next one is asked for.
    case plain(PlainLine, UnsafeBufferPointer<UInt8>)
    /// In memory of its own: it is moved often, and long.
    indirect case other(RelayedLine)
}

/// The agent whose feed is passed on: what its lines say of itself. What they say of sources, series and endpoints is in the
/// same tables as our own.
struct RemoteFeed: Sendable {
    private(set) var run = ""
    /// The width of a window, and how far back lines are kept, as its `hello` says.
    private(set) var interval: Duration?
    private(set) var history: Duration?
    private var saysFleet = false
    /// Whether its first `hello` has come.
    private(set) var hasBegun = false
    /// Whether it has said `bye` since.
    private(set) var hasEnded = false
    /// The number of the newest line that is here, or named in a gap.
    var lastSequence = 0
    /// The number of the last line that its `stats` count; older ones that come behind these are a replay.
    private(set) var asOf = 0
    /// How many further endpoints and sources its `stats` had no room for.
    private(set) var moreEndpoints = 0
    private(set) var moreSources = 0
    /// Its newest `agent` line.
    private(set) var agent: Line.Agent?
    /// The agents of the fleet that it is.
    private(set) var agents: ShownAgents
    /// Whether any line said which agent of a fleet it came from.
    private var hasAgents = false
    /// The agent's time, as rule 3 of `Board` has it, and when its newest line came.
    var clock: Timestamp?
    var heard: LoopInstant?
    /// Whether its lines come.
    var isConnected = false
    /// Which source, series and endpoint plain lines are of.
    var names = PlainNames()

    /// - Parameter mostAgents: of how many agents it tells, if it is a fleet.
    init(mostAgents: Int) { agents = ShownAgents(limit: mostAgents) }

    /// Its greeting says so; what was kept of a fleet's lines may have none.
    var isFleet: Bool { saysFleet || hasAgents }

    /// The agent's time now: that of its newest line, and what has passed since.
    func time(at now: LoopInstant) -> Timestamp? {
        guard let clock, let heard else { return nil }
        return clock + heard.duration(to: now)
    }

    /// Applies what a line says of the agent itself.
    mutating func apply(_ line: Line) {
        if line.agent != nil { hasAgents = true }
        switch line.body {
        case .hello(let hello):
            (run, interval, history, saysFleet) = (hello.run, hello.interval, hello.history, hello.isFleet)
            (hasBegun, hasEnded) = (true, false)
        case .stats(let stats) where stats.asOf >= lastSequence:
            (asOf, moreEndpoints, moreSources) = (stats.asOf, stats.moreEndpoints, stats.moreSources)
            names.removeAll()
        case .agent(let agent) where line.agent == nil: self.agent = agent
        case .gap(let gap): lastSequence = max(lastSequence, gap.to)
        case .bye: hasEnded = true
        default: break
        }
        if let sequence = line.seq { lastSequence = sequence }
        let isEvent = if case .data = line.body { true } else { false }
        advance(to: line.time, onlyForward: line.seq != nil && (isEvent || line.agent != nil))
        if let agent = line.agent { agents.apply(line, of: agent, at: clock ?? line.time) }
    }

    /// Moves the agent's time to that of a line. An event's own time moves it forward only.
    @inline(__always)
    mutating func advance(to time: Timestamp, onlyForward: Bool) {
        clock = onlyForward ? max(clock ?? time, time) : time
    }

    /// What it has counted, as far as its newest `agent` line tells.
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

    /// The agent of its fleet at an index; nil behind the last one.
    func member(_ index: Int, at time: Timestamp?) -> MemberNumbers? {
        guard index < agents.agents.count else { return nil }
        let agent = agents.agents[index]
        return MemberNumbers(
            name: agent.name, isLive: agent.state == MemberState.Standing.live.rawValue,
            age: agent.heard.flatMap { heard in time.map { max(.zero, $0 - heard) } }, lost: agent.lost)
    }
}

/// What the names in plain lines mean, so that a line with the same names as one before it need not be decoded.
struct PlainNames: Sendable {
    struct Meaning: Sendable {
        var source: SourceID
        /// Nil where there is none yet, or no room for one.
        var series: Int?
        /// The same, of an answer.
        var endpoint: Int?
        /// Whether it is an answer that says that nothing has changed.
        var isConfirmation = false
    }

    /// How many names are known, and how long each may be in bytes: lines with others are decoded one by one.
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
            // A collision leaves the names that were there first.
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
