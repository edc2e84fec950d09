internal import Reactor

/// The agents whose feeds are sources of this hub, with one record each, and the brokers that carry their lines.
struct Fleet: Sendable {
    private var members: [FleetMember] = []
    private var indices: [String: Int] = [:]
    /// The indices of forgotten agents, to be reused once their sources are forgotten.
    private(set) var free: [MemberID] = []
    /// The series of our own feed.
    private var own = WindowClosings()
    /// The brokers that carry agents' lines, and whether each is connected.
    private var brokers: [String: Bool] = [:]
    /// The positions of agents that a journal knows and that have yet to join, and those in streams, by name.
    private var positions: [String: [MemberPosition]] = [:]

    var count: Int { members.count }

    /// Whether all agents with an open connection have sent the lines that were there when they greeted.
    var isReplayed: Bool { members.allSatisfy { $0.state.link != .open || $0.isReplayed } }

    subscript(id: MemberID) -> FleetMember {
        _read { yield members[id.index] }
        _modify { yield &members[id.index] }
    }

    subscript(name: String) -> MemberID? { indices[name].map { MemberID(index: $0) } }

    /// The series of an agent and their clock; those of our own feed for −1.
    subscript(closings owner: Int32) -> WindowClosings {
        @inline(__always) _read { if owner < 0 { yield own } else { yield members[Int(owner)].closings } }
        @inline(__always) _modify { if owner < 0 { yield &own } else { yield &members[Int(owner)].closings } }
    }

    /// Checks whether windows of our own feed have ended; through `closings`, this would cost an allocation.
    mutating func notice(_ wall: Timestamp, width: Int64) -> Bool { own.notice(wall, width: width) }

    /// The time of an agent as of its newest line, or `wall`; our own for −1.
    ///
    /// Every value needs it: through `closings`, it would cost an allocation.
    @inline(__always)
    func time(of owner: Int32, or wall: Timestamp) -> Timestamp {
        owner < 0 ? own.told(or: wall) : members[Int(owner)].closings.told(or: wall)
    }

    /// The last members of the hub's own lines about an agent; none for −1.
    func tail(of owner: Int32) -> [UInt8] { owner < 0 ? [] : members[Int(owner)].tail }

    // MARK: Who there is

    /// Adds an agent, or returns the one with this name.
    ///
    /// - Parameter unused: the index to reuse, if any.
    mutating func join(
        _ name: String, reusing unused: MemberID?, _ limits: FeedState.Limits, at now: LoopInstant
    ) -> MemberID {
        if let known = self[name] {
            free.removeAll { $0 == known }
            if self[known].state.isForgotten { self[known].state = MemberState(joined: now) }
            return known
        }
        var member = FleetMember(
            name, width: limits.interval, mostSources: limits.memberSources,
            after: positions.removeValue(forKey: name) ?? [])
        member.state = MemberState(joined: now)
        let id = unused ?? MemberID(index: members.count)
        if let unused {
            free.removeAll { $0 == unused }
            indices[members[unused.index].name] = nil
            members[unused.index] = member
        } else {
            members.append(member)
        }
        indices[name] = id.index
        return id
    }

    /// Lets another agent reuse this index later, unless the agent joins again before.
    mutating func free(_ id: MemberID) {
        if !free.contains(id) { free.append(id) }
    }

    /// The agents whose lines a source carries.
    func members(by source: SourceID) -> [MemberID] {
        members.indices.filter { members[$0].way == source }.map { MemberID(index: $0) }
    }

    /// Sets the positions in a journal, after which agents resume that have sent nothing yet.
    mutating func resume(_ positions: [MemberPosition]) {
        self.positions = Dictionary(grouping: positions, by: \.member)
        for index in members.indices {
            if let known = self.positions.removeValue(forKey: members[index].name) {
                members[index].resume(after: known)
            }
        }
    }

    /// The newest positions of the agents that a journal knows from a stream and that have yet to join.
    var unheard: [MemberPosition] { positions.values.compactMap(\.last).filter { $0.stored != nil } }

    /// The position in the stream that a source reads.
    subscript(stream source: String) -> MemberPosition? {
        get { positions[source]?.last }
        set { positions[source] = newValue.map { [$0] } }
    }

    // MARK: How they are

    /// Marks an agent of a broker that is not live to be forgotten now, rather than after a day of silence.
    ///
    /// - Returns: the reason for a refusal; nil on success.
    mutating func dismiss(_ name: String) -> PollRefusal? {
        guard let id = self[name], !self[id].state.isForgotten else {
            return PollRefusal("there is no agent \"\(name)\" here", .unknown)
        }
        guard !self[id].state.link.isOwn else {
            return PollRefusal("the agent \"\(name)\" is configured here: it goes when that does")
        }
        guard self[id].state.standing != .live else { return PollRefusal("the agent \"\(name)\" is live") }
        self[id].state.isDismissed = true
        return nil
    }

