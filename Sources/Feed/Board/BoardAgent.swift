package import Reactor

/// One agent of a fleet as a board knows it.
package struct BoardAgent: Sendable, Equatable {
    package let name: String
    /// As its newest `peer` line says, and since when; nil before there was one.
    package internal(set) var state: String?
    package internal(set) var since: Timestamp?
    /// When something came of it last, by the fleet's time.
    package internal(set) var heard: Timestamp?
    package internal(set) var run: String?
    /// Texts of at most 256 bytes.
    package internal(set) var host = AgentIdentity.Host()
    package internal(set) var version: String?
    /// By how many milliseconds its clock is ahead.
    package internal(set) var skew: Double?
    /// How many of its lines are lost.
    package internal(set) var lost = 0
    /// The fleet's time of the newest line about it.
    var told: Timestamp
    /// How many lines came of it in the newest stretch of 10 s of the fleet's time in which any came, and in the one before.
    private var stretch: Int64 = .min
    private var count = 0
    private var before = 0

    private static let stretchLength: Int64 = 10_000_000
    private static let longestText = 256

    init(name: String, told: Timestamp) { (self.name, self.told) = (name, told) }

    /// A line came of it.
    mutating func hear(at clock: Timestamp) {
        heard = max(heard ?? clock, clock)
        let now = Window.index(of: clock, width: Self.stretchLength)
        if now == stretch {
            count += 1
        } else {
            before = stretch != .min && now == stretch + 1 ? count : 0
            (stretch, count) = (now, 1)
        }
    }

    mutating func take(_ peer: Line.Peer) {
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
