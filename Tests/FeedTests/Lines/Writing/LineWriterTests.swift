import Feed
import TestSupport
import Testing

@Suite(.limited) struct LineWriterTests {
    // MARK: Numbers

    private func integer(_ value: Int) -> String? {
        GuardedMemory.text(atMost: LineWriter.mostNumber) { $0.integer(value) }
    }

    private func number(_ value: Double) -> String? {
        GuardedMemory.text(atMost: LineWriter.mostNumber) { $0.number(value) }
    }

    private func milliseconds(_ value: Double) -> String? {
        GuardedMemory.text(atMost: LineWriter.mostNumber) { $0.milliseconds(value) }
    }

    @Test func writesIntegersAtAllEdges() {
        var values = [0, .max, .min, .max - 1, .min + 1, 1 << 53, -(1 << 53)]
        var power = 1
        for _ in 0..<18 {
            power *= 10
            values += [power, power - 1, power + 1, -power, 1 - power, -1 - power]
        }
        for shift in 0..<63 { values += [1 << shift, (1 << shift) - 1, -(1 << shift)] }
        for value in values { #expect(integer(value) == String(value)) }
    }

    @Test func writesRandomIntegersOfAllLengths() {
        var random = SeededGenerator(seed: 11)
        for round in 0..<LongRun.rounds(short: 3_000, long: 1_000_000) {
            let value = Int(truncatingIfNeeded: random.next()) >> (round % 64)
            if integer(value) != String(value) { Issue.record("\(value), seed \(random.seed)") }
        }
    }

    @Test(
        arguments: [
            (0, "0"), (-0.0, "0"), (1, "1"), (-1, "-1"), (0.1, "0.1"), (106, "106"), (-2.5, "-2.5"), (1e308, "1e+308"),
            (.leastNonzeroMagnitude, "5e-324"), (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
            (-.greatestFiniteMagnitude, "-1.7976931348623157e+308"),
            (-2.2250738585072014e-308, "-2.2250738585072014e-308"),
            (9_007_199_254_740_991, "9007199254740991"), (-9_007_199_254_740_991, "-9007199254740991"),
            (100_000_000_000_000_000_000, "1e+20"),
        ] as [(Double, String)])
    func writesNumbersInTheirShortestForm(value: Double, text: String) { #expect(number(value) == text) }

    @Test func writesEveryNumberSoThatItReadsBack() throws {
        var random = SeededGenerator(seed: 12)
        var values: [Double] = [
            0, -0.0, 1e308, .leastNonzeroMagnitude, .pi, .leastNormalMagnitude, 0x1p53, -0x1p53, 0x1p53 - 1, 0x1p63,
        ]
        for _ in 0..<LongRun.rounds(short: 3_000, long: 1_000_000) {
            values.append(Double(bitPattern: random.next()))
            values.append(Double(Int(truncatingIfNeeded: random.next()) >> Int(random.next() % 64)))
            values.append((Double(random.next() % 1_000_000) / 1_000))
        }
        for value in values where value.isFinite {
            let text = try #require(number(value), "\(value)")
            let bytes = Array(text.utf8)
            let parsed = bytes.withUnsafeBufferPointer { JSONNumber.double($0) }
            let isJSON = (try? JSONMinifier.validate(bytes[...])) != nil
            if parsed != value || Double(text) != value || !isJSON {
                Issue.record("\(value) became \(text), seed \(random.seed)")
            }
            if value == value.rounded(), abs(value) < 0x1p53, text.contains(where: { ".e".contains($0) }) {
                Issue.record("\(value) became \(text), seed \(random.seed)")
            }
        }
    }

    @Test(
        arguments: [
            (0, "0"), (-0.0, "0"), (0.001, "0.001"), (0.0004, "0"), (0.0006, "0.001"), (1, "1"), (1.5, "1.5"),
            (132.412, "132.412"), (132.41, "132.41"), (0.05, "0.05"), (0.9999, "1"), (41.0, "41"), (1e9, "1000000000"),
            (999_999_999_999, "999999999999"), (1e12, "0"), (-1, "0"), (.infinity, "0"), (-.infinity, "0"), (.nan, "0"),
            (.greatestFiniteMagnitude, "0"), (.leastNonzeroMagnitude, "0"),
        ] as [(Double, String)])
    func writesMillisecondsToTheMicrosecond(value: Double, text: String) { #expect(milliseconds(value) == text) }

    @Test func readsMillisecondsBackAsItSaysItWould() throws {
        var random = SeededGenerator(seed: 13)
        for _ in 0..<LongRun.rounds(short: 3_000, long: 1_000_000) {
            let value = Double(random.next() >> (random.next() % 40 + 24)) / 7_919
            let text = try #require(milliseconds(value))
            let parsed = try #require(Double(text))
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let fraction = parts.count == 2 ? parts[1] : "1"
            let isShort = 1...3 ~= fraction.count && fraction.last != "0"
            if parsed != LineWriter.readBack(milliseconds: value) || !isShort || abs(parsed - value) > 0.000501 {
                Issue.record("\(value) became \(text), seed \(random.seed)")
            }
        }
    }

    // MARK: Pieces

    @Test func writesPiecesAsTheyAre() {
        #expect(
            GuardedMemory.text(atMost: 9) { writer in
                writer.bool(true)
                writer.bool(false)
            } == "truefalse")
        #expect(
            GuardedMemory.text(atMost: 6) { writer in
                writer.raw("{\"a")
                writer.byte(0x22)
                writer.raw([0x3A, 0x31][...])
                writer.raw(UnsafeBufferPointer<UInt8>(start: nil, count: 0))
                writer.raw([][...])
            } == "{\"a\":1")
    }

    // MARK: Strings

    /// The escaped form, one scalar at a time.
    private func twin(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let named: [Unicode.Scalar: String] = [
            "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b", "\u{C}": "\\f",
        ]
        var text = "\""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if let name = named[scalar] {
                text += name
            } else if scalar.value < 0x20 {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return Array((text + "\"").utf8)
    }

    private func written(_ bytes: [UInt8]) -> [UInt8]? {
        GuardedMemory.bytes(atMost: 2 + LineWriter.mostEscaped(bytes.count)) { writer in
            bytes.withUnsafeBufferPointer { writer.string($0) }
        }
    }

    private func check(_ bytes: [UInt8], _ comment: @autoclosure () -> String = "") {
        let written = written(bytes)
        if written != twin(bytes) {
            Issue.record("\(bytes) became \(String(describing: written)), not \(twin(bytes)) \(comment())")
        }
    }

    @Test func escapesEveryByteAtEveryPlaceOfAWord() {
        for byte in UInt8.min...UInt8.max {
            check([byte])
            for place in 0..<9 {
                var bytes = [UInt8](repeating: 0x61, count: 9)
                bytes[place] = byte
                check(bytes)
            }
        }
    }

    @Test func escapesSpecialBytesInTextsOfEveryLength() {
        for length in 0...40 {
            check([UInt8](repeating: 0x7A, count: length))
            for place in 0..<length {
                for byte in [0x00, 0x1F, 0x22, 0x5C, 0x7F, 0x80, 0xFF] as [UInt8] {
                    var bytes = [UInt8](repeating: 0x7A, count: length)
                    bytes[place] = byte
                    check(bytes)
                }
            }
        }
    }

    @Test func needsTheMostThatItSaysForControlBytes() {
        for length in 0...40 {
            let bytes = [UInt8](repeating: 1, count: length)
            #expect(written(bytes)?.count == 2 + LineWriter.mostEscaped(length))
        }
    }

    static let scalars: [Unicode.Scalar] = [
        "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFF}", "\u{1000}", "\u{CFFF}", "\u{D000}", "\u{D7FF}", "\u{E000}",
        "\u{FEFF}", "\u{FFFD}", "\u{FFFE}", "\u{FFFF}", "\u{10000}", "\u{3FFFF}", "\u{40000}", "\u{FFFFF}",
        "\u{100000}", "\u{10FFFF}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{85}", "é", "猫", "🐈",
    ]

    @Test func copiesScalarsOfEveryClassAtEveryPlaceOfAWord() {
        for scalar in Self.scalars {
            for before in 0..<10 {
                for after in [0, 1, 7, 8, 9] {
                    let text =
                        String(repeating: "a", count: before) + String(scalar) + String(repeating: "b", count: after)
                    #expect(written(Array(text.utf8)) == Array("\"\(text)\"".utf8))
                }
            }
        }
    }

    @Test func replacesEveryKindOfBrokenUTF8() {
        let leads: [UInt8] = [
            0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        let others: [UInt8] = [0x22, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE1, 0xF1]
        for lead in leads {
            for second in others {
                check([lead, second])
                for third in others {
                    check([lead, second, third])
                    if lead >= 0xF0 {
                        for fourth in [0x41, 0x80, 0xBF] as [UInt8] { check([lead, second, third, fourth]) }
                    }
                }
            }
        }
    }

    @Test func cutsScalarsAtEveryPlace() {
        for scalar in Self.scalars {
            let bytes = Array("12345\(scalar)6789".utf8)
            for start in 0...bytes.count {
                for end in start...bytes.count { check(Array(bytes[start..<end])) }
            }
        }
    }

    @Test func agreesWithItsTwinOnRandomBytes() {
        var random = SeededGenerator(seed: 14)
        for _ in 0..<LongRun.rounds(short: 1_500, long: 300_000) {
            let length = Int(random.next() % 41)
            // From mostly plain to anything.
            let share = random.next() % 5
            let bytes = (0..<length).map { _ in
                random.next() % 4 < share
                    ? UInt8(truncatingIfNeeded: random.next()) : UInt8(0x20 + random.next() % 0x5F)
            }
            check(bytes, "seed \(random.seed)")
        }
    }

    @Test func writesStringsAsItWritesTheirBytes() {
        for text in ["", "a", "Cats \"sleep\"\n", "é猫🐈", String(repeating: "long\t", count: 50)] {
            let most = 2 + LineWriter.mostEscaped(text.utf8.count)
            #expect(GuardedMemory.bytes(atMost: most) { $0.string(text) } == twin(text.utf8))
        }
    }
}