    /// Sets whether a broker of agents is connected; nil removes it.
    mutating func setBroker(_ name: String, isConnected: Bool?) { brokers[name] = isConnected }

    /// The number of open connections to agents, or to their brokers, and the number of all; nil without any.
    var connections: (open: Int, all: Int)? {
        let links = members.lazy.filter { !$0.state.isForgotten && $0.state.link.isOwn }.map(\.state.link)
        let open = links.count { $0 == .open } + brokers.values.count { $0 }
        let all = links.count + brokers.count
        return all == 0 ? nil : (open, all)
    }

    /// The metrics of the agents that are not forgotten.
    func numbers(at wall: Timestamp) -> [MemberNumbers] {
        members.filter { !$0.state.isForgotten }.map { member in
            MemberNumbers(
                name: member.name, isLive: member.state.standing == .live,
                age: member.state.heard.map { max(.zero, wall - $0) }, lost: member.lost, repeated: member.repeated,
                unknown: member.unknown)
        }
    }

    /// Processes lines of an agent, in their order; returns the resulting items.
    mutating func process(
        _ lines: [Result<Line, LineFault>], from id: MemberID, by message: StreamMessage?, at moment: Moment
    ) -> [FleetMember.Item] {
        // A broker's clock is another one.
        let heard = message.map { min($0.stored, moment.wall) } ?? moment.wall
        if let message, !self[id].begin(message, lines) { return [] }
        if !lines.isEmpty {
            self[id].state.hear(at: heard)
            self[id].state.come(at: moment.now)
        }
        var items: [FleetMember.Item] = []
        for line in lines {
            switch line {
            case .success(let line): self[id].process(line, wall: moment.wall, heard: heard, into: &items)
            case .failure(let fault): self[id].process(fault, into: &items)
            }
            guard case .breach(let reason)? = items.last else { continue }
            self[id].state.link = message == nil ? .refused : .unfit
            self[id].state.refusedRun = message?.run
            _ = self[id].state.outage.fail(by: reason, at: moment.now)
            return items
        }
        self[id].flushMissing(into: &items)
        if !lines.isEmpty {
            if self[id].state.link.isOwn { self[id].state.link = .open }
            let recovery = self[id].state.outage.end(at: moment.now)
            if let recovery { items.insert(.report(.recovered(recovery)), at: 0) }
        }
        return items
    }
}

/// Agents of a fleet and their sources.
extension FeedState {
    /// Adds an agent whose feed is a source, or returns it if known.
    mutating func join(_ name: String, at moment: Moment) -> MemberID {
        // Looking for an unused index takes time linear in the number of forgotten agents.
        let id = fleet.join(name, reusing: fleet[name] == nil ? unusedMember : nil, limits, at: moment.now)
        _ = source(standingFor: id, at: moment)
        return id
    }

    /// The index of a forgotten agent whose sources are forgotten too.
    private var unusedMember: MemberID? { fleet.free.first { sources(of: $0).isEmpty } }

    /// Adds an agent with its own connection, or returns it if known: the source that stands for it carries its lines.
    mutating func register(agent name: String, at moment: Moment) -> SourceID {
        let id = join(name, at: moment)
        let own = source(standingFor: id, at: moment)
        fleet[id].way = own
        return own
    }

    /// Returns the source that stands for an agent.
    mutating func source(standingFor id: MemberID, at moment: Moment) -> SourceID {
        if let known = source(named: EventStore.ownName, of: id), !tables.sources.isRetired(known) { return known }
        // Nobody else has that name: configurations that would are refused.
        return register(ownDescription, of: id, since: moment.wall, at: moment)?.source ?? ownSource(at: moment.wall)
    }

    /// Returns the agent with this name, whose lines come by a source shared by many; adds it if needed.
    ///
    /// - Parameter subject: of the messages that carry them.
    /// - Returns: the agent, and whether to notify readers; or the reason why its lines are refused.
    mutating func member(
        _ name: String, by source: SourceID, subject: String, at moment: Moment
    ) -> Result<(member: MemberID, isNews: Bool), EventStore.JoinRefusal> {
        if let known = fleet[name] {
            if let way = fleet[known].way {
                guard way == source else { return .failure(.taken(by: self.name(of: way))) }
                let other = fleet[known].subject ?? subject
                guard other == subject else { return .failure(.elsewhere(other)) }
                fleet[known].subject = subject
                return .success((known, false))
            }
        } else {
            guard !ReservedNames.all.contains(name) else { return .failure(.reserved) }
            guard fleet.count < limits.members || unusedMember != nil else {
                counts.refusedAgents += 1
                return .failure(.tooMany(fleet.count))
            }
            if let other = makeRoom(forAgent: name, at: moment) { return .failure(.taken(by: other)) }
        }
        let id = join(name, at: moment)
        (fleet[id].way, fleet[id].subject) = (source, subject)
        return .success((id, true))
    }

