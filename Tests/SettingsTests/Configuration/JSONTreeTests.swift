import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct JSONTreeTests {
    private typealias JSONTree = Settings.JSONTree

    private func fault(_ text: String) -> String? { fault(Array(text.utf8)) }

    private func fault(_ bytes: [UInt8]) -> String? {
        do throws(UsageError) {
            _ = try JSONTree.parse(ConfigText(name: "t", bytes: bytes))
            return nil
        } catch {
            return error.lines.joined(separator: "\n").dropFirst("t:".count).description
        }
    }

    @Test(arguments: [
        ("{}", "{}"), (" [1, 2,] ", "[1,2]"), ("{\"a\": 1,}", #"{"a":1}"#), ("// c\n[] // d", "[]"),
        ("/* a\n b */{\"//\": \"/* no */\"}/**/", #"{"//":"/* no */"}"#), ("[1, /* x */ ]", "[1]"),
        ("[1 // x\n , // y\n ]", "[1]"),
        ("{\"a\": {\"b\": [true, false, null,],},}", #"{"a":{"b":[true,false,null]}}"#),
        (#"["\"//\"", "\\", ",]"]"#, #"["\"//\"","\\",",]"]"#), ("-1.5e3", "-1.5e3"), (#""\u00e4\n""#, #""ä\n""#),
        ("[[],[[]]]", "[[],[[]]]"), ("[{},{\"a\":{}}]", #"[{},{"a":{}}]"#), ("[1]//", "[1]"), ("/***/[]", "[]"),
        ("// only\r\n[]\r\n", "[]"),
    ])
    func readsWithCommentsAndTrailingCommas(_ text: String, _ expected: String) throws {
        #expect(try JSONTree.parse(ConfigFixture.text(text)).compact == expected)
    }

    @Test(arguments: [
        ("", "1:1: not JSON: there is nothing there"), ("// x", "1:5: not JSON: there is nothing there"),
        ("{,}", "1:2: not JSON: ',' where a key in quotes or '}' should be"),
        ("[,]", "1:2: not JSON: ',' where a value or ']' should be"),
        ("[1,,]", "1:4: not JSON: ',' where a value should be"),
        ("{\"a\":,}", "1:6: not JSON: ',' where a value should be"),
        ("[1,", "1:4: not JSON: it ends where a value should be"),
        ("[1] x", "1:5: not JSON: 'x' after the end of the value"),
        ("{\n  a: 1\n}", "2:3: not JSON: 'a' where a key in quotes or '}' should be"),
        ("{'a': 1}", "1:2: not JSON: ''' where a key in quotes or '}' should be"),
        ("[1 2]", "1:4: not JSON: '2' where ',' or ']' should be"),
        ("[01]", "1:3: not JSON: a number must not start with 0"),
        ("[0x1]", "1:3: not JSON: 'x' where ',' or ']' should be"),
        ("[.5]", "1:2: not JSON: '.' where a value or ']' should be"),
        ("[NaN]", "1:2: not JSON: 'N' where a value or ']' should be"), ("[\n1 /* x", "2:3: a comment that has no */"),
        ("[1 /*/", "1:4: a comment that has no */"), ("[tru]", "1:5: not JSON: ']' where true should be"),
        ("[/]", "1:2: not JSON: '/' where a value or ']' should be"),
        ("[\"a\n\"]", "1:4: not JSON: a line break in a string must be escaped"),
        ("[\"ä\", x]", "1:7: not JSON: 'x' where a value should be"),
        ("[x] /* y", "1:2: not JSON: 'x' where a value or ']' should be"),
        ("\u{FEFF}{}", "1:1: not JSON: it starts with a byte order mark"),
    ])
    func saysWhereItIsNoJSON(_ text: String, _ expected: String) {
        #expect(fault(text) == expected)
    }

    @Test func saysWhereItIsNoUTF8EvenInAComment() {
        #expect(fault(Array("{} // ab".utf8) + [0xFF]) == "1:9: the file is not UTF-8 here")
        #expect(fault([0xC0, 0x80]) == "1:1: the file is not UTF-8 here")
        #expect(fault(Array("\"ä\"\n\"".utf8) + [0xE2, 0x82]) == "2:2: the file is not UTF-8 here")
    }

    @Test func boundsTheDepth() {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(fault(deepest) == nil)
        #expect(fault("[\(deepest)]") == "1:65: nested deeper than 64 levels")
        let deep = String(repeating: "[", count: 500_000)
        #expect(fault(deep)?.hasSuffix("nested deeper than 512 levels") == true)
    }

    @Test func blankingKeepsEveryOffset() throws {
        var random = SeededGenerator(seed: 7)
        let pieces = ["{", "}", "[", "]", ",", ":", "\"", "\\", "//", "/*", "*/", "\n", " ", "a", "1", "ä"]
        for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
            let text = (0..<Int.random(in: 0..<12, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
            let before = Array(text.utf8)
            var after = before
            _ = CommentBlanker.blank(&after)
            #expect(after.count == before.count)
            for (old, new) in zip(before, after) where old != new {
                #expect(new == 0x20 && old != 0x0A, "seed \(random.seed): \(text)")
            }
            // What is read is what is read without comments and commas.
            let whole = try? JSONTree.parse(ConfigFixture.text(text))
            let blanked = try? JSONTree.parse(ConfigText(name: "t", bytes: after))
            if let whole { #expect(whole == blanked, "seed \(random.seed): \(text)") }
        }
    }

    @Test func findsPlacesByLineAndCodePoint() {
        let text = ConfigFixture.text("äb\n\ncd")
        let places = [(0, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 1), (5, 3, 1), (7, 3, 3)]
        for (offset, line, column) in places {
            #expect(text.position(of: offset) == .init(line: line, column: column), "\(offset)")
        }
        let long = ConfigFixture.text(String(repeating: "ä€x\n", count: 3) + String(repeating: "ä€x", count: 500))
        for index in 0..<1_500 {
            let offset = 21 + index / 3 * 6 + [0, 2, 5][index % 3]
            #expect(long.position(of: offset) == .init(line: 4, column: index + 1))
        }
        #expect(long.position(of: .max) == .init(line: 4, column: 1_501))
        #expect(ConfigText(name: "e", bytes: []).position(of: 0) == .init())
    }
}
