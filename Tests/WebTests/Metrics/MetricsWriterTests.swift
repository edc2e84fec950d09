import Feed
import TestSupport
import Testing

@testable import Web

@Suite(.limited) struct MetricsWriterTests {
    private func text(_ write: (inout MetricsWriter) -> Void) -> String {
        let bytes = LineWriter.bytes(atMost: 4 << 10) { line in
            var writer = MetricsWriter(line, .text)
            write(&writer)
            line = writer.line
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The label's value as it stands there, and whether another text may come to the same.
    private func label(_ bytes: [UInt8], key: [UInt8]? = nil) -> (String, isAmbiguous: Bool) {
        var isAmbiguous = false
        let text = text { writer in
            writer.begin(.up)
            if let key {
                writer.label("a", String(decoding: bytes, as: UTF8.self), key: key[...])
            } else {
                // A key, as a source's name is always UTF-8.
                writer.label("a", "", key: bytes[...])
            }
            isAmbiguous = writer.isAmbiguous
            writer.value(0)
        }
        let value = text.dropFirst("catwatch_source_up{a=\"".utf8.count).dropLast("\"} 0\n".utf8.count)
        return (key == nil ? String(value.dropFirst()) : String(value), isAmbiguous)
    }

    @Test(arguments: [
        ("Delhi", "Delhi"), (#"a"b\c"#, #"a\"b\\c"#), ("a\nb", #"a\nb"#), ("", ""), ("Katze 🐈 März", "Katze 🐈 März"),
        ("=,{} #", "=,{} #"),
    ])
    func escapesWhatTheFormatWantsEscaped(_ text: String, _ expected: String) {
        let (value, isAmbiguous) = label(Array(text.utf8))
        #expect(value == expected && !isAmbiguous)
    }

    @Test(
        arguments: [
            ([0x61, 0x00, 0x62], "a\u{FFFD}b"), ([0x1B, 0x5B], "\u{FFFD}["), ([0x7F], "\u{FFFD}"), ([0x0D], "\u{FFFD}"),
            ([0xC2, 0x9B, 0x31], "\u{FFFD}1"), ([0xFF, 0x61], "\u{FFFD}a"), ([0xE2, 0x82], "\u{FFFD}"),
            ([0xC2], "\u{FFFD}"),
            ([0xEF, 0xBF, 0xBD], "\u{FFFD}"),
        ] as [([UInt8], String)])
    func replacesWhatActsOnATerminalOrIsNoText(_ bytes: [UInt8], _ expected: String) {
        let (value, isAmbiguous) = label(bytes)
        #expect(value == expected && isAmbiguous)
    }

    /// The slash before the key is one of the bytes.
    @Test(arguments: [
        (String(repeating: "a", count: 127), 127, true), (String(repeating: "a", count: 128), 127, true),
        (String(repeating: "a", count: 123), 123, false), (String(repeating: "a", count: 124), 124, true),
        (String(repeating: "a", count: 126) + "é", 126, true), (String(repeating: "a", count: 125) + "é", 127, true),
        (String(repeating: "a", count: 124) + "🐈", 124, true), (String(repeating: "\"", count: 200), 254, true),
        (String(repeating: "é", count: 200), 126, true), (String(repeating: "\u{1}", count: 200), 126, true),
    ])
    func cutsAt128BytesBeforeACodePointThatDoesNotFit(_ text: String, _ length: Int, _ isAmbiguous: Bool) {
        let cut = label(Array(text.utf8))
        #expect(cut.0.utf8.count == length && cut.isAmbiguous == isAmbiguous, "\(cut)")
    }

    @Test func aNameThatFillsTheLabelLeavesNothingOfTheKey() {
        let name = Array(repeating: UInt8(ascii: "n"), count: 127)
        #expect(label(name, key: Array("key".utf8)).0 == String(decoding: name, as: UTF8.self) + "/")
        #expect(label(name + name, key: Array("key".utf8)).0.utf8.count == 128)
        #expect(label(Array("n".utf8), key: Array("key".utf8)).0 == "n/key")
    }

    @Test(arguments: [
        (0, "0"), (-0.0, "0"), (106, "106"), (98.2, "98.2"), (-12.5, "-12.5"), (0.000_001, "0.000001"),
        (-0.25, "-0.25"),
        (1e-7, "1e-07"), (0.1 + 0.2, "0.30000000000000004"), (1e22, "1e+22"), (.nan, "NaN"), (.infinity, "+Inf"),
        (-.infinity, "-Inf"), (123_456_789.125, "123456789.125"), (-0.000_000_4, "-4e-07"),
        (9_007_199_254_740_992, "9007199254740992.0"),
    ])
    func writesNumbersAsTheFormatHasThem(_ value: Double, _ expected: String) {
        let text = text {
            $0.begin(.up)
            $0.value(value)
        }
        #expect(text == "catwatch_source_up \(expected)\n")
    }

    @Test func everyNumberReadsBackAsTheSame() throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<2_000 {
            let bits = Double(bitPattern: random.next())
            let digits = Double(Int64(truncatingIfNeeded: random.next()) >> Int64(random.next() % 60)) / 1_000_000
            for value in [bits, digits] where value.isFinite {
                let line = text {
                    $0.begin(.up)
                    $0.value(value)
                }
                let read = try #require(Double(line.dropFirst("catwatch_source_up ".count).dropLast()), "\(line)")
                #expect(read == value, "seed \(random.seed), \(value): \(line)")
            }
        }
    }

    @Test(
        arguments: [(0, "0"), (1, "0.000001"), (1_500_000, "1.5"), (-2_000_001, "-2.000001"), (.min, nil), (.max, nil)]
            as [(Int64, String?)])
    func writesMicrosecondsAsSeconds(_ microseconds: Int64, _ expected: String?) {
        let text = text {
            $0.begin(.up)
            $0.value(microseconds: microseconds)
        }
        if let expected { #expect(text == "catwatch_source_up \(expected)\n") }
        #expect(text.utf8.count <= 19 + LineWriter.mostNumber)
    }

    /// The figure that memory is reserved by.
    @Test func writesNoMoreThanItsFigureSays() {
        let name = String(repeating: "\\", count: 1_000)
        for family in MetricFamily.all {
            let head = text { $0.head(family) }
            #expect(head.utf8.count <= MetricsWriter.mostSample, "\(head)")
            let sample = text {
                $0.begin(family, "_bucket")
                $0.label("source", name)
                $0.label("endpoint", name)
                $0.label("code", own: "line_too_long_")
                $0.value(-Double.leastNonzeroMagnitude)
            }
            #expect(sample.utf8.count <= MetricsWriter.mostSample, "\(sample.utf8.count)")
        }
    }
}
