/// A point of wall-clock time: whole microseconds since the Unix epoch (UTC, no leap seconds).
///
/// The only representation of times in the program; `RFC3339` converts it to text at the edge.
package struct Timestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z; negative before it.
    package var microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    package init(seconds: Int64) { self.microseconds = seconds * 1_000_000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    // Times come from outside as well: results are clamped to the range of a `Timestamp`.

    /// The time `duration` later, to the microsecond.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(microseconds: time.microseconds.addingSaturated(duration.microseconds))
    }

    package static func - (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(microseconds: time.microseconds.subtractingSaturated(duration.microseconds))
    }

    /// The time from `right` to `left`; negative when `left` is earlier.
    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds.subtractingSaturated(right.microseconds))
    }
}

extension Duration {
    /// The duration in whole nanoseconds, truncated; saturates after 292 years.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in whole microseconds, truncated; saturates after 292 years.
    package var microseconds: Int64 { nanoseconds / 1_000 }

    /// The duration in milliseconds, with its fraction.
    package var milliseconds: Double { Double(nanoseconds) / 1_000_000 }

    /// The duration in seconds, with its fraction.
    package var seconds: Double { Double(nanoseconds) / 1_000_000_000 }
}
