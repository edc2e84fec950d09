/// The pauses between failed attempts: a random time up to a bound that doubles ("full jitter"), so that many agents
/// that lost the same server do not return together.
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
    private var random: any RandomNumberGenerator & Sendable
    /// The number of failures in a row.
    package private(set) var attempt = 0

    package init(
        base: Duration = .seconds(1), cap: Duration = .seconds(30), random: any RandomNumberGenerator & Sendable
    ) {
        (self.base, self.cap, self.random) = (base, cap, random)
    }

    /// The bound after this many failures in a row, from 1; `other` replaces the cap.
    package func bound(after attempt: Int, upTo other: Duration? = nil) -> Duration {
        // 2^20 seconds are more than any cap; larger factors would overflow.
        min(other ?? cap, base * (1 << max(0, min(attempt - 1, 20))))
    }

    /// Counts a failure and returns the pause; `other` replaces the cap.
    package mutating func fail(upTo other: Duration? = nil) -> Duration {
        attempt += 1
        return bound(after: attempt, upTo: other) * Double.random(in: 0...1, using: &random)
    }

    /// Records how long something worked before it failed: a success if at least a second and the longest possible
    /// pause.
    package mutating func lasted(_ time: Duration) { if time >= max(.seconds(1), bound(after: attempt)) { succeed() } }

    /// Resets the count of failures.
    package mutating func succeed() { attempt = 0 }
}
