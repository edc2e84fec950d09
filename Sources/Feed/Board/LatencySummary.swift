/// What a `stats` line says of one endpoint's durations, in milliseconds: a histogram without its buckets.
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
    /// A histogram that stands for a summary: everything in the summary comes out again, percentiles within a bucket.
    ///
    /// Its durations are put where the summary knows a percentile: with the ranks r50 = ⌈50 · n / 100⌉ and so on, one
    /// at the minimum, r50 − 1 at p50, r90 − r50 at p90, r95 − r90 at p95, r99 − r95 at p99, and n − r99 at the maximum.
    /// Nothing but `errors` is taken over from a summary whose numbers no histogram could have given: a negative or
    /// not finite one, or no durations.
    package init(_ summary: LatencySummary) {
        self.init()
        recordErrors(summary.errors)
        let known = [
            summary.minimum, summary.p50, summary.p90, summary.p95, summary.p99, summary.maximum, summary.mean,
            summary.last,
        ]
        guard summary.count > 0, known.allSatisfy({ $0 >= 0 && $0.isFinite }) else { return }
        record(summary.minimum)
        var placed = 1
        for (percent, value) in [(50, summary.p50), (90, summary.p90), (95, summary.p95), (99, summary.p99)] {
            let rank = Self.rank(percent, of: summary.count)
            record(value, times: rank - placed)
            placed = rank
        }
        record(summary.maximum, times: summary.count - placed)
        restore(sum: summary.mean * Double(summary.count), last: summary.last)
    }

    /// ⌈percent · count / 100⌉ without overflow.
    private static func rank(_ percent: Int, of count: Int) -> Int {
        let (quotient, remainder) = count.quotientAndRemainder(dividingBy: 100)
        return quotient * percent + (remainder * percent + 99) / 100
    }
}
