import Glibc
import TestSupport
import Testing

/// What the view writes where there are no colours, no UTF-8, no cursor, no terminal, and what it never writes.
@Suite(.limited, .enabled(if: Installation.hasPython)) struct ViewTextTests {
    private static let color = #"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m"#
    private static let demo = ["--demo", "--preset", "all", "-i", "1s"]
    /// So many that Delhi is shown below the dogs.
    private static let rows = 40

    @Test(arguments: ["", "1"]) func noColorIsObeyed(setting: String) async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(
                stage, Self.demo, rows: Self.rows, environment: ["NO_COLOR": setting])
            try await screen.wait(for: "Delhi .* [GSMPVX] ")
            for key in ["2", "3", "4", "?"] { try await screen.type(key) }
            try await screen.type("\u{1B}", for: "latency")
            #expect(try await screen.count(Self.color) == 0 || setting.isEmpty)
            #expect(try await screen.count(Self.color) > 0 || !setting.isEmpty)
        }
    }

    @Test(arguments: [["LANG": "C"], ["LANG": "de_DE.ISO-8859-1"]])
    func otherLocalesGetASCII(environment: [String: String]) async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(stage, Self.demo, rows: Self.rows, environment: environment)
            try await screen.wait(for: "Delhi .* [GSMPVX] ")
            try await screen.type("2", for: "mean ")
            try await screen.type("3", for: "Endpoints")
            try await screen.type("4", for: "items|window")
            #expect(try await screen.count(#"[\x80-\xff]"#) == 0)
            try await screen.type("q")
            #expect(try await screen.end().changed == [])
        }
    }

    @Test(arguments: ["dumb", ""]) func aTerminalWithoutACursorGetsFrames(terminal: String) async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(
                stage, ["--demo", "-i", "1s", "-e", "100ms"], environment: ["TERM": terminal])
            try await screen.find(#"(?s)fact .*\r\n\r\n.*fact .*\r\n\r\n"#)
            #expect(try await screen.count(#"[^ -~\r\n]"#) == 0)
            #expect(try await screen.hasFirstModes())
            try screen.signal(SIGTERM)
            #expect(try await screen.end().status == 0)
        }
    }

    @Test func hostileTextIsShownAndNotObeyed() async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(
                stage, ["-u", stage.url("/fault/json/control"), "--text", "/fact", "-e", "50ms"], columns: 120, rows: 40
            )
            try await screen.wait(for: "gnp.tac")
            try await screen.type("2", for: "(?s)newest event.*gnp.tac")
            try await screen.type("4", for: "gnp.tac")
            // A title, an end of a title, a control of the 8-bit set, a turn of direction.
            #expect(try await screen.count(#"\x1b\](?!8;)|\x07|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]"#) == 0)
            let own = #"\x1b(?!\[[0-9;]*[ABCDGHJKXm]|\[\?(?:1049|25|7|2004|2026)[hl]|\]8;|\\)"#
            #expect(try await screen.count(own) == 0)
            try await screen.type("q")
            #expect(try await screen.end().changed == [])
        }
    }

    @Test func aPipeGetsLinesOfJSON() async throws {
        try await Stage.run { stage in
            let terminal = try Terminal()
            let program = try await stage.catwatch(["--demo", "-n", "3", "-e", "10ms"]) { launch in
                launch.input = .shared(terminal.shell)
                launch.errors = .shared(terminal.shell)
                launch.environment = ViewScreen.environment
            }
            let run = try await Finished(of: program)
            close(terminal.screen)
            #expect(run.ending == .exited(0))
            #expect(try run.lines().count(where: \.isData) == 3)
            let refused = try await stage.finish(["--demo", "-o", "view"], environment: ViewScreen.environment)
            #expect(refused.ending == .exited(2) && refused.output.isEmpty && refused.errors.contains("--once"))
        }
    }

    @Test func onceIsOneFrameOfText() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(
                ["--once"] + Self.demo,
                environment: ViewScreen.environment.merging(["COLUMNS": "100", "LINES": "50"]) { $1 })
            #expect(run.ending == .exited(0) && run.errors == "")
            let rows = run.outputText.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(rows.contains { $0.contains("Delhi") } && !run.outputText.contains("\u{1B}"))
            #expect(rows.last == "" && rows.count <= 51 && rows.allSatisfy { $0.unicodeScalars.count <= 100 })
            // Nobody can press a key any more.
            #expect(!run.outputText.contains("quit"))

            let screen = try await ViewScreen(stage, ["--once"] + Self.demo, rows: Self.rows)
            let left = try await screen.end()
            #expect(left.status == 0)
            #expect(try await screen.count(#"\x1b"#) == 0)
            #expect(try await screen.rows().contains { $0.contains("Delhi") })
        }
    }
}
