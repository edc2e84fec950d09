import Feed
import TestSupport
import Testing

@Suite(.limited) struct JSONNumberTests {
    private func double(_ text: String) -> Double? {
        Array(text.utf8).withUnsafeBufferPointer { JSONNumber.double($0) }
    }
    private func integer(_ text: String) -> Int? { Array(text.utf8).withUnsafeBufferPointer { JSONNumber.integer($0) } }

    @Test(arguments: [
        "0", "-0", "0.1", "106", "132.412", "1e22", "1e23", "9007199254740992", "9007199254740993", "9007199254740995",
        "0.0000000000000000000001", "0.00000000000000000000001", "98.19999999999999", "123456789012345678901234567890",
        "1.7976931348623157e308", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-999", "-1e-999",
        "1e-9223372036854775808", "-0.01e-9223372036854775807", "0e9223372036854775807", "1E+2",
        "18446744073709551615", "18446744073709551616", "9999999999999999999", "0.30000000000000004", "1e0", "-12.5e-1",
        "2.2250738585072011e-308", "0e999", "0.000e-999",
    ])
    func isTheNearestDouble(text: String) throws {
        let expected = try #require(Double(text))
        #expect(double(text)?.bitPattern == expected.bitPattern)
    }

    @Test(arguments: [
        "1e999", "-1e999", "1.7976931348623159e308", "1" + String(repeating: "0", count: 400), "1e9223372036854775807",
        "-10E+9223372036854775806",
    ])
    func isNilAboveTheRange(text: String) { #expect(double(text) == nil) }

    @Test(arguments: ["", "-", "abc", "inf", "nan", "-inf", "-nan", "+1", "1x", "1.2.3", " 1", "1 ", "\"1\"", "0x10"])
    func isNilForWhatIsNoNumber(text: String) {
        #expect(double(text) == nil)
        #expect(integer(text) == nil)
    }

    @Test func agreesWithTheStandardLibraryOnRandomNumbers() {
        var random = SeededGenerator(seed: 21)
        for round in 0..<JSONGenerator.rounds(3_000, long: 3_000_000) {
            var texts = ["\(Double(bitPattern: random.next()))", "\(Double.random(in: -1e5...1e5, using: &random))"]
            let digits = String(random.next() >> UInt64.random(in: 0..<60, using: &random))
            let point = Int.random(in: 0...digits.count, using: &random)
            texts.append((point == 0 ? "0" : String(digits.prefix(point))) + "." + digits.dropFirst(point) + "0")
            texts.append("\(digits)e\(Int.random(in: -330...310, using: &random))")
            for text in texts {
                guard let expected = Double(text), expected.isFinite else { continue }
                #expect(double(text)?.bitPattern == expected.bitPattern, "seed 21, round \(round): \(text)")
            }
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("42", 42), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("18446744073709551616", nil), ("1.0", nil),
            ("1e3", nil),
        ] as [(String, Int?)])
    func readsIntegersThatFit(text: String, value: Int?) { #expect(integer(text) == value) }
}
