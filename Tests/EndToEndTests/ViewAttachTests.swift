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
            try await screen.wait(for: #"▸ fact +[·▁▂▃▄▅▆▇█]*[▁▂▃▄▅▆▇█]{2}·* +\d+ "#)
            // What is wrong is said, and when it is tried again.
            try await screen.wait(for: #"^ ✕ fact: next try (in [\d.]+ s|now) · .*refused"#)
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
            let lost = try await screen.wait(for: #"^ ✕ agent lost \d+s ago · next try (in [\d.]+ s|now) · \w"#)
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
            let old = String(repeating: "{\"k\":\"old\",\"v\":1}\n", count: 5_000)
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

    @Test func onceSaysWhyThereIsNothing() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(
                ["--once", "--attach=\(stage.folder)/none", "--timeout", "100ms"],
                environment: ViewScreen.environment.merging(["COLUMNS": "150"]) { $1 })
            #expect(run.ending == .exited(1) && run.outputText.contains("✕ agent lost"), "\(run.outputText)")
            #expect(run.outputText.contains("No such file"), "\(run.outputText)")
        }
    }

    @Test func waitingForAnAgentIsSaid() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let screen = try await ViewScreen(stage, ["--attach=\(path)"])
            try await screen.wait(for: "next try|waiting for")
            _ = try await Self.serving(stage, at: path)
            try await screen.wait(for: "▸ fact ")
            try await screen.type("q")
            #expect(try await screen.end().status == 0)
        }
    }

    @Test func withoutASourceItShowsTheAgentThatRuns() async throws {
        try await Stage.run { stage in
            let environment = ["XDG_RUNTIME_DIR": stage.folder]
            _ = try await stage.catwatch(
                ["-u", stage.url("/breeds?limit=1"), "-e", "20ms", "-o", "none", "--listen"], environment: environment)
            try await stage.waitForRequests(3)
            let screen = try await ViewScreen(stage, [], environment: environment)
            try await screen.wait(for: "▸ breeds ")
            let once = try await stage.finish(
                ["--once"], environment: ViewScreen.environment.merging(environment) { $1 })
            #expect(once.ending == .exited(0) && once.outputText.contains("  breeds "), "\(once.outputText)")
            let metrics = try await screen.type("3", for: "Endpoints")
            #expect(!metrics.contains { $0.contains("catfact") })
            try await screen.type("q")
            #expect(try await screen.end().status == 0)
        }
    }
}
