import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

/// `--http` of the real program.
@Suite(.limited) struct WebServingTests {
    /// An agent that serves its page, and a client of it.
    struct Agent: Sendable {
        let program: ChildProcess
        let port: UInt16
        private let loop: EventLoop

        /// Waits until it says where the page is.
        init(_ program: ChildProcess, on loop: EventLoop) async throws {
            self.program = program
            self.loop = loop
            let before = "the page is at http://"
            port = try await program.wait(for: "the page's address") { program -> UInt16? in
                guard let range = program.errorText.firstRange(of: before) else { return nil }
                let rest = program.errorText[range.upperBound...]
                return rest.firstIndex(of: "/").flatMap { end in
                    rest[..<end].split(separator: ":").last.flatMap { UInt16($0) }
                }
            }
        }

        func talk<Value: Sendable>(_ body: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
            let client = try ClientThread(RawClient(port: port), besides: loop)
            defer { client.stop() }
            return try await client.talk(body)
        }

        private static func request(_ target: String, _ fields: [String]) -> String {
            (["GET \(target) HTTP/1.1", "Host: localhost"] + fields).map { "\($0)\r\n" }.joined() + "\r\n"
        }

        func get(_ target: String, _ fields: [String] = []) async throws -> WireAnswer {
            try await talk { try WireAnswer($0.talk(Self.request(target, fields + ["Connection: close"]))) }
        }

        /// Asks for what does not end, and reads on until there is a text in a line or an event that is whole; returns all
        /// that are.
        func body(_ target: String, _ fields: [String] = [], until text: String) async throws -> [UInt8] {
            try await talk { client in
                let descriptor = try client.connect()
                defer { RawClient.leave(descriptor) }
                try client.send(Self.request(target, fields), to: descriptor)
                let outcome = try client.receive(from: descriptor) { outcome in
                    (try? WireAnswer(outcome)).map { String(decoding: $0.whole, as: UTF8.self).contains(text) } ?? false
                }
                return try Array(WireAnswer(outcome).whole)
            }
        }

        func stream(_ target: String, _ fields: [String] = [], until text: String) async throws -> EventStream {
            EventStream(try await body(target, fields, until: text))
        }

        /// Opens a stream, says that it is open, and reads it to its end.
        func streamToEnd(_ target: String, opened: @escaping @Sendable () -> Void) async throws -> EventStream {
            try await talk { client in
                let descriptor = try client.connect()
                defer { RawClient.leave(descriptor) }
                try client.send(Self.request(target, []), to: descriptor)
                var bytes = try client.receive(from: descriptor, until: #""type":"stats""#).bytes
                opened()
                bytes += try client.receive(from: descriptor).bytes
                var whole = RawClient.Outcome()
                whole.bytes = bytes
                return EventStream(try WireAnswer(whole).body)
            }
        }

        func end() async throws {
            try await program.signal(SIGTERM)
            #expect(try await program.waitForEnd() == .exited(0))
        }
    }

    private static func serving(_ stage: Stage, _ arguments: [String] = ["--http=127.0.0.1:0"]) async throws -> Agent {
        let program = try await stage.catwatch(["-u", stage.url("/fact"), "-e", "10ms", "-o", "none"] + arguments)
        return try await Agent(program, on: stage.loop)
    }

