import Glibc
import TestSupport
import Testing

/// What comes out of stdout, and where it may go.
@Suite(.limited) struct StreamTests {
    @Test(.enabled(if: Installation.hasPython))
    func theDemoStreamsEveryKindOfLine() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(["--demo", "-n", "20", "-e", "100ms", "-i", "1"])
            #expect(run.ending == .exited(0))
            #expect(run.errors == "")
            let lines = try run.lines()
            #expect(lines.count(where: \.isData) == 20)
            let types = Set(lines.map(\.type))
            #expect(types == ["hello", "stats", "fact", "latency", "memory", "agent", "window", "bye"])
            #expect(lines.last?.string("reason") == "count")
            try await stage.validate(run.output)
        }
    }

    @Test func aReaderThatLeavesEndsItQuietly() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                #""$catwatch" --demo -e 10ms | head -1 | jq -r .type; echo "${PIPESTATUS[@]}""#)
            let run = try await Finished(of: program)
            #expect(run.outputText == "hello\n0 0 0\n")
            #expect(run.errors == "")
        }
    }

    @Test func aFileGetsEveryLine() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                #""$catwatch" --demo -n 3 -e 10ms > "$folder/out"; echo $?; cat "$folder/out""#)
            let run = try await Finished(of: program)
            let lines = FeedLine.lines(Array(run.output.dropFirst(2)))
            #expect(run.output.starts(with: "0\n".utf8))
            #expect(lines.count(where: { $0?.isData == true }) == 3 && lines.last??.type == "bye")
            #expect(lines.allSatisfy { $0 != nil })
        }
    }

    @Test func aFullDiskIsSaidAndEndsIt() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["--demo"]) { $0.output = .file("/dev/full") }
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(1))
            #expect(run.errors == "catwatch: stdout: No space left on device\n")
        }
    }

    /// By default the signal for it kills.
    @Test func aFileThatMayNotGrowIsLikeAFullDisk() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                "ulimit -f 8; exec $catwatch -u \(stage.url("/fact")) -e 10ms -o none --output-file $folder/file")
            try await program.waitForError("File too large")
            try await program.signal(SIGTERM)
            #expect(try await program.waitForExit() == .exited(0))
        }
    }

    @Test func closedStandardStreamsAreNoTrouble() async throws {
        try await Stage.run { stage in
            let noInput = try await Finished(
                of: stage.catwatch(["--demo", "-n", "2", "-e", "10ms"]) { $0.input = .closed })
            #expect(noInput.ending == .exited(0) && noInput.errors == "")
            #expect(try noInput.lines().count(where: \.isData) == 2)

            let noErrors = try await Finished(
                of: stage.catwatch(["--demo", "-n", "2", "-e", "10ms"]) { $0.errors = .closed })
            #expect(noErrors.ending == .exited(0))
            #expect(try noErrors.lines().count(where: \.isData) == 2)
        }
    }

    @Test func aClosedStandardOutputIsSaid() async throws {
        try await Stage.run { stage in
            let run = try await Finished(
                of: stage.catwatch(["--demo", "-n", "2", "-e", "10ms"]) { $0.output = .closed })
            #expect(run.ending == .exited(1))
            #expect(run.errors == "catwatch: stdout: Bad file descriptor\n")
        }
    }

    @Test func aTerminalIsLeftAsItWas() async throws {
        try await Stage.run { stage in
            let terminal = try Terminal()
            let before = terminal.flags
            let program = try await stage.catwatch(["--demo", "-e", "10ms", "-o", "ndjson"]) { launch in
                (launch.input, launch.output, launch.errors) = (
                    .shared(terminal.shell), .shared(terminal.shell), .shared(terminal.shell)
                )
                launch.outputReader = terminal.screen
            }
            try await program.wait(for: "lines") { $0.outputBytes.count(where: { $0 == 10 }) >= 5 ? () : nil }
            #expect(terminal.flags == before && before & O_NONBLOCK == 0)
            try await program.signal(SIGINT)
            try await program.wait(for: "the summary") { $0.outputText.contains("min/avg/p50/p95/p99/max") ? () : nil }
            #expect(try await program.waitForExit() == .exited(0))
            #expect(terminal.flags == before)
        }
    }
}
