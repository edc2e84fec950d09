internal import Reactor

/// Estimates the agent's clock from the times of its lines and when they arrive.
///
/// A line arrives after its transit time, or much later in a replay: so the line furthest ahead of the local clock
/// gives the best estimate. Only lines of the last 30 to 60 seconds count, so that a step of either clock is forgotten;
/// while none come, the estimate stays.
struct AgentClock: Sendable {
    private static let period: Int64 = 30_000_000

    private var start: Int64 = 0
    private var current: Int64?
    private var previous: Int64?

    /// Records a line's time and its arrival by the local clock.
    mutating func record(_ agent: Timestamp, local: Timestamp) {
        let (lead, overflow) = agent.microseconds.subtractingReportingOverflow(local.microseconds)
        guard !overflow else { return }
        let elapsed = local.microseconds &- start
        if let old = current, 0..<Self.period ~= elapsed {
            current = max(old, lead)
        } else {
            // After the local clock was set back, older measurements are useless.
            previous = elapsed >= 0 ? current : nil
            current = lead
            start = local.microseconds
        }
    }

    /// The agent's time at a local time; the local time without any estimate.
    func time(_ local: Timestamp) -> Timestamp {
        guard let current else { return local }
        let (sum, overflow) = local.microseconds.addingReportingOverflow(max(current, previous ?? .min))
        return Timestamp(microseconds: overflow ? local.microseconds : sum)
    }

    /// Whether any line was recorded.
    var isKnown: Bool { current != nil }
}
