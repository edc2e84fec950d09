import Glibc
import TestSupport
import Testing

/// The page as one file: by HTTP, and by --once=html.
@Suite(.limited) struct SnapshotTests {
    /// The port of a program that serves the page.
    static func client(of program: ChildProcess) async throws -> RawClient {
        let port: UInt16 = try await program.wait(for: "the page's address") { program in
            let said = program.errorText.split(separator: "\n").first { $0.contains("the page is at http://") }
            return said.flatMap { UInt16($0.split(separator: ":").last?.dropLast() ?? "") }
        }
        return RawClient(port: port)
    }

    /// What the numbered lines in a snapshot come to: their bytes, and the first and last number.
    private static func read(_ snapshot: String, _ lines: String?, on stage: Stage) async throws -> [Int] {
        let python = try #require(Installation.python)
        let script = "\(Installation.root)/Tests/python/read_snapshot.py"
        let run = try await Finished(
            of: stage.start(Launch(python, [script, snapshot] + (lines.map { [$0] } ?? []))))
        #expect(run.ending == .exited(0), "\(run.errors)")
        return run.outputText.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    }

    /// Documents that would end the script, or the line, in which they stand.
    private static let hostile = [
        #"{"text":"</script><script>alert(1)</script><!-- <script> --> ]]> <img src=x onerror=alert(1)>"}"#,
        "{\"text\":\"\u{2028}\u{2029}\u{85}\u{FEFF}\u{202E}\"}", #"{"text":"\ud800 \udc00\ud83d \u003c \\u003c"}"#,
        #"{"</script>":1,"n":123456789012345678901234567890,"n":2}"#,
        "{\"text\":\"<\(String(repeating: "<!--", count: 200_000))\"}", "{\r\"text\":\t\"x\"\r}",
    ]

    @Test(.enabled(if: Installation.hasPython)) func hasTheNewestLinesAsTheyWere() async throws {
        try await Stage.run { stage in
            let lines = "\(stage.folder)/lines"
            let program = try await stage.catwatch([
                "-", "--http=127.0.0.1:0", "--http-host=cats.test", "-o", "none", "--output-file", lines,
                "--log-bytes=32MiB",
            ]) { $0.input = .pipe }
            let client = try await Self.client(of: program)
            let filler = String(repeating: "{\"text\":\"\(String(repeating: "a", count: 2_000))\"}\n", count: 5_000)
            try await program.write(Array(filler.utf8))
            for document in Self.hostile { try await program.write(Array("\(document)\n".utf8)) }
            try await stage.wait(for: "the last document") {
                try Self.text(of: lines).hasSuffix("\n") && Self.text(of: lines).contains("\"text\":\"x\"")
            }
            let answer = try client.get("/snapshot")
            let snapshot = try await stage.write(String(decoding: answer.body, as: UTF8.self), to: "snapshot.html")
            let read = try await Self.read(snapshot, lines, on: stage)
            #expect(read.count == 3 && read[0] <= 8 << 20 && read[0] > 8 << 20 - 5_000, "\(read)")
            try await program.signal(SIGTERM)
            #expect(try await program.waitForExit() == .exited(0))
        }
    }

    private static func text(of path: String) throws -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        // The end is looked for: hostile documents are longer than this, the last one is not.
        fseek(file, 0, SEEK_END)
        fseek(file, max(0, ftell(file) - 4_096), SEEK_SET)
        var bytes = [UInt8](repeating: 0, count: 4_096)
        return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
    }

    @Test(.enabled(if: Installation.hasPython)) func isPrintedOnceAsAFile() async throws {
        try await Stage.run { stage in
            let documents = try await stage.write(Self.hostile.map { "\($0)\n" }.joined(), to: "documents")
            let snapshot = "\(stage.folder)/incident.html"
            let program = try await stage.catwatch([documents, "--once=html"]) { $0.output = .file(snapshot) }
            #expect(try await program.waitForEnd() == .exited(0))
            let read = try await Self.read(snapshot, nil, on: stage)
            #expect(read.count == 3 && read[1] == 1 && read[2] >= 1, "\(read)")

            // Of a running agent, whose lines they are.
            let socket = "\(stage.folder)/feed.sock"
            let agent = try await stage.catwatch([
                "-u", stage.url("/fact"), "-e", "20ms", "-o", "none", "--listen=\(socket)",
            ])
            try await stage.waitForRequests(5)
            try await stage.wait(for: "the socket") { access(socket, F_OK) == 0 }
            let attached = try await stage.catwatch(["--attach=\(socket)", "--once=html"]) {
                $0.output = .file(snapshot)
            }
            #expect(try await attached.waitForEnd() == .exited(0))
            #expect(try await Self.read(snapshot, nil, on: stage).count == 3)
            try await agent.signal(SIGTERM)

            let nobody = try await stage.finish([
                "--attach=\(stage.folder)/none", "--no-reconnect", "--once=html", "-q",
            ])
            #expect(nobody.ending == .exited(1) && nobody.output.isEmpty)
            let terminal = try Terminal()
            let refused = try await stage.catwatch(["--once=html", "--demo"]) { launch in
                launch.output = .shared(terminal.shell)
                launch.outputReader = terminal.screen
            }
            #expect(try await refused.waitForExit() == .exited(2))
            #expect(await refused.errorText.contains("--once: stdout is a terminal"))
        }
    }

    @Test func aReaderThatTakesNothingHoldsNobodyUp() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch([
                "-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms", "-o", "none", "--http=127.0.0.1:0",
                "--http-host=cats.test",
            ])
            let client = try await Self.client(of: program)
            try await stage.waitForRequests(150)
            let stuck = try client.connect()
            defer { close(stuck) }
            try client.send(client.request("GET", "/snapshot", fields: ["Connection: close"]), to: stuck)
            let requests = try await stage.requestCount()
            // All of the log that the file was made of is another one's by then.
            try await stage.waitForRequests(requests + 200)
            #expect(try client.get("/config").status == 200)
            let whole = try WireAnswer(client.receive(from: stuck))
            #expect(whole.body.count > 4 << 20, "\(whole.body.count)")
            #expect(whole.body.suffix(8) == Array("</html>\n".utf8)[...])
        }
    }
}
