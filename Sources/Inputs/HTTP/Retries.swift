internal import Feed
internal import Reactor

/// The pauses between a failing source's attempts, and the record of its outage.
struct Retries {
    private var backoff: Backoff
    /// The longest pause when the upstream asks for fewer requests; at least as long as after other failures.
    private let politeCap: Duration
    private var random: any RandomNumberGenerator & Sendable
    /// Until when the upstream wants no requests, whoever asks for one.
    private var notBefore = LoopInstant(nanoseconds: 0)
    private var outage = Outage<Failure.Code>()

    /// - Parameters:
    ///   - every: the time between polls, if there is one.
    ///   - most: the longest pause; nil for four periods, at least 2 s and at most 30 s.
    init(every: Duration?, most: Duration?, random: any RandomNumberGenerator & Sendable) {
        let usual = Duration.seconds(30)
        backoff = Backoff(cap: most ?? every.map { max(.seconds(2), min($0 * 4, usual)) } ?? usual)
        politeCap = max(usual, every ?? .zero, most ?? .zero)
        self.random = random
    }

    /// The number of failures in a row.
    var attempt: Int { backoff.attempt }

    /// Records a failure that ended at `time`.
    ///
    /// - Returns: the least time to wait.
    mutating func fail(_ code: Failure.Code, at time: LoopInstant, retryAfter: Duration?) -> Duration {
        _ = outage.fail(by: code, at: time)
        if let retryAfter { notBefore = time.advanced(by: retryAfter) }
        let pause = backoff.fail(upTo: code == .rateLimited ? politeCap : nil, using: &random)
        return max(pause, retryAfter ?? .zero)
    }

    /// The later of `time` and the end of the upstream's `Retry-After`.
    func allowed(at time: LoopInstant) -> LoopInstant { max(time, notBefore) }

    /// Resets the pauses and the count of failures.
    mutating func startOver() { backoff.succeed() }

    /// Records an answer at `time`.
    ///
    /// - Returns: the outage that it ends.
    mutating func answer(at time: LoopInstant) -> Recovery? { outage.end(at: time) }
}
