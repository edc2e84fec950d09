internal import Reactor

/// Decides when to draw: at once after a key, otherwise after a change, at least `pace` after the previous frame.
struct FramePace {
    enum Step: Equatable {
        case nothing, draw
        /// Ask again at this time; returned once.
        case wait(until: LoopInstant)
    }

    private let pace: Duration
    private var isDirty = true
    private var isUrgent = true
    private var isWaiting = false
    private var last: LoopInstant?

    init(_ pace: Duration) { self.pace = pace }

    mutating func change(urgently: Bool) {
        isDirty = true
        if urgently { isUrgent = true }
    }

    /// The next step at `now`; after `draw`, nothing until the next change.
    mutating func next(_ now: LoopInstant) -> Step {
        guard isDirty else { return .nothing }
        if !isUrgent, let due = last?.advanced(by: pace), now < due {
            if isWaiting { return .nothing }
            isWaiting = true
            return .wait(until: due)
        }
        self = FramePace(pace, last: now, isWaiting: isWaiting)
        return .draw
    }

    /// The time of `wait` has come.
    mutating func endWait() { isWaiting = false }

    private init(_ pace: Duration, last: LoopInstant, isWaiting: Bool) {
        self.pace = pace
        self.last = last
        self.isWaiting = isWaiting
        (isDirty, isUrgent) = (false, false)
    }
}
