import Glibc
import Reactor
import TestSupport
import Testing

/// Real agents, and what reads one by HTTP; `FleetTrialTests` has those that many are read of.
@Suite(.limited) struct FleetTests {
    @Test func anAgentIsPassedOnByHTTPToo() async throws {
        try await Stage.run { stage in
            let port = try await stage.closedPort()
            let agent = try await stage.catwatch([
                "-u", stage.url("/fact"), "-e", "20ms", "-o", "ndjson", "--http=127.0.0.1:\(port)",
            ])
            try await stage.wait(for: "lines") { await agent.outputText.contains(#""seq":20,"#) }
            let reader = try await stage.catwatch(["--attach=http://127.0.0.1:\(port)", "-o", "ndjson", "-n", "30"])
            #expect(try await reader.waitForEnd() == .exited(0))
            let theirs = FeedLine.lines(await reader.outputBytes).compactMap { $0 }.filter { $0.seq > 0 }
            try await agent.signal(SIGTERM)
            _ = try await agent.waitForEnd()
            let own = FeedLine.lines(await agent.outputBytes).compactMap { $0 }.filter { $0.seq > 0 }
            let first = try #require(theirs.first?.seq)
            #expect(theirs.map(\.bytes) == own.dropFirst(first - 1).prefix(theirs.count).map(\.bytes))
            let lost = try await stage.finish(["--attach=http://127.0.0.1:\(port)", "-o", "ndjson", "--no-reconnect"])
            #expect(lost.ending == .exited(1) && lost.errors.contains("no agent to attach to"), "\(lost.errors)")
        }
    }

    /// Of two agents together; each has its share of its own.
    @Test func seriesBeyondTheFleetsLimitHaveNoWindowsAndFlow() async throws {
        try await Stage.run { stage in
            var attach: [String] = []
            for name in ["a", "b"] {
                let path = "\(stage.folder)/\(name).sock"
                let agent = try await stage.catwatch(
                    ["-", "--key", "/k", "--value", "/v", "-o", "none", "--listen=\(path)"]
                ) { $0.input = .pipe }
                try await agent.write(Array((0..<700).map { "{\"k\":\"s\($0)\",\"v\":1}\n" }.joined().utf8))
                attach.append("--attach=\(path)")
            }
            for (limit, isReached) in [(1_000, true), (2_000, false)] {
                let fleet = try await stage.catwatch(
                    attach + ["-o", "ndjson", "-i", "1s", "--max-series", "\(limit)"])
                try await stage.wait(for: "all series, and what the fleet says of itself") {
                    let lines = FeedLine.lines(await fleet.outputBytes).compactMap { $0 }
                    return lines.count { $0.raw("series")?.contains(".stdin/s") == true && $0.raw("data") != nil }
                        == 1_400
                        && lines.contains { $0.type == "agent" && $0.raw("agent") == nil && $0.raw("series") != "0" }
                }
                let text = await fleet.outputText
                #expect(text.contains("more than \(limit) series") == isReached)
                // On a busy machine the agents may not be there yet, which is another error.
                let errors = FeedLine.lines(await fleet.outputBytes).compactMap { $0 }
                    .filter { $0.type == "error" && $0.string("code") != "connect" }
                #expect(errors.count == (isReached ? 1 : 0), "\(errors.map { $0.raw("message") ?? "" })")
                try await fleet.signal(SIGTERM)
                _ = try await fleet.waitForEnd()
            }
        }
    }

    @Test func whatNoAgentAnswersIsSaidInWords() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fact")
            let token = try await stage.write("sesame-sesame-sesame", to: "token")
            let port = try await stage.closedPort()
            _ = try await stage.catwatch([
                "-u", url, "-o", "none", "--http=127.0.0.1:\(port)", "--http-token-file=\(token)",
            ])
            let sources = [
                #"{"kind":"feed","name":"stranger","url":"\#(url)"}"#,
                #"{"kind":"feed","name":"none","url":"unix:\#(stage.folder)/none"}"#,
                #"{"kind":"feed","name":"locked","url":"http://127.0.0.1:\#(port)"}"#,
                #"{"kind":"feed","name":"open","url":"http://localhost:\#(port)","bearer":{"file":"\#(token)"}}"#,
            ]
            let configuration = try await stage.write(#"{"sources":[\#(sources.joined(separator: ","))]}"#, to: "c")
            let fleet = try await stage.catwatch(["-c", configuration, "-o", "ndjson"])
            try await stage.wait(for: "what is wrong") {
                let text = await fleet.outputText
                return text.contains(#""source":"stranger.catwatch","code":"status""#)
                    && text.contains(#""source":"none.catwatch","code":"connect""#)
                    && text.contains("locked: 127.0.0.1:\(port) lets nobody in without the right token")
                    && text.contains(#""source":"open.fact""#)
            }
        }
    }
}
