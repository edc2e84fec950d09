import Feed
import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct TerminalEscaperTests {
    private func escaped(_ text: String) -> String? {
        Array(text.utf8).withUnsafeBytes { TerminalEscaper.escaped($0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("a\u{7F}b", "a\\u007fb"), ("\u{9B}2J", "\\u009b2J"), ("x\u{202E}y", "x\\u202ey"), ("\u{061C}", "\\u061c"),
        ("é\u{2066}é\u{2069}", "é\\u2066é\\u2069"), ("\u{200F}", "\\u200f"),
        // White space between the parts of a line.
        ("{\t\"a\":\r1}\n", "{ \"a\": 1}\n"), ("\u{1B}\u{0}", "  "),
    ])
    func escapesWhatATerminalObeys(_ text: String, _ expected: String) {
        #expect(escaped(text) == expected)
    }

    @Test(arguments: ["", "plain", "{}\n{}\n", "é漢字🐈‍⬛", "{\"a\":\"\\u001b[2J\"}", "\u{A0}\u{2010}\u{2070}"])
    func leavesEverythingElse(_ text: String) {
        #expect(escaped(text) == nil)
    }

    /// A character may be cut in two where a span of lines is written in pieces, but a line never is.
    @Test func survivesEveryPrefix() {
        let bytes = Array("{\"x\":\"\u{9B}\u{202E}\u{7F}é\"}".utf8)
        for count in 0...bytes.count {
            let prefix = Array(bytes[..<count])
            let result = prefix.withUnsafeBytes { TerminalEscaper.escaped($0) } ?? prefix
            #expect(!result.contains(0x7F))
        }
    }
}
