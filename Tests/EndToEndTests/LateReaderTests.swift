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

            let kept = #"grep -c '^\(data: \)*{"type":"kept".*"line":{"seq":[0-9]*,"time":"[^"]*","type":"seldom"'"#
            func count(_ script: String) async throws -> String {
                try await Finished(of: stage.bash("\(script) | \(kept) || true")).outputText
            }
            for form in ["feed", "events"] {
                #expect(try await count("curl -sN -m 1 '\(page)\(form)'") == "1\n", "\(form)")
                #expect(try await count("curl -sN -m 1 '\(page)\(form)?kept=0'") == "0\n", "\(form)")
                #expect(try await count("curl -sN -m 1 '\(page)\(form)?replay=false&kept=1'") == "1\n", "\(form)")
                #expect(try await count("curl -sN -m 1 '\(page)\(form)?sources=large'") == "0\n", "\(form)")
                #expect(try await count("curl -sN -m 1 '\(page)\(form)?sources=seldom'") == "1\n", "\(form)")
            }
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
            // A fleet that begins now knows it, by both ways, and so does one that is attached to that fleet.
            let hub = "\(stage.folder)/hub"
            let fleet = try await stage.write(
                """
                {"output": "none", "listen": "\(hub)", "sources": [
                  {"kind": "feed", "name": "a", "url": "unix:\(socket)"}, {"kind": "feed", "name": "b", "url": "\(page)"}
                ]}
                """, to: "fleet.jsonc")
            for words in [["-c", fleet], ["--attach=\(hub)"]] {
                if words.count == 1 {
                    _ = try await stage.catwatch(["-c", fleet])
                    try await stage.wait(for: "the socket") { access(hub, F_OK) == 0 }
                    // It is there before its agents are.
                    try await stage.wait(for: "both agents") {
                        try await stage.finish(["--attach=\(hub)", "--once=ndjson"]).outputText.contains(
                            #""agent":"b""#)
                    }
                }
                let run = try await stage.finish(words + ["--once=ndjson"])
                for agent in ["a", "b"] {
                    let lines = run.outputText.split(separator: "\n").filter {
                        $0.hasPrefix(#"{"type":"kept""#) && $0.contains(#""series":"\#(agent).seldom""#)
                    }
                    #expect(
                        lines.count == 1 && lines[0].contains(#""agent":"\#(agent)","origin_run":""#), "\(run.errors)")
                }
                try await stage.validate(run.output, expectBye: false)
            }
            // What a reader of the socket gets is whole, in order, and of the format.
            let read = try await Finished(of: stage.bash("timeout 1 curl -sN -m 1 '\(page)feed' | head -n 5"))
            try await stage.validate(read.output, expectBye: false)

            try await agent.signal(SIGTERM)
            #expect(try await agent.waitForExit() == .exited(0))
        }
    }

    /// What an attached agent has once the other one is gone for longer than its history: no lines but kept ones.
    @Test func oneFrameOfAnEmptyLogHasWhatIsKept() async throws {
        try await Stage.run { stage in
            let (origin, relay) = ("\(stage.folder)/origin", "\(stage.folder)/relay")
            let short = ["-i", "1", "--history", "1", "-o", "none", "-q"]
            let agent = try await stage.catwatch(
                ["-u", stage.url("/fact"), "-e", "1h", "--listen=\(origin)"] + short)
            try await stage.waitForRequests(1)
            try await stage.wait(for: "the agent's socket") { (try? StreamSocket.connected(to: origin)) != nil }
            _ = try await stage.catwatch(["--attach=\(origin)", "--listen=\(relay)"] + short)
            /// The first number that the relay can replay, and the next one.
            func numbers() async throws -> [String?] {
                let socket = try DescriptorStream(owning: StreamSocket.connected(to: relay), on: stage.loop)
                defer { socket.close() }
                let hello = FeedLine.lines(try await socket.bytes { $0.contains("\n") })[0]
                return [hello?.raw("first_seq"), hello?.raw("next_seq")]
            }
            try await stage.wait(for: "the relay's socket") { (try? StreamSocket.connected(to: relay)) != nil }
            try await stage.wait(for: "the fact") { try await Int((numbers()[1] ?? nil) ?? "0") ?? 0 > 4 }
            try await agent.signal(SIGTERM)
            #expect(try await agent.waitForExit() == .exited(0))
            try await stage.wait(for: "an empty log") {
                let numbers = try await numbers()
                return numbers[0] == numbers[1]
            }

            let fleet = try await stage.write(
                #"{"sources": [{"kind": "feed", "name": "a", "url": "unix:\#(relay)"}]}"#, to: "fleet.jsonc")
            // What comes in which turn of the loop is up to the kernel.
            for words in [["--attach=\(relay)"], ["-c", fleet]] {
                for _ in 0..<5 {
                    let lines = try await stage.finish(words + ["--once=ndjson"])
                    #expect(lines.ending == .exited(0), "\(lines.errors)")
                    let facts = lines.outputText.split(separator: "\n").filter {
                        $0.hasPrefix(#"{"type":"kept""#) && $0.contains(#""type":"fact""#)
                    }
                    #expect(facts.count == 1, "\(words): \(lines.outputText)")
                    let frame = try await stage.finish(words + ["--once"])
                    #expect(frame.ending == .exited(0) && frame.outputText.contains("latency:"), "\(frame.outputText)")
                }
            }
        }
    }

    /// A source that does not answer after a restart is still known, here and in a fleet, and by a playback from then on.
    @Test(.enabled(if: Installation.hasPython)) func aRestartKnowsWhatTheJournalHas() async throws {
        try await Stage.run { stage in
            let (socket, journal) = ("\(stage.folder)/s", "\(stage.folder)/j.db")
            func configuration(_ url: String) async throws -> String {
                try await stage.write(
                    """
                    {"listen": "\(socket)", "journal": "\(journal)", "output": "none", "interval": "1s", "sources": [
                      {"name": "seldom", "url": "\(url)", "every": "3s"}, {"name": "often", "url": "\(stage.url("/fact"))"}
                    ]}
                    """, to: "restart.jsonc")
            }
            let path = try await configuration(stage.url("/fact"))
            let first = try await stage.catwatch(["-c", path])
            // A window of three seconds has closed.
            try await stage.wait(for: "windows") {
                try await stage.finish(["--attach=\(socket)", "--once=ndjson"]).outputText.contains(
                    #""series":"seldom","seconds":3,"rows":"#)
            }
            try await first.signal(SIGTERM)
            #expect(try await first.waitForExit() == .exited(0))

            _ = try await configuration("http://127.0.0.1:1/")
            let agent = try await stage.catwatch(["-c", path])
            func lines(_ run: Finished) -> [Substring] {
                run.outputText.split(separator: "\n").filter {
                    $0.hasPrefix(#"{"type":"kept""#) && $0.contains(#"seldom","#) && $0.contains(#""value":"#)
                }
            }
            var newest = try await stage.finish(["--attach=\(socket)", "--once=ndjson"])
            try await stage.wait(for: "the lines of the run before") {
                newest = try await stage.finish(["--attach=\(socket)", "--once=ndjson"])
                return lines(newest).count == 1
            }
            #expect(lines(newest)[0].contains(#""line":{"seq":0,"#) && lines(newest)[0].contains(#","origin_run":""#))
            #expect(newest.outputText.contains(#""series":"seldom","seconds":3,"rows":"#))
            try await stage.validate(newest.output, expectBye: false)
            let once = try await stage.finish(["--attach=\(socket)", "--once"])
            #expect(once.outputText.split(separator: "\n").contains { $0.hasPrefix("  seldom ") }, "\(once.outputText)")
            // A fleet knows where it is from.
            let fleet = try await stage.write(
                """
                {"output": "none", "sources": [{"kind": "feed", "name": "a", "url": "unix:\(socket)"}]}
                """, to: "hub.jsonc")
            let hub = try await stage.finish(["-c", fleet, "--once=ndjson"])
            #expect(
                lines(hub).count == 1 && lines(hub)[0].contains(#","agent":"a","origin_run":""#), "\(hub.outputText)")
            try await stage.validate(hub.output, expectBye: false)
            try await agent.signal(SIGTERM)
            #expect(try await agent.waitForExit() == .exited(0))

            // A single frame waits for what is read from the journal, although the source fails at once.
            for _ in 0..<3 {
                let newest = try await stage.finish(["-c", path, "--once=ndjson"])
                #expect(lines(newest).count == 1, "\(newest.outputText)\(newest.errors)")
                let frame = try await stage.finish(["-c", path, "--once"])
                #expect(
                    frame.outputText.split(separator: "\n").contains { $0.hasPrefix("  seldom ") },
                    "\(frame.outputText)")
            }
        }
    }
}
