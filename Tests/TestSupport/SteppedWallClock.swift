package import Reactor
internal import Synchronization

/// A wall clock that follows a loop's clock and can be stepped, as an administrator or NTP would step a real one.
package final class SteppedWallClock: WallClock {
    private let clock: LoopClock
    private let offset: Atomic<Int64>

    /// Shows `start` at this moment.
    package init(following clock: LoopClock, startingAt start: Timestamp) {
        self.clock = clock
        self.offset = Atomic(start.microseconds - clock.now.nanoseconds / 1_000)
    }

    package var now: Timestamp {
        Timestamp(microseconds: clock.now.nanoseconds / 1_000 + offset.load(ordering: .relaxed))
    }

    /// Steps the clock; negative is back.
    package func step(by duration: Duration) {
        offset.wrappingAdd(duration.microseconds, ordering: .relaxed)
    }
}
