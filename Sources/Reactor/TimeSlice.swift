/// How much of a long piece of work is done before others have their turn: so many steps, or so much time.
///
/// The clock is looked at after every step while they are long, and after at most 32 while they are short (4 at the start of a slice). In virtual
/// time, where no time passes meanwhile, only the steps are a bound.
package struct TimeSlice {
    private let clock: LoopClock
    private let time: Duration
    private let mostSteps: Int
    private var end: LoopInstant
    private var lastLook: LoopInstant
    /// Steps from one look at the clock to the next.
    private var stride = 1
    private var untilLook = 1
    private var stepsLeft: Int

    private static let longestStride = 32
    /// Looking after each step costs nothing beside steps that take longer than this.
    private static let shortStretch = Duration.microseconds(5)

    /// - Parameters:
    ///   - time: what it may take on the loop; by default so little that what comes of the work fits into a turn as well.
    ///   - steps: the most steps of the work that are made.
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

    /// Begins the next one.
    ///
    /// - Returns: the time.
    @discardableResult
    package mutating func restart() -> LoopInstant {
        stepsLeft = mostSteps
        // Long steps may follow short ones: they are noticed soon.
        untilLook = min(untilLook, 4)
        lastLook = clock.now
        end = lastLook.advanced(by: time)
        return lastLook
    }

    /// Counts a step that was made; false when it was the last one for now.
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
