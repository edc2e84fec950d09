internal import Reactor

/// The agents of a fleet, each with its share of what there is and the clock that its windows close by; and whose each source is.
///
/// Sources and series are known by their places in the tables of these; −1 in the place of an agent is nobody, whose feed is our
/// own.
struct MemberTable: Sendable {
    /// What may be too much of one agent's.
    enum Share: Hashable { case series, endpoints }

    private struct Member: Sendable {
        let name: String
        /// What the agent itself is called as a source here.
        let ownName: String
        /// `,"agent":"…"`
        let tail: [UInt8]
        /// Its time as of its newest line, and when that came; nil before there was one.
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
    /// The places of those that are forgotten, to be others' once nothing is known of their sources.
    private var free: [Int] = []
    /// By sources: whose they are.
    private var owners: [Int32] = []
    /// What is to be said of one that has as much as it may have.
    private var refusals: [(member: Int, message: String)] = []

    // MARK: Who there is

    var count: Int { members.count }

    /// Adds an agent; one of a name that is known is that one.
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

    /// Has an agent's place be another's one day, unless it joins again before.
    mutating func free(_ member: MemberID) {
        if !free.contains(member.index) { free.append(member.index) }
    }

    subscript(name: String) -> MemberID? { indices[name].map { MemberID(index: $0) } }

    /// Whether there may be one more, of so many at the most.
    func hasRoom(_ most: Int) -> Bool { members.count < most || free.contains { members[$0].sources.isEmpty } }

    func name(of member: Int) -> String { members[member].name }

    /// What the agent itself is called as a source here.
    func ownName(of member: Int) -> String { members[member].ownName }

    /// What lines that it has not said itself end with.
    func tail(of member: Int) -> [UInt8] { members[member].tail }

    // MARK: What they have

    /// Whose a source is.
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

    /// Forgets sources with all that they have.
    ///
    /// - Parameters:
    ///   - isGone: whether a series was of one of them.
    ///   - endpoints: how many endpoints such sources have now.
    mutating func remove(_ gone: Set<Int>, series isGone: (Int) -> Bool, endpoints: (Set<Int>) -> Int) {
        for member in Set(gone.map { owner(of: $0) }) where member >= 0 {
            members[member].sources.subtract(gone)
            members[member].series.removeAll(where: isGone)
            // Others have their places now: none of those that are due is passed over.
            if members[member].closings.place != nil { members[member].closings.place = 0 }
            members[member].endpoints = endpoints(members[member].sources)
        }
        for source in gone where source < owners.count { owners[source] = -1 }
    }

    /// Something of an agent's is too much; that is said once.
    mutating func refuse(_ share: Share, of member: Int, _ message: String) {
        if members[member].reported.insert(share).inserted {
            refusals.append((member, "\(members[member].name) \(message)"))
        }
    }

    /// What is to be said of that.
    mutating func takeRefusals() -> [(member: Int, message: String)] {
        defer { refusals = [] }
        return refusals
    }

    // MARK: Their clocks

    /// A line of an agent's came that tells its time.
    mutating func hear(_ told: Timestamp, of member: Int, at now: LoopInstant) {
        (members[member].told, members[member].heard) = (told, now)
    }

    /// An agent's time now, or as of its newest line; the time here before there was one.
    func time(of member: Int, at now: LoopInstant, or wall: Timestamp) -> Timestamp {
        members[member].time(at: now) ?? wall
    }

    func told(of member: Int, or wall: Timestamp) -> Timestamp { members[member].told ?? wall }

    /// What an agent's values are judged by: its time as of its newest line, and before which time windows have closed.
    @inline(__always)
    func clock(of member: Int, or wall: Timestamp) -> (Timestamp, openSince: Timestamp) {
        (members[member].told ?? wall, members[member].closings.openSince)
    }

    /// The series of an agent that may have windows which are over, and its time now; nil when all of them have had their lines.
    ///
    /// - Parameter width: how wide windows are, in microseconds.
    mutating func due(
        _ member: Int, at now: LoopInstant, width: Int64
    ) -> (series: ArraySlice<Int>, time: Timestamp, looksAtAll: Bool)? {
        guard let time = members[member].time(at: now) else { return nil }
        _ = members[member].closings.notice(time, width: width)
        guard let place = members[member].closings.place else { return nil }
        return (members[member].series.dropFirst(place), time, members[member].closings.looksAtAll)
    }

    /// Those of its series that come before this one's place have had their lines.
    mutating func close(_ member: Int, before place: Int) {
        members[member].closings.place = place < members[member].series.count ? place : nil
    }
}
