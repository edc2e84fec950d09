import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// The whole agent in virtual time: everything but the kernel, libcurl and the command line's `main`.
@Suite(.limited) struct AgentTests {
    /// What an hour came to.
    private struct Hour: Sendable {
        var status: Int32 = -1
        var attachedStatus: Int32 = -1
        var output: [String] = []
        var errors: [String] = []
        var attachedOutput: [String] = []
        var attachedErrors: [String] = []
        /// What a reader got that came after half of it.
        var read: [String] = []
        var file: [String] = []
        var requests = 0
        var timers = -1
    }

    private static func configuration(_ names: [String]) -> String {
        let sources = names.map { #"{"name": "\#($0)", "url": "http://cats.test/\#($0)", "every": "2s"}"# }
        return "{\"sources\": [\((sources + [#"{"name": "piped", "kind": "stdin"}"#]).joined(separator: ", "))]}"
    }

    /// Runs an agent and one that is attached to it for an hour, or twice as many minutes as said, in which the sources are swapped, a reader comes, and
    /// standard input gets a line a minute.
    private static func hour(
        in folder: TemporaryFolder, seed: UInt64, half minutes: Int = 30
    ) async throws -> Hour {
        let (configuration, file) = (folder.path("config.jsonc"), folder.path("feed.ndjson"))
        unlink(file)
        try folder.write(Self.configuration(["a", "b"]), to: "config.jsonc")
        return try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, request in
                if number % 500 == 0 { return HTTPAnswer(status: 503, body: []) }
                let body = #"{"fact": "Cats sleep \#(number) hours.", "length": \#(number % 100)}"#
                return HTTPAnswer(status: 200, body: Array(body.utf8))
            }
            let agent = SimulatedProcess(on: machine, seed: seed)
            let attached = SimulatedProcess(on: machine, seed: seed + 1)
            var hour = Hour()
            async let status = agent.run(["-c", configuration, "--output-file", file, "--listen=/feed.sock"])
            try await loop.sleep(for: .seconds(1))
            async let attachedStatus = attached.run(["--attach=/feed.sock", "--no-reconnect", "--output=ndjson"])
            for _ in 0..<minutes {
                try await agent.write("17")
                try await loop.sleep(for: .seconds(60))
            }
            async let read = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try folder.write(Self.configuration(["b", "c"]), to: "config.jsonc")
            agent.signal(SIGHUP)
            for _ in 0..<minutes {
                try await agent.write("no number")
                try await loop.sleep(for: .seconds(60))
            }
            agent.signal(SIGTERM)
            (hour.status, hour.attachedStatus, hour.read) = try await (status, attachedStatus, read)
            (hour.output, hour.errors) = (agent.output, agent.errors)
            (hour.attachedOutput, hour.attachedErrors) = (attached.output, attached.errors)
            hour.file = try folder.lines("feed.ndjson")
            hour.requests = await machine.transport.requests
            hour.timers = loop.timerCount
            return hour
        }
    }

    /// The lines that have a number, which must be without holes, and what stands around them.
    private static func numbered(
        _ lines: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> (numbered: [(text: String, line: Line)], bye: Line.Bye?) {
        var numbered: [(text: String, line: Line)] = []
        var bye: Line.Bye?
        for text in lines {
            let line = try LineDecoder.decode(Array(text.utf8)[...])
            if case .bye(let last) = line.body { bye = last }
            guard let seq = line.seq else { continue }
            if let before = numbered.last?.line.seq { #expect(seq == before + 1, sourceLocation: sourceLocation) }
            numbered.append((text, line))
        }
        return (numbered, bye)
    }

    @Test func runsForAnHourWithEverythingOnAndEndsInOrder() async throws {
        let folder = try TemporaryFolder()
        let hour = try await Self.hour(in: folder, seed: 7)
        #expect(hour.status == 0 && hour.timers == 0)

        let (lines, bye) = try Self.numbered(hour.output)
        #expect(lines.first?.line.seq == 1 && bye?.reason == "SIGTERM" && bye?.lastSeq == lines.count)
        var windows: [String: Int] = [:]
        var events: [String: Int] = [:]
        var failures = 0
        for (_, line) in lines {
            switch line.body {
            case .window(let window): windows[window.series, default: 0] += 1
            case .data: events[line.source ?? "", default: 0] += 1
            case .error: failures += 1
            default: break
            }
        }
        // Two sources every other second all the time, of which one was swapped for another after half of it.
        #expect((3_600...3_604).contains(hour.requests))
        for (source, polls) in [("a", 901), ("b", 1_801), ("c", 900)] {
            #expect((polls - 10...polls + 1).contains(events[source] ?? 0), "\(source): \(events)")
        }
        #expect(events["piped"] == 30 && failures == hour.requests / 500 + 30, "\(events), \(failures) failures")
        // Windows of 10 s, which are told when they are over.
        for (series, count) in [("a", 180), ("b", 360), ("c", 180)] {
            #expect((count - 2...count + 2).contains(windows[series] ?? 0), "\(series): \(windows)")
        }

        // The file has the same lines; whoever came later, those from then on, and all came to the same end.
        #expect(try Self.numbered(hour.file).numbered.map(\.text) == lines.map(\.text))
        for later in [hour.read, hour.attachedOutput] {
            let (part, end) = try Self.numbered(later)
            let first = try #require(part.first?.line.seq)
            #expect(part.map(\.text) == lines[(first - 1)...].map(\.text))
            #expect(end != nil)
        }
        #expect(try Self.numbered(hour.read).bye?.reason == "SIGTERM")
        #expect(hour.attachedStatus == 1 && hour.attachedErrors.last?.hasSuffix("the agent has ended") == true)
        #expect(hour.errors.contains("catwatch: reloaded: 1 sources added, 0 changed, 1 removed, 2 kept"))
    }

    /// What it is, an agent with a feed of its own or somebody's who looks at another's, is settled when it starts.
    @Test func anAttachedFeedGetsNoLineOfOursHoweverTheFileChanges() async throws {
        let folder = try TemporaryFolder()
        try folder.write(#"{"attach": "/feed.sock"}"#, to: "attached.jsonc")
        try folder.write("{}", to: "own.jsonc")
        let (agent, attached) = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in
                HTTPAnswer(status: 200, body: Array(#"{"fact": "Cats sleep.", "length": 17}"#.utf8))
            }
            let agent = SimulatedProcess(on: machine, seed: 5)
            let attached = SimulatedProcess(on: machine, seed: 6)
            async let own = agent.run(["-c", folder.path("own.jsonc"), "--listen=/feed.sock", "--output=ndjson"])
            try await loop.sleep(for: .seconds(1))
            async let other = attached.run(["-c", folder.path("attached.jsonc"), "--output=ndjson"])
            for (first, second) in [("{}", #"{"attach": "/feed.sock"}"#), ("{", "{")] {
                try await loop.sleep(for: .seconds(10))
                try folder.write(first, to: "attached.jsonc")
                try folder.write(second, to: "own.jsonc")
                attached.signal(SIGHUP)
                agent.signal(SIGHUP)
            }
            try await loop.sleep(for: .seconds(10))
            attached.signal(SIGTERM)
            _ = try await other
            agent.signal(SIGTERM)
            _ = try await own
            return (agent, attached)
        }
        for process in [agent, attached] {
            #expect(process.errors.contains("catwatch: restart to change attach"), "\(process.errors)")
            #expect(process.errors.contains("catwatch: nothing was reloaded"), "\(process.errors)")
        }
        let lines = try Self.numbered(agent.output).numbered
        let failures = lines.filter { if case .error = $0.line.body { true } else { false } }
        #expect(failures.count == 1 && failures.first?.text.contains("was not reloaded") == true)
        // Byte for byte, with nothing in between.
        let passed = try Self.numbered(attached.output).numbered.map(\.text)
        #expect(!passed.isEmpty && lines.map(\.text).starts(with: passed))
    }

    /// Only an output to the same file continues where the last one ended.
    @Test func anotherOutputFileBeginsWithWhatTheLogHas() async throws {
        let folder = try TemporaryFolder()
        let source = #"{"name": "a", "url": "http://cats.test/a", "every": "2s"}"#
        let configurations = ["first", nil, "second"].map { file in
            "{\(file.map { "\"output_file\": \"\(folder.path($0))\", " } ?? "")\"sources\": [\(source)]}"
        }
        let status = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 200, body: Array("1".utf8)) }
            let agent = SimulatedProcess(on: machine, seed: 4)
            try folder.write(configurations[0], to: "config.jsonc")
            async let status = agent.run(["-c", folder.path("config.jsonc")])
            for configuration in configurations.dropFirst() {
                try await loop.sleep(for: .seconds(10))
                try folder.write(configuration, to: "config.jsonc")
                agent.signal(SIGHUP)
            }
            try await loop.sleep(for: .seconds(10))
            agent.signal(SIGTERM)
            return try await status
        }
        let first = try Self.numbered(folder.lines("first")).numbered
        let second = try Self.numbered(folder.lines("second")).numbered
        #expect(status == 0 && second.first?.line.seq == 1)
        #expect(first.count > 5 && second.count > first.count && second.starts(with: first) { $0.text == $1.text })
    }

    @Test func aSocketThatDiedForGoodIsServedAgainByAReload() async throws {
        let folder = try TemporaryFolder()
        try folder.write("{}", to: "config.jsonc")
        let process = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in
                HTTPAnswer(status: 200, body: Array(#"{"fact": "Cats sleep.", "length": 17}"#.utf8))
            }
            let agent = SimulatedProcess(on: machine, seed: 8)
            async let status = agent.run(["-c", folder.path("config.jsonc"), "--listen=/feed.sock", "--output=ndjson"])
            try await loop.sleep(for: .seconds(1))
            machine.listeners["/feed.sock"]?.close()
            try await loop.sleep(for: .seconds(1))
            #expect(throws: SystemError.self) { _ = try machine.connect(to: "/feed.sock") }
            agent.signal(SIGHUP)
            try await loop.sleep(for: .seconds(1))
            async let read = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try await loop.sleep(for: .seconds(1))
            agent.signal(SIGTERM)
            #expect(try await !Self.numbered(read).numbered.isEmpty)
            _ = try await status
            return agent
        }
        #expect(process.errors.contains { $0.hasPrefix("catwatch: --listen: ") }, "\(process.errors)")
        #expect(process.errors.contains("catwatch: outputs: 1 started, 0 stopped, 0 kept"), "\(process.errors)")
    }

    @Test(arguments: [1, 2]) func anOutputThatTakesNothingIsWaitedForUntilSomebodyInsists(signals: Int) async throws {
        let (status, exited, end) = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in
                HTTPAnswer(status: 200, body: Array("[\(String(repeating: "1,", count: 5_000))1]".utf8))
            }
            let agent = SimulatedProcess(on: machine, seed: 3)
            let start = loop.clock.now
            async let status = agent.run(
                ["-u", "http://cats.test/", "--every=100ms", "--output=ndjson"], isRead: false)
            try await loop.sleep(for: .seconds(10))
            for _ in 0..<signals { agent.signal(SIGINT) }
            let exited = agent.exited
            return (try await status, exited, start.duration(to: loop.clock.now))
        }
        #expect(status == 0 && exited == (signals == 2 ? 0 : nil))
        // Five seconds for stdout, half of one for stderr.
        #expect((.seconds(15)...(.milliseconds(15_500))).contains(end), "\(end)")
    }

    /// What a source tells ten times a second, with more settings before it.
    private static func busy(_ settings: String) -> String {
        #"{\#(settings), "sources": [{"name": "a", "url": "http://cats.test/a", "every": "100ms"}]}"#
    }

    /// A peer that takes nothing has five seconds from the reload on; the agent's end, a second later, waits for who follows.
    @Test func theEndWaitsForAReloadUnderWay() async throws {
        let folder = try TemporaryFolder()
        let configuration = folder.path("config.jsonc")
        try folder.write(Self.busy(#""connect": ["unix:/peer"]"#), to: "config.jsonc")
        let (status, lines) = try await withLoop(virtual: true) { loop in
            let fact = String(repeating: "Cats sleep. ", count: 200)
            let machine = SimulatedMachine(on: loop) { _, _ in
                HTTPAnswer(status: 200, body: Array(#"{"fact": "\#(fact)"}"#.utf8))
            }
            let agent = SimulatedProcess(on: machine, seed: 5)
            let peer = machine.listen(at: "/peer")
            async let status = agent.run(["-c", configuration, "--output=none"], isRead: false)
            let stuck = try await peer.accept()
            try await loop.sleep(for: .seconds(20))
            try folder.write(
                Self.busy(#""connect": ["unix:/peer?control=true"], "listen": "/late.sock""#), to: "config.jsonc")
            agent.signal(SIGHUP)
            try await loop.sleep(for: .seconds(1))
            agent.signal(SIGTERM)
            let next = try await peer.accept()
            try await loop.sleep(for: .milliseconds(200))
            // Who would begin to read now is not let in any more.
            #expect(throws: SystemError.self) { _ = try machine.connect(to: "/late.sock") }
            let lines = try await SimulatedProcess.lines(of: next)
            stuck.close()
            return (try await status, lines)
        }
        let (numbered, bye) = try Self.numbered(lines)
        #expect(status == 0 && bye?.reason == "SIGTERM" && numbered.last?.line.seq == bye?.lastSeq)
        #expect(numbered.count > 100)
    }

    /// A service manager hands its socket over once, at the start.
    @Test func aSocketThatWasHandedOverIsServedHoweverTheFileChanges() async throws {
        let folder = try TemporaryFolder()
        try folder.write("{}", to: "config.jsonc")
        let read = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 200, body: Array("17".utf8)) }
            let agent = SimulatedProcess(on: machine, seed: 4, parts: .init(handedOver: "/handed.sock"))
            async let status = agent.run(["-c", folder.path("config.jsonc"), "--output=none"], isRead: false)
            try await loop.sleep(for: .seconds(1))
            async let early = SimulatedProcess.lines(of: machine.connect(to: "/handed.sock"))
            try folder.write(#"{"listen": "/other.sock"}"#, to: "config.jsonc")
            agent.signal(SIGHUP)
            try await loop.sleep(for: .seconds(1))
            #expect(throws: SystemError.self) { _ = try machine.connect(to: "/other.sock") }
            async let late = SimulatedProcess.lines(of: machine.connect(to: "/handed.sock"))
            try await loop.sleep(for: .seconds(1))
            agent.signal(SIGTERM)
            _ = try await status
            return try await [early, late]
        }
        for lines in read { #expect(try Self.numbered(lines).bye?.reason == "SIGTERM") }
    }

    @Test func aReloadChangesHowManyMayRead() async throws {
        let folder = try TemporaryFolder()
        let configuration = folder.path("config.jsonc")
        try folder.write(Self.busy(#""max_readers": 1"#), to: "config.jsonc")
        let read = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 200, body: Array("17".utf8)) }
            let agent = SimulatedProcess(on: machine, seed: 9)
            async let status = agent.run(["-c", configuration, "--output=none", "--listen=/feed.sock"], isRead: false)
            try await loop.sleep(for: .seconds(1))
            async let first = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try await loop.sleep(for: .seconds(1))
            async let early = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try await loop.sleep(for: .seconds(1))
            try folder.write(Self.busy(#""max_readers": 2"#), to: "config.jsonc")
            agent.signal(SIGHUP)
            try await loop.sleep(for: .seconds(1))
            async let second = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try await loop.sleep(for: .seconds(1))
            async let third = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try await loop.sleep(for: .seconds(1))
            agent.signal(SIGTERM)
            _ = try await status
            return try await [first, early, second, third]
        }
        for (lines, isLetIn) in zip(read, [true, false, true, false]) {
            #expect(try Self.numbered(lines).bye?.reason == (isLetIn ? "SIGTERM" : nil))
            if !isLetIn { #expect(lines.count == 1 && lines.first?.contains("readers already") == true) }
        }
    }

    @Test func runsTheSameWithTheSameSeed() async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.hour(in: folder, seed: 11, half: 3)
        let second = try await Self.hour(in: folder, seed: 11, half: 3)
        #expect(first.output == second.output && first.errors == second.errors)
        #expect(first.attachedOutput == second.attachedOutput && first.read == second.read)
    }
}
