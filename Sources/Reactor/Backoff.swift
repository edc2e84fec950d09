/// How long to wait after failures in a row: a random time up to a bound that doubles ("full jitter"), so that many
/// agents that lost one server do not come back together.
///
/// | failure | bound, with base 1 s and cap 30 s |
/// | --- | --- |
/// | 1 | 1 s |
/// | 2 | 2 s |
/// | 3 | 4 s |
/// | 5 | 16 s |
/// | 6 and later | 30 s |
package struct Backoff: Sendable {
    package let base: Duration
    package let cap: Duration
    /// Failures in a row so far.
    package private(set) var attempt = 0

    package init(base: Duration = .seconds(1), cap: Duration = .seconds(30)) {
        self.base = base
        self.cap = cap
    }

    /// The bound after this many failures in a row, from 1; with another cap when there is one.
    package func bound(after attempt: Int, upTo other: Duration? = nil) -> Duration {
        // 2^20 seconds are more than any cap; more would overflow in the end.
        min(other ?? cap, base * (1 << max(0, min(attempt - 1, 20))))
    }

    /// Notes a failure, of which another cap may hold; returns how long to wait.
    package mutating func fail(upTo other: Duration? = nil, using random: inout some RandomNumberGenerator) -> Duration
    {
        attempt += 1
        return bound(after: attempt, upTo: other) * Double.random(in: 0...1, using: &random)
    }

    /// Notes how long something lasted that then failed: a success when that was a second, and the longest pause before it.
    package mutating func lasted(_ time: Duration) { if time >= max(.seconds(1), bound(after: attempt)) { succeed() } }

    /// Notes a success.
    package mutating func succeed() { attempt = 0 }
}
