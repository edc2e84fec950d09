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

    /// Runs an agent and one that is attached to it for an hour, in which the sources are swapped, a reader comes, and standard input
    /// gets a line a minute.
    private static func hour(in folder: TemporaryFolder, seed: UInt64) async throws -> Hour {
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
            for _ in 0..<30 {
                try await agent.write("17")
                try await loop.sleep(for: .seconds(60))
            }
            async let read = SimulatedProcess.lines(of: machine.connect(to: "/feed.sock"))
            try folder.write(Self.configuration(["b", "c"]), to: "config.jsonc")
            agent.signal(SIGHUP)
            for _ in 0..<30 {
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
}
