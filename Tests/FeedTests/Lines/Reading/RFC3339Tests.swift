import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct RFC3339Tests {
    private func parse(_ text: String) -> Int64? { RFC3339.parse(Array(text.utf8)[...])?.microseconds }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.000001Z", 1), ("1969-12-31T23:59:59.999999Z", -1),
            ("1970-01-01t00:00:01z", 1_000_000), ("2001-09-09T01:46:40Z", 1_000_000_000_000_000),
            ("2001-09-09T03:46:40+02:00", 1_000_000_000_000_000),
            ("2001-09-08T20:16:40.5-05:30", 1_000_000_000_500_000),
            ("2001-09-09T01:46:40-00:00", 1_000_000_000_000_000), ("2001-09-09T01:46:40.1Z", 1_000_000_000_100_000),
            ("2001-09-09T01:46:40.123456789Z", 1_000_000_000_123_456),
            ("2001-09-09T01:46:40.000000999Z", 1_000_000_000_000_000),
            ("2001-09-09T01:46:40.123456789+23:59", 999_999_999_999_999 - 86_339_876_543),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000_000), ("0000-03-01T00:00:00Z", -62_162_035_200_000_000),
            ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
            ("2017-01-01T00:59:60.5+01:00", 1_483_228_800_500_000),
        ] as [(String, Int64)])
    func readsTimes(text: String, microseconds: Int64) { #expect(parse(text) == microseconds) }

    @Test(arguments: [
        "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z", "1970-01-01T00:00Z", "1970-1-01T00:00:00Z",
        "1970-00-01T00:00:00Z", "1970-13-01T00:00:00Z", "1970-01-00T00:00:00Z", "1970-01-32T00:00:00Z",
        "1970-04-31T00:00:00Z",
        "1970-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T12:00:60Z", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00.1234567890Z", "1970-01-01T00:00:00,5Z",
        "1970-01-01T00:00:00ZZ", "1970-01-01T00:00:00Z ", "1970-01-01T00:00:00+1:00", "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+00:60", "1970-01-01T00:00:00+0000", "1970-01-01T00:00:00+00", "1970-01-01T00:00:00.5",
        "+970-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "19700-01-01T00:00:00Z", "1970-01-01T00:00:0/Z",
        "1970-01-01T00:00:0:Z",
        "１970-01-01T00:00:00Z",
    ])
    func refusesEverythingElse(text: String) { #expect(parse(text) == nil) }

    @Test func refusesEveryPrefix() {
        let text = "2001-09-09T01:46:40.123456+02:00"
        for end in 0..<text.count { #expect(parse(String(text.prefix(end))) == nil) }
    }

    @Test func countsEveryDayOfThreeCenturies() {
        func pad(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        var days: Int64 = -(70 * 365 + 17)  // 1900-01-01: 17 leap days before 1970.
        for year in 1900..<2201 {
            let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
            for (month, length) in [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                for day in [1, 2, length] {
                    let text = "\(year)-\(pad(month + 1))-\(pad(day))T12:34:56Z"
                    let expected = (days + Int64(day) - 1) * 86_400 + 45_296
                    if parse(text) != expected * 1_000_000 { Issue.record("\(text)") }
                }
                days += Int64(length)
            }
        }
    }

    @Test func neverCrashesOnAnything() {
        var random = SeededGenerator(seed: 41)
        let text = Array("2001-09-09T01:46:40.123456+02:00".utf8)
        for _ in 0..<JSONGenerator.rounds(3_000, long: 1_000_000) {
            var bytes = text
            for _ in 0..<3 {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let end = Int.random(in: 0...bytes.count, using: &random)
            guard let time = RFC3339.parse(bytes[..<end]) else { continue }
            #expect(-62_167_305_600_000_000...253_402_387_200_000_000 ~= time.microseconds, "seed 41: \(bytes)")
        }
    }
}
