import LineRules
import TestSupport
import Testing

@testable import Feed

/// What is JSON and yet no part of a line, found in the one pass.
@Suite(.limited) struct JSONFlawsTests {
    /// The least number that rounds to infinity: 2^1024 − 2^970.
    private static let least = """
        17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641\
        66928879109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669\
        59622842914819860834936475292719074168444365510704342711559699508093042880177904174497792
        """

    private static func flaws(of text: String) throws -> JSONFlaws {
        let found = JSONSelection.Found()
        let bytes = Array(text.utf8)
        _ = try bytes.withUnsafeBufferPointer { try JSONSelection([]).read($0, found) }
        return found.flaws
    }

    @Test(
        arguments: [
            // Digits that a double holds, just so and not any more.
            ("1e308", []), ("1.7976931348623157e308", []), ("1.7976931348623158e308", []),
            ("17976931348623158e292", []),
            ("1.7976931348623159e308", .overflow), ("-1.7976931348623159E+308", .overflow), ("2e308", .overflow),
            ("1e309", .overflow), ("-1e309", .overflow), ("[1e9999]", .overflow), (#"{"a":-1e9999}"#, .overflow),
            (least, .overflow), ("-" + least, .overflow), (least.dropLast() + "1", []), (least + ".0", .overflow),
            (least + "e-1", []), ("0." + least + "e309", .overflow), ("0." + least.dropLast() + "e309", []),
            (String(repeating: "9", count: 308), []), (String(repeating: "9", count: 309), .overflow),
            ("1" + String(repeating: "0", count: 308), []), ("1" + String(repeating: "0", count: 309), .overflow),
            (String(repeating: "9", count: 400) + "e-100", []),
            (String(repeating: "9", count: 400) + "e-91", .overflow),
            // Zeros in front, and exponents that no integer holds.
            ("0e999999999999999999999", []), ("-0.000e9999", []), ("0.00001e313", []), ("0.00001e315", .overflow),
            ("1e-99999999999999999999", []), ("1e99999999999999999999", .overflow), ("1e+00308", []),
            ("1E00309", .overflow),
            // And those that just fit or just do not, with digits that move the point.
            ("1e9223372036854775806", .overflow), ("1e9223372036854775807", .overflow),
            ("12e9223372036854775808", .overflow), ("-10E+9223372036854775806", .overflow),
            ("10.01e+9223372036854775807", .overflow), ("0.001e9223372036854775807", .overflow),
            ("1e-9223372036854775807", []), ("0.01e-9223372036854775807", []), ("0.01e-9223372036854775808", []),
            ("-0.001E-9223372036854775808", []), ("0.01e-9223372036854775809", []), ("0e9223372036854775807", []),
            ("0." + String(repeating: "0", count: 1_000) + "1e1308", []),
            ("0." + String(repeating: "0", count: 1_000) + "1e1310", .overflow),
        ] as [(String, JSONFlaws)])
    func knowsWhatADoubleHolds(text: String, expected: JSONFlaws) throws {
        #expect(try Self.flaws(of: text) == expected)
        if let number = Double(text) { #expect(number.isFinite == expected.isEmpty) }
    }

    @Test(arguments: [21, 22] as [UInt64])
    func knowsWhatADoubleHoldsAroundTheLast(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<LongRun.rounds(short: 3_000, long: 300_000) {
            var digits = Array(Self.least.prefix(Int.random(in: 1...309, using: &random)))
            let changed = Int.random(in: max(0, digits.count - 4)..<digits.count, using: &random)
            if changed > 0 { digits[changed] = "0123456789".randomElement(using: &random) ?? "0" }
            let point = Int.random(in: 0...digits.count, using: &random)
            let exponent = 309 - point + Int.random(in: -1...1, using: &random)
            let number =
                (point == 0 ? "0" : String(digits[..<point])) + "." + String(digits[point...]) + "0e\(exponent)"
            let isTooMuch = JSONNumber.double(number.utf8) == nil
            #expect(
                try Self.flaws(of: number) == (isTooMuch ? .overflow : []), "seed \(seed), round \(round): \(number)")
        }
    }

    @Test(
        arguments: [
            (#""\ud800""#, .surrogate), (#""\udc00""#, .surrogate), (#""\uDBFFabc""#, .surrogate),
            (#"["\udfff"]"#, .surrogate),
            (#""\ud83d\ude3a""#, []), (#""\uDBFF\uDFFF""#, []), (#""\ud800\ud800\udc00""#, .surrogate),
            (#""\ud800\u0041""#, .surrogate), (#""\ud800\n""#, .surrogate), (#""\udc00\ud800""#, .surrogate),
            (#""\ud7ff\ue000\ufffd""#, []), (#""\\ud800""#, []), (#""\\\ud800""#, .surrogate),
            (#"{"\udead":1}"#, .surrogate),
            (#"{"a":1 ,"\ud83d\ude3a\ud83d" : 2}"#, .surrogate), (#""\ud800\udc00\udc00""#, .surrogate),
            (#"["\ud800",1e999]"#, [.surrogate, .overflow]),
        ] as [(String, JSONFlaws)])
    func knowsHalfPairs(text: String, expected: JSONFlaws) throws {
        #expect(try Self.flaws(of: text) == expected)
        // Whoever looks inside finds the same.
        let found = JSONSelection.Found()
        let bytes = Array(text.utf8)
        let selection = JSONSelection([try JSONPointer("/a"), try JSONPointer("/0")], firsts: [.number, .string])
        _ = try bytes.withUnsafeBufferPointer { try selection.read($0, found) }
        #expect(found.flaws == expected)
    }

    @Test(arguments: [28, 29, 30, 64, 65, 128, 512])
    func knowsHowDeepADocumentMayBe(levels: Int) throws {
        let expected: JSONFlaws = levels > 29 ? .deep : []
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[0,{"\u0061" : "#, "}]")] {
            let count = levels / (open.hasPrefix("[0") ? 2 : 1)
            guard count * (open.hasPrefix("[0") ? 2 : 1) == levels else { continue }
            let text = String(repeating: open, count: count) + "1" + String(repeating: close, count: count)
            #expect(try Self.flaws(of: text) == expected)
        }
    }

    @Test func eachItemHasItsOwn() throws {
        let deep = String(repeating: "[", count: 30) + String(repeating: "]", count: 30)
        let most = deep.dropFirst().dropLast()
        let document = Array(#"{"a":1e999,"b":\#(deep),"c":\#(most),"\ud800":1,"d":["\udc00",1E400],"e":"x"}"#.utf8)
        let expected: [(value: JSONFlaws, name: JSONFlaws)] = [
            (.overflow, []), (.deep, []), ([], []), ([], .surrogate), ([.surrogate, .overflow], []), ([], []),
        ]
        let found = JSONSelection.Found()
        let selection = JSONSelection([try JSONPointer("/0")], firsts: [.number, .string])
        try document.withUnsafeBufferPointer { document in
            var items = try #require(JSONItems(of: document, at: 0))
            for flaws in expected {
                #expect(items.next(in: document, selection, found)?.nameFlaws == flaws.name)
                #expect(found.flaws == flaws.value)
            }
        }
    }

    @Test(arguments: [31, 32, 33] as [UInt64])
    func saysTheSameAsALookAtEveryByte(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        var seen: Set<JSONFlaws> = []
        for round in 0..<JSONGenerator.rounds(300, long: 30_000) {
            let levels = Int.random(in: 0...29, using: &generator.random)
            let document = try JSONMinifier.minify(generator.document()[...])
            let text =
                String(repeating: "[", count: levels) + String(decoding: document, as: UTF8.self)
                + String(repeating: "]", count: levels)
            let flaws = try Self.flaws(of: text)
            seen.insert(flaws)
            let faults = LineRules.faults(of: #"{"data":\#(text)}"#.utf8)
            let expected = [(.tooDeep, .deep), (.overflow, .overflow), (.loneSurrogate, .surrogate)]
                .reduce(into: JSONFlaws()) { (flaws, pair: (LineRules.Fault, JSONFlaws)) in
                    if faults.contains(pair.0) { flaws.insert(pair.1) }
                }
            #expect(flaws == expected, "seed \(seed), round \(round): \(text)")
            guard !flaws.areFatal else { continue }
            var mended = Array(text.utf8)
            mended.withUnsafeMutableBufferPointer { JSONText.replaceLoneSurrogates(in: $0) }
            #expect(LineRules.faults(of: mended).isEmpty, "seed \(seed), round \(round)")
            #expect(flaws.isEmpty == (mended == Array(text.utf8)))
            // What it says is the same, and so is how long it is.
            #expect(JSONTree(mended).all().map(\.value.text) == JSONTree(Array(text.utf8)).all().map(\.value.text))
        }
        #expect(seen.count >= 4)
    }

    @Test(arguments: [
        (#""\ud800\uDC00 \ud800x\udFFF""#, #""\ud800\uDC00 \ufffdx\ufffd""#),
        (#""\uFFFD\\ud800\uD800""#, #""\uFFFD\\ud800\ufffd""#),
        (#"{"\udabc":["\ud801\n"]}"#, #"{"\ufffd":["\ufffd\n"]}"#),
    ])
    func replacesHalfPairsAndNothingElse(text: String, expected: String) {
        var bytes = Array(text.utf8)
        bytes.withUnsafeMutableBufferPointer { JSONText.replaceLoneSurrogates(in: $0) }
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }
}

extension JSONNumber {
    fileprivate static func double(_ text: String.UTF8View) -> Double? {
        Array(text).withUnsafeBufferPointer { double($0) }
    }
}
