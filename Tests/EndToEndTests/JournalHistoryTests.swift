import Glibc
import Reactor
import TestSupport
import Testing

/// What a run left in the journal, asked for from the one after it.
@Suite(.limited) struct JournalHistoryTests {
    /// A run that is over, one that goes on with the same journal, and where to ask for both.
    private struct Runs: Sendable {
        /// The first run's numbered lines.
        let over: [FeedLine]
        let run: String
        let now: WebServingTests.Agent
        let socket: String

        init(_ stage: Stage) async throws {
            socket = "\(stage.folder)/s"
            let arguments = try await [
                "-u", stage.url("/fact"), "-e", "10ms", "-i", "1s", "-o", "ndjson", "--journal=\(stage.folder)/x.db",
            ]
            let first = try await Finished(of: stage.catwatch(arguments + ["-n", "30"]))
            #expect(first.ending == .exited(0))
            let lines = try first.lines()
            over = lines.filter { $0.seq > 0 }
            run = try #require(lines.first?.string("run"))
            let second = try await stage.catwatch(arguments + ["--http=127.0.0.1:0", "--listen=\(socket)"])
            now = try await WebServingTests.Agent(second, on: stage.loop)
            try await stage.wait(for: "a journal that has something") {
                await second.outputText.split(separator: "\"durable_seq\":").dropFirst().contains { $0.first != "0" }
            }
        }

        /// The number that only the second run comes to; by then it has long been live.
        var end: Int { over.count + 10 }

        /// Ends the second run; returns its numbered lines, which standard output has all of only now: a reader may be ahead
        /// of it.
        func finish() async throws -> [FeedLine] {
            try await now.end()
            return try await Finished(of: now.program).lines().filter { $0.seq > 0 }
        }

        /// Whether a reader got the rest of the first run behind a number, a new greeting, and the second run from its
        /// `restart` on: each line once, as standard output had it.
        func expect(
            _ lines: [FeedLine], since: Int, _ current: [FeedLine], sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let numbered = lines.filter { $0.seq > 0 }
            let rest = Array(over.dropFirst(since))
            #expect(rest.first?.seq == since + 1 && numbered.last?.seq ?? 0 >= end, sourceLocation: sourceLocation)
            #expect(numbered.prefix(rest.count).map(\.bytes) == rest.map(\.bytes), sourceLocation: sourceLocation)
            let live = numbered.dropFirst(rest.count)
            #expect(live.map(\.bytes) == current.prefix(live.count).map(\.bytes), sourceLocation: sourceLocation)
            #expect(live.map(\.seq) == Array(1...max(live.count, 1)), sourceLocation: sourceLocation)
            let restart = try #require(live.first, sourceLocation: sourceLocation)
            #expect(restart.type == "restart" && restart.string("last_run") == run, sourceLocation: sourceLocation)
            #expect(restart.number("last_seq") == Double(over.count), sourceLocation: sourceLocation)
            #expect(!lines.contains { $0.type == "gap" }, sourceLocation: sourceLocation)
            // Before its first line a run greets.
            let place = try #require(lines.firstIndex { $0.type == "restart" }, sourceLocation: sourceLocation)
            let hello = lines[..<place].last { $0.type == "hello" }
            #expect(hello != nil && hello?.string("run") != run, sourceLocation: sourceLocation)
        }
    }

    /// The whole lines at the beginning of what came.
    private static func whole(_ bytes: [UInt8]) throws -> [FeedLine] {
        try bytes[..<(bytes.lastIndex(of: 0x0A) ?? 0)].split(separator: 0x0A).map { try #require(FeedLine($0)) }
    }

    /// Asks at the socket, and reads until a text has come in the answer, or to the end.
    private static func ask(_ request: String, of runs: Runs, on stage: Stage, until text: String? = nil) async throws
        -> [FeedLine]
    {
        let socket = try DescriptorStream(owning: StreamSocket.connected(to: runs.socket), on: stage.loop)
        try await socket.write(all: Array("\(request)\n".utf8))
        let lines = try whole(
            await socket.bytes { come in
                guard let text, let answer = come.firstRange(of: "\"run\":\"\(runs.run)\"") else { return false }
                return come[answer.upperBound...].contains(text)
            })
        socket.close()
        // The greeting, and what was on its way before the answer to the request.
        let hellos = lines.indices.filter { lines[$0].type == "hello" }
        return Array(lines[try #require(hellos.dropFirst().first)...])
    }

    @Test func theRestOfARunThatIsOverComesAndThenTheOneThatIsNow() async throws {
        try await Stage.run { stage in
            let runs = try await Runs(stage)
            let end = "\"seq\":\(runs.end),"
            let asked = try await Self.ask(#"{"since":7,"run":"\#(runs.run)"}"#, of: runs, on: stage, until: end)
            #expect(asked.first?.string("run") == runs.run)
            let target = "/feed?since=\(runs.over.count - 1)&run=\(runs.run)"
            let feed = try await runs.now.body(target, until: end)
            let stream = try await runs.now.stream("/events", ["Last-Event-ID: \(runs.run)-12"], until: end)
            #expect(stream.events.first { $0.data.hasPrefix("{\"seq\":") }?.id == "\(runs.run)-13")

            let current = try await runs.finish()
            try runs.expect(asked, since: 7, current)
            try runs.expect(Self.whole(feed), since: runs.over.count - 1, current)
            try runs.expect(stream.lines.map { try #require(FeedLine(Array($0.utf8))) }, since: 12, current)
        }
    }

    @Test func theLinesOfASpanOfTimeEndWithABye() async throws {
        try await Stage.run { stage in
            let runs = try await Runs(stage)
            let (from, until) = try (#require(runs.over[9].string("time")), #require(runs.over[30].string("time")))
            let expected = runs.over.filter { line in
                line.string("time").map { $0 >= from && $0 < until } == true && line.source == "fact"
            }
            #expect(expected.count >= 10)
            let body = try await runs.now.get("/feed?from=\(from)&until=\(until)&sources=fact").body
            let asked = try await Self.ask(
                #"{"from":"\#(from)","until":"\#(until)","sources":["fact"]}"#, of: runs, on: stage)
            for lines in try [Self.whole(body), asked] {
                #expect(lines.filter { $0.seq > 0 }.map(\.bytes) == expected.map(\.bytes))
                #expect(lines.first?.type == "hello" && lines.first?.string("run") == runs.run)
                #expect(lines.last?.type == "bye" && lines.last?.string("reason") == "until")
            }
            try await runs.now.end()
        }
    }
}
