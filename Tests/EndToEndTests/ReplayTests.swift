import Glibc
import Reactor
import TestSupport
import Testing

/// `catwatch --replay`: what was recorded comes out again.
@Suite(.limited) struct ReplayTests {
    /// Numbered lines, as they are.
    private static func numbered(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.split(separator: 0x0A).filter { $0.starts(with: "{\"seq\":".utf8) }.map(Array.init)
    }

    private static func record(_ stage: Stage) async throws -> Finished {
        let run = try await Finished(of: stage.catwatch(["--demo", "-e", "20ms", "-n", "30", "-i", "1s"]))
        #expect(run.ending == .exited(0) && numbered(run.output).count >= 60)
        return run
    }

    @Test func whatAnAgentWroteComesOutAgainLineByLine() async throws {
        try await Stage.run { stage in
            let recorded = try await Self.record(stage)
            let path = try await stage.write(String(decoding: recorded.output, as: UTF8.self), to: "rec.ndjson")
            let replayed = try await Finished(of: stage.catwatch(["--replay", path, "--speed", "max"]))
            #expect(replayed.ending == .exited(0) && replayed.errors == "", "\(replayed.errors)")
            #expect(Self.numbered(replayed.output) == Self.numbered(recorded.output))
            let bye = try #require(try replayed.lines().last)
            #expect(bye.type == "bye" && bye.string("reason") == "end")
            if Installation.hasPython { try await stage.validate(replayed.output) }

            // Through a pipe, without its first lines, into a journal, and from that.
            let journal = "\(stage.folder)/j.db"
            let program = try await stage.catwatch(
                ["--replay", "-", "--speed=1000x", "--journal", journal, "-o", "none"]
            ) { $0.input = .pipe }
            try await program.write(
                Array(Self.numbered(recorded.output).dropFirst(5).joined(separator: [0x0A])) + [0x0A])
            await program.closeInput()
            let kept = try await Finished(of: program)
            #expect(kept.ending == .exited(0) && kept.errors == "", "\(kept.errors)")
            let again = try await Finished(of: stage.catwatch(["--replay", journal, "--speed=max"]))
            #expect(again.ending == .exited(0) && again.errors == "", "\(again.errors)")
            #expect(Self.numbered(again.output) == Array(Self.numbered(recorded.output).dropFirst(5)))
            #expect(!again.outputText.contains("\"type\":\"gap\""))

            // How the recorded run ended, by way of two journals, is what the next run says of it.
            let (one, two) = ("\(stage.folder)/1.db", "\(stage.folder)/2.db")
            for (from, into) in [(path, one), (one, two)] {
                let run = try await Finished(
                    of: stage.catwatch(["--replay", from, "--speed=max", "--journal", into, "-o", "none"]))
                #expect(run.ending == .exited(0) && run.errors == "", "\(run.errors)")
            }
            let next = try await Finished(of: stage.bash("echo 7 | $catwatch - --journal=$folder/2.db -o ndjson"))
            let restart = try #require(try next.lines().first { $0.type == "restart" })
            #expect(try restart.string("last_run") == recorded.lines().first?.string("run"))
            #expect(try restart.string("ended") == recorded.lines().last?.string("reason"))
        }
    }

    @Test func whatCannotBePlayedBackIsSaidInASentence() async throws {
        try await Stage.run { stage in
            let zipped = try await stage.write("\u{1F}\u{0}", to: "x")
            let file = try Descriptor.open(zipped, flags: O_WRONLY | O_TRUNC)
            #expect(Glibc.write(file.number, [0x1F, 0x8B, 8, 0, 0] as [UInt8], 5) == 5)
            let lines = try await stage.write("1\n2\n{}\n", to: "numbers")
            for (path, status, sentence) in [
                (stage.folder, 2, "Is a directory"), ("\(stage.folder)/none", 2, "No such file"),
                (zipped, 1, "zcat FILE | catwatch --replay -"), (lines, 1, "3 lines are no lines of a feed"),
                ("/dev/null", 1, "not a single event came"),
            ] {
                let run = try await Finished(of: stage.catwatch(["--replay", path, "--speed=max"]))
                #expect(run.ending == .exited(Int32(status)) && run.errors.contains(sentence), "\(path): \(run.errors)")
            }
        }
    }

    @Test func oneFrameIsOfTheEndOfARecording() async throws {
        try await Stage.run { stage in
            let recorded = try await Self.record(stage)
            let lines = recorded.outputText.split(separator: "\n").map(String.init)
            let whole = try await stage.write(lines.joined(separator: "\n"), to: "whole")
            let first = try #require(try recorded.lines().firstIndex(where: \.isData))
            let bad = lines[...first] + ["no line"] + lines[(first + 1)...]
            let spoilt = try await stage.write(bad.joined(separator: "\n"), to: "spoilt")
            var frames: [Finished] = []
            for path in [whole, spoilt] {
                frames.append(try await stage.finish(["--once", "--replay", path, "--speed=max"]))
            }
            #expect(frames[0].ending == .exited(0) && frames[0].outputText.contains("fact"))
            #expect(frames[1].outputText == frames[0].outputText)
        }
    }

    @Test func aJournalIsNotPlayedBackIntoItselfByAnyName() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/j.db"
            let kept = try await Finished(
                of: stage.catwatch(["--demo", "-e", "20ms", "-n", "5", "--journal", journal, "-o", "none"]))
            #expect(kept.ending == .exited(0), "\(kept.errors)")
            for path in ["-", journal, "/dev/stdin"] {
                let run = try await Finished(
                    of: stage.catwatch(["--replay", path, "--journal", journal]) { $0.input = .file(journal) })
                #expect(
                    run.ending == .exited(2) && run.errors.contains("a journal is not played back into itself"),
                    "\(path): \(run.errors)")
            }
        }
    }
}
