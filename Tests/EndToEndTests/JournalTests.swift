import Glibc
import Reactor
import TestSupport
import Testing

/// `--journal`, read back by the `sqlite3` program where it is there, and by the next run.
@Suite(.limited) struct JournalTests {
    /// What the `sqlite3` program says to a query, a row a line; nil without it.
    private static func ask(_ stage: Stage, _ query: String) async throws -> [String]? {
        guard access("/usr/bin/sqlite3", X_OK) == 0 else { return nil }
        var launch = Launch("/usr/bin/sqlite3", ["\(stage.folder)/x.db", query])
        launch.environment = ["HOME": stage.folder]
        let finished = try await Finished(of: stage.start(launch))
        #expect(finished.ending == .exited(0), "\(finished.errors)")
        return finished.outputText.split(separator: "\n").map(String.init)
    }

    private static func restart(_ lines: [FeedLine]) throws -> FeedLine {
        let line = try #require(lines.first { $0.number("seq") == 1 })
        #expect(line.type == "restart" && line.string("source") == "catwatch")
        return line
    }

    @Test func everyLineOfEveryRunIsKeptAsStdoutHadIt() async throws {
        try await Stage.run { stage in
            var kept: [String] = []
            var last: (run: String?, number: Double?) = (nil, nil)
            for round in 1...2 {
                let program = try await stage.bash(
                    "seq 1 5000 | $catwatch - --journal=$folder/x.db -o ndjson --log-bytes 1MiB")
                let finished = try await Finished(of: program)
                #expect(finished.ending == .exited(0) && finished.errors == "")
                let lines = try finished.lines()
                let restart = try Self.restart(lines)
                #expect(restart.string("last_run") == last.run && restart.number("last_seq") == last.number)
                #expect(restart.string("ended") == (round == 1 ? nil : "end"))
                last = (lines.first?.string("run"), lines.last?.number("last_seq"))
                #expect(lines.last?.type == "bye" && lines.filter(\.isData).count == 5_000)
                kept += finished.outputText.split(separator: "\n").filter { $0.hasPrefix("{\"seq\"") }.map(String.init)
            }
            if let rows = try await Self.ask(stage, "SELECT line FROM lines ORDER BY id") { #expect(rows == kept) }
        }
    }

    @Test func whatWasDurableOutlivesAProcessThatIsKilled() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["-u", stage.url("/fact"), "-e", "10ms", "-i", "1s", "-o", "ndjson", "--journal=\(stage.folder)/x.db"])
            func durable(_ lines: [FeedLine?]) -> Int {
                lines.compactMap { line -> Int? in
                    guard let parts = line?.raw("outputs")?.split(separator: "\"durable_seq\":"), parts.count == 2
                    else { return nil }
                    return Int(parts[1].prefix(while: \.isNumber))
                }.max() ?? 0
            }
            try await stage.wait(for: "lines that are durable") {
                durable(FeedLine.lines(await program.outputBytes)) > 50
            }
            try await program.signal(SIGKILL)
            let killed = try await Finished(of: program)
            let promised = durable(FeedLine.lines(killed.output))
            let run = FeedLine.lines(killed.output).first??.string("run")

            let next = try await Finished(
                of: stage.bash("echo 7 | $catwatch - --journal=$folder/x.db -o ndjson"))
            let restart = try Self.restart(next.lines())
            #expect(restart.string("last_run") == run && restart.string("ended") == nil)
            let last = Int(restart.number("last_seq") ?? 0)
            #expect(last >= promised)
            if let rows = try await Self.ask(
                stage,
                "SELECT line FROM lines WHERE id < coalesce((SELECT run FROM runs LIMIT 1 OFFSET 1), 1 << 62) ORDER BY id"
            ) {
                let seen = String(decoding: killed.output, as: UTF8.self).split(separator: "\n").filter {
                    $0.hasPrefix("{\"seq\"")
                }
                #expect(rows.count == last && zip(rows, seen).allSatisfy { $0 == $1 })
            }
        }
    }

    @Test func theSecondAgentOnOneJournalIsToldWhoHasIt() async throws {
        try await Stage.run { stage in
            let arguments = try await ["-u", stage.url("/fact"), "-o", "ndjson", "--journal=\(stage.folder)/x.db"]
            let first = try await stage.catwatch(arguments)
            try await stage.wait(for: "its first line") { !FeedLine.lines(await first.outputBytes).isEmpty }
            for arguments in [arguments, ["--demo"] + arguments.suffix(3)] {
                let second = try await Finished(of: stage.catwatch(arguments))
                #expect(second.ending == .exited(2) && second.output.isEmpty)
                #expect(second.errors.contains("--journal: "), "\(second.errors)")
                #expect(second.errors.contains("is written by another catwatch already (process \(first.id))"))
            }
            try await first.signal(SIGTERM)
            #expect(try await first.waitForExit() == .exited(0))
            #expect(try FolderListing.names(in: stage.folder) == ["x.db"])
        }
    }

    @Test func aJournalThatCannotBeHadIsNoReasonNotToWatch() async throws {
        try await Stage.run { stage in
            let finished = try await Finished(
                of: stage.catwatch(
                    ["-u", stage.url("/fact"), "-n", "3", "-e", "50ms", "-o", "ndjson"]
                        + ["--journal=\(stage.folder)/not/there/x.db"]))
            let lines = try finished.lines()
            #expect(finished.ending == .exited(0) && lines.filter(\.isData).count == 3)
            #expect(try Self.restart(lines).string("last_run") == nil)
            let errors = lines.filter { $0.type == "error" }
            #expect(errors.count == 1 && errors.first?.string("code") == "disk")
            #expect(finished.errors.contains("not/there/x.db: "))
        }
    }

    @Test func checkSaysWhatThereIs() async throws {
        try await Stage.run { stage in
            let check = ["check", "--journal=\(stage.folder)/x.db"]
            #expect(try await Finished(of: stage.catwatch(check)).errors.contains("x.db: there is none yet\n"))
            let run = try await Finished(of: stage.bash("echo 7 | $catwatch - --journal=$folder/x.db -o ndjson"))
            #expect(run.ending == .exited(0))
            let found = try await Finished(of: stage.catwatch(check))
            #expect(found.ending == .exited(0) && found.errors.contains("x.db: it has lines 1 of run "))
            #expect(found.outputText.contains(#""journal": "\#(stage.folder)/x.db""#))
            let file = open("\(stage.folder)/x.db", O_WRONLY | O_TRUNC)
            _ = write(file, "no database, but something else", 31)
            close(file)
            let wrong = try await Finished(of: stage.catwatch(check))
            #expect(wrong.ending == .exited(0) && wrong.errors.contains("x.db: file is not a database; "))
        }
    }
}
