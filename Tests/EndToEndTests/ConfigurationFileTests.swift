import Glibc
import Reactor
import TestSupport
import Testing

/// `catwatch check`, and where a configuration is looked for.
@Suite(.limited) struct ConfigurationFileTests {
    @Test func anAgentIsAskedLikeAnySource() async throws {
        try await Stage.run { stage in
            let agent = try await stage.catwatch(["--demo", "-e", "100ms", "-o", "none", "--listen=\(stage.folder)/s"])
            try await stage.wait(for: "the socket") { access("\(stage.folder)/s", F_OK) == 0 }
            let path = try await stage.write(
                #"{"sources":[{"name":"h","url":"unix:\#(stage.folder)/s"}]}"#, to: "agents.json")
            let found = try await stage.finish(["check", "--online", "-c", path])
            #expect(found.ending == .exited(0) && found.errors.contains("h.catwatch: "), "\(found.errors)")
            #expect(found.errors.contains(" (the agent answers)\n"))
            try await agent.signal(SIGTERM)
            _ = try await agent.waitForExit()
            let gone = try await stage.finish(["check", "--online", "-c", path])
            #expect(gone.ending == .exited(1) && gone.errors.contains("h.catwatch: connect: "), "\(gone.errors)")
        }
    }

    @Test(arguments: ["fact", "breeds", "dogs", "aqi", "fibonacci", "catwatch"])
    func theExamplesAreRight(name: String) async throws {
        try await Stage.run { stage in
            let path = "\(Installation.root)/examples/\(name).jsonc"
            let run = try await stage.finish(["check", "-c", path], environment: ["TOKEN": "x", "STATUS_TOKEN": "y"])
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect(run.outputText.hasPrefix("{") && run.errors.contains("configuration: \(path)"))
        }
    }

    @Test func whatCheckPrintsIsAConfigurationAgain() async throws {
        try await Stage.run { stage in
            let first = try await stage.finish(["check", "-p", "fact", "-p", "breeds", "-p", "fibonacci", "-i", "5s"])
            let path = try await stage.write(first.outputText, to: "printed.json")
            let second = try await stage.finish(["check", "-c", path])
            #expect(first.ending == .exited(0) && second.ending == .exited(0), "\(second.errors)")
        }
    }

    @Test func secretsAreNeverPrinted() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fault/status")
            let text = """
                {"sources": [{"name": "s", "url": "\(url)?token=hush-query", "bearer": {"env": "BEARER"},
                  "headers": {"X-Api-Key": {"file": "\(stage.folder)/key"}}, "every": "10ms"}]}
                """
            _ = try await stage.write("hush-file\n", to: "key")
            let path = try await stage.write(text, to: "config.jsonc")
            let environment = ["BEARER": "hush-env"]
            let checked = try await stage.finish(["check", "--online", "-c", path], environment: environment)
            #expect(checked.ending == .exited(1) && checked.errors.contains("s: status:"))
            let run = try await stage.finish(["-c", path, "-v", "-d", "200ms"], environment: environment)
            for text in [checked.outputText, checked.errors, run.outputText, run.errors] {
                #expect(!text.contains("hush"), "\(text)")
            }
            #expect(checked.outputText.contains(#"{"env":"BEARER"}"#) || checked.outputText.contains("BEARER"))
            let missing = try await stage.finish(["check", "-c", path])
            #expect(missing.ending == .exited(2) && missing.errors.contains("BEARER"))
        }
    }

    @Test func itIsFoundInTheFolderForConfigurationsAndFlagsWin() async throws {
        try await Stage.run { stage in
            let origin = try await stage.origin()
            mkdir("\(stage.folder)/catwatch", 0o700)
            _ = try await stage.write(
                #"{"interval": 7, "sources": [{"name": "mine", "url": "\#(origin)/fact"}]}"#,
                to: "catwatch/config.jsonc")
            let environment = ["XDG_CONFIG_HOME": stage.folder]
            let run = try await stage.finish(["-n", "1"], environment: environment)
            #expect(try run.lines().first?.number("interval_s") == 7)
            #expect(try run.lines().first { $0.isData }?.source == "mine")
            // Flags win, and the environment over the file; sources on the command line are instead of the file's.
            let other = try await stage.finish(
                ["-n", "1", "-u", "\(origin)/breeds"],
                environment: environment.merging(["CATWATCH_INTERVAL": "3"]) { $1 })
            #expect(try other.lines().first?.number("interval_s") == 3)
            #expect(try other.lines().first { $0.isData }?.source == "breeds")
            unlink("\(stage.folder)/catwatch/config.jsonc")
            rmdir("\(stage.folder)/catwatch")
        }
    }
}

/// WebSockets of the real program.
@Suite(.limited) struct WebSocketFeedTests {
    @Test(.enabled(if: Installation.hasPython)) func anArrayOfCitiesIsAnEventEach() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/aqi?rate=50").replacing(scheme: "ws")
            let run = try await stage.finish(
                ["-u", url, "--items", "", "--key", "/city", "--value", "/aqi", "-n", "200"])
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            #expect(lines.count(where: \.isData) == 200)
            #expect(Set(lines.filter(\.isData).compactMap { $0.string("series") }).count == 20)
            let handshake = try #require(lines.first { $0.type == "latency" })
            #expect(handshake.number("status") == 101)
            try await stage.validate(run.output)
        }
    }

    @Test(arguments: [
        ("refused", "status"), ("accept", "protocol"), ("large", "too_large"), ("utf8", "encoding"),
        ("masked", "protocol"), ("garbage", "protocol"), ("close", "closed"), ("drop", "closed"),
    ])
    func whatServersDoWrongIsAnErrorAndTriedAgain(fault: String, code: String) async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fault/ws-\(fault)").replacing(scheme: "ws")
            let program = try await stage.catwatch(["-u", url])
            try await program.wait(for: "two errors") { program in
                FeedLine.lines(program.outputBytes).count { $0?.type == "error" } >= 2 ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let codes = try run.lines().filter { $0.type == "error" }.compactMap { $0.string("code") }
            #expect(codes.allSatisfy { $0 == code || $0 == "reset" } && codes.contains(code), "\(codes)")
        }
    }
}

extension String {
    /// The URL with another scheme.
    fileprivate func replacing(scheme: String) -> String { scheme + (firstIndex(of: ":").map { self[$0...] } ?? "") }
}
