import Glibc
import TestSupport
import Testing

/// `catwatch wait`, as scripts use it.
@Suite(.limited) struct WaitTests {
    @Test(.enabled(if: Installation.hasPython)) func endsWithTheDecidingLineAndASentence() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fact")
            let run = try await stage.finish(
                ["wait", url, "--for", "status = 200", "--for", "/length > 0", "-e", "10ms"])
            #expect(run.ending == .exited(0), "\(run.errors)")
            let lines = try run.lines()
            #expect(lines.count == 1 && lines.first?.source == "fact")
            #expect(run.errors.hasPrefix("catwatch: met after "))
            #expect(run.errors.contains("fact status is 200 (line ") && run.errorLines.count == 1)
        }
    }

    @Test func readsAPipeAndAFile() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                #"printf '{"s":"a"}\n{"s":"b"}\n' | "$catwatch" wait - --for '/s = "b"' -q"#)
            let piped = try await Finished(of: program)
            #expect(piped.ending == .exited(0) && piped.errors == "")
            #expect(try piped.lines().map { $0.raw("data") } == [#"{"s":"b"}"#])
            let file = try await stage.write(#"{"rooms":[{"n":"a","v":1},{"n":"b","v":2}]}"#, to: "rooms.ndjson")
            let items = [file, "--items", "/rooms", "--key", "/n", "--value", "/v", "--for"]
            let all = try await stage.finish(["wait"] + items + ["all rooms.ndjson/* < 3"])
            #expect(all.ending == .exited(0), "\(all.errors)")
            let missed = try await stage.finish(["wait"] + items + ["all rooms.ndjson/* < 2"])
            #expect(missed.ending == .exited(1) && missed.output.isEmpty)
            #expect(missed.errors.contains("rooms.ndjson/b value is 2"), "\(missed.errors)")
        }
    }

    @Test func aLineThatCannotBePrintedIsNoSuccess() async throws {
        try await Stage.run { stage in
            let script = #"echo 1 | "$catwatch" wait - --for 'value = 1' >/dev/full"#
            let run = try await Finished(of: stage.bash(script))
            #expect(run.ending == .exited(1) && run.errors.contains("catwatch: stdout: "), "\(run.errors)")
        }
    }

    /// More than the log holds comes faster than it is judged: the input waits, and the time is up all the same.
    @Test func keepsUpWithAFlood() async throws {
        try await Stage.run { stage in
            let script = #"seq 1 20000 | "$catwatch" wait - --for 'value = 12000' --log-bytes 1MiB --within 2m"#
            let run = try await Finished(of: stage.bash(script))
            #expect(run.ending == .exited(0), "\(run.errors)")
            let flood = try await Finished(of: stage.bash(#"yes 1 | "$catwatch" wait - --for '> 5' --within 300ms"#))
            #expect(flood.ending == .exited(124), "\(flood.errors)")
        }
    }

    /// Ctrl-C must not deploy, and neither must anything else but success.
    @Test(arguments: [SIGINT, SIGTERM]) func aSignalIsNoSuccess(_ signal: Int32) async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["wait", stage.url("/fact"), "--for", "/length < 0", "-e", "10ms", "--within", "1m"])
            try await stage.waitForRequests(3)
            try await program.signal(signal)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(128 + signal) && run.output.isEmpty)
            #expect(run.errors.hasPrefix("catwatch: SIG\(signal == SIGINT ? "INT" : "TERM") after "), "\(run.errors)")
        }
    }

    @Test func saysThatNobodyAnswered() async throws {
        try await Stage.run { stage in
            let port = try await stage.closedPort()
            let run = try await stage.finish(
                ["wait", "http://127.0.0.1:\(port)/x", "--for", "status = 200", "--within", "2s", "--every", "10m"])
            #expect(run.ending == .exited(124) && run.output.isEmpty)
            #expect(
                run.errors.hasPrefix(
                    "catwatch: not met in 2s: never answered; 1 try, last: 127.0.0.1:\(port) refused"),
                "\(run.errors)")
        }
    }

    @Test func waitsForARunningAgent() async throws {
        try await Stage.run { stage in
            let socket = "\(stage.folder)/s"
            let agent = try await stage.catwatch(["-", "--listen=\(socket)", "-o", "none"]) { $0.input = .pipe }
            let waiting = try await stage.catwatch(
                ["wait", "--attach=\(socket)", "--for", "value = 7", "--within", "1m"])
            // The agent may start later.
            for number in 1...7 { try await agent.write(Array("\(number)\n".utf8)) }
            let run = try await Finished(of: waiting)
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect(try run.lines().first?.number("value") == 7)
            await agent.closeInput()
            _ = try await Finished(of: agent)
        }
    }

    @Test func aReaderThatHasLeftChangesNothing() async throws {
        try await Stage.run { stage in
            let script = #""$catwatch" wait --demo --for 'status = 200' -q | true; echo "${PIPESTATUS[0]}""#
            let run = try await Finished(of: stage.bash(script))
            #expect(run.outputText == "0\n")
        }
    }

    /// A hostile feed reaches neither the terminal nor the log of a script unsanitised.
    @Test func showsHostileTextsAsText() async throws {
        try await Stage.run { stage in
            let script =
                #"printf '{"s":"\\u001b[2J\\u202e"}\n' | "$catwatch" wait - --for '/s = "b"' --for '"x\u001b/\u202e" > 1'"#
            let run = try await Finished(of: stage.bash(script))
            #expect(!run.errors.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202e}" })
            #expect(run.ending == .exited(1) || run.ending == .exited(2), "\(run.errors)")
        }
    }
}