    private static func numbers(_ stream: EventStream) -> [Int] {
        stream.lines.compactMap { line in
            line.hasPrefix(#"{"seq":"#) ? Int(line.dropFirst(7).prefix { $0 != "," }) : nil
        }
    }

    @Test func aStreamGoesOnAcrossConnectionsAndBeginsAnewWithAnotherRun() async throws {
        try await Stage.run { stage in
            let port = try await stage.closedPort()
            var agent = try await Self.serving(stage, ["--http=localhost:\(port)"])
            #expect(agent.port == port)
            let first = try await agent.stream("/events", until: "\"seq\":20,")
            let id = first.lastID
            let last = try #require(Self.numbers(first).last)
            #expect(id.hasSuffix("-\(last)") && Self.numbers(first) == Array(1...last))
            let second = try await agent.stream(
                "/events?replay=false", ["Last-Event-ID: \(id)"], until: "\"seq\":\(last + 20),")
            #expect(Self.numbers(second).first == last + 1)
            try await agent.program.signal(SIGKILL)
            _ = try await agent.program.waitForEnd()
            agent = try await Self.serving(stage, ["--http=localhost:\(port)"])
            let third = try await agent.stream("/events", ["Last-Event-ID: \(second.lastID)"], until: "\"seq\":20,")
            #expect(Self.numbers(third).first == 1)
            try await agent.end()
        }
    }

    @Test func theEndIsTheFeedsOwn() async throws {
        try await Stage.run { stage in
            let agent = try await Self.serving(stage)
            let id = agent.program.id
            let stream = try await agent.streamToEnd("/events") { kill(id, SIGTERM) }
            #expect(try await agent.program.waitForEnd() == .exited(0))
            #expect(stream.lines.last?.contains(#"{"type":"bye""#) == true && !stream.isTorn)
            let numbers = Self.numbers(stream)
            #expect(numbers == Array(1...(numbers.last ?? 1)))
            #expect(stream.lines.last?.contains(#""last_seq":\#(numbers.last ?? 0),"#) == true)
        }
    }

    @Test func aPortThatIsTakenIsRefusedWithItsOwner() async throws {
        try await Stage.run { stage in
            let agent = try await Self.serving(stage)
            let second = try await stage.finish(["--demo", "-o", "none", "--http=127.0.0.1:\(agent.port)"])
            #expect(second.ending == .exited(2))
            let text = "--http: 127.0.0.1:\(agent.port): Address already in use (process \(agent.program.id))"
            #expect(second.errors.contains(text), "\(second.errors)")
            try await agent.end()
        }
    }

    @Test func whatOthersGetToNeedsAToken() async throws {
        try await Stage.run { stage in
            let token = try await stage.write("0123456789abcdef\n", to: "token")
            let short = try await stage.write("hunter2", to: "short")
            let refused: [([String], String)] = [
                (["--http=0.0.0.0:0"], "--http: others get to 0.0.0.0:0; say who may with --http-token-file"),
                (["--http=[::]:0"], "--http: others get to [::]:0"),
                (["--http", "--http-token-file", short], "--http-token-file: a token has 16 to 1024"),
                (["--http", "--http-token-file", "\(stage.folder)/none"], "--http-token-file: cannot read"),
            ]
            for (arguments, text) in refused {
                let run = try await stage.finish(["--demo", "-o", "none"] + arguments)
                #expect(run.ending == .exited(2) && run.errors.contains(text), "\(run.errors)")
                #expect(!run.errors.contains("hunter2"))
            }
            let agent = try await Self.serving(stage, ["--http=0.0.0.0:0", "--http-token-file", token])
            #expect(try await agent.get("/").status == 401)
            #expect(try await agent.get("/", ["Authorization: Bearer 0123456789abcdef"]).status == 200)
            try await agent.end()
            let open = try await Self.serving(stage, ["--http=0.0.0.0:0", "--http-open", "--http-host=cats.test"])
            #expect(try await open.get("/").status == 200)
            try await open.program.waitForError(
                "it answers to any address, localhost, cats.test; --http-host NAME allows another name")
            try await open.end()
        }
    }

    @Test func aReloadChangesWhoIsLetInAndTakesThePageAway() async throws {
        try await Stage.run { stage in
            let source = #""sources":[{"url":"\#(try await stage.url("/fact"))","every":"10ms"}]"#
            let token = try await stage.write("0123456789abcdef", to: "token")
            func configure(_ more: String) async throws -> String {
                try await stage.write("{\(more)\(source)}", to: "config.jsonc")
            }
            let path = try await configure(#""http":"127.0.0.1:0","#)
            let agent = try await Agent(stage.catwatch(["-c", path, "-o", "none"]), on: stage.loop)
            let opened = Flag()
            async let stream = agent.streamToEnd("/events") { opened.isSet.store(true, ordering: .relaxed) }
            try await stage.wait(for: "the stream") { opened.isSet.load(ordering: .relaxed) }

            _ = try await configure(#""http":"127.0.0.1:0","http_token_file":"\#(token)","#)
            try await agent.program.signal(SIGHUP)
            try await agent.program.waitForError("reloaded: 0 sources")
            #expect(try await agent.get("/").status == 401)

            _ = try await configure("")
            try await agent.program.signal(SIGHUP)
            try await agent.program.waitForError("outputs: 0 started, 1 stopped")
            let read = try await stream
            #expect(!read.isTorn && Self.numbers(read).count > 1 && !read.lines.contains { $0.contains(#""bye""#) })
            await #expect(throws: RawClient.Failure.self) { try await agent.get("/") }

            _ = try await configure(#""http":"127.0.0.1:\#(agent.port)","#)
            try await agent.program.signal(SIGHUP)
            try await agent.program.waitForError("outputs: 1 started, 0 stopped")
            #expect(try await agent.get("/").status == 200)

            _ = try await configure(#""http":"0.0.0.0:\#(agent.port)","#)
            try await agent.program.signal(SIGHUP)
            try await agent.program.waitForError("nothing was reloaded")
            #expect(try await agent.get("/").status == 200)
            try await agent.end()
        }
    }

    @Test func anAttachedFeedIsServedAsItsOwn() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let agent = try await Self.serving(stage, ["--http=127.0.0.1:0", "--listen=\(path)"])
            let attached = try await Agent(
                stage.catwatch(["--attach=\(path)", "-o", "none", "--http=127.0.0.1:0"]), on: stage.loop)
            let there = try await attached.stream("/events", until: "\"seq\":20,")
            let here = try await agent.stream("/events", until: "\"seq\":20,")
            #expect(Array(there.events.dropFirst(2).prefix(15)) == Array(here.events.dropFirst(2).prefix(15)))
            try await attached.end()
            try await agent.end()
        }
    }

    @Test(.enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0))
    func socketsThatAreHandedOverAreToldApartByName() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let port = try await stage.closedPort()
            let program = try await stage.bash(
                """
                exec systemd-socket-activate -l 127.0.0.1:\(port) -l "\(path)" --fdname=http:feed \
                    "$catwatch" -u '\(stage.url("/fact"))' -e 10ms -o none
                """)
            try await stage.wait(for: "the socket") { access(path, F_OK) == 0 }
            let read = try await stage.finish(["--attach=\(path)", "--no-reconnect", "-n", "5", "-o", "ndjson"])
            #expect(read.ending == .exited(0))
            let agent = try await Agent(program, on: stage.loop)
            #expect(agent.port == port)
            #expect(try await agent.get("/").status == 200)
            try await agent.end()
        }
    }

