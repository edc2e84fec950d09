internal import Feed
internal import Reactor

/// Counts lines that could not be read, and says so once a second at the most: how many since the last time, and what
/// was wrong with the first of them.
struct BadLines {
    /// The shortest time from one report to the next.
    static let pause = Duration.seconds(1)

    /// How many there were, ever.
    private(set) var total = 0
    private var pending = 0
    private var first: (line: Int, failure: Failure)?
    private var nextReport = LoopInstant(nanoseconds: 0)

    /// When there is something to report, at the earliest; nil when there is nothing.
    var due: LoopInstant? { pending > 0 ? nextReport : nil }

    /// Counts a line; `failure` is asked for when it is the first one since the last report.
    mutating func add(line: Int, _ failure: @autoclosure () -> Failure) {
        total += 1
        pending += 1
        if first == nil { first = (line, failure()) }
    }

    /// What to report now, which is then reported; nil when there is nothing, or it is too early.
    mutating func report(at now: LoopInstant) -> Failure? {
        guard pending > 0, now >= nextReport else { return nil }
        return finish(at: now)
    }

    /// What has not been reported yet, whatever the time.
    mutating func finish(at now: LoopInstant) -> Failure? {
        guard let (line, reason) = first else { return nil }
        let message = "line \(line): \(reason.message)"
        var failure = reason
        failure.message = pending == 1 ? message : "\(pending) bad lines, the first of them \(message)"
        pending = 0
        first = nil
        nextReport = now.advanced(by: Self.pause)
        return failure
    }
}
