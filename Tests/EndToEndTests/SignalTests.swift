import Glibc
import TestSupport
import Testing

/// Ctrl-C and its relatives.
@Suite(.limited) struct SignalTests {
    private static func running(_ stage: Stage, _ arguments: [String] = []) async throws -> ChildProcess {
        let program = try await stage.catwatch(["-u", stage.url("/fact"), "--value=/length", "-e", "10ms"] + arguments)
        try await program.wait(for: "three events") { program in
            FeedLine.lines(program.outputBytes).count { $0?.isData == true } >= 3 ? () : nil
        }
        return program
    }

    @Test(.enabled(if: Installation.hasPython)) func ctrlCEndsItWithASummary() async throws {
        try await Stage.run { stage in
            let program = try await Self.running(stage)
            try await program.signal(SIGINT)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            #expect(lines.last?.type == "bye" && lines.last?.string("reason") == "SIGINT")
            let events = lines.count(where: \.isData)
            let answers = lines.count { $0.type == "latency" }
            let summary = run.errorLines
            try #require(summary.count == 3, "\(run.errors)")
            #expect(summary[0].hasPrefix("--- catwatch: \(events) events in "))
            #expect(try summary[1] == "GET \(await stage.url("/fact")): \(answers) answers, 0 errors")
            // min/avg/p50/p95/p99/max = figures that do not fall, but for the mean; percentiles of enough answers only.
            let text = try #require(summary[2].split(separator: "= ").last?.split(separator: " ms").first)
            let texts = text.split(separator: "/")
            #expect(texts.count == 6 && (texts[3] == "–") == (answers < 20) && (texts[4] == "–") == (answers < 100))
            let figures = texts.compactMap { Double($0) }
            let ordered = [figures[0]] + figures[2...]
            #expect(ordered == ordered.sorted() && figures[0] > 0)
            #expect(figures[0] <= figures[1] && figures[1] <= figures[figures.count - 1])
            #expect(summary[2].contains("min/avg/p50/p95/p99/max"))
            try await stage.validate(run.output)
        }
    }

    @Test func quitSaysTheSummaryAndGoesOn() async throws {
        try await Stage.run { stage in
            let program = try await Self.running(stage)
            for count in 1...3 {
                try await program.signal(SIGQUIT)
                try await program.wait(for: "summary \(count)") { program in
                    program.errorText.split(separator: "\n").count { $0.hasPrefix("--- catwatch: ") } == count
                        ? () : nil
                }
                let before = await program.outputBytes.count
                try await program.wait(for: "more events") { $0.outputBytes.count > before + 500 ? () : nil }
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            _ = try run.lines()
        }
    }

    @Test(arguments: [(SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")])
    func otherSignalsSayByeAndNothingElse(number: Int32, name: String) async throws {
        try await Stage.run { stage in
            let program = try await Self.running(stage)
            try await program.signal(number)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0) && run.errors == "")
            let bye = try #require(try run.lines().last)
            #expect(bye.type == "bye" && bye.string("reason") == name)
            #expect(try bye.number("last_seq") == run.lines().map { Double($0.seq) }.max())
        }
    }

    @Test func theSecondCtrlCLeavesAtOnce() async throws {
        try await Stage.run { stage in
            // Nobody reads stdout: after the first Ctrl-C it is still waited for.
            let program = try await stage.catwatch(
                [
                    "-u", stage.url("/fault/large?bytes=60000"), "--value=/length", "-e", "10ms",
                    "--listen=\(stage.folder)/s",
                ]
            ) { $0.readsOutput = false }
            try await stage.waitForRequests(5)
            #expect(try FolderListing.names(in: stage.folder).sorted() == ["s", "s.lock"])
            try await program.signal(SIGINT)
            // Taken, so that the second one is not merged with it.
            try await stage.wait(for: "the signal to be taken") {
                try ProcessFile.text("status", of: program.id).contains("ShdPnd:\t0000000000000000")
            }
            try await program.signal(SIGINT)
            #expect(try await program.waitForExit() == .exited(0))
            // The first one alone would have ended in the summary, after having waited for the reader.
            #expect(await program.errorText == "")
            #expect(try FolderListing.names(in: stage.folder) == [])
        }
    }

    @Test(arguments: [("HUP", SIGHUP), ("INT", SIGINT), ("QUIT", SIGQUIT)])
    func whatItsStarterIgnoresItIgnores(name: String, number: Int32) async throws {
        try await Stage.run { stage in
            // As nohup does it, and a script that runs something in the background.
            let program = try await stage.bash("trap '' \(name); exec \"$catwatch\" --demo -e 10ms")
            try await program.wait(for: "lines") { $0.outputBytes.count > 1_000 ? () : nil }
            try await program.signal(number)
            let before = await program.outputBytes.count
            try await program.wait(for: "more lines") { $0.outputBytes.count > before + 5_000 ? () : nil }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0) && run.errors == "")
            #expect(try run.lines().last?.string("reason") == "SIGTERM")
        }
    }

    @Test func itGoesOnAfterHavingBeenStopped() async throws {
        try await Stage.run { stage in
            let program = try await Self.running(stage)
            try await program.signal(SIGSTOP)
            try await stage.wait(for: "the stop") {
                try ProcessFile.text("status", of: program.id).contains("State:\tT")
            }
            let before = await program.outputBytes.count
            try await program.signal(SIGCONT)
            try await program.wait(for: "more lines") { $0.outputBytes.count > before + 5_000 ? () : nil }
            try await program.signal(SIGINT)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            _ = try run.lines()
        }
    }
}
