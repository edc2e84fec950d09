import TestSupport
import Testing

@testable import Conditions

@Suite(.limited) struct ThresholdSuggestionTests {
    /// How often a test begins to hold.
    private func begins(_ values: [Double], _ holds: (Double) -> Bool) -> Int {
        var (count, held) = (0, false)
        for value in values {
            if holds(value), !held { count += 1 }
            held = holds(value)
        }
        return count
    }

    @Test func countsWhatAConditionWouldHaveCounted() {
        for round in 0..<LongRun.rounds(short: 100, long: 5_000) {
            var random = SeededGenerator(seed: UInt64(500 + round))
            let scale = [1e-9, 1, 1e6][Int(random.next() % 3)]
            var suggestion = ThresholdSuggestion()
            let values = (0..<2 + random.next() % 80).map { _ in (Double(random.next() % 30) - 10) * scale }
            for value in values { suggestion.add(value) }
            #expect(suggestion.count == values.count)
            #expect(suggestion.range == values.min()!...values.max()!)
            for most in 1...6 {
                // Of the limits between two values, those that are wanted.
                let sorted = Set(values).sorted()
                let (uppers, lowers) = (sorted.dropFirst(), sorted.dropFirst())
                func isRare(_ holds: (Double) -> Bool) -> Bool {
                    begins(values, holds) <= most && values.filter(holds).count * 2 <= values.count
                }
                var upper: Double?
                for limit in uppers.reversed() {
                    guard isRare({ $0 >= limit }) else { break }
                    upper = limit
                }
                var lower: Double?
                for limit in lowers {
                    guard isRare({ $0 < limit }) else { break }
                    lower = limit
                }
                let (high, low) = (suggestion.upper(atMost: most), suggestion.lower(atMost: most))
                #expect(high?.crossings == upper.map { limit in begins(values) { $0 >= limit } }, "seed \(random.seed)")
                #expect(low?.crossings == lower.map { limit in begins(values) { $0 < limit } }, "seed \(random.seed)")
                // Between the same values, whatever the digits.
                #expect(
                    high.map { limit in values.filter { $0 >= limit.value }.count }
                        == upper.map { limit in values.filter { $0 >= limit }.count })
                #expect(
                    low.map { limit in values.filter { $0 < limit.value }.count }
                        == lower.map { limit in values.filter { $0 < limit }.count })
            }
        }
    }

    @Test func aLimitHasFewDigits() {
        #expect(ThresholdSuggestion.shortest(above: 1_011, upTo: 1_234) == 1_100)
        #expect(ThresholdSuggestion.shortest(above: 0.1, upTo: 0.5) == 0.3)
        #expect(ThresholdSuggestion.shortest(above: 99, upTo: 101) == 100)
        #expect(ThresholdSuggestion.shortest(above: 1_000, upTo: 1_001) == 1_001)
        #expect(ThresholdSuggestion.shortest(above: -12.5, upTo: -12.3) == -12.4)
        #expect(ThresholdSuggestion.shortest(above: -1, upTo: 1) == 0)
        #expect(ThresholdSuggestion.shortest(above: 0, upTo: .leastNonzeroMagnitude) == .leastNonzeroMagnitude)
        #expect(ThresholdSuggestion.shortest(above: 1, upTo: 1.0.nextUp) == 1.0.nextUp)
        #expect(ThresholdSuggestion.shortest(above: 1e308, upTo: .greatestFiniteMagnitude) == 1.4e308)
    }

    @Test func extremeAndManyValuesFit() throws {
        var suggestion = ThresholdSuggestion()
        for value in [Double.nan, .infinity, -.infinity] { suggestion.add(value) }
        #expect(suggestion.count == 0)
        #expect(suggestion.range == nil)
        #expect(suggestion.upper(atMost: 1) == nil)
        #expect(suggestion.histogram(parts: 3).isEmpty)
        for value in [-Double.greatestFiniteMagnitude, .greatestFiniteMagnitude, 0, -0.0, .leastNonzeroMagnitude] {
            suggestion.add(value)
        }
        #expect(suggestion.histogram(parts: 3).map(\.count) == [1, 3, 1])
        var random = SeededGenerator(seed: 3)
        var above = 0
        // Bins have become one, below 0 as well.
        var (many, values) = (ThresholdSuggestion(), [Double]())
        for _ in 0..<100_000 {
            let value = Double(bitPattern: random.next())
            suggestion.add(value)
            if value.isFinite {
                many.add(value)
                values.append(value)
            }
            if value > 1 { above += 1 }
        }
        #expect(suggestion.histogram(parts: 4).map(\.count).reduce(0, +) == suggestion.count)
        for most in [10, 1_000, 20_000] {
            let (high, low) = (try #require(many.upper(atMost: most)), try #require(many.lower(atMost: most)))
            #expect(begins(values) { $0 >= high.value } == high.crossings)
            #expect(begins(values) { $0 < low.value } == low.crossings)
        }
        let limit = try #require(suggestion.upper(atMost: suggestion.count)).value
        // Where half of the values are.
        #expect(abs(limit) < 1, "\(above) are above 1")
    }

    @Test func partsAreOfEqualRatioWhereValuesAreFarApart() {
        var suggestion = ThresholdSuggestion()
        for value in [1.0, 2, 3, 20, 150, 1_000] { suggestion.add(value) }
        let parts = suggestion.histogram(parts: 3)
        #expect(parts.map(\.count) == [3, 1, 2])
        #expect(parts.map { ($0.from * 100).rounded() / 100 } == [1, 10, 100])
        #expect(ThresholdSuggestion().histogram(parts: 3).isEmpty)
        var extreme = ThresholdSuggestion()
        for value in [1e-200, 1e-100, 1e100, 1e200] { extreme.add(value) }
        #expect(extreme.histogram(parts: 4).map(\.count) == [1, 1, 0, 2])
    }
}
