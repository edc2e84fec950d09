import Glibc
import Reactor
import TestSupport
import Testing

/// Readers that come when the log has let go of the only line of a source, which is polled once an hour.
@Suite(.limited) struct LateReaderTests {
    @Test(.enabled(if: Installation.hasPython)) func everyWayToReadShowsIt() async throws {
        try await Stage.run { stage in
            let socket = "\(stage.folder)/s"
            let path = try await stage.write(
                """
                {"log_bytes": "1MiB", "listen": "\(socket)", "http": "127.0.0.1:0", "output": "none", "sources": [
                  {"name": "seldom", "url": "\(stage.url("/fact"))", "every": "1h"},
                  {"name": "large", "url": "\(stage.url("/fault/large?bytes=50000"))", "every": "20ms"}
                ]}
                """, to: "seldom.jsonc")
            let agent = try await stage.catwatch(["-c", path])
            var page = ""
            try await stage.wait(for: "the page's address") {
                let line = await agent.errorText.split(separator: "\n").first { $0.contains("the page is at") }
                page = line.map { String($0.split(separator: " ").last ?? "") } ?? ""
                return !page.isEmpty
            }
            try await stage.waitForRequests(80)

            let kept =
                #"grep -m 1 -c '^\(data: \)*{"type":"kept".*"line":{"seq":[0-9]*,"time":"[^"]*","type":"seldom"'"#
            func count(_ script: String) async throws -> String {
                try await Finished(of: stage.bash("\(script) | \(kept) || true")).outputText
            }
            // The pipe breaks with the next line behind the one that is looked for.
            for form in ["feed", "events"] {
                #expect(try await count("curl -sN -m 20 '\(page)\(form)'") == "1\n", "\(form)")
            }
            #expect(try await count("curl -sN -m 1 '\(page)feed?sources=large'") == "0\n")
            #expect(try await count("curl -s '\(page)snapshot'") == "1\n")
            let metrics = try await Finished(of: stage.bash("curl -s '\(page)metrics'")).outputText
            #expect(metrics.contains(#"catwatch_series_value{source="seldom""#))
            let once = try await stage.finish(["--attach=\(socket)", "--once"])
            #expect(once.ending == .exited(0) && once.outputText.contains("seldom"))
            // With the agent's own configuration, whose socket the agent has.
            let beside = try await stage.finish(["-c", path, "--once"])
            #expect(beside.ending == .exited(0) && beside.outputText.contains("seldom"), "\(beside.errors)")
            let newest = try await stage.finish(["--attach=\(socket)", "--once=ndjson"])
            #expect(newest.ending == .exited(0))
            try await stage.validate(newest.output, expectBye: false)
            func sources(_ output: String) -> [Substring] {
                output.split(separator: "\n").filter {
                    $0.contains(#","series":""#) || $0.contains(#""type":"latency""#)
                }
            }
            for type in ["seldom", "large", "latency"] {
                let lines = sources(newest.outputText).filter { $0.contains(#""type":"\#(type)""#) }
                // Two sources have latencies.
                #expect(
                    lines.count == (type == "latency" ? 2 : 1) && lines.allSatisfy { $0.hasPrefix(#"{"type":"kept""#) })
            }
            // What a reader of the socket gets is whole, in order, and of the format.
            let read = try await Finished(of: stage.bash("curl -sN -m 20 '\(page)feed' | head -n 5"))
            try await stage.validate(read.output, expectBye: false)

            try await agent.signal(SIGTERM)
            #expect(try await agent.waitForExit() == .exited(0))
        }
    }
}
