import Glibc
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct LatencyHistogramTests {
    static let percents: [Double] = [0, 1, 25, 50, 90, 95, 99, 99.9, 100]

    /// Values in milliseconds as different endpoints make them.
    enum Spread: CaseIterable {
        case uniform, logUniform, exponential, twoHumps, constant, tiny

        func draw(_ random: inout SeededGenerator) -> Double {
            let unit = Double.random(in: 0..<1, using: &random)
            switch self {
            case .uniform: return 1 + unit * 999
            case .logUniform: return power(10, unit * 9.2 - 3)
            case .exponential:
                // The sum of geometric bits stands in for a logarithm, which needs no C library.
                return Double(random.next().leadingZeroBitCount) * 17 + unit * 17
            case .twoHumps: return random.next() % 10 == 0 ? 900 + unit * 200 : 2 + unit
            case .constant: return 130.1
            case .tiny: return 0.001 + unit * 0.01
            }
        }

        private func power(_ base: Double, _ exponent: Double) -> Double {
            var result = 1.0
            for _ in 0..<Int(exponent.magnitude) { result *= base }
            let rest = 1 + (exponent.magnitude - Double(Int(exponent.magnitude))) * (base - 1)
            return exponent < 0 ? 1 / (result * rest) : result * rest
        }
    }

    private func ceiling(_ value: Double) -> Int {
        Double(Int(value)) < value ? Int(value) + 1 : Int(value)
    }

    @Test(arguments: [(1, false, false), (19, false, false), (20, true, false), (99, true, false), (100, true, true)])
    func tellsPercentilesOfEnoughOnly(_ count: Int, _ p95: Bool, _ p99: Bool) {
        var histogram = LatencyHistogram()
        for ms in 1...count { histogram.record(Double(ms)) }
        #expect(histogram.tellingPercentile(50) == histogram.percentile(50))
        #expect(histogram.tellingPercentile(95) == (p95 ? histogram.percentile(95) : nil))
        #expect(histogram.tellingPercentile(99) == (p99 ? histogram.percentile(99) : nil))
    }

    @Test(arguments: Spread.allCases)
    func percentilesAreWithinOnePercentOfTheSortedValues(_ spread: Spread) {
        var random = SeededGenerator(seed: 41)
        for size in [1, 2, 3, 10, 99, 100, 101, 5_000] {
            var histogram = LatencyHistogram()
            var values: [Double] = []
            for _ in 0..<size {
                let value = spread.draw(&random)
                values.append(value)
                let taken = histogram.record(value)
                #expect(taken)
            }
            let sum = values.reduce(0, +)
            #expect(histogram.count == size)
            #expect(histogram.last == values.last)
            #expect(histogram.sum == sum)
            #expect((histogram.mean - sum / Double(size)).magnitude <= 1e-9 * histogram.mean)
            values.sort()
            #expect(histogram.minimum == values.first)
            #expect(histogram.maximum == values.last)
            for percent in Self.percents {
                let rank = max(1, ceiling(percent * Double(size) / 100))
                let exact = values[rank - 1]
                let found = histogram.percentile(percent)
                #expect(
                    (found - exact).magnitude <= 0.01 * exact,
                    "seed \(random.seed), \(spread), \(size) values: p\(percent) is \(found), not \(exact)")
                #expect(found >= histogram.minimum && found <= histogram.maximum)
            }
        }
    }

    /// As `le` of a Prometheus histogram means it: what equals the bound counts.
    @Test(arguments: [1.0, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_000, 64_000])
    func countsExactlyWhatIsAtMostABoundOfABucket(_ bound: Double) {
        var histogram = LatencyHistogram()
        for value in [bound / 2, bound - 0.001, bound, bound, bound + 0.001, bound * 2] { histogram.record(value) }
        var counts: [Int] = []
        histogram.count(atMost: [bound / 4, bound / 2, bound, bound * 2]) { counts.append($0) }
        #expect(counts == [0, 1, 4, 6])
        LatencyHistogram().count(atMost: [bound]) { counts.append($0) }
        #expect(counts.last == 0)
    }

    @Test(arguments: [-1, -0.000_001, .nan, .infinity, -.infinity, .signalingNaN])
    func refusesWhatIsNoDuration(_ value: Double) {
        var histogram = LatencyHistogram()
        histogram.record(5)
        let before = histogram
        let taken = histogram.record(value)
        #expect(!taken)
        #expect(histogram == before)
    }

    @Test(arguments: [0.0, -0.0, 1e-300, 0.000_9, 3_600_001, 1e12, Double.greatestFiniteMagnitude])
    func keepsTheExtremesExactOutsideItsRange(_ value: Double) {
        var histogram = LatencyHistogram()
        let taken = histogram.record(value)
        #expect(taken)
        #expect(histogram.minimum == value && histogram.maximum == value && histogram.sum == value)
        for percent in Self.percents { #expect(histogram.percentile(percent) == value) }
        histogram.record(10)
        #expect(histogram.minimum == min(value, 10) && histogram.maximum == max(value, 10))
        #expect((histogram.percentile(value < 10 ? 100 : 50) - 10).magnitude <= 0.1)
    }

    @Test func coversOneMicrosecondToOneHour() {
        var value = 0.001
        while value <= 3_600_000 {
            var histogram = LatencyHistogram()
            histogram.record(value / 2)
            histogram.record(value)
            histogram.record(value * 2)
            let middle = histogram.percentile(50)
            #expect((middle - value).magnitude <= 0.01 * value, "\(value) became \(middle)")
            value *= 1.003_7
        }
    }

    @Test func holdsNothingWhileEmptyAndLittleWhenFull() {
        var histogram = LatencyHistogram()
        #expect(histogram.heldBuckets == 0)
        #expect(histogram.mean == 0 && histogram.percentile(99) == 0)
        histogram.recordErrors()
        #expect(histogram.heldBuckets == 0 && histogram.errors == 1)
        histogram.record(100)
        #expect(histogram.heldBuckets == 1)
        histogram.record(0)
        histogram.record(.greatestFiniteMagnitude)
        #expect(histogram.heldBuckets <= 2_048)
        #expect(MemoryLayout<LatencyHistogram>.size <= 64)
    }

    @Test func countsTheSameDurationManyTimesAtOnce() {
        var once = LatencyHistogram()
        var many = LatencyHistogram()
        for _ in 0..<7 { once.record(2.5) }
        many.record(2.5, times: 7)
        many.record(9, times: 0)
        many.record(9, times: -1)
        #expect(once == many)
        many.record(1, times: .max)
        many.record(1, times: .max)
        many.recordErrors(.max)
        many.recordErrors(.max)
        #expect(many.count == .max && many.errors == .max)
        #expect(many.percentile(50) >= 1)
    }

    @Test(arguments: Spread.allCases)
    func comesBackFromItsSummary(_ spread: Spread) {
        var random = SeededGenerator(seed: 43)
        for size in [0, 1, 2, 3, 10, 19, 20, 21, 99, 100, 101, 1_000] {
            var histogram = LatencyHistogram()
            for _ in 0..<size { histogram.record(spread.draw(&random)) }
            histogram.recordErrors(3)
            let summary = LatencySummary(histogram)
            let again = LatencySummary(LatencyHistogram(summary))
            #expect(again.count == size && again.errors == 3 && again.last == summary.last)
            #expect(again.minimum == summary.minimum && again.maximum == summary.maximum)
            #expect((again.mean - summary.mean).magnitude <= 1e-12 * summary.mean)
            for (found, expected) in [
                (again.p50, summary.p50), (again.p90, summary.p90), (again.p95, summary.p95), (again.p99, summary.p99),
            ] {
                #expect(
                    (found - expected).magnitude <= 0.01 * expected,
                    "seed \(random.seed), \(spread), \(size) values: \(again), not \(summary)")
            }
        }
    }

    /// Some hundred after a thousand: a heap at each percentile that is known put later ones a third off.
    @Test func goesOnFromASummaryWithPlausiblePercentiles() {
        for seed in 1...20 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            var whole = LatencyHistogram()
            func draw() -> Double { 1 - 20 * Glibc.log(Double.random(in: 0.000_1...1, using: &random)) }
            for _ in 0..<1_000 { whole.record(draw()) }
            var carriedOn = LatencyHistogram(LatencySummary(whole))
            for _ in 0..<700 {
                let duration = draw()
                whole.record(duration)
                carriedOn.record(duration)
            }
            for percent in [50.0, 90, 95, 99] {
                let (found, expected) = (carriedOn.percentile(percent), whole.percentile(percent))
                #expect(
                    (found - expected).magnitude <= 0.1 * expected, "seed \(seed), p\(percent): \(found), \(expected)")
            }
        }
    }

    @Test(arguments: [Double.nan, -1, .infinity])
    func takesNothingButErrorsFromAnImpossibleSummary(_ value: Double) {
        var summary = LatencySummary()
        summary.count = 10
        summary.errors = 2
        summary.p90 = value
        let histogram = LatencyHistogram(summary)
        #expect(histogram.count == 0 && histogram.errors == 2)
    }

    @Test(arguments: [Int.max, -1, .min])
    func survivesAHostileSummary(_ count: Int) {
        var summary = LatencySummary()
        summary.count = count
        summary.errors = count
        summary.p50 = 9
        summary.p90 = 1
        let histogram = LatencyHistogram(summary)
        #expect(histogram.count == max(count, 0) && histogram.errors == max(count, 0))
    }
}

extension LatencySummary {
    /// Sums a histogram up.
    init(_ histogram: LatencyHistogram) {
        self.init(
            count: histogram.count, errors: histogram.errors, last: histogram.last, mean: histogram.mean,
            minimum: histogram.minimum, p50: histogram.percentile(50), p90: histogram.percentile(90),
            p95: histogram.percentile(95), p99: histogram.percentile(99), maximum: histogram.maximum)
    }
}
