internal import Glibc

/// Counts how often a threshold would have been crossed by the values of a series, for all thresholds at once.
///
/// A threshold lies between two bins of values. Of each value that follows on a lower one, those between both are crossed upwards:
/// each bin has the number of crossings that begin above it, less those that end there.
package struct ThresholdSuggestion: Sendable {
    /// A limit that would have been crossed some times.
    package struct Limit: Sendable, Equatable {
        package let value: Double
        package let crossings: Int
    }

    private struct Bin {
        var count = 0
        var low = Double.infinity
        var high = -Double.infinity
        /// Of crossings upwards and downwards.
        var ups = 0
        var downs = 0

        mutating func add(_ other: Bin) {
            (count, ups, downs) = (count + other.count, ups + other.ups, downs + other.downs)
            (low, high) = (min(low, other.low), max(high, other.high))
        }
    }

    // Bound: bins of values for a suggested threshold | 16,384 (1.5 MiB), a thousandth wide | two become one
    private static let mostBins = 16_384

    private var bins: [Int64: Bin] = [:]
    /// How many low bits of a value do not matter.
    private var shift: Int64 = 42
    private var last: Double?
    /// The number of values.
    package private(set) var count = 0

    package init() {}

    /// Adds the next value.
    package mutating func add(_ value: Double) {
        guard value.isFinite else { return }
        count += 1
        let bin = place(of: value)
        bins[bin, default: Bin()].add(Bin(count: 1, low: value, high: value))
        if let last {
            // Within a bin both cancel out.
            let before = place(of: last)
            bins[before]?.ups += value > last ? 1 : 0
            bins[bin]?.ups -= value > last ? 1 : 0
            bins[bin]?.downs += value < last ? 1 : 0
            bins[before]?.downs -= value < last ? 1 : 0
        } else {
            // The first one crosses whatever is below it, or above.
            bins[bin]?.ups -= 1
            bins[bin]?.downs += 1
        }
        last = value
        while bins.count > Self.mostBins { coarsen() }
    }

    /// In the order of the values.
    private func place(of value: Double) -> Int64 {
        let bits = Int64(bitPattern: (value == 0 ? 0 : value).bitPattern)
        return (bits < 0 ? Int64.min - bits : bits) >> shift
    }

    private mutating func coarsen() {
        shift += 1
        bins = bins.reduce(into: [:]) { $0[$1.key >> 1, default: Bin()].add($1.value) }
    }

    private var sorted: [Bin] { bins.sorted { $0.key < $1.key }.map(\.value) }

    /// The lowest and the highest value; nil without any.
    package var range: ClosedRange<Double>? {
        let bins = sorted
        return bins.first.flatMap { first in bins.last.map { first.low...$0.high } }
    }

    /// The lowest `T` for which `>= T` fires at most so often; nil if there is none, or it would hold most of the time.
    package func upper(atMost most: Int) -> Limit? {
        let bins = sorted
        var (found, above): (Limit?, Int) = (nil, 0)
        // The first value crosses the lowest limit from below.
        var crossings = 1 + bins.reduce(0) { $0 + $1.ups }
        for (index, bin) in bins.enumerated().reversed() where index > 0 {
            crossings -= bin.ups
            above += bin.count
            guard crossings <= most, above * 2 <= count else { break }
            found = Limit(value: Self.shortest(above: bins[index - 1].high, upTo: bin.low), crossings: crossings)
        }
        return found
    }

    /// The highest `T` for which `< T` fires at most so often; nil likewise.
    package func lower(atMost most: Int) -> Limit? {
        let bins = sorted
        var (found, below, crossings): (Limit?, Int, Int) = (nil, 0, 0)
        for (index, bin) in bins.enumerated().dropLast() {
            crossings += bin.downs
            below += bin.count
            guard crossings <= most, below * 2 <= count else { break }
            found = Limit(value: Self.shortest(above: bin.high, upTo: bins[index + 1].low), crossings: crossings)
        }
        return found
    }

    /// The number with the fewest digits in an interval, near its middle.
    static func shortest(above low: Double, upTo high: Double) -> Double {
        if low < 0, high >= 0 { return 0 }
        let middle = low / 2 + high / 2
        // From a power of ten beyond both on, a digit more each time.
        let magnitude = Int((Double(max(abs(low), abs(high)).exponent) * 0.301_03).rounded(.down)) + 1
        for exponent in (magnitude - 16...magnitude).reversed() {
            // Read, as a product with a power of ten would not be exact.
            guard let step = Double("1e\(exponent)"), let count = Int64(exactly: (middle / step).rounded()),
                let candidate = Double("\(count)e\(exponent)"), candidate > low, candidate <= high
            else { continue }
            return candidate
        }
        return high
    }

    /// The number of values in parts of their range of equal width; of equal ratio if they are positive and more than a hundredfold.
    package func histogram(parts: Int) -> [(from: Double, count: Int)] {
        guard let range, range.upperBound > range.lowerBound else {
            return range.map { [($0.lowerBound, count)] } ?? []
        }
        let isWide = range.lowerBound > 0 && range.upperBound / range.lowerBound > 100
        let edges = (0..<parts).map { part in
            // The width of the whole range may be no number.
            let share = Double(part) / Double(parts)
            return isWide
                ? pow(range.lowerBound, 1 - share) * pow(range.upperBound, share)
                : range.lowerBound * (1 - share) + range.upperBound * share
        }
        var counts = edges.map { _ in 0 }
        for bin in bins.values {
            // A bin is far narrower than a part.
            counts[edges.lastIndex { $0 <= bin.low } ?? 0] += bin.count
        }
        return Array(zip(edges, counts))
    }
}
