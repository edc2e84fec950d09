internal import Reactor

/// The agents whose feeds are sources here: which there are, what has come of each, and by what way.
///
/// It has neither clock nor log: it is told the time, and what it says becomes lines in the `FeedState` that it is lent.
struct Fleet: Sendable {
    /// As the state's table has them.
    private var members: [FleetMember] = []
    /// By these: the source that their lines come by; nil while none does.
    private var ways: [SourceID?] = []
    /// The brokers that agents come by, and whether each is there.
    private var brokers: [String: Bool] = [:]
    /// Where agents were that a journal knows of, which have yet to join: by their names.
    private var positions: [String: [AgentPosition]] = [:]

    var count: Int { members.count }

    subscript(id: MemberID) -> FleetMember { members[id.index] }

    // MARK: Who there is

    /// Says up to where a journal has the lines of agents of which nothing has come yet: they go on behind that.
    mutating func resume(_ positions: [AgentPosition]) {
        self.positions = Dictionary(grouping: positions, by: \.agent)
        for index in members.indices {
            if let known = self.positions.removeValue(forKey: members[index].name) {
                members[index].resume(after: known)
            }
        }
    }

    /// Up to where lines of agents are here, or in a journal when this began: the newest run of each last.
    var knownPositions: [AgentPosition] { positions.values.flatMap(\.self) + members.compactMap(\.position) }

    /// Adds an agent whose feed is a source, or finds it again.
    ///
    /// - Parameter way: the source that its lines come by from now on; nil when nothing changes that.
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

    /// Adds one that has a way of its own, or finds it again: its lines come by the source that stands for it.
    mutating func register(
        _ name: String, in state: inout FeedState, at moment: Moment
    ) -> SourceID {
        let id = join(name, in: &state, at: moment)
        let own = source(standingFor: id, in: &state, at: moment)
        ways[id.index] = own
        return own
    }

    /// The source that an agent is itself.
    func source(
        standingFor id: MemberID, in state: inout FeedState, at moment: Moment
    ) -> SourceID {
        if let known = state.source(named: EventStore.ownName, of: id), !state.isRetired(known) { return known }
        // Nobody else has that name: configurations that would are refused.
        return state.register(state.ownDescription, of: id, since: moment.wall, at: moment)?.source
            ?? state.ownSource(at: moment.wall)
    }

    /// The agent that is called so, whose lines come by a source that has those of many; joins it.
    ///
    /// - Returns: the agent, and whether readers are to be told; or why its lines are not taken.
    mutating func member(
        _ name: String, by source: SourceID, in state: inout FeedState, at moment: Moment
    ) -> Result<(member: MemberID, isNews: Bool), EventStore.Stranger> {
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

    /// The agents that go with a source: the one that it stands for, or all whose lines come by it.
    func members(by source: SourceID, in state: borrowing FeedState) -> [MemberID] {
        if let member = state.member(standingFor: source) { return [member] }
        return ways.indices.filter { ways[$0] == source }.map { MemberID(index: $0) }
    }

    /// The source that an agent's lines come by; nil while none does.
    func way(to id: MemberID) -> SourceID? { ways[id.index] }

    /// The ways to agents end with the source that they came by.
    mutating func endWay(to id: MemberID) { ways[id.index] = nil }

    /// The agent whose name a source of our own would have, or that of one of its sources; nil when it may be called so.
    func holder(of name: String, in state: inout FeedState, at moment: Moment) -> String? {
        if let known = state.members[name], !members[known.index].state.isForgotten { return name }
        return state.makeRoom(forSource: name, at: moment).map { members[$0.index].name }
    }

    // MARK: How they are

    /// Says how it is with the way to an agent that has one of its own.
    mutating func note(_ link: MemberState.Link, of id: MemberID) { members[id.index].state.link = link }

    /// An agent is known by something else than its lines: by the last message that a broker has of it.
    mutating func meet(
        _ id: MemberID, run: String, last: Int?, host: AgentIdentity.Host, hasEnded: Bool, heard: Timestamp,
        at moment: Moment
    ) {
        if let last { members[id.index].recall(LineID(run, last)) }
        members[id.index].state.identify(run: run, host: host, hasEnded: hasEnded)
        members[id.index].state.hear(at: heard)
        members[id.index].state.come(at: moment.now.advanced(by: min(heard - moment.wall, .zero)))
    }

    /// What is to be said now of how it is with an agent.
    mutating func report(on id: MemberID, at wall: Timestamp) -> Line.Peer? {
        members[id.index].state.report(at: wall, index: id.index, lost: members[id.index].lost)
    }

    /// The last that is said of an agent; nil when that was said.
    mutating func farewell(to id: MemberID, at wall: Timestamp) -> Line.Peer? {
        guard !members[id.index].state.isForgotten else { return nil }
        return members[id.index].state.farewell(at: wall, lost: members[id.index].lost)
    }

    /// Has an agent forgotten that comes by a broker and says nothing, before a day of that is over.
    ///
    /// - Returns: why not; nil when it will be.
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

    /// Says whether a broker that agents come by is there; nil when it is none any more.
    mutating func noteBroker(_ name: String, isConnected: Bool?) { brokers[name] = isConnected }

    /// How many of the connections to agents, or to brokers of theirs, there are now, of how many; nil without any.
    var connections: (open: Int, all: Int)? {
        let links = members.lazy.filter { !$0.state.isForgotten && $0.state.link.isOwn }.map(\.state.link)
        let open = links.count { $0 == .open } + brokers.values.count { $0 }
        let all = links.count + brokers.count
        return all == 0 ? nil : (open, all)
    }

    /// The next agent of a walk that was not forgotten; nil when that was all.
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

    /// Takes lines of an agent, in their order: gives what they come to.
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
        members[id.index].settle(into: &items)
        return items
    }

    /// When readers are to be told that the sources of an agent are otherwise now.
    mutating func newsTime(of id: MemberID, at now: LoopInstant) -> LoopInstant {
        members[id.index].newsTime(at: now)
    }

    /// Adds what lines of an agent's came to, but for `stats` and breaches.
    ///
    /// - Returns: whether readers are to be told of a source of its.
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

    /// Adds what a line of an agent's says.
    ///
    /// - Returns: whether readers are to be told of a source of its; nil when the name of its source is somebody else's.
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
        // `FleetMember` lets none of these through.
        case .hello, .stats, .window, .lost, .peer, .gap, .bye, .refusal, .unknown: return false
        }
        let known = state.source(named: name, of: origin.member)
        // One that its `stats` left out may be forgotten before the batch is published, and its place be another's.
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

    /// Takes over how an agent says that its sources are.
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
