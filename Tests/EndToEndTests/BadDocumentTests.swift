import CatAPI
import Glibc
import TestSupport
import Testing

/// What an upstream may answer with: JSON, nearly JSON, and JSON that is meant to do harm.
@Suite(.limited) struct BadDocumentTests {
    @Test(
        .enabled(if: Installation.hasPython),
        arguments: [
            ("nan", "not_json", "at byte"), ("cut", "not_json", "at byte"), ("blank", "not_json", ""),
            ("deep", "not_json", "at byte"),
        ])
    func whatIsNotJSONIsAnError(kind: String, code: String, words: String) async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["-u", stage.url("/fault/json/\(kind)"), "-e", "10ms"])
            try await program.wait(for: "two errors") { program in
                FeedLine.lines(program.outputBytes).count { $0?.type == "error" } >= 2 ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            let lines = try run.lines()
            for error in lines where error.type == "error" {
                #expect(error.string("code") == code)
                #expect(error.string("message")?.contains(words) == true, "\(error)")
            }
            #expect(!lines.contains { $0.isData })
            #expect(lines.count { $0.type == "latency" } == lines.count { $0.type == "error" })
            try await stage.validate(run.output)
        }
    }

    struct Valid: Sendable, CustomTestStringConvertible {
        let kind: String
        /// The value; nil when there is none.
        var value: Double?
        var text: String?
        /// The whole of `data`; nil when it is left out.
        let data: String?
        /// Half a pair of surrogates was replaced.
        var isAltered = false
        var testDescription: String { kind }
    }

    static let valid: [Valid] = [
        Valid(
            kind: "overflow", text: "More than a double holds.", data: nil),
        Valid(
            kind: "big-integer", value: 1.2345678901234568e29, text: "Thirty digits.",
            data: #"{"fact":"Thirty digits.","length":123456789012345678901234567890}"#),
        Valid(
            kind: "duplicate", value: 10, text: "The first.",
            data: #"{"fact":"The first.","length":10,"fact":"The second.","length":11}"#),
        Valid(
            kind: "surrogate", value: 14, text: "Half a \u{FFFD} pair.",
            data: #"{"fact":"Half a \ufffd pair.","length":14}"#, isAltered: true),
        Valid(kind: "bom", value: 7, text: "Marked.", data: #"{"fact":"Marked.","length":7}"#),
        Valid(kind: "deep?levels=28", value: 13, text: "It goes deep.", data: deep(28)),
        Valid(kind: "deep?levels=29", value: 13, text: "It goes deep.", data: nil),
        Valid(kind: "deep?levels=511", value: 13, text: "It goes deep.", data: nil),
        Valid(
            kind: "nul-escape", value: 15, text: "nothing\u{0}follows",
            data: #"{"fact":"nothing\u0000follows","length":15}"#),
        Valid(
            kind: "quoted", text: "A number in quotes.", data: #"{"fact":"A number in quotes.","length":"19"}"#),
        Valid(
            kind: "control", value: 27, text: "\u{1B}[2J\u{1B}]0;cat\u{7}\u{202E}gnp.tac\u{9B}1m\r\n",
            data: #"{"fact":"\u001b[2J\u001b]0;cat\u0007\u202egnp.tac\u009b1m\r\n","length":27}"#),
        Valid(kind: "scalar", value: 42, data: "42"),
        Valid(kind: "array", value: 42, text: "fact", data: #"["fact",42]"#),
        Valid(kind: "null", data: "null"),
        Valid(kind: "missing", text: "no such field", data: #"{"message":"no such field"}"#),
    ]

    private static func deep(_ levels: Int) -> String {
        #"{"fact":"It goes deep.","length":13,"nest":"# + String(repeating: "[", count: levels)
            + String(repeating: "]", count: levels) + "}"
    }

    @Test(
        .enabled(if: Installation.hasPython),
        arguments: valid.filter {
            LongRun.isOn || ["overflow", "surrogate", "deep?levels=29", "control", "scalar"].contains($0.kind)
        })
    func whatIsJSONIsAnEventExactlyAsItCame(document: Valid) async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(
                ["-u", stage.url("/fault/json/\(document.kind)"), "-e", "10ms", "-n", "2"])
            #expect(run.ending == .exited(0))
            #expect(
                run.errorLines.allSatisfy { $0.contains(": value: /") } && run.errorLines.count <= 1, "\(run.errors)")
            let events = try run.lines().filter(\.isData)
            #expect(events.count == 2)
            for event in events {
                #expect(event.raw("data") == document.data)
                #expect(event.raw("truncated") == (document.data == nil ? "true" : nil))
                #expect(event.raw("altered") == (document.isAltered ? "true" : nil))
                #expect(event.number("value") == document.value)
                #expect(event.string("text") == document.text)
                #expect(!event.bytes.contains { $0 < 0x20 || $0 == 0x7F })
            }
            try await stage.validate(run.output)
        }
    }

    @Test func tenMegabytesAreTakenWhenAllowed() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(
                ["-u", stage.url("/fault/large"), "--max-body", "16MiB", "-n", "2", "-e", "10ms"])
            #expect(run.ending == .exited(0))
            let events = try run.lines().filter(\.isData)
            #expect(events.count == 2)
            for event in events {
                // Too long for a line: the text is cut and the document left out, and the line says so.
                #expect(event.bytes.count < 1 << 20)
                #expect(event.raw("truncated") == "true" && event.raw("data") == nil)
                #expect(event.string("text")?.utf8.count == 4_096)
                #expect(event.number("value").map { $0 > 9_999_000 } == true)
            }
        }
    }

    @Test func deepNestingInADocumentThatIsSkippedOverIsRefusedTheSameWay() async throws {
        try await Stage.run { stage in
            // As deep as is allowed, and one deeper than any reader allows.
            for (levels, isEvent) in [(100, true), (10_000_000, false)] {
                let url = try await stage.url("/fault/json/deep?levels=\(levels)")
                let arguments = ["-u", url, "--max-body", "64MiB", "-n", "1"]
                let run = try await isEvent ? stage.finish(arguments) : stage.finishAfterError(arguments)
                #expect(run.ending == .exited(0))
                #expect(try run.lines().contains { $0.isData } == isEvent)
            }
        }
    }
}
