import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// What `--once` and `check --online` end with when alerts fire, in virtual time.
@Suite(.limited) struct AlertStatusTests {
    /// Runs `catwatch` once for sources with these bodies; without a body, a source fails.
    private func run(_ bodies: [String: String], _ arguments: [String]) async throws -> (
        status: Int32, output: [String]
    ) {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, request in
                let body = bodies[String(request.url.split(separator: "/").last ?? "")]
                return HTTPAnswer(status: body == nil ? 500 : 200, body: Array((body ?? "").utf8))
            }
            let process = SimulatedProcess(on: machine, seed: 1)
            let urls = (bodies.keys + ["gone"]).sorted().map { "http://h/\($0)" }
            let status = try await process.run(urls + arguments)
            return (status, process.output)
        }
    }

    @Test(arguments: ["text", "ndjson", "html"]) func eachFormEndsWithThree(_ form: String) async throws {
        for (alert, status) in [("a > 5", Int32(3)), ("a > 7", 0), ("a > 5 for 1m", 0), ("gone fails", 3)] {
            let run = try await run(["a": "7"], ["--once=\(form)", "--alert", "hot: \(alert)"])
            #expect(run.status == status, "\(alert)")
            let isTold = run.output.contains {
                $0.contains(form == "text" ? "alert hot: " : #""condition":"hot","state":"firing""#)
            }
            #expect(isTold == (status == 3), "\(alert): \(run.output)")
        }
    }

    @Test func eachHasALineBelowTheFrame() async throws {
        let items = (0..<102).map { #"{"k":"\#($0 == 0 ? "é\\u001b[2J\\n\\u202e" : "\($0)")","v":7.5}"# }
        let arguments = ["--items=", "--key=/k", "--value=/v", "--once", "--alert", "hot: a/* > 5"]
        let run = try await run(["a": "[\(items.joined(separator: ","))]"], arguments)
        let lines = run.output.drop { !$0.hasPrefix("alert ") }
        let text = "is 7.5 (a/* > 5), since 2027-01-15T08:00:00.040"
        #expect(lines.first?.hasPrefix("alert hot: a/é␛[2J␊\\u{202e} \(text)") == true, "\(lines.first ?? "")")
        #expect(lines.count == 101 && lines.last == "2 more alerts fire")
        #expect(lines.dropFirst().first?.hasPrefix("alert hot: a/1 \(text)") == true)
    }

    /// What fires at the agent counts, also what the log has let go of, and nothing that is over.
    @Test(arguments: ["text", "ndjson"]) func theAlertsOfAnAttachedAgentCount(_ form: String) async throws {
        let statuses = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                HTTPAnswer(status: 200, body: Array((number < 1_000 ? "7" : "1").utf8))
            }
            let agent = SimulatedProcess(on: machine, seed: 1)
            async let status = agent.run(
                ["http://h/a", "-e", "1s", "-o", "none", "--listen=/feed.sock", "--alert", "hot: > 5"], isRead: false)
            var statuses: [Int32] = []
            for wait in [1, 900, 200] {
                try await loop.sleep(for: .seconds(wait))
                let once = SimulatedProcess(on: machine, seed: 2)
                statuses.append(try await once.run(["--attach=/feed.sock", "--once=\(form)"]))
            }
            agent.signal(SIGTERM)
            statuses.append(try await status)
            return statuses
        }
        #expect(statuses == [3, 3, 0, 0])
    }

    // MARK: check --online

    private func check(_ bodies: [String: String], _ alerts: String...) async throws -> (report: String, status: Int32)
    {
        let folder = try TemporaryFolder()
        let sources = ["a", "b"].map {
            "{\"name\": \"\($0)\", \"url\": \"http://h/\($0)\", \"items\": \"\", \"key\": \"/k\", \"value\": \"/v\"}"
        }
        let lines = alerts.map { "\"\($0)\"" }.joined(separator: ",")
        try folder.write("{\"sources\": [\(sources.joined(separator: ","))], \"alerts\": [\(lines)]}", to: "c")
        return try await withLoop(virtual: true) { loop in
            // The first one has answered long before the other.
            let transport = SimulatedTransport(on: loop) { request in
                request.url.hasSuffix("/a") ? .milliseconds(40) : .seconds(3)
            } answer: { _, request in
                let body = bodies[String(request.url.split(separator: "/").last ?? "")]
                return HTTPAnswer(status: body == nil ? 500 : 200, body: Array((body ?? "").utf8))
            }
            var parts = SimulatedProcess.Parts()
            parts.makeTransport = { _ in transport }
            return try await SimulatedProcess(on: SimulatedMachine(on: loop), seed: 1, parts: parts).check(
                folder.path("c"))
        }
    }

    private static let hot = #"[{"k":"x","v":7},{"k":"y","v":8},{"k":"z","v":1},{"k":"w","v":9},{"k":"u","v":9}]"#

    @Test func checkOnlineEndsWithThreeAndSaysWhatFires() async throws {
        let (report, status) = try await check(
            ["a": Self.hot, "b": "[]"], "hot: a/* > 5", "cold: a/* < 0", "later: a/* > 5 for 1m")
        #expect(status == 3)
        #expect(
            report.hasSuffix(
                """
                alert hot: fires for 4: a/u, a/w, a/x, …
                alert cold: does not fire
                alert later: does not fire

                """), "\(report)")
    }

    @Test func checkOnlineEndsWithZeroOrOneElse() async throws {
        #expect(try await check(["a": Self.hot, "b": "[]"], "hot: a/* > 9").status == 0)
        #expect(try await check(["a": Self.hot, "b": "[]"]).status == 0)
        // A failure goes first.
        let (report, status) = try await check(["a": Self.hot], "hot: a/* > 5", "b fails")
        #expect(status == 1 && report.contains("alert hot: fires for 4: a/u"), "\(report)")
        #expect(report.contains("alert b fails: fires for 1: b\n"), "\(report)")
    }
}
