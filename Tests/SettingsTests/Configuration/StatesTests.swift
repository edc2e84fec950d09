import Feed
import Inputs
import TestSupport
import Testing

@testable import Settings

/// Words that values may be.
@Suite(.limited) struct StatesTests {
    private func faults(_ states: String, _ more: String = #","value":"/s""#) -> [String] {
        ConfigFixture.faults(#"{"sources":[{"url":"http://h/","states":\#(states)\#(more)}]}"#)
    }

    private static func list(_ count: Int) -> String {
        "[" + (0..<count).map { "\"w\($0)\"" }.joined(separator: ",") + "]"
    }

    /// Words of 65 and 66 bytes.
    private static let ascii = String(repeating: "x", count: 65)
    private static let umlauts = String(repeating: "ä", count: 33)
    private static let refused: [(String, String)] = [
        (#"["up","down","up"]"#, "1:54: sources[0].states[2]: is given twice; leave one out"),
        (#"["up",""]"#, "1:47: sources[0].states[1]: is empty"),
        ("[]", "1:41: sources[0].states: is empty; write the words that values may be"),
        (list(65), "1:41: sources[0].states: has 65 elements; 64 is the most"),
        (
            "[\"\(ascii)\"]",
            "1:42: sources[0].states[0]: '\(ascii)' has 65 bytes; a word has 64 at the most"
        ),
        (
            "[\"\(umlauts)\"]",
            "1:42: sources[0].states[0]: '\(umlauts)' has 66 bytes; a word has 64 at the most"
        ),
        (#"["a\u001bb"]"#, "1:42: sources[0].states[0]: holds a control character"),
        (#"["a\u200bb"]"#, #"1:42: sources[0].states[0]: 'a\u{200b}b' holds a character that cannot be seen"#),
        ("[7]", "1:42: sources[0].states[0]: is a number where a string should be"),
        (#""up""#, "1:41: sources[0].states: is a string where an array should be"),
        ("null", "1:41: sources[0].states: is null where an array should be"),
        ("true", "1:41: sources[0].states: is true where an array should be"),
    ]

    @Test(arguments: refused)
    func whatIsNoListOfWordsIsRefused(states: String, fault: String) {
        #expect(faults(states) == [fault])
    }

    @Test func needAValue() {
        for more in ["", #","value":null"#] {
            #expect(faults(#"["a"]"#, more) == ["1:41: sources[0].states: says nothing without value"])
        }
        // That a key is wrong is said once.
        #expect(faults(#"["a"]"#, #","value":5"#).count == 1)
        #expect(faults(Self.list(64)) == [] && faults(#"["a","A"]"#) == [])
        #expect(
            ConfigFixture.faults(#"{"sources":[{"kind":"fibonacci","n":1,"states":["a"]}]}"#)
                == [
                    "1:48: sources[0].states: says nothing to sources of kind fibonacci; it is for http, pages, websocket, stdin or file"
                ])
    }

    private static let words = (0..<65).map { "w\($0)" }.joined(separator: ",")

    @Test(arguments: [
        (["--states", "a,b", "-u", "http://h/"], "says nothing without value"),
        (["--states", "a,b,a", "--value", "/s"], "'a' is given twice; leave one out"),
        (["--states", "a,,b", "--value", "/s"], "a word is empty"),
        (["--states", "", "--value", "/s"], "a word is empty"),
        (["--states", ascii, "--value", "/s"], "has 65 bytes; a word has 64 at the most"),
        (["--states", words, "--value", "/s"], "has 65 words; 64 is the most"),
        (["--states", "a\u{1b}", "--value", "/s"], "holds a character that cannot be seen"),
        (["--states", "a,b", "--value", "none", "-u", "http://h/"], "says nothing without value"),
    ])
    func theCommandLineIsCheckedAlike(arguments: [String], message: String) throws {
        let error = try #require(throws: UsageError.self) { try ConfigFixture.sources(nil, arguments) }
        #expect(error.description.contains("--states") && error.description.contains(message), "\(error)")
    }

    private func source(_ text: String?, _ arguments: [String] = []) throws -> HTTPSource {
        guard case .http(let source)? = try ConfigFixture.sources(text, arguments).first else {
            throw UsageError("another kind")
        }
        return source
    }

    @Test func areGivenWithCommasOrAsAList() throws {
        let words = ["operational", "degraded_performance", "partial outage", "major_outage"]
        let list = "[" + words.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        let flags = ["--states", "operational, degraded_performance,partial outage ,major_outage", "--value", "/s"]
        let sources = [
            try source(#"{"sources":[{"url":"http://h/","value":"/s","states":\#(list)}]}"#),
            try source(nil, flags + ["http://h/"]),
            try source(#"{"states":\#(list),"value":"/s","url":"http://h/"}"#),
        ]
        for source in sources {
            #expect(source.extraction.states == words)
            #expect(source.extraction.value == .at(try JSONPointer("/s")))
            let bands = try #require(source.description.bands)
            #expect(bands.bands.map(\.name) == words && bands.bands.map(\.upTo) == [0.5, 1.5, 2.5, nil])
            #expect(bands.bands.map(\.letter) == ["O", "D", "P", "M"] && !bands.higherIsBetter)
            #expect(bands.bands.map(\.color.hex) == ["#00b050", "#b6e035", "#ffbb00", "#ff0000"])
        }
        let text = try ConfigFixture.plan(nil, flags + ["http://h/"]).effectiveText()
        #expect(text.contains(#""states": ["operational", "degraded_performance", "partial outage", "major_outage"]"#))
    }

    @Test func makeBandsOfDistinctLetters() throws {
        func bands(_ words: [String]) throws -> [Band] { try #require(ConfigScale(states: words)?.scale).bands }
        #expect(try bands(["up"]).map(\.color.hex) == ["#00b050"])
        #expect(try bands(["up"])[0].upTo == nil)
        #expect(try bands(["up", "down"]).map(\.color.hex) == ["#00b050", "#ff0000"])
        #expect(try bands(["a", "b", "c"]).map(\.color.hex) == ["#00b050", "#ffff00", "#ff0000"])
        #expect(try bands(["ok", "old", "out", "o"]).map(\.letter) == ["O", "L", "U", "A"])
        #expect(try bands(["ß", "…", "Ärger", "e\u{301}x", "2nd"]).map(\.letter) == ["S", "A", "Ä", "X", "2"])
        let many = try bands((0..<64).map { "state \($0)" })
        #expect(many.count == 64 && Set(many.map(\.letter)).count == 62)
        #expect(many.allSatisfy { $0.letter.utf8.count <= BandScale.longestLetter })
        #expect(ConfigScale(states: []) == nil)
    }
}
