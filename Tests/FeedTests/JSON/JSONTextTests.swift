import Feed
import TestSupport
import Testing

@Suite(.limited) struct JSONTextTests {
    private func unescape(_ body: String) -> String {
        String(decoding: JSONText.unescape(Array(body.utf8)[...]), as: UTF8.self)
    }

    /// The twin: UTF-16 code units one by one, surrogates left to the standard library.
    private func reference(_ body: String) -> String {
        var units: [UInt16] = []
        var rest = Substring(body)
        while let character = rest.unicodeScalars.popFirst() {
            guard character == "\\", let letter = rest.unicodeScalars.popFirst() else {
                units += Array(String(character).utf16)
                continue
            }
            switch letter {
            case "u":
                units.append(
                    UInt16(rest.unicodeScalars.prefix(4).reduce(into: "") { $0.unicodeScalars.append($1) }, radix: 16)
                        ?? 0)
                rest.unicodeScalars.removeFirst(4)
            case "b": units.append(8)
            case "f": units.append(12)
            case "n": units.append(10)
            case "r": units.append(13)
            case "t": units.append(9)
            default: units += Array(String(letter).utf16)
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    @Test(arguments: [
        ("", ""), ("plain é", "plain é"), (#"a\nb"#, "a\nb"), (#"\"\\\/\b\f\r\t"#, "\"\\/\u{8}\u{C}\r\t"),
        (#"\u0041\u00e9\u732B"#, "Aé猫"), (#"\ud83d\ude3a!"#, "😺!"), (#"\u0000"#, "\0"), (#"\\u0041"#, #"\u0041"#),
        (#"\ud800"#, "\u{FFFD}"), (#"\udc00x"#, "\u{FFFD}x"), (#"\ud800\n"#, "\u{FFFD}\n"),
        (#"\ude3a\ud83d"#, "\u{FFFD}\u{FFFD}"),
        (#"\ud83d\ud83d\ude3a"#, "\u{FFFD}😺"), (#"\ud83dx\ude3a"#, "\u{FFFD}x\u{FFFD}"),
        (#"\uDBFF\uDFFF"#, "\u{10FFFF}"),
    ])
    func standsForItsText(body: String, text: String) {
        #expect(unescape(body).unicodeScalars.elementsEqual(text.unicodeScalars))
        #expect(reference(body).unicodeScalars.elementsEqual(text.unicodeScalars), "the twin")
    }

    @Test func agreesWithTheTwinOnRandomBodies() {
        var generator = JSONGenerator(seed: 11)
        for round in 0..<JSONGenerator.rounds(1_000, long: 100_000) {
            let body = (0..<3).map { _ in generator.string().dropFirst().dropLast() }.joined()
            #expect(
                unescape(body).unicodeScalars.elementsEqual(reference(body).unicodeScalars),
                "seed 11, round \(round): \(body)")
        }
    }

    @Test func sharesTheBytesWhenNothingIsEscaped() {
        let document = Array(#"{"fact":"Cats sleep"}"#.utf8)
        let text = JSONText.unescape(document[9..<19])
        #expect(text.indices == 9..<19)
        #expect(text == Array("Cats sleep".utf8)[...])
    }

    @Test func takesBrokenEscapesWithoutGrowing() {
        let body = Array(#"\u\u1\q\ud83d\u12\uD83D\uXXXX\ud800\"#.utf8)
        for end in 0...body.count { #expect(JSONText.unescape(body[..<end]).count <= end) }
        #expect(unescape(#"\u\u1\q\"#) == #"uu1q\"#)
    }

    @Test func cutsStringsBetweenCharacters() {
        let body = Array(#"aé猫😺\u732b"#.utf8)
        let cut = (0...14).map { limit in body.withUnsafeBufferPointer { JSONText.string($0, limit: limit) } }
        #expect(
            cut == [
                "", "a", "a", "aé", "aé", "aé", "aé猫", "aé猫", "aé猫", "aé猫", "aé猫😺", "aé猫😺", "aé猫😺", "aé猫😺猫", "aé猫😺猫",
            ])
        #expect(
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80].withUnsafeBufferPointer { JSONText.prefixCount($0, limit: 5) } == 5)
    }
}
