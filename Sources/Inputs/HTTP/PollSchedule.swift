package import Reactor

/// When a source is polled: at absolute times, a period apart, so that nothing drifts, however long a poll takes.
///
/// The names of sources spread them over their period: the phase is the name's FNV-1a hash modulo the period, the same
/// until the machine reboots. The first poll comes at once or, with many sources, within a short time that grows with
/// their number; ticks missed during a poll are skipped, never made up for in a burst.
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

    /// The time over which the first polls of this number of sources are spread: 2 ms for every one but the first.
    package static func spread(of sources: Int) -> Duration { .milliseconds(2) * max(0, sources - 1) }

    /// The first poll of a source that starts at `start`: at its phase, scaled to `spread` or, if shorter, the period.
    package func first(after start: LoopInstant, within spread: Duration) -> LoopInstant {
        let span = min(max(0, spread.nanoseconds), period)
        // The same fraction of the span as the phase is of the period.
        return start.advanced(by: .nanoseconds(Int64(Double(span) * (Double(phase) / Double(period)))))
    }

    /// The first tick later than `time`.
    package func tick(after time: LoopInstant) -> LoopInstant {
        // Neither overflows: the clock is far from its ends, and the phase is from 0 up to the period.
        let since = time.nanoseconds - phase
        let remainder = since % period
        return time.advanced(by: .nanoseconds(remainder < 0 ? -remainder : period - remainder))
    }

    /// When the next poll is due, after one that was due at `due` and ended at `finished`.
    ///
    /// A poll off the ticks (the first one, or one after a failure) is followed at least half a period later: by the
    /// next tick or, if that is more than a period away, by one more poll halfway there.
    package func next(after due: LoopInstant, finished: LoopInstant) -> LoopInstant {
        let tick = tick(after: max(finished, due.advanced(by: .nanoseconds(period / 2))))
        let pause = due.duration(to: tick)
        guard pause > .nanoseconds(period) else { return tick }
        let halfway = due.advanced(by: pause / 2)
        return halfway > finished ? halfway : tick
    }

    /// When the next poll is due after a failure: not before `pause` has passed, and not sooner than after a success.
    package func retry(after due: LoopInstant, finished: LoopInstant, pause: Duration) -> LoopInstant {
        max(tick(after: finished), due.advanced(by: .nanoseconds(period)), finished.advanced(by: pause))
    }
}
