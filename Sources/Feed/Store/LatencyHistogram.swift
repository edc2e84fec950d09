internal import Reactor

/// The distribution of one endpoint's durations: exact count, sum, extremes and newest, percentiles within 1 % of
/// recorded values; see `init(_:)` for values from a summary.
///
/// Buckets are log-linear: 64 of equal width per power of two, so that a bucket's midpoint is at most 1/128 (0.8 %) off
/// any value in it. A value on the bound of two buckets is in the lower one, so that `count(atMost:)` is exact at their
/// bounds. They reach from 1 µs to 1 hour; durations outside count in the first or the last bucket, with `minimum`,
/// `maximum` and `sum` still exact. Only the buckets between the smallest and the largest value are in memory: none
/// while empty, at most about 8 KiB. A bucket's counter saturates at 4,294,967,295.
package struct LatencyHistogram: Sendable, Equatable {
    /// The number of durations recorded.
    package private(set) var count = 0
    /// The number of failures; they have no duration.
    package private(set) var errors = 0
    /// The sum of all durations, in milliseconds; at most the greatest finite number.
    package var sum: Double { Swift.min(scaledSum / Self.scale, .greatestFiniteMagnitude) }
    /// The shortest duration, in milliseconds; 0 while empty.
    package private(set) var minimum = 0.0
    /// The longest duration, in milliseconds; 0 while empty.
    package private(set) var maximum = 0.0
    /// The newest duration, in milliseconds; 0 while empty.
    package private(set) var last = 0.0

    /// The sum times `scale`, so that it stays finite: other agents may report 1e308.
    private var scaledSum = 0.0
    private static let scale = 0x1p-16

    /// The bucket of `counts[0]`.
    private var firstBucket = 0
    private var counts: [UInt32] = []

    package init() {}

    /// The mean duration, in milliseconds; 0 while empty.
    package var mean: Double {
        count == 0 ? 0 : Swift.min(Swift.max(scaledSum / Double(count) / Self.scale, minimum), maximum)
    }

    /// The number of buckets in memory, at 4 bytes each.
    package var heldBuckets: Int { counts.count }

    /// Counts a duration `times` times (none if below 1); returns false for `milliseconds` that are negative or not finite,
    /// and ignores them.
    @discardableResult
    package mutating func record(_ milliseconds: Double, times: Int = 1) -> Bool {
        guard milliseconds >= 0, milliseconds.isFinite else { return false }
        guard times > 0 else { return true }
        minimum = count == 0 ? milliseconds : Swift.min(minimum, milliseconds)
        maximum = count == 0 ? milliseconds : Swift.max(maximum, milliseconds)
        last = milliseconds
        count = count.addingSaturated(times)
        scaledSum = Swift.min(scaledSum + milliseconds * Self.scale * Double(times), .greatestFiniteMagnitude)
        add(times, to: Self.bucket(of: milliseconds))
        return true
    }

    /// Counts `number` failures; a number below 1 is ignored.
    package mutating func recordErrors(_ number: Int = 1) {
        errors = errors.addingSaturated(Swift.max(number, 0))
    }

    /// The duration in milliseconds that `percent` (0 to 100) percent of all do not exceed; 0 while empty.
    ///
    /// Nearest rank: of n durations in ascending order, the one at position ⌈percent · n / 100⌉, at least the first.
    /// The first and the last are exact; any other is the midpoint of its bucket, clamped to the shortest and the
    /// longest.
    package func percentile(_ percent: Double) -> Double {
        guard count > 0 else { return 0 }
        // `seen` is whole, so reaching the exact quotient means reaching it rounded up.
        let rank = percent * Double(count) / 100
        if rank <= 1 { return minimum }
        if rank > Double(count - 1) { return maximum }
        var seen = 0.0
        for (offset, number) in counts.enumerated() {
            seen += Double(number)
            if seen >= rank {
                return Swift.min(Swift.max(Self.midpoint(of: firstBucket + offset), minimum), maximum)
            }
        }
        return maximum
    }

    /// A percentile to show to people; nil for so few durations that it is little more than the longest: fewer than 20
    /// for 95 percent and more, fewer than 100 for 99 and more.
    package func tellingPercentile(_ percent: Double) -> Double? {
        count >= (percent >= 99 ? 100 : percent >= 95 ? 20 : 1) ? percentile(percent) : nil
    }

    /// Calls `body` with the number of durations up to each bound in milliseconds; bounds ascend. Exact for bounds of
    /// buckets: 1 + k/64 times a power of two from 1 µs to 1 hour.
    package func count(atMost bounds: [Double], _ body: (Int) -> Void) {
        var seen = 0
        var next = 0
        for bound in bounds {
            let end = Swift.min(Self.bucket(of: bound) + 1 - firstBucket, counts.count)
            while next < end {
                seen += Int(counts[next])
                next += 1
            }
            body(seen)
        }
    }

    /// Sets values of a summary that its stand-in durations do not reproduce.
    mutating func restore(sum: Double, last: Double) {
        scaledSum = sum * Self.scale
        self.last = last
    }

    /// Counts `times` durations, the last of which is `upper`: the others evenly over the buckets above that of
    /// `lower`.
    mutating func spread(_ times: Int, above lower: Double, through upper: Double) {
        guard times > 0 else { return }
        record(upper)
        count = count.addingSaturated(times - 1)
        let end = Self.bucket(of: upper)
        let width = Swift.max(end - Self.bucket(of: lower), 1)
        let (quotient, remainder) = (times - 1).quotientAndRemainder(dividingBy: width)
        for step in 1...width {
            add(quotient + remainder * step / width - remainder * (step - 1) / width, to: end - width + step)
        }
    }

    private mutating func add(_ times: Int, to bucket: Int) {
        reach(bucket)
        let index = bucket - firstBucket
        counts[index] = UInt32(clamping: Int(counts[index]).addingSaturated(times))
    }

    /// Makes `counts` cover `bucket`.
    private mutating func reach(_ bucket: Int) {
        if counts.isEmpty {
            firstBucket = bucket
            counts = [0]
        } else if bucket < firstBucket {
            counts.insert(contentsOf: repeatElement(0, count: firstBucket - bucket), at: 0)
            firstBucket = bucket
        } else if bucket >= firstBucket + counts.count {
            counts.append(contentsOf: repeatElement(0, count: bucket - firstBucket - counts.count + 1))
        }
    }

    // The bucket's number is the exponent and the first six fraction bits of a positive Double, as one integer.
    // Histogram of response times: 1 µs to 1 h, 64 buckets for each power of two (8 KiB); others count in the
    // outermost buckets.
    private static let shift = 46
    private static let shortest = 0.001
    private static let longest = 3_600_000.0
    private static let origin = Int(shortest.bitPattern >> shift)

    private static func bucket(of milliseconds: Double) -> Int {
        Int((Swift.min(Swift.max(milliseconds, shortest), longest).bitPattern - 1) >> shift) - origin
    }

    private static func midpoint(of bucket: Int) -> Double {
        Double(bitPattern: UInt64(bucket + origin) << shift | 1 << (shift - 1))
    }
}
