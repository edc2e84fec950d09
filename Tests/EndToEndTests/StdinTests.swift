import Glibc
import TestSupport
import Testing

/// `catwatch -`: lines in, lines out.
@Suite(.limited) struct StdinTests {
    private static let cities = (0..<1_000).map { #"{"city":"c\#($0 % 7)","aqi":\#($0 % 500),"n":\#($0)}"# }

    private static func watch(
        _ stage: Stage, _ arguments: [String], _ input: String, pieces: Int = 1
    ) async throws -> Finished {
        let program = try await stage.catwatch(["-"] + arguments) { $0.input = .pipe }
        let bytes = Array(input.utf8)
        let size = max(1, bytes.count / pieces)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try await program.write(Array(bytes[start..<min(bytes.count, start + size)]))
        }
        await program.closeInput()
        return try await Finished(of: program)
    }

    @Test(.enabled(if: Installation.hasPython)) func everyLineBecomesAnEventAndTheLastWindowIsSeen() async throws {
        try await Stage.run { stage in
            let input = Self.cities.joined(separator: "\n") + "\n"
            // A window that ends meanwhile would have some of them late.
            let run = try await Self.watch(stage, ["--key", "/city", "--value", "/aqi", "-i", "1h"], input)
            #expect(run.ending == .exited(0) && run.errors == "")
            let lines = try run.lines()
            let events = lines.filter(\.isData)
            #expect(events.compactMap { $0.raw("data") } == Self.cities)
            #expect(Set(events.compactMap { $0.string("series") }) == Set((0..<7).map { "stdin/c\($0)" }))
            let windows = lines.filter { $0.type == "window" && $0.source == "stdin" }
            #expect(windows.compactMap { $0.number("count") }.reduce(0, +) == 1_000)
            #expect(lines.last?.type == "bye" && lines.last?.string("reason") == "end")
            try await stage.validate(run.output)
        }
    }

    @Test func brokenLinesAreCountedAndTheRestGoesOn() async throws {
        try await Stage.run { stage in
            let long = "\"" + String(repeating: "x", count: 3 << 20) + "\""
            let input = "1\nnonsense\n\u{1}\u{2}\n\(long)\n[1,,2]\n2\n"
            let run = try await Self.watch(stage, [], input, pieces: 50)
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            #expect(lines.filter(\.isData).compactMap { $0.number("value") } == [1, 2])
            let errors = lines.filter { $0.type == "error" && $0.source == "stdin" }
            #expect((1...3).contains(errors.count), "\(errors)")
            #expect(run.errors.contains("stdin"))
        }
    }

    @Test func nothingAtAllIsSaidAndExitsWithOne() async throws {
        try await Stage.run { stage in
            let run = try await Self.watch(stage, [], "")
            #expect(run.ending == .exited(1))
            #expect(run.errors.contains("not a single event"))
        }
    }

    @Test func aReaderThatStandsStillIsWaitedForAndLosesNothing() async throws {
        try await Stage.run { stage in
            let line = #"{"n":1,"text":"\#(String(repeating: "y", count: 200))"}"# + "\n"
            let path = try await stage.write(String(repeating: line, count: 120_000), to: "input")
            let program = try await stage.bash(
                #""$catwatch" - --log-bytes 1MiB < '\#(path)' | { sleep 1; grep -c '^{"seq".*"type":"stdin"'; }"#)
            let run = try await Finished(of: program)
            #expect(run.outputText == "120000\n")
        }
    }
}
