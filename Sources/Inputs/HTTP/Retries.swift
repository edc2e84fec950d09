internal import CCurl
internal import Feed
package import Reactor

/// The pauses between a failing source's attempts, and the record of its outage.
struct Retries {
    private var backoff: Backoff
    /// The longest pause when the upstream asks for fewer requests; at least as long as after other failures.
    private let politeCap: Duration
    /// Until when the upstream wants no requests, whoever asks for one.
    private var notBefore = LoopInstant(nanoseconds: 0)
    private var outage = Outage<Failure.Code>()

    /// - Parameters:
    ///   - every: the time between polls, if there is one.
    ///   - most: the longest pause; nil for four periods, at least 2 s and at most 30 s.
    init(every: Duration?, most: Duration?, random: any RandomNumberGenerator & Sendable) {
        let usual = Duration.seconds(30)
        backoff = Backoff(cap: most ?? every.map { max(.seconds(2), min($0 * 4, usual)) } ?? usual, random: random)
        politeCap = max(usual, every ?? .zero, most ?? .zero)
    }

    /// The number of failures in a row.
    var attempt: Int { backoff.attempt }

    /// Records a failure that ended at `time`.
    ///
    /// - Returns: the least time to wait.
    mutating func fail(_ code: Failure.Code, at time: LoopInstant, retryAfter: Duration?) -> Duration {
        _ = outage.fail(by: code, at: time)
        if let retryAfter { notBefore = time.advanced(by: retryAfter) }
        let pause = backoff.fail(upTo: code == .rateLimited ? politeCap : nil)
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

/// The `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date.
package enum RetryAfter {
    /// The longest time that a server can make us wait.
    package static let longest = Duration.seconds(300)
    /// The end of the year 9999, after which there are no HTTP dates; libcurl reads years that overflow a `Timestamp`.
    private static let lastDate = 253_402_300_799

    /// The time to wait by this header, clamped to 0…5 minutes; nil when it cannot be parsed.
    package static func delay(_ text: String, now: Timestamp) -> Duration? {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return Int64(text).map { min(longest, .seconds(min($0, 86_400))) } ?? longest
        }
        // All three date forms of RFC 9110, section 5.6.7.
        guard text.utf8.count <= 64, case let date = curl_getdate(text, nil), (0...lastDate).contains(date) else {
            return nil
        }
        return max(.zero, min(longest, Timestamp(seconds: Int64(date)) - now))
    }
}
