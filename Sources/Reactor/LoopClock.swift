import CLinux
internal import Glibc
internal import Synchronization

/// A time of a loop's clock, in nanoseconds; meaningless outside of the process.
package struct LoopInstant: InstantProtocol, Sendable, Hashable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package func advanced(by duration: Duration) -> LoopInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return LoopInstant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    package func duration(to other: LoopInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)  // a Duration holds any difference of the two
    }

    package static func < (left: LoopInstant, right: LoopInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// A loop's monotonic clock: the kernel's, or a virtual one that stands still while there is work and jumps when there
/// is none.
package final class LoopClock: Sendable {
    private let virtualNanoseconds: Atomic<Int64>
    /// Whether this clock only moves when its loop moves it.
    package let isVirtual: Bool

    init(isVirtual: Bool) {
        self.isVirtual = isVirtual
        self.virtualNanoseconds = Atomic(1_000_000_000)
    }

    package var now: LoopInstant {
        if isVirtual { return LoopInstant(nanoseconds: virtualNanoseconds.load(ordering: .relaxed)) }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return LoopInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Moves a virtual clock forward; never back.
    func jump(to instant: LoopInstant) {
        if instant > now { virtualNanoseconds.store(instant.nanoseconds, ordering: .relaxed) }
    }
}

/// A source of wall-clock time.
package protocol WallClock: Sendable {
    var now: Timestamp { get }
    /// How long the machine has slept since its start.
    var slept: Duration { get }
    /// The speed relative to real time; 0 while it stands still.
    var rate: Double { get }
    /// The speed of a replay whose clock this is: `10x`, `max` or `paused`; nil for other clocks.
    var playback: String? { get }
}

extension WallClock {
    package var slept: Duration { .zero }
    package var rate: Double { 1 }
    package var playback: String? { nil }
}

/// The machine's wall clock (`CLOCK_REALTIME`); may be stepped in either direction while the program runs.
package struct SystemWallClock: WallClock {
    package init() {}

    package var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }

    package var slept: Duration {
        var (awake, all) = (timespec(), timespec())
        clock_gettime(CLOCK_MONOTONIC, &awake)
        clock_gettime(CLOCK_BOOTTIME, &all)
        return .seconds(all.tv_sec - awake.tv_sec) + .nanoseconds(all.tv_nsec - awake.tv_nsec)
    }
}
