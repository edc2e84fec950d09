package import Reactor

/// When a source is polled: at absolute times, a period apart, so that nothing drifts, however long a poll takes.
///
/// Sources of one period are spread over it by their names: the phase is the name's FNV-1a hash modulo the period, the
/// same for as long as the machine runs. The first poll comes at once, or when there are many sources, within a moment
/// that grows with their number; ticks missed while a poll was under way are skipped, never made up for in a burst.
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

    /// Within which time the first polls of so many sources come: 2 ms for every one but the first.
    package static func spread(of sources: Int) -> Duration { .milliseconds(2) * max(0, sources - 1) }

    /// When the first poll comes of a source that starts at `start`: by its phase within `spread`, or the period when that
    /// is shorter.
    package func first(after start: LoopInstant, within spread: Duration) -> LoopInstant {
        let span = min(max(0, spread.nanoseconds), period)
        // As large a part of the span as the phase is of the period.
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
    /// A poll that was not on a tick, the first one or one after a failure, is followed at least half a period later: by the
    /// next tick, or where that is more than a period away, by one more poll halfway there.
    package func next(after due: LoopInstant, finished: LoopInstant) -> LoopInstant {
        let tick = tick(after: max(finished, due.advanced(by: .nanoseconds(period / 2))))
        let pause = due.duration(to: tick)
        guard pause > .nanoseconds(period) else { return tick }
        let halfway = due.advanced(by: pause / 2)
        return halfway > finished ? halfway : tick
    }

    /// The same after a failure: not before `pause` has passed, and never sooner than a working source would be polled.
    package func retry(after due: LoopInstant, finished: LoopInstant, pause: Duration) -> LoopInstant {
        max(tick(after: finished), due.advanced(by: .nanoseconds(period)), finished.advanced(by: pause))
    }
}
