import Glibc
import TestSupport
import Testing

/// SIGHUP with a configuration file.
@Suite(.limited) struct ReloadTests {
    /// An agent that watches the sources named, over the stand-in.
    private static func configuration(_ stage: Stage, _ names: [String], every: String = "20ms") async throws -> String
    {
        let origin = try await stage.origin()
        let sources = names.map { #"{"name":"\#($0)","url":"\#(origin)/fact","every":"\#(every)"},"# }
        return "{\n  // who is watched\n  \"sources\": [\(sources.joined())]\n}\n"
    }

    private static func seqs(_ lines: [FeedLine], of source: String) -> [Int] {
        lines.filter { $0.isData && $0.source == source }.map(\.seq)
    }

    private static func waitForEvents(_ program: ChildProcess, of source: String, after seq: Int = 0) async throws {
        try await program.wait(for: "an event of \(source)") { program in
            seqs(FeedLine.lines(program.outputBytes).compactMap { $0 }, of: source).contains { $0 > seq } ? () : nil
        }
    }

    private static func lastSeq(_ program: ChildProcess) async -> Int {
        FeedLine.lines(await program.outputBytes).compactMap { $0?.seq }.max() ?? 0
    }

    @Test(.enabled(if: Installation.hasPython)) func sourcesComeAndGoWhileTheOthersStay() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a", "b"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            try await Self.waitForEvents(program, of: "b")

            _ = try await stage.write(Self.configuration(stage, ["b", "c"]), to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("reloaded: 1 sources added, 0 changed, 1 removed, 1 kept")
            let reloaded = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "c", after: reloaded)
            try await Self.waitForEvents(program, of: "b", after: reloaded)
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            // A greeting after the reload names who is watched now; numbers go on without a hole.
            let greetings = lines.filter { $0.type == "stats" }.compactMap { $0.raw("sources") }
            #expect(greetings.count == 2)
            #expect(greetings.last?.contains(#""source":"c""#) == true)
            #expect(greetings.last?.contains(#""source":"a""#) == false)
            let numbers = lines.map(\.seq).filter { $0 > 0 }
            #expect(numbers == Array(1...numbers.count))
            try await stage.validate(run.output)
        }
    }

    @Test func aWrongFileChangesNothingAndSaysSo() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            _ = try await stage.write(#"{"sources":[{"name":"a","url":"nonsense","evry":1}]}"#, to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("nothing was reloaded")
            let seq = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "a", after: seq)
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.errors.contains("sources[0].evry") && run.errors.contains("sources[0].url"))
            #expect(try run.lines().contains { $0.type == "error" && $0.string("code") == "config" })
        }
    }

    @Test func manySignalsAreFewReloadsAndLoseNothing() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a", "b"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            for round in 0..<200 {
                if round % 20 == 0 {
                    let names = round % 40 == 0 ? ["a", "c"] : ["a", "b"]
                    _ = try await stage.write(Self.configuration(stage, names), to: "config.jsonc")
                }
                try await program.signal(SIGHUP)
            }
            let seq = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "a", after: seq)
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let reloads = run.errorLines.count { $0.contains("reloaded: ") || $0.contains("nothing was reloaded") }
            #expect((1...200).contains(reloads))
            let numbers = try run.lines().map(\.seq).filter { $0 > 0 }
            #expect(numbers == Array(1...numbers.count))
        }
    }

    @Test func anUnchangedSourceKeepsItsConnection() async throws {
        try await Stage.run { stage in
            let text = try await Self.configuration(stage, ["a"])
            let path = try await stage.write(text, to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            // One of another origin: connections to the same one are shared, whoever's they are.
            let port = try await stage.closedPort()
            let other = text.replacing(prefix: "{\n", with: "{\n  \"url\": [\"http://127.0.0.1:\(port)/b\"],\n")
            _ = try await stage.write(other, to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("1 sources added, 0 changed, 0 removed, 1 kept")
            try await Self.waitForEvents(program, of: "a", after: Self.lastSeq(program))
            try await program.signal(SIGTERM)
            let latencies = try await Finished(of: program).lines().filter { $0.type == "latency" && $0.source == "a" }
            #expect(latencies.dropFirst().allSatisfy { $0.raw("reused") == "true" } && latencies.count > 1)
        }
    }

    @Test func theStandInDoesNotComeWithAReload() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            _ = try await stage.write(#"{"demo":true}"#, to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("nothing was reloaded")
            try await Self.waitForEvents(program, of: "a", after: Self.lastSeq(program))
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(try run.lines().allSatisfy { $0.source != "fact" })
        }
    }

    @Test func whatNeedsARestartIsNamed() async throws {
        try await Stage.run { stage in
            let text = try await Self.configuration(stage, ["a"])
            let path = try await stage.write(text, to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            let other = text.replacing(prefix: "{\n", with: "{\n  \"interval\": \"5s\",\n")
            _ = try await stage.write(other, to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("restart to change interval")
        }
    }
}

extension String {
    /// The text with another beginning.
    fileprivate func replacing(prefix: String, with other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}