    /// Nothing looks at who reads the feed itself: a page of any site gets to a port.
    @Test(
        .enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0),
        arguments: [
            ("127.0.0.1", "", "--listen: the service manager's socket is no Unix socket; FileDescriptorName=http"),
            ("127.0.0.1", "--fdname=feed", "--listen: the service manager's socket is no Unix socket"),
            ("0.0.0.0", "--fdname=http", "--http: others get to the service manager's socket; say who may"),
        ])
    func aPortThatIsHandedOverIsGuardedOrRefused(host: String, name: String, text: String) async throws {
        try await Stage.run { stage in
            let port = try await stage.closedPort()
            let program = try await stage.bash(
                "exec systemd-socket-activate -l \(host):\(port) \(name) \"$catwatch\" --demo -o none")
            try await program.waitForError("Listening on")
            let client = try ClientThread(RawClient(port: port), besides: stage.loop)
            defer { client.stop() }
            let outcome = try await client.talk { try $0.talk("POST / HTTP/1.1\r\n\r\n") }
            #expect(outcome.bytes.isEmpty)
            #expect(try await program.waitForEnd() == .exited(2))
            let said = await program.errorText
            #expect(said.contains(text), "\(said)")
        }
    }
}

/// Said on one thread, and looked at on another.
private final class Flag: Sendable {
    let isSet = Atomic(false)
}
