import Glibc
import TestSupport
import Testing

/// Which sources a command line makes, and what is read out of their documents.
@Suite(.limited) struct SourceTests {
    @Test(.enabled(if: Installation.hasPython))
    func urlsAreNamedAfterTheirPathsAndToldApart() async throws {
        try await Stage.run { stage in
            let fact = try await stage.url("/fact")
            let breeds = try await stage.url("/breeds?limit=1")
            let program = try await stage.catwatch(["-u", fact, "-u", fact, "--url", breeds, "-u", fact, "-e", "20ms"])
            let wanted: Set = ["fact", "fact-2", "fact-3", "breeds"]
            try await program.wait(for: "an event of each") { program in
                Set(FeedLine.lines(program.outputBytes).compactMap { $0 }.filter(\.isData).map(\.source)) == wanted
                    ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            for line in try run.lines() where line.isData {
                #expect(line.type == line.source && line.string("series") == line.source)
            }
            try await stage.validate(run.output)
        }
    }

    @Test func aHostWithoutAPathGivesItsName() async throws {
        try await Stage.run { stage in
            let run = try await stage.finishAfterError(["-u", stage.origin()])
            let errors = try run.lines().filter { $0.type == "error" }
            #expect(errors.allSatisfy { $0.source == "127.0.0.1" } && !errors.isEmpty)
        }
    }

    @Test(arguments: [
        ["--value", "/nowhere"], ["--value", "/fact"], ["--value", "/length/0"], ["--text", "/length"],
        ["--text", "/a/b"],
    ])
    func aPointerThatLeadsNowhereIsAnErrorEveryTime(arguments: [String]) async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["-u", stage.url("/fact"), "-e", "10ms"] + arguments)
            try await program.wait(for: "two errors") { program in
                FeedLine.lines(program.outputBytes).count { $0?.type == "error" } >= 2 ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            let lines = try run.lines()
            #expect(!lines.contains { $0.isData })
            for line in lines where line.type == "error" {
                #expect(line.string("code") == "pointer")
                #expect(line.string("message")?.contains(arguments[1]) == true, "\(line)")
            }
            // Every failed poll: one latency line and one error line.
            #expect(lines.count { $0.type == "latency" } == lines.count { $0.type == "error" })
        }
    }
}
