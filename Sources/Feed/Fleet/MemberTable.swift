internal import Reactor

/// The agents of a fleet, each with its share of the limits and the clock that closes its windows; and each source's
/// owner.
///
/// Sources and series are indices into their tables; the owner −1 stands for our own feed.
struct MemberTable: Sendable {
    /// The limits that one agent can exceed.
    enum Share: Hashable { case series, endpoints }

    private struct Member: Sendable {
        let name: String
        /// The name of the source that stands for the agent.
        let ownName: String
        /// `,"agent":"…"`
        let tail: [UInt8]
        /// The agent's time as of its newest line, and the arrival of that line; nil before the first.
        var told: Timestamp?
        var heard: LoopInstant?
        var closings = WindowClosings()
        var sources: Set<Int> = []
        var series: [Int] = []
        var endpoints = 0
        var reported: Set<Share> = []

        init(_ name: String) {
            self.name = name
            ownName = "\(name).\(EventStore.ownName)"
            tail = LineEncoder.tail(agent: name)
        }

        func time(at now: LoopInstant) -> Timestamp? {
            guard let told, let heard else { return nil }
            return MemberClock.time(told, after: heard.duration(to: now))
        }
    }

    private var members: [Member] = []
    private var indices: [String: Int] = [:]
    /// The indices of forgotten agents, to be reused once their sources are forgotten.
    private var free: [Int] = []
    /// By source: its owner.
    private var owners: [Int32] = []
    /// The errors to report for agents at a limit.
    private var refusals: [(member: Int, message: String)] = []

    // MARK: Who there is

    var count: Int { members.count }

    /// Adds an agent, or returns the one with this name.
    mutating func join(_ name: String) -> MemberID {
        if let index = indices[name] {
            free.removeAll { $0 == index }
            return MemberID(index: index)
        }
        indices[name] = members.count
        if let place = free.firstIndex(where: { members[$0].sources.isEmpty }) {
            let index = free.remove(at: place)
            indices[members[index].name] = nil
            indices[name] = index
            members[index] = Member(name)
            return MemberID(index: index)
        }
        members.append(Member(name))
        return MemberID(index: members.count - 1)
    }

    /// Lets another agent reuse this index later, unless the agent joins again before.
    mutating func free(_ member: MemberID) {
        if !free.contains(member.index) { free.append(member.index) }
    }

    subscript(name: String) -> MemberID? { indices[name].map { MemberID(index: $0) } }

    /// Whether one more fits, with at most `most` agents.
    func hasRoom(_ most: Int) -> Bool { members.count < most || free.contains { members[$0].sources.isEmpty } }

    func name(of member: Int) -> String { members[member].name }

    /// The name of the source that stands for an agent.
    func ownName(of member: Int) -> String { members[member].ownName }

    /// The last members of the hub's own lines about the agent.
    func tail(of member: Int) -> [UInt8] { members[member].tail }

    // MARK: What they have

    /// The owner of a source.
    func owner(of source: Int) -> Int { source < owners.count ? Int(owners[source]) : -1 }

    func sources(of member: Int) -> Set<Int> { members[member].sources }

    func series(of member: Int) -> [Int] { members[member].series }

    func endpoints(of member: Int) -> Int { members[member].endpoints }

    mutating func add(source: Int, to member: Int) {
        if source >= owners.count { owners += repeatElement(-1, count: source - owners.count + 1) }
        owners[source] = Int32(member)
        members[member].sources.insert(source)
    }

    mutating func add(series: Int, to member: Int) { members[member].series.append(series) }

    mutating func add(endpoints: Int, to member: Int) { members[member].endpoints += endpoints }

    /// Forgets sources with their series and endpoints.
    ///
    /// - Parameters:
    ///   - isGone: whether a series belonged to one of them.
    ///   - endpoints: returns the number of endpoints of some sources.
    mutating func remove(_ gone: Set<Int>, series isGone: (Int) -> Bool, endpoints: (Set<Int>) -> Int) {
        for member in Set(gone.map { owner(of: $0) }) where member >= 0 {
            members[member].sources.subtract(gone)
            members[member].series.removeAll(where: isGone)
            // Indices have changed: starts over, so that no due series is skipped.
            if members[member].closings.place != nil { members[member].closings.place = 0 }
            members[member].endpoints = endpoints(members[member].sources)
        }
        for source in gone where source < owners.count { owners[source] = -1 }
    }

    /// Refuses something beyond an agent's limit, and reports that once.
    mutating func refuse(_ share: Share, of member: Int, _ message: String) {
        if members[member].reported.insert(share).inserted {
            refusals.append((member, "\(members[member].name) \(message)"))
        }
    }

    /// Removes and returns the errors to report.
    mutating func takeRefusals() -> [(member: Int, message: String)] {
        defer { refusals = [] }
        return refusals
    }

    // MARK: Their clocks

    /// Records the agent's time from a line that just arrived.
    mutating func hear(_ told: Timestamp, of member: Int, at now: LoopInstant) {
        (members[member].told, members[member].heard) = (told, now)
    }

    /// The agent's time now; the hub's before the first line.
    func time(of member: Int, at now: LoopInstant, or wall: Timestamp) -> Timestamp {
        members[member].time(at: now) ?? wall
    }

    func told(of member: Int, or wall: Timestamp) -> Timestamp { members[member].told ?? wall }

    /// The clock for an agent's values: its time as of its newest line, and the time before which its windows have
    /// closed.
    @inline(__always)
    func clock(of member: Int, or wall: Timestamp) -> (Timestamp, openSince: Timestamp) {
        (members[member].told ?? wall, members[member].closings.openSince)
    }

    /// The series of an agent that may have windows to close, and its time now; nil when all windows are closed.
    ///
    /// - Parameter width: the width of a window, in microseconds.
    mutating func due(
        _ member: Int, at now: LoopInstant, width: Int64
    ) -> (series: ArraySlice<Int>, time: Timestamp, looksAtAll: Bool)? {
        guard let time = members[member].time(at: now) else { return nil }
        _ = members[member].closings.notice(time, width: width)
        guard let place = members[member].closings.place else { return nil }
        return (members[member].series.dropFirst(place), time, members[member].closings.looksAtAll)
    }

    /// Records that all series before this index have had their windows closed.
    mutating func close(_ member: Int, before place: Int) {
        members[member].closings.place = place < members[member].series.count ? place : nil
    }
}
