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
