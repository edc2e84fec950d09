import Glibc
import TestSupport
import Testing

/// Text from upstream that is meant for the terminal of whoever looks.
@Suite(.limited) struct HostileTextTests {
    /// What no terminal may get to see: control characters but the newline, and characters that turn the direction.
    private static func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x0A: true
            case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
            default: true
            }
        }
    }

    @Test(arguments: ["-q", "-v"]) func theTerminalIsNotToldToDoAnything(verbosity: String) async throws {
        try await Stage.run { stage in
            // The control characters come back in the words about the pointer, the path and the header.
            let program = try await stage.catwatch([
                "-u", stage.url("/fault/json/control"), "--text", "/fa\u{202E}ct\u{1B}[2J\u{7}", "-e", "10ms",
                verbosity,
            ])
            try await program.wait(for: "two errors") { program in
                FeedLine.lines(program.outputBytes).count { $0?.type == "error" } >= 2 ? () : nil
            }
            try await program.signal(SIGINT)
            let run = try await Finished(of: program)
            #expect(Self.isHarmless(run.errors), "\(run.errors.debugDescription)")
            #expect(run.errors.isEmpty == (verbosity == "-q"))
            let message = try #require(try run.lines().first { $0.type == "error" }?.string("message"))
            #expect(Self.isHarmless(message) || message.contains("\u{202E}"))
            #expect(!run.output.contains { $0 < 0x20 && $0 != 0x0A || $0 == 0x7F })
        }
    }

    /// The lines themselves go to a terminal here, and say the same in other letters.
    @Test func linesOnATerminalAreEscaped() async throws {
        try await Stage.run { stage in
            let terminal = try Terminal()
            let program = try await stage.catwatch([
                "-u", stage.url("/fact"), "--text", "/fa\u{202E}ct\u{9B}2J", "-e", "10ms", "-q",
                "-o", "ndjson",
            ]) { launch in
                launch.output = .shared(terminal.shell)
                launch.outputReader = terminal.screen
            }
            try await program.wait(for: "an error") { program in
                program.outputText.contains("\"code\":\"pointer\"")
                    && program.outputText.contains("fa\\u202ect\\u009b2J")
                    ? () : nil
            }
            try await program.signal(SIGTERM)
            #expect(try await program.waitForExit() == .exited(0))
            let text = String(await program.outputText.filter { $0 != "\r\n" && $0 != "\r" })
            #expect(Self.isHarmless(text), "\(text.debugDescription)")
        }
    }

    @Test func theNewestLinesOnATerminalAreEscaped() async throws {
        try await Stage.run { stage in
            let terminal = try Terminal()
            let program = try await stage.catwatch([
                "-u", stage.url("/fact"), "--text", "/fa\u{202E}ct\u{9B}2J", "-q", "--once=ndjson",
            ]) { launch in
                launch.output = .shared(terminal.shell)
                launch.outputReader = terminal.screen
            }
            try await program.wait(for: "the failure") { program in
                program.outputText.contains("fa\\u202ect\\u009b2J") ? () : nil
            }
            // There was no event.
            #expect(try await program.waitForExit() == .exited(1))
            let text = String(await program.outputText.filter { $0 != "\r\n" && $0 != "\r" })
            #expect(Self.isHarmless(text), "\(text.debugDescription)")
        }
    }

    /// Names of files, and what is in them, on a terminal.
    @Test(arguments: [[], ["--explain"]])
    func aConfigurationIsCheckedHarmlessly(options: [String]) async throws {
        try await Stage.run { stage in
            let text = "{\"sources\":[{\"url\":\"http://h/\",\"text\":\"/\\u001b[2J\u{202E}\u{9B}\"}]}"
            let path = try await stage.write(text, to: "c\u{1B}[31m\u{9B}2J.jsonc")
            let terminal = try Terminal()
            let program = try await stage.catwatch(["check", "-c", path] + options) { launch in
                launch.output = .shared(terminal.shell)
                launch.outputReader = terminal.screen
            }
            try await program.wait(for: "all of it") { $0.outputText.contains("[2J") ? () : nil }
            #expect(try await program.waitForExit() == .exited(0))
            let output = String(await program.outputText.filter { $0 != "\r\n" && $0 != "\r" })
            #expect(output.contains("http://h/") && Self.isHarmless(output), "\(output.debugDescription)")
            let errors = await program.errorText
            #expect(errors.contains("c␛[31m") && Self.isHarmless(errors), "\(errors.debugDescription)")
        }
    }

    @Test func aPathWithControlCharactersIsShownEncoded() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fault/json/control/%1B%5B2J%E2%80%AE")
            let program = try await stage.catwatch(["-u", url, "-v", "-e", "10ms"])
            try await program.wait(for: "answers") { program in
                FeedLine.lines(program.outputBytes).count { $0?.type == "latency" } >= 2 ? () : nil
            }
            try await program.signal(SIGINT)
            let run = try await Finished(of: program)
            #expect(Self.isHarmless(run.errors) && run.errors.contains("%1B%5B2J"))
        }
    }

    @Test(arguments: [
        "--every=\u{1B}[31mred", "--\u{1B}]0;x\u{7}", "\u{202E}operand", "--url=http://\u{1B}[2J/",
        "--connect=unix:/x?\u{1B}[31m", "--connect=unix:/x?\u{9B}2J\ncatwatch: all is well", "--config=/\u{1B}[2J/x",
        "--attach=/x\u{1B}[2J", "--output-file=/nowhere\u{1B}[2J/x", "--listen=/nowhere\u{1B}[2J/x",
    ])
    func wrongOptionsAreRepeatedHarmlessly(argument: String) async throws {
        try await Stage.run { stage in
            let run = try await stage.finish([
                argument, "--no-reconnect", "-u", "http://127.0.0.1:1/", "-d", "300ms", "-o", "none",
            ])
            #expect(run.ending != .exited(0) && run.output.isEmpty)
            #expect(!run.errors.isEmpty && Self.isHarmless(run.errors), "\(run.errors.debugDescription)")
            #expect(!run.errors.contains("\ncatwatch: all is well"))
        }
    }
}
