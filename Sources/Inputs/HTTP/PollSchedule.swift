package import Reactor

/// When a source is polled: at absolute times, a period apart, so that nothing drifts, however long a poll takes.
///
/// Sources of one period are spread over it by their names: the phase is the name's FNV-1a hash modulo the period, the
/// same after every start. The first poll comes at once; ticks missed while a poll was under way are skipped, never made
/// up for in a burst.
package struct PollSchedule: Sendable {
    private let period: Int64
    private let phase: Int64

    /// - Parameter every: the period, more than 0.
    package init(every: Duration, name: String) {
        period = max(1, every.nanoseconds)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        phase = Int64(hash % UInt64(period))
    }

    /// The first tick later than `time`.
    package func tick(after time: LoopInstant) -> LoopInstant {
        let since = time.nanoseconds - phase
        let (quotient, remainder) = since.quotientAndRemainder(dividingBy: period)
        let passed = remainder < 0 ? quotient - 1 : quotient
        return LoopInstant(nanoseconds: (passed + 1) * period + phase)
    }

    /// The tick after the first poll, which was made at `start`: at least half a period later.
    package func tick(afterFirst start: LoopInstant) -> LoopInstant {
        tick(after: LoopInstant(nanoseconds: start.nanoseconds + period / 2))
    }
}
