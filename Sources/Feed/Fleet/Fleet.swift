internal import Reactor

/// The agents of a fleet, whose feeds are sources of this hub: which exist, what each has sent, and by which
/// connection.
///
/// It has neither clock nor log: callers pass the time, and its results become lines in the `FeedState` passed in.
struct Fleet: Sendable {
    /// In the order of the state's table.
    private var members: [FleetMember] = []
    /// By member: the source that carries its lines; nil while none does.
    private var ways: [SourceID?] = []
    /// The brokers that carry agents' lines, and whether each is connected.
    private var brokers: [String: Bool] = [:]
    /// The positions of agents that a journal knows and that have yet to join, by name.
    private var positions: [String: [AgentPosition]] = [:]

    var count: Int { members.count }

    subscript(id: MemberID) -> FleetMember { members[id.index] }

    // MARK: Who there is

    /// Sets the positions in a journal, after which agents resume that have sent nothing yet.
    mutating func resume(_ positions: [AgentPosition]) {
        self.positions = Dictionary(grouping: positions, by: \.agent)
        for index in members.indices {
            if let known = self.positions.removeValue(forKey: members[index].name) {
                members[index].resume(after: known)
            }
        }
    }

    /// The newest position of each agent, here or in the initial journal; each agent's newest run is last.
    var knownPositions: [AgentPosition] { positions.values.flatMap(\.self) + members.compactMap(\.position) }

    /// Adds an agent whose feed is a source, or returns it if known.
    ///
    /// - Parameter way: the source that carries its lines from now on; nil for no change.
    mutating func join(
        _ name: String, by way: SourceID? = nil, in state: inout FeedState, at moment: Moment
    ) -> MemberID {
        let id = state.join(name)
        if id.index == members.count || members[id.index].name != name {
            let member = FleetMember(
                name, width: state.limits.interval, mostSources: state.limits.memberSources,
                after: positions.removeValue(forKey: name) ?? [])
            if id.index == members.count {
                members.append(member)
                ways.append(nil)
            } else {
                members[id.index] = member
                ways[id.index] = nil
            }
            members[id.index].state = MemberState(joined: moment.now)
        }
        if members[id.index].state.isForgotten { members[id.index].state = MemberState(joined: moment.now) }
        _ = source(standingFor: id, in: &state, at: moment)
        if let way { ways[id.index] = way }
        return id
    }

    /// Adds an agent with its own connection, or returns it if known: the source that stands for it carries its lines.
    mutating func register(
        _ name: String, in state: inout FeedState, at moment: Moment
    ) -> SourceID {
        let id = join(name, in: &state, at: moment)
        let own = source(standingFor: id, in: &state, at: moment)
        ways[id.index] = own
        return own
    }

    /// Returns the source that stands for an agent.
    func source(
        standingFor id: MemberID, in state: inout FeedState, at moment: Moment
    ) -> SourceID {
        if let known = state.source(named: EventStore.ownName, of: id), !state.isRetired(known) { return known }
        // Nobody else has that name: configurations that would are refused.
        return state.register(state.ownDescription, of: id, since: moment.wall, at: moment)?.source
            ?? state.ownSource(at: moment.wall)
    }

    /// Returns the agent with this name, whose lines come by a source shared by many; adds it if needed.
    ///
    /// - Returns: the agent, and whether to notify readers; or the reason why its lines are refused.
    mutating func member(
        _ name: String, by source: SourceID, in state: inout FeedState, at moment: Moment
    ) -> Result<(member: MemberID, isNews: Bool), EventStore.JoinRefusal> {
        if let known = state.members[name] {
            if let way = ways[known.index] {
                return way == source ? .success((known, false)) : .failure(.taken(by: state.name(of: way)))
            }
        } else {
            guard !ReservedNames.all.contains(name) else { return .failure(.reserved) }
            guard state.members.hasRoom(state.limits.members) else {
                state.counts.refusedAgents += 1
                return .failure(.tooMany(members.count))
            }
            if let other = state.makeRoom(forAgent: name, at: moment) { return .failure(.taken(by: other)) }
        }
        return .success((join(name, by: source, in: &state, at: moment), true))
    }

    /// The agents of a source: the one that it stands for, or all whose lines it carries.
    func members(by source: SourceID, in state: borrowing FeedState) -> [MemberID] {
        if let member = state.member(standingFor: source) { return [member] }
        return ways.indices.filter { ways[$0] == source }.map { MemberID(index: $0) }
    }

    /// The source that carries an agent's lines; nil while none does.
    func way(to id: MemberID) -> SourceID? { ways[id.index] }

    /// Ends an agent's connection, with the source that carried its lines.
    mutating func endWay(to id: MemberID) { ways[id.index] = nil }

    /// The agent whose name a source of our own would have, or that of one of its sources; nil when it may be called so.
    func holder(of name: String, in state: inout FeedState, at moment: Moment) -> String? {
        if let known = state.members[name], !members[known.index].state.isForgotten { return name }
        return state.makeRoom(forSource: name, at: moment).map { members[$0.index].name }
    }

