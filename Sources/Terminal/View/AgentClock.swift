internal import Reactor

/// What the agent's clock shows, told from when its lines come and what time they say.
///
/// A line is as old as its way here, or much older when it is replayed; so the one that is furthest ahead of the local
/// clock tells the most. Only lines of the last 30 to 60 seconds count, lest a step of either clock be remembered for
/// ever; while none come, what is known stays.
struct AgentClock: Sendable {
    private static let period: Int64 = 30_000_000

    private var start: Int64 = 0
    private var current: Int64?
    private var previous: Int64?

    /// Takes in the time that a line says, and when it came by the local clock.
    mutating func note(_ agent: Timestamp, local: Timestamp) {
        let (lead, overflow) = agent.microseconds.subtractingReportingOverflow(local.microseconds)
        guard !overflow else { return }
        let elapsed = local.microseconds &- start
        if let old = current, 0..<Self.period ~= elapsed {
            current = max(old, lead)
        } else {
            // A local clock that was set back has nothing to do with what was before.
            previous = elapsed >= 0 ? current : nil
            current = lead
            start = local.microseconds
        }
    }

    /// The agent's time at a local time; the local time while nothing is known.
    func time(_ local: Timestamp) -> Timestamp {
        guard let current else { return local }
        let (sum, overflow) = local.microseconds.addingReportingOverflow(max(current, previous ?? .min))
        return Timestamp(microseconds: overflow ? local.microseconds : sum)
    }

    /// Whether any line was taken in.
    var isKnown: Bool { current != nil }
}
