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

    @Test func pointersSayWhatIsValueAndText() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/breeds?limit=3")
            let run = try await stage.finishAfterError(
                ["-u", url, "--value", "/data/2/breed", "--text", "/data/1/country"])
            // A breed is no number: told, and no event.
            #expect(try !run.lines().contains { $0.isData })
            #expect(try run.lines().contains { $0.type == "error" && $0.string("code") == "pointer" })

            let second = try await stage.finish([
                "-u", url, "--value", "/per_page", "--text", "/data/1/breed", "-n", "1",
            ])
            let event = try #require(try second.lines().first { $0.isData })
            #expect(event.number("value") == 3)
            let data = try #require(event.raw("data"))
            let text = try #require(event.string("text"))
            #expect(data.contains(#""breed":"\#(text)""#))
        }
    }

    @Test func withoutPointersTheFirstNumberAndTheFirstStringAreTaken() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(["-u", stage.url("/breeds?limit=2"), "-n", "1"])
            let event = try #require(try run.lines().first { $0.isData })
            #expect(event.number("value") == 1)  // current_page
            #expect(event.string("text")?.isEmpty == false)
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

    @Test func everySaysHowOften() async throws {
        try await Stage.run { stage in
            let fast = try await stage.url("/fact")
            let program = try await stage.catwatch(["-u", fast, "-e", "25ms", "-n", "20"])
            let run = try await Finished(of: program)
            let times = try run.lines().filter(\.isData).compactMap { $0.string("time") }
            #expect(times.count == 20 && times == times.sorted())
            // One request for each event: the next one is made only when its time comes before the end does.
            #expect(try await (20...21).contains(stage.requestCount()))
        }
    }

    @Test func anUnchangedDocumentIsNoEvent() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["-u", stage.url("/fault/etag/fact"), "-e", "10ms"])
            try await program.wait(for: "answers that say so") { program in
                FeedLine.lines(program.outputBytes).count { $0?.number("status") == 304 } >= 5 ? () : nil
            }
            try await program.signal(SIGTERM)
            let lines = try await Finished(of: program).lines()
            #expect(lines.count(where: \.isData) == 1 && !lines.contains { $0.type == "error" })
        }
    }
}