    // MARK: How they are

    /// Sets the state of the connection to an agent that has its own.
    mutating func note(_ link: MemberState.Link, of id: MemberID) { members[id.index].state.link = link }

    /// Records an agent's state from another origin than its lines: from the last message that a broker has of it.
    mutating func meet(
        _ id: MemberID, run: String, last: Int?, host: AgentIdentity.Host, hasEnded: Bool, heard: Timestamp,
        at moment: Moment
    ) {
        if let last { members[id.index].recall(LineID(run, last)) }
        members[id.index].state.identify(run: run, host: host, hasEnded: hasEnded)
        members[id.index].state.hear(at: heard)
        members[id.index].state.come(at: moment.now.advanced(by: min(heard - moment.wall, .zero)))
    }

    /// Returns the `peer` line that is due for an agent; nil when none is.
    mutating func report(on id: MemberID, at wall: Timestamp) -> Line.Peer? {
        members[id.index].state.report(at: wall, index: id.index, lost: members[id.index].lost)
    }

    /// Returns the last `peer` line of an agent; nil when it was written already.
    mutating func farewell(to id: MemberID, at wall: Timestamp) -> Line.Peer? {
        guard !members[id.index].state.isForgotten else { return nil }
        return members[id.index].state.farewell(at: wall, lost: members[id.index].lost)
    }

    /// Marks an agent of a broker that is not live to be forgotten now, rather than after a day of silence.
    ///
    /// - Returns: the reason for a refusal; nil on success.
    mutating func dismiss(_ name: String) -> PollRefusal? {
        guard let index = members.firstIndex(where: { $0.name == name && !$0.state.isForgotten }) else {
            return PollRefusal("there is no agent \"\(name)\" here", .unknown)
        }
        guard !members[index].state.link.isOwn else {
            return PollRefusal("the agent \"\(name)\" is configured here: it goes when that does")
        }
        guard members[index].state.standing != .live else {
            return PollRefusal("the agent \"\(name)\" is live")
        }
        members[index].state.isDismissed = true
        return nil
    }

    /// Sets whether a broker of agents is connected; nil removes it.
    mutating func noteBroker(_ name: String, isConnected: Bool?) { brokers[name] = isConnected }

    /// The number of open connections to agents, or to their brokers, and the number of all; nil without any.
    var connections: (open: Int, all: Int)? {
        let links = members.lazy.filter { !$0.state.isForgotten && $0.state.link.isOwn }.map(\.state.link)
        let open = links.count { $0 == .open } + brokers.values.count { $0 }
        let all = links.count + brokers.count
        return all == 0 ? nil : (open, all)
    }

    /// Returns the next agent of a walk that is not forgotten; nil at the end.
    func next(_ walk: inout FeedWalk, at wall: Timestamp) -> MemberNumbers? {
        defer { walk.place += 1 }
        while walk.place < members.count, members[walk.place].state.isForgotten { walk.place += 1 }
        guard walk.place < members.count else { return nil }
        let member = members[walk.place]
        return MemberNumbers(
            name: member.name, isLive: member.state.standing == .live,
            age: member.state.heard.map { max(.zero, wall - $0) }, lost: member.lost,
            repeated: member.repeated)
    }

    // MARK: What comes of them

    /// Processes lines of an agent, in their order; returns the resulting items.
    mutating func take(
        _ lines: [Result<Line, LineFault>], from id: MemberID, by message: StreamMessage?, at moment: Moment
    ) -> [FleetMember.Item] {
        // A broker's clock is another one.
        let heard = message.map { min($0.heard, moment.wall) } ?? moment.wall
        if let message { members[id.index].hear(of: message) }
        if !lines.isEmpty {
            members[id.index].state.hear(at: heard)
            members[id.index].state.come(at: moment.now)
        }
        var items: [FleetMember.Item] = []
        for line in lines {
            switch line {
            case .success(let line):
                members[id.index].take(line, wall: moment.wall, heard: heard, into: &items)
            case .failure(let fault): members[id.index].take(fault, into: &items)
            }
        }
        members[id.index].flushMissing(into: &items)
        return items
    }

    /// Returns the time to notify readers that the sources of an agent changed.
    mutating func newsTime(of id: MemberID, at now: LoopInstant) -> LoopInstant {
        members[id.index].newsTime(at: now)
    }

