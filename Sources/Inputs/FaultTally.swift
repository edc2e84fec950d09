internal import Feed
internal import Reactor

/// Counts what was wrong with lines or messages, and says so once a second at the most: how many since the last time, and
/// what was wrong with the first of them.
struct FaultTally {
    /// The shortest time from one report to the next.
    static let pause = Duration.seconds(1)

    private var pending = 0
    private var first: Failure?
    private var nextReport = LoopInstant(nanoseconds: 0)
    private let preamble: (Int) -> String

    /// - Parameter preamble: what is said before the first fault's message, of so many.
    init(_ preamble: @escaping (Int) -> String) { self.preamble = preamble }

    /// When there is something to report, at the earliest; nil when there is nothing.
    var due: LoopInstant? { pending > 0 ? nextReport : nil }

    /// Counts a fault; `failure` is asked for when it is the first one since the last report.
    mutating func add(_ failure: @autoclosure () -> Failure) {
        pending += 1
        if first == nil { first = failure() }
    }

    /// What to report now, which is then reported; nil when there is nothing, or it is too early.
    ///
    /// - Parameter isLast: whether there will be no other time, so that none is too early.
    mutating func report(at now: LoopInstant, isLast: Bool = false) -> Failure? {
        guard var failure = first, isLast || now >= nextReport else { return nil }
        failure.message = preamble(pending) + failure.message
        pending = 0
        first = nil
        nextReport = now.advanced(by: Self.pause)
        return failure
    }
}
