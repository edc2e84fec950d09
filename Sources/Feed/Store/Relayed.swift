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

/// What is known of the agent whose lines are passed on.
struct Relayed: Sendable {
    /// The fold of its lines, for the `stats` of those who attach here in turn.
    private var board: Board
    /// Lines that are not in it yet.
    private var tally = PlainTally()
    /// How many times the board's endpoints may have got other places.
    private var endpointLists = 0
    /// Whether its first `hello` has come.
    private(set) var hasBegun = false
    /// Whether it has said `bye` since.
    private(set) var hasEnded = false
    /// Whether any line said which agent of a fleet it came from.
    private var hasMembers = false
    /// Whether its lines come.
    var isConnected = false
    /// When the newest came.
    var heard: LoopInstant?

    /// - Parameter series: how many there may be.
    init(series: Int) { board = Board(limits: Board.Limits(series: series)) }

    /// Takes a line in.
    mutating func apply(_ line: Line) {
        if line.agent != nil { hasMembers = true }
        if tally.add(line) { return }
        settle()
        switch line.body {
        case .hello:
            (hasBegun, hasEnded) = (true, false)
            endpointLists += 1
        case .stats: endpointLists += 1
        case .bye: hasEnded = true
        default: break
        }
        board.apply(line)
    }

    /// Which series a plain line is of, if that matters; nil when the line has to be decoded.
    @inline(__always)
    mutating func place(of line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        tally.place(of: line, bytes)
    }

    /// Takes a plain line in whose place is known.
    @inline(__always)
    mutating func apply(_ line: PlainLine, at place: Int) {
        if line.kind == .latency, let milliseconds = line.value {
            // All of them count, so they are not kept back.
            let endpoint =
                tally.endpoint(at: place, in: endpointLists)
                ?? tally.findEndpoint(at: place, in: endpointLists) { board.endpoint($0, of: $1) }
            if let endpoint { board.time(milliseconds, at: endpoint, sequence: line.sequence) }
        }
        tally.add(line, at: place, clock: board.clock)
    }

    /// Gets to know a plain line's series.
    mutating func learn(_ line: PlainLine, _ bytes: UnsafeBufferPointer<UInt8>, _ decoded: Line) {
        tally.learn(line, bytes, decoded)
    }

    /// Tells the board of all lines; to be called before anything is asked that they change.
    mutating func settle() {
        if !tally.isEmpty { tally.settle(into: &board) }
    }

    var interval: Duration? { board.hello?.interval }
    var history: Duration? { board.hello?.history }

    /// Its greeting says so; what was kept of a fleet's lines may have none.
    var isFleet: Bool { board.hello?.isFleet == true || hasMembers }
    var moreEndpoints: Int { board.moreEndpoints }
    var moreSources: Int { board.moreSources }

    /// The number of the line that its own statistics counted up to; those of its lines that are older come as a replay.
    var asOf: Int { board.statsAsOf }

    var endpoints: [EndpointStatistics] {
        board.endpoints.map { EndpointStatistics(endpoint: $0.name, source: $0.source, histogram: $0.histogram) }
    }

    var sources: [SourceStatus] {
        board.sources.filter(\.isListed).map {
            SourceStatus(
                source: $0.name, state: $0.state, since: $0.since, type: $0.type, unit: $0.unit, bands: $0.bands,
                valuePointer: $0.valuePointer, takesN: $0.takesN, rhythm: $0.rhythm)
        }
    }

    /// How its feed comes here.
    ///
    /// - Parameter time: the agent's time now, if it is known.
    func attachment(at time: Timestamp?) -> AgentNumbers.Attachment {
        let silence = time.flatMap { time in board.clock.map { max(.zero, time - $0) } }
        return AgentNumbers.Attachment(isConnected: isConnected, silence: silence)
    }

    /// What it has counted, as far as its newest `agent` line tells.
    var counts: StoreCounts? {
        board.agent.map { agent in
            var counts = StoreCounts()
            (counts.data, counts.readers, counts.gaps, counts.late) =
                (agent.events, agent.readers, agent.gaps, agent.late)
            (counts.series, counts.refusedSeries, counts.refusedEndpoints) =
                (agent.series, agent.refusedSeries, agent.refusedEndpoints)
            return counts
        }
    }

    var memory: MemorySample? { board.memory.last?.sample }
    var agent: AgentSample? { board.agent.map { AgentSample(loopLag: $0.loopLag, cpu: $0.cpu) } }

    /// The agent's time now: that of its newest line, and what has passed since.
    func time(at now: LoopInstant) -> Timestamp? {
        guard let clock = board.clock, let heard else { return nil }
        return clock + heard.duration(to: now)
    }

    /// The next source of a walk.
    func nextSource(_ walk: inout FeedWalk, at time: Timestamp?) -> SourceNumbers? {
        guard walk.place < board.sources.count else { return nil }
        defer { walk.place += 1 }
        let source = board.sources[walk.place]
        let silence = source.heard.flatMap { heard in time.map { max(.zero, $0 - heard) } }
        let timeliness = Timeliness(
            state: source.state, code: source.code, rhythm: source.rhythm, silence: silence, hasEnded: false,
            window: interval ?? .zero)
        return SourceNumbers(
            name: source.name, state: source.state, timeliness: timeliness, isListed: source.isListed)
    }

    /// An agent of the fleet that it is, by its place; nil behind the last one.
    func member(_ place: Int, at time: Timestamp?) -> MemberNumbers? {
        guard place < board.agents.count else { return nil }
        let agent = board.agents[place]
        return MemberNumbers(
            name: agent.name, isLive: agent.state == MemberState.Standing.live.rawValue,
            age: agent.heard.flatMap { heard in time.map { max(.zero, $0 - heard) } }, lost: agent.lost)
    }

    func hasAgent(named name: String) -> Bool { board.hasAgent(named: name) }

    /// The next series of a walk that has a value newer than the history.
    func nextSeries(_ walk: inout FeedWalk, at time: Timestamp?) -> SeriesNumbers? {
        guard let time, let history else { return nil }
        while walk.place < board.series.count {
            let series = board.series[walk.place]
            walk.place += 1
            guard let newest = series.newest, newest.time > time - history else { continue }
            return SeriesNumbers(
                source: series.source, kind: series.kind, name: series.name, key: nil, value: newest.value,
                time: newest.time)
        }
        return nil
    }

    /// What tells readers how to read the sources' lines.
    var descriptions: [SourceDescription] {
        board.sources.filter(\.isListed).map {
            SourceDescription(
                name: $0.name, type: $0.type, unit: $0.unit, bands: $0.bands, valuePointer: $0.valuePointer,
                takesN: $0.takesN, rhythm: $0.rhythm)
        }
    }
}