    /// Adds the item of an agent's line to the batch, except `stats` and breaches.
    ///
    /// - Returns: whether to notify readers of a source of this agent.
    mutating func add(
        _ item: FleetMember.Item, of id: MemberID, stream: Int?, to batch: inout EventBatch, in state: inout FeedState,
        at moment: Moment
    ) -> Bool {
        switch item {
        case .line(let line, let place, let clock):
            let origin = LineOrigin(id, place, stream: stream, clock: clock)
            if let isNews = add(line, origin, to: &batch, in: &state, at: moment) { return isNews }
            for item in members[id.index].refuse(place, of: line.source ?? "") {
                _ = add(item, of: id, stream: stream, to: &batch, in: &state, at: moment)
            }
        case .lost(let run, let numbers):
            let origin = LineOrigin(id, LineID(run, 0), stream: stream)
            let own = source(standingFor: id, in: &state, at: moment)
            batch.add(
                Event(time: moment.wall, source: own, body: .lost(Lost(run: run, numbers: numbers))), from: origin)
        case .complaint(let failure):
            let own = source(standingFor: id, in: &state, at: moment)
            batch.add(Event(time: moment.wall, source: own, body: .error(failure)), from: LineOrigin(id))
        case .stats, .breach: break
        }
        return false
    }

    /// Adds the event of an agent's line to the batch.
    ///
    /// - Returns: whether to notify readers of its source; nil when another source has its name.
    private func add(
        _ line: Line, _ origin: LineOrigin, to batch: inout EventBatch, in state: inout FeedState, at moment: Moment
    ) -> Bool? {
        let name = line.source ?? ""
        var origin = origin
        var isCut = false
        let body: Event.Body
        var type = name == EventStore.ownName ? "memory" : name
        switch line.body {
        case .data(let data):
            type = line.type
            isCut = data.truncated
            body = .data(Datum(data, of: name, line.flaws))
        case .latency(let sample): body = .latency(sample)
        case .memory(let sample): body = .memory(sample)
        case .error(var failure):
            failure.code = Failure.Code(rawValue: LineEncoder.cut(failure.code.rawValue, at: 64))
            body = .error(failure)
        case .progress(let progress): body = .progress(progress)
        case .recovered(let recovery): body = .recovered(recovery)
        case .restart(let restart): body = .restart(restart)
        case .agent(let agent): body = .foreignAgent(agent)
        // `FleetMember` rejects all of these.
        case .hello, .stats, .window, .lost, .peer, .gap, .bye, .refusal, .unknown: return false
        }
        let known = state.source(named: name, of: origin.member)
        // A source left out of `stats` might otherwise be forgotten before the batch is published, and its index
        // reused.
        let isNews = known.map { state.revive($0) } ?? true
        let source =
            known
            ?? state.register(
                SourceDescription(name: name, type: type), of: origin.member, since: line.time, at: moment)?
            .source
        guard let source else { return nil }
        if case .data = line.body, state.type(of: source) != type { origin.type = type }
        batch.add(Event(time: line.time, source: source, body: body), from: origin, isCut: isCut)
        if case .data(let data) = line.body, let pointer = data.valuePointer { batch.setValuePointer(pointer) }
        return isNews
    }

    /// Applies an agent's list of its sources.
    ///
    /// - Returns: whether readers are to be told.
    func list(_ stats: Line.Stats, of id: MemberID, in state: inout FeedState, at moment: Moment)
        -> Bool
    {
        var isNews = false
        for status in stats.sources {
            let description = SourceDescription(
                name: status.source, type: status.type ?? status.source, unit: status.unit, bands: status.bands,
                valuePointer: status.valuePointer, takesN: status.takesN, rhythm: status.rhythm)
            guard let (source, isNew) = state.register(description, of: id, since: moment.wall, at: moment) else {
                continue
            }
            state.setState(status, of: source, at: moment.wall)
            if isNew { isNews = true }
        }
        let own = source(standingFor: id, in: &state, at: moment)
        for source in state.sources(of: id) where source != own && !state.isRetired(source) {
            guard !members[id.index].sources.contains(state.ownName(of: source, of: id)) else { continue }
            state.release(source, at: moment)
            isNews = true
        }
        return isNews
    }
}

extension Datum {
    /// Converts a data line of another agent, whose series belongs to its source.
    ///
    /// - Parameter flaws: the line's flaws.
    init(_ said: Line.Data, of source: String, _ flaws: JSONFlaws) {
        var own = flaws.intersection(.surrogate)
        if said.altered { own.insert(.surrogate) }
        var data: Bytes?
        if let bytes = said.data {
            // It was validated as a part of its line, which may contain white space.
            data = (try? JSONMinifier.minify(bytes))?[...]
            if !flaws.isEmpty { own.formUnion(Self.flaws(of: bytes)) }
        }
        self.init(
            key: FleetMember.key(of: said.series, in: source).map { Bytes($0.utf8) }, value: said.value,
            text: said.text.map { Bytes($0.utf8) }, data: data, flaws: own)
    }

    private static func flaws(of data: Bytes) -> JSONFlaws {
        data.withUnsafeBufferPointer { bytes in
            // The line itself is one level.
            var scanner = JSONScanner(bytes, levelLimit: LineEncoder.mostLevels - 1)
            guard (try? scanner.begin()) != nil, (try? scanner.value()) != nil else { return [] }
            return scanner.flaws
        }
    }
}
