import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct TimestampTextTests {
    private func written(_ time: Timestamp, with text: inout TimestampText) -> String? {
        var copy = text
        let written = GuardedMemory.text(atMost: 29) { copy.write(time, to: &$0) }
        text = copy
        return written
    }

    private func written(_ microseconds: Int64) -> String? {
        var text = TimestampText()
        return written(Timestamp(microseconds: microseconds), with: &text)
    }

    /// The calendar, year by year and month by month.
    private func twin(_ microseconds: Int64) -> String {
        func pad(_ number: Int64, _ digits: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: digits - text.count) + text
        }
        func days(_ year: Int64) -> Int64 { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365 }
        let ofDay = (microseconds % 86_400_000_000 + 86_400_000_000) % 86_400_000_000
        var day = (microseconds - ofDay) / 86_400_000_000
        var year: Int64 = 1970
        while day < 0 {
            year -= 1
            day += days(year)
        }
        while day >= days(year) {
            day -= days(year)
            year += 1
        }
        var month: Int64 = 1
        for length in [31, days(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as [Int64] {
            if day < length { break }
            day -= length
            month += 1
        }
        let second = ofDay / 1_000_000
        let date = "\(pad(year, 4))-\(pad(month, 2))-\(pad(day + 1, 2))"
        let time = "\(pad(second / 3_600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))"
        return "\"\(date)T\(time).\(pad(ofDay % 1_000_000, 6))Z\""
    }

    private static let earliest: Int64 = -62_167_219_200_000_000
    private static let latest: Int64 = 253_402_300_799_999_999

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (1, "1970-01-01T00:00:00.000001Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            (-1_000_000, "1969-12-31T23:59:59.000000Z"), (-1_000_001, "1969-12-31T23:59:58.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (-2_203_891_200_000_000, "1900-03-01T00:00:00.000000Z"),
            (1_735_787_045_678_901, "2025-01-02T03:04:05.678901Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ] as [(Int64, String)])
    func writesTimes(microseconds: Int64, text: String) {
        #expect(written(microseconds) == "\"\(text)\"")
        #expect(twin(microseconds) == "\"\(text)\"", "the twin itself")
    }

    @Test func takesTimesOutsideOfFourDigitYearsAsTheNearestInside() {
        for time in [Self.earliest, Self.earliest - 1, .min, .min + 1] {
            #expect(written(time) == written(Self.earliest))
        }
        for time in [Self.latest, Self.latest + 1, .max - 1, .max] { #expect(written(time) == written(Self.latest)) }
    }

    @Test func agreesWithItsTwinAndReadsBack() throws {
        var random = SeededGenerator(seed: 21)
        // One writer for all, so that what it keeps from the time before would show.
        var text = TimestampText()
        var time: Int64 = 0
        for _ in 0..<LongRun.rounds(short: 600, long: 50_000) {
            switch random.next() % 4 {
            case 0: time = Int64.random(in: Self.earliest...Self.latest, using: &random)
            case 1: time += Int64.random(in: -2_000_000...2_000_000, using: &random)
            case 2: time = Int64.random(in: -1_000_000_000_000...4_000_000_000_000_000, using: &random)
            default: time = Int64.random(in: -40_000...40_000, using: &random) * 86_400_000_000
            }
            time = min(max(time, Self.earliest), Self.latest)
            let written = try #require(written(Timestamp(microseconds: time), with: &text))
            #expect(written == twin(time), "seed \(random.seed)")
            let inner = Array(written.utf8.dropFirst().dropLast())
            #expect(RFC3339.parse(inner[...])?.microseconds == time, "\(written), seed \(random.seed)")
        }
    }

    @Test func writesTheFirstAndTheLastMomentOfEveryMonthAroundLeapYears() throws {
        for year in [
            0, 1, 3, 4, 99, 100, 101, 400, 1599, 1600, 1700, 1899, 1900, 1970, 1972, 2000, 2023, 2024, 2100, 9999,
        ] {
            for month in 1...12 {
                let digits = (month < 10 ? "0" : "") + String(month)
                let padded = String(repeating: "0", count: 4 - String(year).count) + String(year)
                let start = try #require(RFC3339.parse(Array("\(padded)-\(digits)-01T00:00:00Z".utf8)[...]))
                for shift in [-1, 0] as [Int64] where start.microseconds + shift >= Self.earliest {
                    #expect(written(start.microseconds + shift) == twin(start.microseconds + shift))
                }
            }
        }
    }
}
