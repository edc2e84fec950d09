import Glibc
import Reactor
import TestSupport
import Testing

/// How an upstream may fail: one clear line for every poll, nothing torn, and the agent goes on.
@Suite(.limited) struct FailureTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let path: String
        let code: String
        /// What the message has to say.
        let words: String
        /// The status in the latency line; nil when there was no answer, so no such line.
        var status: Int?
        var arguments: [String] = []

        var testDescription: String { "\(path) \(arguments.joined(separator: " "))" }
    }

    static let cases: [Case] = [
        Case(path: "/fault/status", code: "status", words: "answered 500", status: 500),
        Case(path: "/fault/status?code=404", code: "status", words: "answered 404 (not found)", status: 404),
        Case(path: "/fault/status?code=429&retry-after=0", code: "rate_limited", words: "fewer requests", status: 429),
        // HTTP has no such status, and so there is none in a latency line.
        Case(path: "/fault/status?code=999", code: "protocol", words: "answered 999, which is no status of HTTP"),
        Case(path: "/fault/truncated/breeds", code: "closed", words: "closed the connection after", status: 200),
        Case(path: "/fault/reset/breeds?after=10", code: "reset", words: "Connection reset by peer", status: 200),
        Case(path: "/fault/reset", code: "reset", words: "Connection reset by peer"),
        Case(path: "/fault/close", code: "closed", words: "closed the connection without an answer"),
        Case(path: "/fault/silence", code: "timeout", words: "no answer from", arguments: ["--timeout", "50ms"]),
        Case(
            path: "/fault/drip?every=30", code: "timeout", words: "was not complete within 1 s", status: 200,
            // The first byte has to come in time on a busy machine too.
            arguments: ["--timeout", "1s"]),
        Case(
            path: "/fault/delay?delay=600000", code: "timeout", words: "within 50 ms", arguments: ["--timeout", "50ms"]),
        Case(path: "/fault/endless", code: "too_large", words: "larger than 1048576 bytes", status: 200),
        Case(
            path: "/fault/large?bytes=1001", code: "too_large", words: "larger than 1000 bytes", status: 200,
            arguments: ["--max-body", "1000"]),
        Case(path: "/fault/large", code: "too_large", words: "larger than 1048576 bytes", status: 200),
        Case(path: "/fault/bomb", code: "too_large", words: "larger than 1048576 bytes", status: 200),
        Case(path: "/fault/empty", code: "not_json", words: "empty body", status: 200),
        Case(path: "/fault/no-content", code: "not_json", words: "empty body", status: 204),
        Case(path: "/fault/html", code: "not_json", words: "text/html", status: 200),
        Case(path: "/fault/garbled", code: "encoding", words: "cannot be unpacked", status: 200),
        Case(path: "/fault/garbled?encoding=deflate", code: "encoding", words: "cannot be unpacked", status: 200),
        Case(path: "/fault/garbled?encoding=br", code: "encoding", words: "cannot be unpacked", status: 200),
        Case(path: "/fault/loop", code: "redirect", words: "redirected more than 10 times", status: 302),
        Case(
            path: "/fault/redirect?times=3", code: "redirect", words: "redirected more than 2 times", status: 302,
            arguments: ["--max-redirects", "2"]),
        Case(
            path: "/fault/redirect?to=file:///etc/passwd", code: "redirect", words: "other than http or https"),
        Case(path: "/nowhere", code: "status", words: "404", status: 404),
    ]

    /// By default one of each kind: the transport has tests of them all.
    private static let usual = cases.indices.filter { [0, 4, 8, 11, 14, 17, 23].contains($0) || LongRun.isOn }

    @Test(.enabled(if: Installation.hasPython), arguments: usual.map { cases[$0] })
    func isOneClearLineForEveryPoll(of fault: Case) async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["-u", stage.url(fault.path), "-u", stage.url("/fact"), "-e", "50ms"] + fault.arguments)
            try await program.wait(for: "two errors") { program in
                let lines = FeedLine.lines(program.outputBytes)
                return lines.count { $0?.type == "error" } >= 2 && lines.contains { $0?.isData == true } ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let lines = try run.lines().filter { $0.source != "fact" }
            let errors = lines.filter { $0.type == "error" }
            for error in errors {
                #expect(error.string("code") == fault.code)
                let message = error.string("message") ?? ""
                #expect(message.contains(fault.words), "\(message)")
                #expect(message.count < 300 && !message.contains("\n"))
            }
            let attempts = errors.compactMap { $0.number("attempt") }
            #expect(attempts == (1...errors.count).map(Double.init))
            let latencies = lines.filter { $0.type == "latency" }
            #expect(latencies.count == (fault.status == nil ? 0 : errors.count))
            for latency in latencies { #expect(latency.number("status") == fault.status.map(Double.init)) }
            #expect(!lines.contains { $0.isData })
            // stderr has the same words, rate limited.
            #expect(run.errors.hasPrefix("catwatch: "))
            #expect(run.errors.contains(fault.words))
            try await stage.validate(run.output)
        }
    }

    @Test(arguments: ["/fault/flaky?id=a&fail=2", "/fault/flaky?id=b&fail=2&code=429"])
    func aSourceRecoversByItself(path: String) async throws {
        try await Stage.run { stage in
            let begun = stage.loop.clock.now
            let run = try await stage.finish(["-u", stage.url(path), "-e", "10ms", "-n", "3"])
            let took = begun.duration(to: stage.loop.clock.now).milliseconds / 1_000
            let lines = try run.lines().filter { $0.isData || ["error", "recovered"].contains($0.type) }
            let types = lines.map { $0.isData ? "event" : $0.type }
            #expect(types == ["error", "error", "recovered", "event", "event", "event"])
            let recovered = try #require(lines.first { $0.type == "recovered" })
            let down = try #require(recovered.number("down_s"))
            #expect(down > 0 && down < took && recovered.number("attempts") == 2)
            #expect(run.errors.contains(": answers again after ") && run.errors.contains(" and 2 failed attempts\n"))
            #expect(run.ending == .exited(0))
            try await stage.validate(run.output)
        }
    }

    @Test func theNetworkGoesAndComesBack() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["-u", stage.url("/fact"), "-e", "20ms"])
            try await program.wait(for: "events") { program in
                FeedLine.lines(program.outputBytes).count { $0?.isData == true } >= 3 ? () : nil
            }
            let port = try await stage.stopServer()
            try await program.wait(for: "errors") { program in
                FeedLine.lines(program.outputBytes).count { $0?.type == "error" } >= 2 ? () : nil
            }
            try await stage.startServer(on: port)
            let before = await program.outputBytes.count
            try await program.wait(for: "events again") { program in
                FeedLine.lines(Array(program.outputBytes[before...])).dropFirst().contains { $0?.isData == true }
                    ? () : nil
            }
            try await program.signal(SIGINT)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            _ = try run.lines()
        }
    }
}
