import TestSupport
import Testing

@testable import Settings

/// `catwatch check --explain`: who said each value, and what it won over.
@Suite(.limited) struct ExplanationTests {
    private func explain(
        _ text: String?, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> [String] {
        try ConfigFixture.plan(text, arguments, environment: environment).explanation().split(separator: "\n").map(
            String.init)
    }

    /// The line of that setting.
    private func line(_ key: String, _ lines: [String]) -> String? { lines.first { $0.hasPrefix("\(key) = ") } }

    @Test func tellsEachOriginAndWhatItWonOver() throws {
        let lines = try explain(
            #"{"interval":"20s","timeout":"3s","max_body":"2MiB"}"#, ["-i", "40s"],
            environment: ["CATWATCH_INTERVAL": "30s", "CATWATCH_TIMEOUT": "4s"])
        #expect(
            line("interval", lines)
                == #"interval = "40s" from --interval; over "30s" from CATWATCH_INTERVAL; over "20s" from "#
                + #"test.jsonc:1:13; over "10s" from the defaults"#)
        #expect(
            line("timeout", lines)
                == #"timeout = "4s" from CATWATCH_TIMEOUT; over "3s" from test.jsonc:1:29; over "10s" from the defaults"#
        )
        #expect(line("max_body", lines) == #"max_body = "2MiB" from test.jsonc:1:45; over "1MiB" from the defaults"#)
        #expect(
            line("sources[0].timeout", lines)
                == #"sources[0].timeout = "4s" from CATWATCH_TIMEOUT; over "3s" from test.jsonc:1:29; over "10s" from the "#
                + "defaults")
        #expect(line("max_readers", lines) == "max_readers = 1024 from the defaults")
        #expect(line("history", lines) == #"history = "2m" from the defaults"#)
        #expect(line("output", lines) == nil)
    }

    @Test func tellsWhatASourceHasFromItsPresetAndFromWhoElse() throws {
        let lines = try explain(
            #"{"every":"7s","sources":[{"preset":"fact","value":"/x"},{"url":"http://h/a"},{"url":"http://h/b","every":1}]}"#
        )
        #expect(
            line("sources[0].every", lines)
                == #"sources[0].every = "2s" from the preset fact; over "7s" from test.jsonc:1:10; over "2s" from the "#
                + "defaults")
        #expect(
            line("sources[0].value", lines)
                == #"sources[0].value = "/x" from test.jsonc:1:51; over "/length" from the preset fact"#)
        #expect(line("sources[0].text", lines) == #"sources[0].text = "/fact" from the preset fact"#)
        #expect(line("sources[0].number", lines) == #"sources[0].number = "strict" from the defaults"#)
        #expect(
            line("sources[1].every", lines)
                == #"sources[1].every = "7s" from test.jsonc:1:10; over "2s" from the defaults"#)
        #expect(line("sources[2].every", lines)?.hasPrefix(#"sources[2].every = "1s" from test.jsonc:1:106; "#) == true)
        #expect(line("sources[1].name", lines) == #"sources[1].name = "a" from the defaults"#)
        #expect(line("sources[2].url", lines) == #"sources[2].url = "http://h/b" from test.jsonc:1:85"#)
    }

    @Test func tellsNoSecretAndMakesForeignTextVisible() throws {
        let text = ##"""
            {"sources": [
                {"url": "http://h/a?key=hunter2", "bearer": {"env": "TOKEN"}, "unit": "\u202ex"},
                {"url": "http://h/b", "basic": {"user": "me", "password": {"env": "TOKEN"}}},
            ]}
            """##
        let name = "evil\u{1b}[31m.jsonc"
        let command = try Command.parse(
            ["--header", "X-Secret: hunter2"], environment: ["CATWATCH_HEADER": "A: hunter2", "TOKEN": "hunter2"]
        ) { _ throws(UsageError) in ConfigText(name: name, bytes: Array(text.utf8)) }
        guard case .watch(let options) = command else { throw UsageError("no watch") }
        let shown = try WatchPlan(options, environment: ["TOKEN": "hunter2"]).explanation()
        #expect(!shown.contains("hunter2"), "\(shown)")
        #expect(!shown.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{202e}" }, "\(shown)")
        #expect(shown.contains(#"header = ["X-Secret: …"] from --header; over ["A: …"] from CATWATCH_HEADER"#))
        #expect(shown.contains(#"sources[0].bearer = {"env": "TOKEN"} from evil␛[31m.jsonc:2:"#))
        #expect(shown.contains(#"sources[0].url = "http://h/a?…" from evil"#))
        let urls = try explain(nil, ["-u", "http://me:hunter2@h/x?hunter2"])
        #expect(!urls.joined().contains("hunter2"))
    }
}
