package import Reactor

/// The state of one agent of a fleet, from the lines of the hub's feed.
package struct ShownAgent: Sendable, Equatable {
    package let name: String
    /// The state in its newest `peer` line, and its start; nil before the first.
    package fileprivate(set) var state: String?
    package fileprivate(set) var since: Timestamp?
    /// The time when the hub last heard from it, by the hub's clock.
    package fileprivate(set) var heard: Timestamp?
    package fileprivate(set) var run: String?
    /// Texts of at most 256 bytes.
    package fileprivate(set) var host = AgentIdentity.Host()
    package fileprivate(set) var version: String?
    /// The milliseconds by which its clock is ahead.
    package fileprivate(set) var skew: Double?
    /// The number of its lost lines.
    package fileprivate(set) var lost = 0
    /// The hub's time of the newest line about it.
    fileprivate(set) var told: Timestamp
    /// The newest period of 10 s of the hub's time with lines of it, their number, and the number in the period before.
    private var stretch: Int64 = .min
    private var count = 0
    private var before = 0

    private static let stretchLength: Int64 = 10_000_000

    fileprivate init(name: String, told: Timestamp) { (self.name, self.told) = (name, told) }

    /// Counts a line of the agent.
    fileprivate mutating func hear(at clock: Timestamp) {
        heard = max(heard ?? clock, clock)
        let now = Window.index(of: clock, width: Self.stretchLength)
        if now == stretch {
            count += 1
        } else {
            before = stretch != .min && now == stretch + 1 ? count : 0
            (stretch, count) = (now, 1)
        }
    }

    fileprivate mutating func apply(_ peer: Line.Peer) {
        state = LineEncoder.cut(peer.state, at: MemberState.longestText)
        since = peer.since
        heard = peer.heard ?? heard
        run = peer.run
        host = peer.host.cut(at: MemberState.longestText)
        version = peer.app.version.map { LineEncoder.cut($0, at: MemberState.longestText) }
        skew = peer.skew
        lost = peer.lost
    }

    /// Its lines per second over the last ten seconds, as if a period's lines had come evenly.
    package func rate(at now: Timestamp) -> Double {
        guard stretch != .min else { return 0 }
        let start = Window.start(of: stretch, width: Self.stretchLength)
        let passed = Double(now.microseconds.subtractingSaturated(start.microseconds)) / Double(Self.stretchLength)
        if passed >= 2 { return 0 }
        if passed >= 1 { return Double(count) * (2 - passed) / 10 }
        return (Double(before) * (1 - max(passed, 0)) + Double(count)) / 10
    }
}

/// The agents of a fleet, from the lines of the hub's feed: rule 8 of `Board`.
package struct ShownAgents: Sendable {
    /// In the order of the first line about each.
    package private(set) var agents: [ShownAgent] = []
    /// The number of lines about a refused agent.
    package private(set) var refused = 0

    private let limit: Int
    private var indices: [String: Int] = [:]
    /// No agent will have gone a day without a line before this time, so that a search for one to drop is pointless.
    private var keptUntil: Timestamp?

    private static let day = Duration.seconds(86_400)

    /// - Parameter limit: the most agents to keep.
    init(limit: Int) { self.limit = limit }

    func hasAgent(named name: String) -> Bool { indices[name] != nil }

    /// Applies a line about an agent.
    ///
    /// - Parameter clock: the hub's time.
    mutating func apply(_ line: Line, of name: String, at clock: Timestamp) {
        if case .peer(let peer) = line.body, peer.state == MemberState.Standing.forgotten.rawValue {
            return remove(name)
        }
        guard let index = index(of: name, at: clock) else {
            refused += 1
            return
        }
        agents[index].told = clock
        if line.isForwarded { agents[index].hear(at: clock) }
        switch line.body {
        case .peer(let peer): agents[index].apply(peer)
        case .lost(let lost):
            let count = (lost.numbers.upperBound - lost.numbers.lowerBound).addingSaturated(1)
            agents[index].lost = agents[index].lost.addingSaturated(count)
        default: break
        }
    }

    private mutating func index(of name: String, at clock: Timestamp) -> Int? {
        if let index = indices[name] { return index }
        guard AgentName.isValid(name) else { return nil }
        if agents.count >= limit, keptUntil.map({ $0 <= clock }) ?? true {
            remove { clock - $0.told >= Self.day }
            keptUntil = agents.lazy.map(\.told).min().map { $0 + Self.day }
        }
        guard agents.count < limit else { return nil }
        indices[name] = agents.count
        agents.append(ShownAgent(name: name, told: clock))
        return agents.count - 1
    }

    private mutating func remove(_ name: String) {
        guard let gone = indices.removeValue(forKey: name) else { return }
        agents.remove(at: gone)
        for index in gone..<agents.count { indices[agents[index].name] = index }
    }

    private mutating func remove(where isGone: (ShownAgent) -> Bool) {
        let count = agents.count
        agents.removeAll(where: isGone)
        guard agents.count < count else { return }
        indices = Dictionary(uniqueKeysWithValues: agents.enumerated().map { ($0.element.name, $0.offset) })
    }
}
