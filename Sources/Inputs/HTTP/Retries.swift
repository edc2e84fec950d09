internal import Feed
internal import Reactor

/// How a source is asked again that fails: how long it is let alone, and what its outage came to once it is over.
struct Retries {
    private var backoff: Backoff
    /// The longest pause where the upstream asks for fewer requests: never shorter than after other failures.
    private let politeCap: Duration
    private var random: any RandomNumberGenerator & Sendable
    /// Until when the upstream wants to be left alone, whoever asks.
    private var notBefore = LoopInstant(nanoseconds: 0)
    private var outage = Outage<Failure.Code>()

    /// - Parameters:
    ///   - every: the time from poll to poll, when there is one.
    ///   - most: the longest pause; nil for four periods, at least 2 s and at most 30 s.
    init(every: Duration?, most: Duration?, random: any RandomNumberGenerator & Sendable) {
        let usual = Duration.seconds(30)
        backoff = Backoff(cap: most ?? every.map { max(.seconds(2), min($0 * 4, usual)) } ?? usual)
        politeCap = max(usual, every ?? .zero, most ?? .zero)
        self.random = random
    }

    /// Failures in a row so far.
    var attempt: Int { backoff.attempt }

    /// Notes a failure that was over at `time`.
    ///
    /// - Returns: how long to wait at least.
    mutating func fail(_ code: Failure.Code, at time: LoopInstant, retryAfter: Duration?) -> Duration {
        _ = outage.fail(by: code, at: time)
        if let retryAfter { notBefore = time.advanced(by: retryAfter) }
        let pause = backoff.fail(upTo: code == .rateLimited ? politeCap : nil, using: &random)
        return max(pause, retryAfter ?? .zero)
    }

    /// `time`, or when the upstream wants to be asked again, if that is later.
    func allowed(at time: LoopInstant) -> LoopInstant { max(time, notBefore) }

    /// Has the pauses begin anew, and the failures be counted from 1.
    mutating func startOver() { backoff.succeed() }

    /// Notes that there is an answer at `time`.
    ///
    /// - Returns: the outage that is over by that.
    mutating func answer(at time: LoopInstant) -> Recovery? { outage.end(at: time) }
}
