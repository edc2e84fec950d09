/// One endpoint's durations in a `stats` line, in milliseconds: a histogram without its buckets.
package struct LatencySummary: Sendable, Equatable {
    package var count = 0
    package var errors = 0
    package var last = 0.0
    package var mean = 0.0
    package var minimum = 0.0
    package var p50 = 0.0
    package var p90 = 0.0
    package var p95 = 0.0
    package var p99 = 0.0
    package var maximum = 0.0
}

extension LatencyHistogram {
    /// Creates a histogram that matches a summary: it returns all of the summary's values, percentiles within a bucket.
    ///
    /// With the ranks r50 = ⌈50 · n / 100⌉ and so on, one duration is at the minimum, one each at p50, p90, p95, p99
    /// and the maximum, and those between two of these are spread evenly over the buckets above the lower one, up to
    /// the higher one. Their real distribution is unknown, so percentiles are estimates as soon as more is recorded.
    ///
    /// Only `errors` counts in a summary that no histogram could have given: with a negative or not finite number, or
    /// without durations.
    package init(_ summary: LatencySummary) {
        self.init()
        recordErrors(summary.errors)
        let known = [
            summary.minimum, summary.p50, summary.p90, summary.p95, summary.p99, summary.maximum, summary.mean,
            summary.last,
        ]
        guard summary.count > 0, known.allSatisfy({ $0 >= 0 && $0.isFinite }) else { return }
        record(summary.minimum)
        var (placed, lower) = (1, summary.minimum)
        for (percent, value) in [
            (50, summary.p50), (90, summary.p90), (95, summary.p95), (99, summary.p99), (100, summary.maximum),
        ] {
            let rank = Self.rank(percent, of: summary.count)
            spread(rank - placed, above: lower, through: value)
            (placed, lower) = (rank, value)
        }
        restore(sum: summary.mean * Double(summary.count), last: summary.last)
    }

    /// ⌈percent · count / 100⌉ without overflow.
    private static func rank(_ percent: Int, of count: Int) -> Int {
        let (quotient, remainder) = count.quotientAndRemainder(dividingBy: 100)
        return quotient * percent + (remainder * percent + 99) / 100
    }
}
