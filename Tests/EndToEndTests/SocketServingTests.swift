import Glibc
import Reactor
import TestSupport
import Testing

/// `--listen` and `--attach` of the real program.
@Suite(.limited) struct SocketServingTests {
    /// An agent that serves its feed, once its socket is there.
    private static func serving(_ stage: Stage, at path: String, _ arguments: [String] = []) async throws
        -> ChildProcess
    {
        let program = try await stage.catwatch(
            ["-u", stage.url("/fact"), "-e", "20ms", "-o", "none", "--listen=\(path)"] + arguments)
        try await answering(stage, at: path)
        return program
    }

    /// Waits until somebody answers there: an attached agent ends with 1 at once where nobody does.
    private static func answering(_ stage: Stage, at path: String) async throws {
        try await stage.wait(for: "an agent at \(path)") {
            try await stage.finish(["--attach=\(path)", "--no-reconnect", "-n", "1", "-o", "ndjson"]).ending
                == .exited(0)
        }
    }

    /// What of a socket called `s` is there.
    private static func files(_ stage: Stage) throws -> [String] {
        try FolderListing.names(in: stage.folder).filter { $0.hasPrefix("s") }.sorted()
    }

    @Test func aSecondAgentIsRefusedAndAKilledOnesSocketIsReplaced() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let first = try await Self.serving(stage, at: path)
            let second = try await stage.finish(["-u", stage.url("/fact"), "-o", "none", "--listen=\(path)"])
            #expect(second.ending == .exited(2))
            #expect(second.errors.contains("served by another catwatch already (process \(first.id))"))

            try await first.signal(SIGKILL)
            _ = try await first.waitForEnd()
            #expect(try Self.files(stage) == ["s", "s.lock"])
            let third = try await Self.serving(stage, at: path)
            try await third.signal(SIGTERM)
            #expect(try await third.waitForEnd() == .exited(0))
            #expect(try Self.files(stage) == [])
        }
    }

    /// Somebody else may have made the folder that the default socket is looked for in.
    @Test(.enabled(if: geteuid() == 0 && Installation.hasPython)) func whatAnotherUserServesIsAttachedToOnRequestOnly()
        async throws
    {
        try await Stage.run { stage in
            let folder = "\(stage.folder)/theirs"
            let path = "\(folder)/catwatch.sock"
            mkdir(folder, 0o700)
            chown(folder, 65_534, 65_534)
            defer {
                unlink(path)
                rmdir(folder)
            }
            let python = try #require(Installation.python)
            let script =
                "import os, socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.setuid(65534);"
                + "s.listen(); time.sleep(60)"
            _ = try await stage.start(Launch(python, ["-c", script, path]))
            try await stage.wait(for: "a socket") { (try? StreamSocket.connected(to: path)) != nil }

            let environment = ["XDG_RUNTIME_DIR": folder]
            let doubt = "\(folder) belongs to user 65534, below /tmp, which others may write to"
            let bare = try await stage.finish(["--once", "--timeout", "100ms"], environment: environment)
            #expect(bare.errors.hasPrefix("catwatch: not attached: \(doubt); say --attach=\(path) "), "\(bare.errors)")
            #expect(!bare.outputText.contains("agent lost"), "\(bare.outputText)")
            let unnamed = try await stage.finish(
                ["--attach", "--no-reconnect", "-o", "ndjson"], environment: environment)
            #expect(unnamed.ending == .exited(1) && unnamed.errors.contains("no agent to attach to: \(doubt); say "))
            let named = try await stage.catwatch(["--attach=\(path)", "-o", "ndjson"])
            try await named.waitForError("\(path): the socket is user 65534's\n")
            // A view says it where it can be seen while it lasts.
            let view = try await stage.finish(["--attach=\(path)", "--once", "--timeout", "100ms"])
            #expect(view.outputText.contains("  socket of user 65534  "), "\(view.outputText)")
        }
    }
}
