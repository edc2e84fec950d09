internal import Feed
internal import Reactor

/// The table of a fleet's agents: selection, order, and texts; the page has a twin of it (agents.mjs), tested with the
/// same vectors (Tests/Vectors/agents).
struct AgentTable: Sendable {
    /// The look of a row.
    enum Look: String {
        case good, plain
        /// Nothing comes, and no action is needed.
        case dim
        case bad
    }

    /// Indices of the board's agents, the worst state first; within a state, those with lost lines first, then by name.
    let rows: [Int]
    /// The numbers of firing alerts that are about agents or come from them, by their names.
    let alerts: [String: Int]

    /// - Parameter filter: parts of an agent's name or its machine's; see `ListFilter`.
    init(_ board: Board, filter: String) {
        let wanted = ListFilter(filter)
        func isShown(_ agent: ShownAgent) -> Bool { wanted.matches(agent.name) || wanted.matches(agent.host.name) }
        rows = board.agents.indices.filter { isShown(board.agents[$0]) }
            .map { (rank: Self.rank(board.agents[$0]), index: $0) }
            .sorted { left, right in
                left.rank != right.rank
                    ? left.rank < right.rank
                    : NaturalOrder.isBefore(board.agents[left.index].name, board.agents[right.index].name)
            }
            .map(\.index)
        alerts = board.alerts.all.reduce(into: [:]) { counts, alert in
            if let agent = board.agent(of: alert) { counts[agent, default: 0] += 1 }
        }
    }

    private static func rank(_ agent: ShownAgent) -> Int {
        let order: [MemberState.Standing] = [.conflict, .refused, .away, .silent, .ended, .connecting]
        let place =
            standing(agent) == .live
            ? order.count + 1 : standing(agent).flatMap { order.firstIndex(of: $0) } ?? order.count
        return place * 2 + (agent.lost > 0 ? 0 : 1)
    }

    /// Nil without a state, or with one that this version does not know.
    private static func standing(_ agent: ShownAgent) -> MemberState.Standing? {
        agent.state.flatMap { MemberState.Standing(rawValue: $0) }
    }

    static func look(_ agent: ShownAgent) -> Look {
        switch standing(agent) {
        case .live: .good
        case .conflict, .refused, .away: .bad
        case .silent, .ended, .forgotten: .dim
        case .connecting, nil: .plain
        }
    }

    /// The texts of an agent's row, in the order of the columns.
    struct Texts {
        var state, age, rate, host, system, version, skew, lost: String
    }

    static func texts(_ agent: ShownAgent, at now: Timestamp) -> Texts {
        func said(_ text: String?) -> String { text.map { $0.isEmpty ? "–" : $0 } ?? "–" }
        let rate = agent.rate(at: now)
        return Texts(
            state: said(agent.state), age: agent.heard.map { NumberText.age(now - $0) } ?? "–",
            rate: rate > 0 ? NumberText.fixed(rate, rate < 10 ? 1 : 0) : "0", host: said(agent.host.name),
            system: said(agent.host.os), version: said(agent.version), skew: agent.skew.map(skewText) ?? "–",
            lost: "\(agent.lost)")
    }

    private static func skewText(_ milliseconds: Double) -> String {
        let size = min(abs(milliseconds), 1e12)
        let sign = size < 0.5 ? "" : milliseconds < 0 ? "-" : "+"
        return sign + NumberText.processorTime(size)
    }

    /// The text for lines of agents that are not in the table; nil when there are none.
    static func refused(_ lines: Int) -> String? {
        guard lines > 0 else { return nil }
        return
            "\(lines) more \(lines == 1 ? "line" : "lines"), of agents for which there is no room, or whose names are none"
    }

    /// Whether an agent's clock is off by more than a window.
    static func isSkewed(_ agent: ShownAgent, window: Duration) -> Bool {
        agent.skew.map { abs($0) > window.milliseconds } ?? false
    }
}
