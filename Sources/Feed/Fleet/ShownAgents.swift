package import Reactor

/// One agent of a fleet, as the lines of the fleet's feed tell.
package struct ShownAgent: Sendable, Equatable {
    package let name: String
    /// As its newest `peer` line says, and since when; nil before there was one.
    package fileprivate(set) var state: String?
    package fileprivate(set) var since: Timestamp?
    /// When something came of it last, by the fleet's time.
    package fileprivate(set) var heard: Timestamp?
    package fileprivate(set) var run: String?
    /// Texts of at most 256 bytes.
    package fileprivate(set) var host = AgentIdentity.Host()
    package fileprivate(set) var version: String?
    /// By how many milliseconds its clock is ahead.
    package fileprivate(set) var skew: Double?
    /// How many of its lines are lost.
    package fileprivate(set) var lost = 0
    /// The fleet's time of the newest line about it.
    fileprivate(set) var told: Timestamp
    /// How many lines came of it in the newest stretch of 10 s of the fleet's time in which any came, and in the one before.
    private var stretch: Int64 = .min
    private var count = 0
    private var before = 0

    private static let stretchLength: Int64 = 10_000_000
    private static let longestText = 256

    fileprivate init(name: String, told: Timestamp) { (self.name, self.told) = (name, told) }

    /// A line came of it.
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
        func cut(_ text: String) -> String { LineEncoder.cut(text, at: Self.longestText) }
        let host = peer.host
        state = cut(peer.state)
        since = peer.since
        heard = peer.heard ?? heard
        run = peer.run
        self.host = AgentIdentity.Host(
            name: cut(host.name), device: cut(host.device), os: cut(host.os), kernel: cut(host.kernel),
            arch: cut(host.arch))
        version = peer.app.version.map(cut)
        skew = peer.skew
        lost = peer.lost
    }

    /// How many lines a second came of it in the last ten, as if those of a stretch had come evenly.
    package func rate(at now: Timestamp) -> Double {
        guard stretch != .min else { return 0 }
        let start = Window.start(of: stretch, width: Self.stretchLength)
        let passed = Double(now.microseconds.subtractingSaturated(start.microseconds)) / Double(Self.stretchLength)
        if passed >= 2 { return 0 }
        if passed >= 1 { return Double(count) * (2 - passed) / 10 }
        return (Double(before) * (1 - max(passed, 0)) + Double(count)) / 10
    }
}

/// The agents of a fleet, as the lines of its feed tell: rule 8 of `Board`.
package struct ShownAgents: Sendable {
    /// In the order of the first line about each.
    package private(set) var agents: [ShownAgent] = []
    /// How many lines were about an agent that was refused.
    package private(set) var refused = 0

    private let limit: Int
    private var indices: [String: Int] = [:]
    /// Until then no agent goes a day without a line, so there is no point in looking for one that could give way.
    private var keptUntil: Timestamp?

    private static let day = Duration.seconds(86_400)

    /// - Parameter limit: the most agents that are kept.
    init(limit: Int) { self.limit = limit }

    func hasAgent(named name: String) -> Bool { indices[name] != nil }

    /// Applies a line about an agent.
    ///
    /// - Parameter clock: the fleet's time.
    mutating func apply(_ line: Line, of name: String, at clock: Timestamp) {
        if case .peer(let peer) = line.body, peer.state == MemberState.Standing.forgotten.rawValue {
            return remove { $0.name == name }
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

    private mutating func remove(where isGone: (ShownAgent) -> Bool) {
        let count = agents.count
        agents.removeAll(where: isGone)
        guard agents.count < count else { return }
        indices = Dictionary(uniqueKeysWithValues: agents.enumerated().map { ($0.element.name, $0.offset) })
    }
}