    /// The agents of a source: the one that it stands for, or all whose lines it carries.
    func members(by source: SourceID) -> [MemberID] {
        if let owner = owner(of: source) { return fleet[owner].ownName == name(of: source) ? [owner] : [] }
        return fleet.members(by: source)
    }

    /// The agent whose name a source of our own would have, or that of one of its sources; nil when it may be called so.
    mutating func holder(of name: String, at moment: Moment) -> String? {
        if let known = fleet[name], !fleet[known].state.isForgotten { return name }
        return makeRoom(forSource: name, at: moment).map { fleet[$0].name }
    }

    /// Adds the item of an agent's line to the batch, except kept lines, `stats` and breaches.
    ///
    /// - Returns: whether to notify readers of a source of this agent.
    mutating func add(
        _ item: FleetMember.Item, of id: MemberID, stored: Timestamp?, to batch: inout EventBatch, at moment: Moment
    ) -> Bool {
        func own(_ body: Event.Body) -> Event {
            Event(time: moment.wall, source: source(standingFor: id, at: moment), body: body)
        }
        switch item {
        case .line(let line, let place, let clock):
            let origin = LineOrigin(id, place, stored: stored, clock: clock)
            if let isNews = add(line, origin, to: &batch, at: moment) { return isNews }
            for item in fleet[id].refuse(place, of: line.source ?? "") {
                _ = add(item, of: id, stored: stored, to: &batch, at: moment)
            }
        case .lost(let run, let numbers):
            let origin = LineOrigin(id, LineID(run, 0), through: numbers.upperBound, stored: stored)
            batch.add(own(.lost(Lost(run: run, numbers: numbers))), from: origin)
        case .report(let body): batch.add(own(body), from: LineOrigin(id))
        case .kept, .windows, .stats, .breach: break
        }
        return false
    }

    /// Adds the event of an agent's line to the batch.
    ///
    /// - Returns: whether to notify readers of its source; nil when another source has its name.
    private mutating func add(
        _ line: Line, _ origin: LineOrigin, to batch: inout EventBatch, at moment: Moment
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
            origin.since = data.since
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
        case .alert(let alert): body = .alert(alert)
        case .clock(let change): body = .clock(change)
        // `FleetMember` rejects all of these.
        case .hello, .stats, .window, .lost, .peer, .gap, .bye, .refusal, .kept, .unknown: return false
        }
        let known = source(named: name, of: origin.member)
        // A source left out of `stats` might otherwise be forgotten before the batch is published, and its index
        // reused.
        let isNews = known.map { revive($0) } ?? true
        let description = SourceDescription(name: name, type: type)
        guard let source = known ?? register(description, of: origin.member, since: line.time, at: moment)?.source
        else { return nil }
        if case .data = line.body, tables.sources.type(of: source) != type { origin.type = type }
        batch.add(Event(time: line.time, source: source, body: body), from: origin, isCut: isCut)
        if case .data(let data) = line.body, let pointer = data.valuePointer { batch.setValuePointer(pointer) }
        return isNews
    }

    /// Keeps an agent's kept line of a source that it lists, if it is its series' newest here.
    ///
    /// - Parameter isMissed: whether it is newer than all numbered lines of the agent that came.
    /// - Returns: whether readers are to get it.
    mutating func keep(_ line: Line, _ place: LineID, isMissed: Bool, of id: MemberID, at moment: Moment) -> Bool {
        guard let own = line.source.flatMap({ source(named: $0, of: id) }), !tables.sources.isRetired(own) else {
            return false
        }
        var batch = EventBatch()
        _ = add(line, LineOrigin(id, place), to: &batch, at: moment)
        return keep(line, batch, isMissed: isMissed, at: moment)
    }

    /// Applies an agent's list of its sources.
    ///
    /// - Returns: whether readers are to be told.
    mutating func list(_ stats: Line.Stats, of id: MemberID, at moment: Moment) -> Bool {
        var isNews = false
        for status in stats.sources {
            let description = SourceDescription(
                name: status.source, type: status.type ?? status.source, unit: status.unit, bands: status.bands,
                valuePointer: status.valuePointer, rhythm: status.rhythm)
            guard let (source, isNew) = register(description, of: id, since: moment.wall, at: moment) else { continue }
            setState(status, of: source, at: moment.wall)
            if isNew { isNews = true }
        }
        let own = source(standingFor: id, at: moment)
        for source in sources(of: id) where source != own && !tables.sources.isRetired(source) {
            guard !fleet[id].sources.contains(ownName(of: source, of: id)) else { continue }
            release(source, at: moment)
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
            let found = flaws.isEmpty ? nil : JSONSelection.Found()
            data = (try? JSONMinifier.minify(bytes, .nothing, found))?[...]
            if let found { own.formUnion(found.flaws) }
        }
        self.init(
            key: SeriesName(said.series, of: source)?.key.map { Bytes($0.utf8) }, value: said.value,
            word: said.word.map { Bytes($0.utf8) },
            text: said.text.map { Bytes($0.utf8) }, data: data, flaws: own)
    }
}
