package import Reactor

/// How it is with an agent of a fleet, as its `peer` lines say: by the connection to it, where there is one of its own, and by
/// when something came last.
///
/// Without clock or descriptor, like `FleetMember`, whose lines it hears.
package struct MemberState: Sendable {
    /// The `state` of a `peer` line, the worst last but for the one that ends them.
    package enum Standing: String, Sendable, CaseIterable {
        /// Its lines come.
        case live
        /// Nothing has come of it yet, and nothing went wrong.
        case connecting
        /// It has said goodbye.
        case ended
        /// Nothing has come for three of its windows, though nothing is known to be wrong.
        case silent
        /// It cannot be reached, or the connection broke; it is tried again.
        case away
        /// It is no member as it is: a fleet itself, of a newer format, or what it publishes is no lines.
        case refused
        /// Two agents of its name speak by turns.
        case conflict
        /// It is not an agent of this fleet any more.
        case forgotten
    }

    /// The way to an agent.
    package enum Link: Sendable {
        /// None of its own: its lines come by a broker, and only silence tells.
        case none
        /// Likewise, and what comes is not taken.
        case unfit
        /// It is about to be connected to, for the first time.
        case opening
        case open
        case broken
        case refused

        /// Whether there is a connection to it, or is to be one.
        var isOwn: Bool { self != .none && self != .unfit }
    }

    package var link = Link.none
    /// Whether somebody has asked to forget it.
    package var isDismissed = false
    /// Whether its last was said.
    package private(set) var isForgotten = false
    package private(set) var standing = Standing.connecting
    /// Since when it is in that.
    private var since: Timestamp?
    /// When something came of it last, by the time here; nil before anything has.
    package private(set) var heard: Timestamp?
    /// When it became one of the fleet's, and when something came of it last, by the loop's clock: a wall clock leaps, and a
    /// broker has lines of days ago.
    private let joined: LoopInstant?
    private var came: LoopInstant?
    private var run: String?
    private var host = AgentIdentity.Host()
    private var app = Line.App()
    /// How wide its windows are, as it says.
    private var interval = Duration.seconds(10)
    /// Whether it has said goodbye, and nothing since.
    private var hasEnded = false
    /// When a run spoke last that another one had followed already.
    private var contested: Timestamp?
    /// By how many milliseconds its clock is ahead, as of the last minutes; a line's way here only makes it less.
    private var skews: (newest: Double, earlier: Double?, since: Timestamp)?
    /// What was said last, and in which minute.
    private var said: Line.Peer?
    private var saidMinute: Int64?

    /// Of a text that an agent says of itself, in bytes.
    private static let longestText = 256
    /// How long one that has two speakers is said to have them, after it was noticed last.
    static let conflictTime = Duration.seconds(180)
    /// After which one that is silent, and that nobody has configured, is forgotten.
    package static let lifetime = Duration.seconds(86_400)
    private static let minute: Int64 = 60_000_000

    /// - Parameter joined: when it became one of the fleet's.
    package init(joined: LoopInstant? = nil) { self.joined = joined }

    // MARK: What there is to hear

    /// Something came of it, at this time.
    package mutating func hear(at time: Timestamp) {
        heard = max(heard ?? time, time)
        isDismissed = false
    }

    /// Something of it came at this time of the loop's, whatever its own was.
    mutating func come(at time: LoopInstant) { came = max(came ?? time, time) }

    /// Takes in what a line tells of the agent.
    ///
    /// - Parameters:
    ///   - heard: when it came, which is before now where it has lain with a broker since.
    ///   - wall: the time here.
    mutating func hear(_ line: Line, at heard: Timestamp, wall: Timestamp) {
        switch line.body {
        case .hello(let hello): identify(run: hello.run, host: hello.host, app: hello.app, interval: hello.interval)
        case .bye: hasEnded = true
        case .data: return  // its time is its event's
        case .stats, .gap, .refusal: break
        default: hasEnded = false
        }
        let skew = Double(line.time.microseconds.subtractingSaturated(heard.microseconds)) / 1_000
        guard let known = skews else {
            skews = (skew, nil, wall)
            return
        }
        let age = (wall - known.since).microseconds
        if 0..<Self.minute ~= age {
            skews?.newest = max(known.newest, skew)
        } else {
            skews = (skew, known.newest, wall)
        }
    }

    /// What is known of the agent by something else than its lines, as by the last message that a broker has of it.
    ///
    /// - Parameters:
    ///   - interval: how wide its windows are; nil where that is not said.
    ///   - hasEnded: whether it has said goodbye.
    package mutating func identify(
        run: String, host: AgentIdentity.Host, app: Line.App = Line.App(), interval: Duration? = nil,
        hasEnded: Bool = false
    ) {
        func cut(_ text: String) -> String { LineEncoder.cut(text, at: Self.longestText) }
        self.run = run
        self.host = AgentIdentity.Host(
            name: cut(host.name), device: cut(host.device), os: cut(host.os), kernel: cut(host.kernel),
            arch: cut(host.arch))
        self.app = Line.App(name: app.name.map(cut), version: app.version.map(cut), started: app.started)
        if let interval { self.interval = min(max(interval, .seconds(1)), .seconds(3_600)) }
        self.hasEnded = hasEnded
    }

    /// A run has spoken that another one had followed.
    mutating func contest(at wall: Timestamp) { contested = wall }

    // MARK: What comes of it

    /// How long nothing may come before it is silent.
    private var patience: Duration { max(interval * 3, .seconds(10)) }

    private func judged(at wall: Timestamp) -> Standing {
        if let contested, wall - contested < Self.conflictTime { return .conflict }
        switch link {
        case .refused, .unfit: return .refused
        case .broken: return hasEnded ? .ended : .away
        case .opening: return .connecting
        case .open, .none:
            if hasEnded { return .ended }
            guard let heard else { return .connecting }
            return wall - heard > patience ? .silent : .live
        }
    }

    /// What is to be said now: when it is otherwise than it was, and once a minute, each agent in a second of its own.
    ///
    /// - Parameters:
    ///   - index: which agent it is.
    ///   - lost: how many of its lines are lost.
    package mutating func report(at wall: Timestamp, index: Int, lost: Int) -> Line.Peer? {
        guard !isForgotten else { return nil }
        // A clock that was stepped back would have it heard in the future.
        if let heard, heard > wall { self.heard = wall }
        let minute = wall.microseconds.addingSaturated(Int64(index * 37 % 60) * 1_000_000) / Self.minute
        let new = judged(at: wall)
        if since == nil || new != standing { (standing, since) = (new, wall) }
        let isNews =
            said.map { $0.state != new.rawValue || $0.run != run || $0.host != host || $0.app != app } ?? true
        guard isNews || minute != saidMinute else { return nil }
        saidMinute = minute
        let peer = self.peer(new, since: since ?? wall, lost: lost)
        said = peer
        return peer
    }

    /// The last that is said of it; nothing is said after that.
    package mutating func farewell(at wall: Timestamp, lost: Int) -> Line.Peer {
        isForgotten = true
        return peer(.forgotten, since: wall, lost: lost)
    }

    private func peer(_ standing: Standing, since: Timestamp, lost: Int) -> Line.Peer {
        let skew = skews.map { max($0.newest, $0.earlier ?? $0.newest).rounded() }
        return Line.Peer(
            state: standing.rawValue, since: since, heard: heard, run: run, host: host, app: app, skew: skew, lost: lost
        )
    }

    /// Whether nothing came of it for so long that it need not be remembered, where nobody has configured it.
    package func isOver(at now: LoopInstant) -> Bool {
        guard !isForgotten, !link.isOwn, let last = came ?? joined else { return false }
        return isDismissed || last.duration(to: now) > Self.lifetime
    }
}
