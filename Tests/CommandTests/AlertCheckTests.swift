import Feed
import Inputs
import Reactor
import Settings
import Synchronization
import TestSupport
import Testing

@testable import catwatch

/// What `catwatch check` says of alerts.
@Suite(.limited) struct AlertCheckTests {
    private func plan(_ arguments: [String]) throws -> WatchPlan {
        let command = try Command.parse(["check", "-c", "/dev/null"] + arguments) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: [:])
        }
        guard case .check(let options) = command else { throw UsageError("no check") }
        return try WatchPlan(options, environment: [:])
    }

    @Test func eachHasALineAndWithoutAJournalTheyAreForgotten() throws {
        let alerts = ["http://h/rooms", "--alert", "hot: rooms/kitchen > 1000 for 2m"]
        let line = "catwatch: alert hot: rooms/kitchen > 1000 for 2m: rooms\n"
        let warning = "catwatch: alerts are forgotten at the end of the process: there is no journal (--journal)\n"
        #expect(Catwatch.alertLines(of: try plan(alerts)) == line + warning)
        #expect(Catwatch.alertLines(of: try plan(alerts + ["--journal=/j"])) == line)
        #expect(Catwatch.alertLines(of: try plan(["http://h/rooms"])) == "")
    }

    /// Asks sources once that answer with these bodies, and returns the report's part about alerts.
    private func report(_ bodies: [String: String], _ alerts: [String], _ keys: [String: String] = [:]) async throws
        -> String
    {
        let folder = try TemporaryFolder()
        let sources = bodies.keys.sorted().map { name in
            "{\"name\": \"\(name)\", \"url\": \"http://h/\(name)\" \(keys[name] ?? "")}"
        }
        try folder.write(
            "{\"sources\": [\(sources.joined(separator: ","))], \"alerts\": [\(alerts.joined(separator: ","))]}",
            to: "c")
        let path = folder.path("c")
        let text = try await withLoop(virtual: true) { loop in
            let transport = SimulatedTransport(on: loop) { _ in
                .milliseconds(40)
            } answer: { _, request in
                let name = String(request.url.split(separator: "/").last ?? "")
                return HTTPAnswer(status: name == "gone" ? 500 : 200, body: Array((bodies[name] ?? "").utf8))
            }
            var parts = SimulatedProcess.Parts()
            parts.makeTransport = { _ in transport }
            let process = SimulatedProcess(on: SimulatedMachine(on: loop), seed: 1, parts: parts)
            let (report, status) = try await process.check(path)
            // Warnings change nothing.
            #expect((status != 1) == (bodies["gone"] == nil))
            return report
        }
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("alert ") }
        return lines.map { "\($0)\n" }.joined()
    }

    private static let rooms =
        #"[{"n":"a","v":1,"s":"x","f":true,"z":null,"o":{}},{"n":"b","v":2,"s":"y"},{"n":"c","v":3,"s":"z"},{"n":"d","v":4,"s":"z"}]"#
    private static let items = #","items":"","key":"/n","value":"/v""#

    @Test func namesWhatFires() async throws {
        let alerts = [
            #""rooms > 5""#, #""any: rooms/* > 1""#, #""none: rooms/x > 5""#, #""status: rooms status = 200""#,
            #"{"name":"two","when":["rooms/a < 5","rooms/b > 5"]}"#, #""gone > 5""#, #""down: gone fails""#,
        ]
        let report = try await report(["rooms": Self.rooms, "gone": ""], alerts, ["rooms": Self.items])
        #expect(
            report == """
                alert rooms > 5: does not fire
                alert any: fires for 3: rooms/b, rooms/c, rooms/d
                alert none: does not fire
                alert status: fires for 1: rooms
                alert two: fires for 1: rooms/a
                alert gone > 5: does not fire
                alert down: fires for 1: gone

                """)
    }

    /// What waits for stderr has a bound, which a report may be above.
    @Test func aLongReportIsWrittenInPieces() {
        let report = (0..<5_000).map { "alert \($0): no series yet\n" }.joined()
        let pieces = OnlineCheck.pieces(of: report)
        #expect(pieces.joined() == report && pieces.allSatisfy { $0.utf8.count <= 33 << 10 })
        #expect(pieces.count == report.utf8.count / (32 << 10) + 1 && OnlineCheck.pieces(of: "").isEmpty)
    }
}
