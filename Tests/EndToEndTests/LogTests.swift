import Glibc
import TestSupport
import Testing

/// `catwatch log` over journals that the program itself has kept.
@Suite(.limited) struct LogTests {
    /// Keeps a run of so many facts.
    private static func keep(_ stage: Stage, _ count: Int, in journal: String, more: [String] = []) async throws {
        let url = try await stage.url("/fact")
        let run = try await stage.finish(
            ["--url", url, "-n", "\(count)", "-e", "10ms", "--output", "none", "--journal", journal] + more)
        #expect(run.ending == .exited(0), "\(run.errors)")
    }

    @Test(.enabled(if: Installation.hasPython)) func everyRunComesOutAsItWasFeed() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/j"
            try await Self.keep(stage, 5, in: journal)
            try await Self.keep(stage, 3, in: journal)
            let log = try await stage.finish(["log", journal])
            #expect(log.ending == .exited(0) && log.errors == "")
            let lines = try log.lines()
            // A run is greeted again where its `stats` change.
            var runs: Set<String?> = []
            let begins = lines.indices.filter {
                lines[$0].type == "hello" && runs.insert(lines[$0].string("run")).inserted
            }
            try #require(begins.count == 2)
            #expect(lines.count(where: \.isData) == 8)
            // Each is a feed from its beginning on.
            for range in [begins[0]..<begins[1], begins[1]..<lines.endIndex] {
                try await stage.validate(
                    Array(lines[range].map { $0.bytes + [0x0A] }.joined()), expectBye: false)
            }
            #expect(lines[begins[0] + 2].type == "restart" && lines[begins[0] + 2].seq == 1)

            let facts = try await stage.finish(["log", "--type", "fact", "--journal", journal])
            #expect(try facts.lines().map(\.seq) == lines.filter { $0.type == "fact" }.map(\.seq))
            let newest = try await stage.finish(
                ["log", "-r", "--limit=1", "--source", "fact"], environment: ["CATWATCH_JOURNAL": journal])
            #expect(try newest.lines().map(\.bytes) == lines.last { $0.source == "fact" }.map { [$0.bytes] })

            let summary = try await stage.finish(["log", journal, "--summary"])
            let row = summary.outputText.split(separator: "\n").first { $0.hasPrefix("fact ") }
            #expect(row?.split(separator: " ").prefix(3) == ["fact", "8", "8"])
            let csv = try await stage.finish(["log", journal, "--format", "csv", "--type", "fact"])
            #expect(csv.outputText.split(separator: "\r\n").count == 9)
            let none = try await stage.finish(["log", journal, "--until", "1990-01-01"])
            #expect(none.ending == .exited(1) && none.output == [] && none.errors == "")
        }
    }

    @Test func whoFollowsSeesWhatTheAgentWrites() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/j"
            try await Self.keep(stage, 1, in: journal)
            let log = try await stage.catwatch(["log", journal, "-f", "--type", "fact"])
            let url = try await stage.url("/fact")
            let agent = try await stage.catwatch(
                ["--url", url, "-e", "50ms", "--output", "none", "--journal", journal])
            try await log.wait(for: "facts of the second run") { log in
                FeedLine.lines(log.outputBytes).count { $0 != nil } >= 4 ? () : nil
            }
            // Ctrl-C ends it on the spot, also while it waits.
            try await log.signal(SIGINT)
            #expect(try await log.waitForEnd() == .killed(SIGINT))
            try await agent.signal(SIGTERM)
            #expect(try await agent.waitForEnd() == .exited(0))
        }
    }

    @Test func aReaderThatLeavesEndsItQuietly() async throws {
        try await Stage.run { stage in
            try await Self.keep(stage, 20, in: "\(stage.folder)/j")
            for options in ["", "--follow --since 1990-01-01", "--follow"] {
                let program = try await stage.bash(
                    "\"$catwatch\" log \"$folder/j\" \(options) | head -1 | jq -r .type; echo \"${PIPESTATUS[@]}\"")
                let run = try await Finished(of: program)
                #expect(run.outputText == "hello\n0 0 0\n" && run.errors == "", "\(options)")
            }
        }
    }

    @Test func whatCannotBeReadIsSaid() async throws {
        try await Stage.run { stage in
            let missing = try await stage.finish(["log", "\(stage.folder)/none", "--summary", "--quiet"])
            #expect(missing.ending == .exited(2) && missing.output == [])
            #expect(missing.errors == "catwatch: \(stage.folder)/none: No such file or directory\n")
            let full = try await stage.bash(
                """
                "$catwatch" --demo -n 1 --output none --journal "$folder/j"
                "$catwatch" log "$folder/j" > /dev/full; echo $?
                """)
            let run = try await Finished(of: full)
            #expect(run.outputText == "2\n" && run.errors == "catwatch: stdout: No space left on device\n")
        }
    }
}
