import Glibc
import TestSupport
import Testing

/// The five systems, over the stand-in API.
@Suite(.limited) struct PresetTests {
    @Test(.enabled(if: Installation.hasPython)) func demoShowsAllOfThem() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["--demo", "--preset", "all", "-i", "1s"])
            let wanted: Set = ["fact", "facts", "breeds", "dogs", "aqi", "fibonacci"]
            try await program.wait(for: "an event of each") { program in
                Set(FeedLine.lines(program.outputBytes).compactMap { $0 }.filter(\.isData).map(\.source)) == wanted
                    ? () : nil
            }
            try await program.wait(for: "a window with a band") { program in
                FeedLine.lines(program.outputBytes).contains { $0?.type == "window" && $0?.string("band") != nil }
                    ? () : nil
            }
            try await program.wait(for: "the last page of the breeds") { program in
                FeedLine.lines(program.outputBytes).contains {
                    $0?.type == "progress" && $0?.source == "breeds" && $0?.number("done") == 98
                } ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            try Self.checkEach(lines, errors: run.errors)
            try await stage.validate(run.output)
        }
    }

    private static func checkEach(_ lines: [FeedLine], errors: String) throws {
        #expect(!lines.contains { $0.type == "error" }, "\(errors)")
        let breeds = lines.filter { $0.type == "breed" }
        #expect(breeds.count == 98 && Set(breeds.compactMap { $0.string("series") }).count == 98)
        let dog = try #require(lines.first { $0.type == "dog" })
        #expect(dog.raw("data")?.contains(#""url":"http:\/\/127.0.0.1:"#) == true)
        #expect(lines.contains { $0.type == "aqi" && $0.string("series")?.hasPrefix("aqi/") == true })
    }

    @Test func anAirQualityFeedNeedsItsURL() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(["--preset", "aqi"])
            #expect(run.ending == .exited(2) && run.errors.contains("--url"))
        }
    }

    @Test func breedsComeInFourRequests() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(["--demo", "--preset", "breeds", "-n", "98"])
            let lines = try run.lines()
            let pages = lines.filter { $0.type == "progress" }
            #expect(run.ending == .exited(0) && lines.count { $0.type == "latency" } == 4)
            #expect(pages.compactMap { $0.number("done") } == [30, 60, 90, 98])
            #expect(pages.allSatisfy { $0.number("total") == 98 })
        }
    }
}
