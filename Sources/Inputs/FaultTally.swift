internal import Feed
internal import Reactor

/// Counts faults of lines or messages, and reports them at most once a second, or only the first one and again at the
/// end: the number since the last report, and the first of them.
struct FaultTally {
    /// The shortest time between two reports; nil for none between the first and the last.
    private let pause: Duration?

    private var pending = 0
    private var first: Failure?
    /// The earliest time of the next report; nil for not before the end.
    private var nextReport: LoopInstant? = LoopInstant(nanoseconds: 0)
    private let preamble: (Int) -> String

    /// - Parameter preamble: the text before the first fault's message, for this number of faults.
    init(every pause: Duration? = .seconds(1), _ preamble: @escaping (Int) -> String) {
        self.pause = pause
        self.preamble = preamble
    }

    /// The earliest time of the next report; nil when there is nothing to report.
    var due: LoopInstant? { pending > 0 ? nextReport : nil }

    /// Counts a fault; `failure` is evaluated only for the first one since the last report.
    mutating func add(_ failure: @autoclosure () -> Failure, count: Int = 1) {
        pending += count
        if first == nil { first = failure() }
    }

    /// Returns the failure to report now and resets the count; nil when there is nothing to report, or it is too early.
    ///
    /// - Parameter isLast: whether this is the last report, which is never too early.
    mutating func report(at now: LoopInstant, isLast: Bool = false) -> Failure? {
        guard var failure = first, isLast || nextReport.map({ now >= $0 }) == true else { return nil }
        failure.message = preamble(pending) + failure.message
        pending = 0
        first = nil
        nextReport = pause.map { now.advanced(by: $0) }
        return failure
    }

    /// Counts events without a value, because nothing is at the pointer of the first number; reports the first one and
    /// at the end.
    static var withoutValue: FaultTally {
        FaultTally(every: nil) { count in
            count == 1 ? "an event has no value: " : "\(count) events have no value, the first of them: "
        }
    }
}
