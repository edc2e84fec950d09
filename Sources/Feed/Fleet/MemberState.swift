package import Reactor

/// The state of an agent of a fleet, as its `peer` lines give it: derived from its own connection, if it has one, and
/// from the time when it was last heard from.
///
/// Without clock or descriptor, like `FleetMember`, whose lines it examines.
package struct MemberState: Sendable {
    /// The `state` of a `peer` line, the worst last, except for the final one.
    package enum Standing: String, Sendable, CaseIterable {
        /// Its lines arrive.
        case live
        /// Nothing has arrived from it yet, and nothing went wrong.
        case connecting
        /// It has sent `bye`.
        case ended
        /// Nothing has arrived for three of its windows (at least 10 s), without any known fault.
        case silent
        /// It cannot be reached, or the connection broke; the hub keeps trying.
        case away
        /// It cannot be a member: it is a hub itself, uses a newer format, or publishes something else than lines.
        case refused
        /// Two agents with its name send lines by turns.
        case conflict
        /// It is no longer an agent of this fleet.
        case forgotten
    }

    /// The state of the connection to an agent.
    package enum Link: Sendable {
        /// It has none of its own: its lines come by a broker, and only silence shows a fault.
        case none
        /// Likewise, and the hub refuses what it sends.
        case unfit
        /// The first connection is being opened.
        case opening
        case open
        case broken
        case refused

        /// Whether it has a connection of its own, open or not.
        var isOwn: Bool { self != .none && self != .unfit }
    }

    package var link = Link.none
    /// The time during which its lines do not come or are refused, by the reasons.
    var outage = Outage<String>()
    /// The run that is refused, of those that a broker carries.
    package var refusedRun: String?
    /// Whether someone asked to forget it.
    package var isDismissed = false
    /// Whether its last `peer` line was written.
    package private(set) var isForgotten = false
    package private(set) var standing = Standing.connecting
    /// The start of `standing`.
    private var since: Timestamp?
    /// The time when it was last heard from, by the hub's wall clock; nil if never.
    package private(set) var heard: Timestamp?
    /// The times when it joined and when it was last heard from, by the loop's clock: a wall clock may jump, and a
    /// broker delivers lines that are days old.
    private let joined: LoopInstant?
    private var came: LoopInstant?
    private var run: String?
    private var host = AgentIdentity.Host()
    private var app = Line.App()
    /// The width of its windows, as it says.
    package private(set) var interval = Duration.seconds(10)
    /// Whether it has sent `bye`, and nothing since.
    private var hasEnded = false
    /// The time of the newest line from a run that another one had superseded.
    private var contested: Timestamp?
    /// The milliseconds by which its clock is ahead, as of the last minutes; a line's delay on the way only reduces it.
    private var skews: (newest: Double, earlier: Double?, since: Timestamp)?
    /// The last `peer` line, and its minute.
    private var said: Line.Peer?
    private var saidMinute: Int64?

    /// The longest text that an agent gives of itself, in bytes.
    static let longestText = 256
    /// The time that a conflict is reported after the last sign of it.
    static let conflictTime = Duration.seconds(180)
    // Silence of an unconfigured agent of a fleet: a day; forgotten after a last `peer` line.
    /// The time after which a silent agent is forgotten, unless it is configured.
    package static let lifetime = Duration.seconds(86_400)
    private static let minute: Int64 = 60_000_000

    /// - Parameter joined: the time when it became a member.
    package init(joined: LoopInstant? = nil) { self.joined = joined }

    // MARK: What there is to hear

    /// Records that something from it arrived, at this time.
    package mutating func hear(at time: Timestamp) {
        heard = max(heard ?? time, time)
        isDismissed = false
    }

    /// Records that something from it arrived, at this time of the loop's clock.
    mutating func come(at time: LoopInstant) { came = max(came ?? time, time) }

    /// Updates the state by a line of the agent.
    ///
    /// - Parameters:
    ///   - heard: the time of its arrival, which is in the past if it waited in a broker.
    ///   - wall: the hub's time.
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

    /// Sets what is known of the agent, from its `hello` or a journal.
    ///
    /// - Parameter interval: the width of its windows; nil if not given.
    package mutating func identify(
        run: String, host: AgentIdentity.Host = .init(), app: Line.App = Line.App(), interval: Duration? = nil
    ) {
        func cut(_ text: String) -> String { LineEncoder.cut(text, at: Self.longestText) }
        self.run = run
        self.host = host.cut(at: Self.longestText)
        self.app = Line.App(name: app.name.map(cut), version: app.version.map(cut), started: app.started)
        if let interval { self.interval = min(max(interval, .seconds(1)), .seconds(3_600)) }
        hasEnded = false
    }

    /// Records a line from a run already superseded: two agents share this name.
    mutating func contest(at wall: Timestamp) { contested = wall }

    // MARK: What comes of it

    /// The time without lines after which it counts as silent.
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

    /// Returns the `peer` line to write now: on every change, and once a minute, in a different second for each agent.
    ///
    /// - Parameters:
    ///   - index: the agent's index.
    ///   - lost: the number of its lost lines.
    package mutating func report(at wall: Timestamp, index: Int, lost: Int) -> Line.Peer? {
        guard !isForgotten else { return nil }
        // After the hub's clock stepped back, this would be in the future.
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

    /// Returns the last `peer` line; nothing is reported after it.
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

    /// Whether nothing arrived from it for so long that it can be forgotten, unless it is configured.
    package func isOver(at now: LoopInstant) -> Bool {
        guard !isForgotten, !link.isOwn, let last = came ?? joined else { return false }
        return isDismissed || last.duration(to: now) > Self.lifetime
    }
}

extension AgentIdentity.Host {
    /// The same with texts of at most `limit` bytes.
    func cut(at limit: Int) -> Self {
        func cut(_ text: String) -> String { LineEncoder.cut(text, at: limit) }
        return Self(name: cut(name), device: cut(device), os: cut(os), kernel: cut(kernel), arch: cut(arch))
    }
}
