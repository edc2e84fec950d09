/// A slice of a long piece of work, after which others on the loop get a turn: bounded by steps and by time.
///
/// The clock is checked after every step while they are long, and after at most 32 while they are short (4 at the start
/// of a slice). In virtual time, where no time passes meanwhile, only the steps are a bound.
package struct TimeSlice {
    private let clock: LoopClock
    private let time: Duration
    private let mostSteps: Int
    private var end: LoopInstant
    private var lastLook: LoopInstant
    /// The number of steps between two checks of the clock.
    private var stride = 1
    private var untilLook = 1
    private var stepsLeft: Int

    private static let longestStride = 32
    /// Checking after each step is cheap compared to steps longer than this.
    private static let shortStretch = Duration.microseconds(5)

    // Lines, messages or items that an input reads at once: 0.1 ms, or a full batch; others get their turn.
    /// - Parameters:
    ///   - time: the most time on the loop; the default leaves room in the turn for the consequences of the work.
    ///   - steps: the most steps.
    package init(of loop: EventLoop, time: Duration = .microseconds(100), steps: Int = 1_024) {
        self.init(clock: loop.clock, time: time, steps: steps)
    }

    init(clock: LoopClock, time: Duration, steps: Int) {
        self.clock = clock
        self.time = time
        mostSteps = steps
        stepsLeft = steps
        lastLook = clock.now
        end = lastLook.advanced(by: time)
    }

    /// Starts the next slice.
    ///
    /// - Returns: the current time.
    @discardableResult
    package mutating func restart() -> LoopInstant {
        stepsLeft = mostSteps
        // Long steps may follow short ones: this detects them soon.
        untilLook = min(untilLook, 4)
        lastLook = clock.now
        end = lastLook.advanced(by: time)
        return lastLook
    }

    /// Counts a completed step; returns false when it was the last one of the slice.
    package mutating func goesOn() -> Bool {
        stepsLeft -= 1
        untilLook -= 1
        guard stepsLeft > 0 else { return false }
        return untilLook > 0 || look()
    }

    private mutating func look() -> Bool {
        let now = clock.now
        stride = lastLook.duration(to: now) < Self.shortStretch ? min(stride * 2, Self.longestStride) : 1
        untilLook = stride
        lastLook = now
        if now >= end { stepsLeft = 0 }
        return stepsLeft > 0
    }
}
