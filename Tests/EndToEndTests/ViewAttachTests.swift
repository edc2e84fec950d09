import Glibc
import TestSupport
import Testing

/// The view of another agent's feed.
@Suite(.limited, .enabled(if: Installation.hasPython)) struct ViewAttachTests {
    private static func serving(_ stage: Stage, at path: String, path document: String = "/fact") async throws
        -> ChildProcess
    {
        try await stage.catwatch([
            "-u", stage.url(document), "-e", "20ms", "-i", "1s", "-o", "none", "--listen=\(path)",
        ])
    }

    @Test func itOpensWithTheHistory() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            _ = try await Self.serving(stage, at: path)
            // Two seconds' worth, and then nothing more ever comes.
            try await stage.waitForRequests(100)
            _ = try await stage.stopServer()
            let screen = try await ViewScreen(stage, ["--attach=\(path)"], columns: 140)
            try await screen.wait(for: #"fact +[·▁▂▃▄▅▆▇█]*[▁▂▃▄▅▆▇█]{2}·* +\d+ "#)
            // What is wrong is said, and when it is tried again.
            try await screen.wait(for: #"✕ fact  .*refused.* · since .* · next (in |now)"#)
            try await screen.type("q")
            #expect(try await screen.end().changed == [])
        }
    }

    @Test func aLostAgentIsSaidAndComesBack() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let agent = try await Self.serving(stage, at: path)
            let screen = try await ViewScreen(stage, ["--attach=\(path)"])
            try await screen.wait(for: "▸ fact ")
            try await agent.signal(SIGKILL)
            _ = try await agent.waitForEnd()
            let lost = try await screen.wait(for: #"^ ✕ agent lost \d+s ago · next try (in \d+ s|now) · \w"#)
            #expect(lost.contains { $0.contains("▸ fact ") })
            _ = try await Self.serving(stage, at: path)
            try await screen.waitUntilGone("agent lost")
            try await screen.wait(for: "● fact 0s")
            try await screen.type("q")
            #expect(try await screen.end().status == 0)
        }
    }

    @Test func onceShowsWhatTheAgentHasNow() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let agent = try await stage.catwatch(["-", "--key", "/k", "--value", "/v", "--listen=\(path)"]) {
                $0.input = .pipe
            }
            let old = String(repeating: "{\"k\":\"old\",\"v\":1}\n", count: 1_000)
            try await agent.write(Array((old + "{\"k\":\"newest\",\"v\":2}\n").utf8))
            try await stage.wait(for: "the newest line") {
                String(decoding: await agent.outputBytes.suffix(4_096), as: UTF8.self).contains("\"stdin/newest\"")
            }
            let text = try await stage.finish(
                ["--once", "--attach=\(path)"],
                environment: ViewScreen.environment.merging(["COLUMNS": "150"]) { $1 })
            #expect(text.ending == .exited(0) && text.outputText.contains("stdin/newest"), "\(text.outputText)")
            let page = try await stage.finish(["--once=html", "--attach=\(path)"])
            #expect(page.ending == .exited(0) && page.outputText.contains("\"stdin/newest\""), "\(page.errors)")
        }
    }

    /// A fleet that says of its agents whatever format 1 lets it say; Tests/page/test_fleet.py has one of more than there may be.
    @Test func aHostileFleetIsPassedOnAndShown() async throws {
        try await Stage.run { stage in
            let server = try await stage.write(
                #"""
                import json, os, socket, sys, threading, time
                now = "2026-03-01T12:00:00Z"
                bad = "\u001b[2J\u001b]0;x\u0007\u202e\u009b31m" + "猫" * 100
                lines = [{"type": "hello", "time": now, "format": 1, "run": "r", "first_seq": 1, "next_seq": 1, "fleet": True},
                         {"type": "stats", "time": now, "as_of": 0, "endpoints": [], "sources": []}]
                def peer(name, lost, skew):
                    lines.append({"seq": len(lines) - 1, "time": now, "type": "peer", "source": "x.catwatch", "state": bad if lost else "live",
                        "since": now, "heard": "0001-01-01T00:00:00Z", "run": "r", "host": {"name": bad, "os": bad},
                        "app": {"name": bad, "version": bad}, "skew_ms": skew, "lost": lost, "agent": name})
                peer(bad, 1, 0)
                for number in range(1_200):
                    peer("w%d" % number, (1 << 63) - 1 if number == 7 else 0, (-1) ** number * 1e308 if number < 10 else 1)
                data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
                server = socket.socket(socket.AF_UNIX)
                server.bind(sys.argv[1])
                server.listen()
                def serve(peer):
                    peer.sendall(data)
                    time.sleep(600)
                while True:
                    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
                """#, to: "hostile.py")
            let path = "\(stage.folder)/s"
            _ = try await stage.start(Launch(try #require(Installation.python), [server, path]))
            try await stage.wait(for: "the socket") { access(path, F_OK) == 0 }
            let passed = try await stage.catwatch(["--attach=\(path)", "-o", "ndjson"])
            try await stage.wait(for: "all lines") { await passed.outputText.contains(#""seq":1201,"#) }
            let bytes = await passed.outputBytes
            #expect(!bytes.contains(0x1B) && FeedLine.lines(bytes).compactMap { $0 }.count { $0.seq > 0 } == 1_201)
            let screen = try await ViewScreen(stage, ["--attach=\(path)"], columns: 140)
            try await screen.wait(for: "no events|waiting|List")
            try await screen.type("3", for: "Agents 1200")
            try await screen.type("/w7", for: "w7 ")
            #expect(try await screen.rows().contains { $0.contains(" w7 ") && $0.contains("922337203…") })
            try await screen.type("\u{1B}G", for: "Memory|Machine")
            try await screen.type("q")
            let left = try await screen.end()
            #expect(left.changed == [] && left.status == 0)
        }
    }
}
