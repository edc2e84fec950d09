internal import Feed
internal import Reactor

/// Counts what was wrong with lines or messages, and says so once a second at the most, or only at once and at the end: how
/// many since the last time, and what was wrong with the first of them.
struct FaultTally {
    /// The shortest time from one report to the next; nil for never until the end.
    private let pause: Duration?

    private var pending = 0
    private var first: Failure?
    /// Nil for not before the end.
    private var nextReport: LoopInstant? = LoopInstant(nanoseconds: 0)
    private let preamble: (Int) -> String

    /// - Parameter preamble: what is said before the first fault's message, of so many.
    init(every pause: Duration? = .seconds(1), _ preamble: @escaping (Int) -> String) {
        self.pause = pause
        self.preamble = preamble
    }

    /// When there is something to report, at the earliest; nil when there is nothing.
    var due: LoopInstant? { pending > 0 ? nextReport : nil }

    /// Counts a fault; `failure` is asked for when it is the first one since the last report.
    mutating func add(_ failure: @autoclosure () -> Failure, count: Int = 1) {
        pending += count
        if first == nil { first = failure() }
    }

    /// What to report now, which is then reported; nil when there is nothing, or it is too early.
    ///
    /// - Parameter isLast: whether there will be no other time, so that none is too early.
    mutating func report(at now: LoopInstant, isLast: Bool = false) -> Failure? {
        guard var failure = first, isLast || nextReport.map({ now >= $0 }) == true else { return nil }
        failure.message = preamble(pending) + failure.message
        pending = 0
        first = nil
        nextReport = pause.map { now.advanced(by: $0) }
        return failure
    }

    /// Of events that have no value, since nothing is where the first number was: told of at once and at the end.
    static var withoutValue: FaultTally {
        FaultTally(every: nil) { count in
            count == 1 ? "an event has no value: " : "\(count) events have no value, the first of them: "
        }
    }
}
