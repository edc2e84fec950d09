import Feed
import TestSupport
import Testing

@Suite(.limited) struct SanitizerTests {
    @Test(arguments: [
        ("plain text", "plain text"), ("", ""), ("µ 猫 🐈 é", "µ 猫 🐈 é"), ("a\tb\r\n", "a␉b␍␊"),
        ("\u{1b}[31mred\u{7}", "␛[31mred␇"), ("\u{0}", "␀"), ("\u{7f}", "␡"), ("\u{9b}31m", "\\u{9b}31m"),
        ("\u{202e}drowssap", "\\u{202e}drowssap"), ("a\u{200b}b", "a\\u{200b}b"), ("\u{feff}x", "\\u{feff}x"),
        ("\u{2028}", "\\u{2028}"), ("\u{e0041}", "\\u{e0041}"), ("\u{fffd}", "\u{fffd}"),
    ])
    func showsWhatWouldActOrHide(_ text: String, _ expected: String) {
        #expect(Sanitizer.visible(text) == expected)
        #expect(Sanitizer.visible(bytes: Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        ("", ""), ("a\nb\n", "a\nb\n"), ("a\r\nb\tc\n\n", "a␍\nb␉c\n\n"), ("\u{1b}[2J\n\u{9b}J", "␛[2J\n\\u{9b}J"),
        ("µ\n–", "µ\n–"), ("x\u{202e}\n", "x\\u{202e}\n"),
    ])
    func keepsTheEndsOfLines(_ text: String, _ expected: String) {
        #expect(Sanitizer.lines(text) == expected)
        #expect(Sanitizer.lines(expected) == expected)
    }

    @Test func leavesNothingHiddenInAnyText() {
        for value in UInt32(0)...0x10FFFF {
            // What terminals act on, by blocks: the first two planes and the tags have all of it.
            guard value < 0x1_1000 || (0xE0000...0xE0FFF).contains(value), let scalar = Unicode.Scalar(value) else {
                continue
            }
            let shown = Sanitizer.visible(String(Character(scalar)))
            if Sanitizer.isHidden(scalar) {
                #expect(!shown.unicodeScalars.contains(where: Sanitizer.isHidden), "\(value)")
            } else {
                #expect(Array(shown.unicodeScalars) == [scalar], "\(value)")
            }
        }
    }

    @Test(arguments: [0x00...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069, 0x200B...0x200F, 0x61C...0x61C])
    func hidesNoControlItKnows(_ range: ClosedRange<UInt32>) {
        for value in range { #expect(Unicode.Scalar(value).map(Sanitizer.isHidden) == true, "\(value)") }
    }

    @Test(
        arguments: [
            ([0xFF], "\\xff"), ([0x61, 0xC3], "a\\xc3"), ([0xC3, 0x28], "\\xc3("), ([0xE2, 0x82, 0x41], "\\xe2\\x82A"),
            ([0xC0, 0x9B], "\\xc0\\x9b"), ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"), ([0x80, 0x0A], "\\x80␊"),
            ([0xF0, 0x9F, 0x90, 0x88, 0xF0], "🐈\\xf0"), ([], ""),
        ] as [([UInt8], String)])
    func showsBytesThatAreNotUTF8(_ bytes: [UInt8], _ expected: String) {
        #expect(Sanitizer.visible(bytes: bytes) == expected)
        #expect(Sanitizer.visible(bytes: ([0x7A] + bytes)[1...]) == expected)
    }

    @Test func cutsLongText() {
        #expect(Sanitizer.visible("abcdef", limit: 6) == "abcdef")
        #expect(Sanitizer.visible("abcdef", limit: 5) == "abcde…")
        #expect(Sanitizer.visible("äöü", limit: 3) == "äöü")
        #expect(Sanitizer.visible("äöü", limit: 2) == "äö…")
        #expect(Sanitizer.visible(bytes: [0xFF, 0xFF, 0xFF], limit: 2) == "\\xff\\xff…")
        #expect(Sanitizer.visible(bytes: [0x61, 0x62], limit: 2) == "ab")
    }

    /// Text that is valid UTF-8 and text cut anywhere come out the same way up to the cut.
    @Test func survivesEveryPrefix() {
        let bytes = Array("a\u{1b}é猫🐈\u{202e}z".utf8)
        let whole = Sanitizer.visible(bytes: bytes)
        for length in 0...bytes.count {
            let shown = Sanitizer.visible(bytes: bytes[..<length])
            let kept = shown.prefix { $0 != "\\" }
            #expect(whole.hasPrefix(kept), "\(length)")
        }
    }
}
