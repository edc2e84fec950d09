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
            #expect((status != 1) == (bodies["gone"] == nil && bodies["partly"] == nil))
            return report
        }
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("alert ") }
        return lines.map { "\($0)\n" }.joined()
    }

    private static let rooms =
        #"[{"n":"a","v":1,"s":"x","f":true,"z":null,"o":{}},{"n":"b","v":2,"s":"y"},{"n":"c","v":3,"s":"z"},{"n":"d","v":4,"s":"z"}]"#
    private static let items = #","items":"","key":"/n","value":"/v""#

    @Test func namesTheSeriesThatMatch() async throws {
        let alerts = [
            #""rooms > 5""#, #""b: rooms/b > 5""#, #""ends: */c > 5""#, #""none: rooms/x > 5""#,
            #""status: rooms status = 200""#,
            #"{"name":"two","when":["rooms/a > 5","rooms/b > 5","rooms/a > 7","rooms fails"]}"#, #""all rooms/* > 5""#,
            #""zero*/x > 5""#, #""\"latency:rooms\" mean > 5""#, #""catwatch count > 5""#, #""r* min > 5""#,
        ]
        let report = try await report(["rooms": Self.rooms], alerts, ["rooms": Self.items])
        #expect(
            report == """
                alert rooms > 5: 4 series: rooms/a, rooms/b, rooms/c, …
                alert b: 1 series: rooms/b
                alert ends: 1 series: rooms/c
                alert none: no series yet
                  warning: no series matches 'none: rooms/x > 5'
                alert status: about sources, not series
                  fires for 1: rooms
                alert two: 2 series: rooms/a, rooms/b
                alert all rooms/* > 5: 4 series: rooms/a, rooms/b, rooms/c, …
                alert zero*/x > 5: no series yet
                alert "latency:rooms" mean > 5: no series yet
                alert catwatch count > 5: no series yet
                alert r* min > 5: 4 series: rooms/a, rooms/b, rooms/c, …

                """)
    }

    private static let tests: [(String, String?)] = [
        ("> 5", nil), ("value = true", "'value = true' can never hold: value is 1"), ("count over 5m > 5", nil),
        (#"value = open"#, #"'value = "open"' can never hold: value is 1"#),
        ("min over 5m > 5", nil), ("last > 5", nil), ("fails", nil), ("silent 1m", nil), ("status = 200", nil),
        ("ms > 1s", nil), ("p95 over 1m > 1s", nil), ("errors over 5m > 5%", nil),
        ("band = good", "'band = \"good\"' can never hold: the values have no bands"),
        (#"text contains "a""#, "'text contains \"a\"' can never hold: there is no text"),
        ("/s > 5", "'/s > 5' can never hold: /s is \"x\""), ("/s = 5", "'/s = 5' can never hold: /s is \"x\""),
        ("/s in 1..2", "'/s in 1..2' can never hold: /s is \"x\""),
        ("/s not in 1..2.5", "'/s not in 1..2.5' can never hold: /s is \"x\""),
        ("/s != 5", nil), (#"/s = "other""#, nil), (#"/s contains "q""#, nil), (#"/s not contains "q""#, nil),
        (#"/v = "5""#, "'/v = \"5\"' can never hold: /v is 1"), ("/v > 5", nil), ("/v = 5", nil),
        (#"/v contains "5""#, "'/v contains \"5\"' can never hold: /v is 1"),
        ("/v = true", "'/v = true' can never hold: /v is 1"),
        ("/v = null", nil), ("/z = 5", nil), ("/z = null", nil), ("/f = false", nil),
        ("/f = 1", "'/f = 1' can never hold: /f is true"),
        ("/o = 1", "'/o = 1' can never hold: /o is {}"), ("/nn > 5", "'/nn > 5' can never hold: there is no /nn"),
        ("/nn exists", nil), ("/nn missing", nil), ("/s missing", nil),
        ("> 5 until /nn = 1", "'/nn = 1' can never hold: there is no /nn"),
        ("status = 200 and /nn = 1", "'/nn = 1' can never hold: there is no /nn"),
    ]

    @Test func warnsOfTestsThatCanNeverHold() async throws {
        let alerts = Self.tests.enumerated().map { number, test in
            let line = test.0.replacing("\"", with: "\\\"")
            return "\"n\(number): rooms \(line)\""
        }
        let rooms = #"[{"n":"a","v":1,"s":"x","f":true,"z":null,"o":{}}]"#
        let report = try await report(["rooms": rooms], alerts, ["rooms": Self.items])
        var lines = report.split(separator: "\n")[...]
        for (number, test) in Self.tests.enumerated() {
            let first = lines.popFirst()
            #expect(first?.hasPrefix("alert n\(number): ") == true, "\(first ?? "none") for \(test.0)")
            let isFiring = lines.first?.hasPrefix("  fires for 1: rooms") == true
            if isFiring { lines.removeFirst() }
            let warning = lines.first?.hasPrefix("  ") == true ? lines.popFirst() : nil
            #expect(warning == test.1.map { "  warning: \($0)" }, "\(test.0)")
            #expect(!isFiring || warning == nil, "\(test.0)")
        }
        #expect(lines.isEmpty)
    }

    /// One series that a test can be judged by is enough.
    @Test func oneSeriesIsEnough() async throws {
        let body = #"[{"n":"a","s":"x"},{"n":"b","v":2,"s":5,"t":"t"}]"#
        let alerts = [
            #""partly > 5""#, #""partly /s > 5""#, #""partly /t = \"a\"""#, #""a: partly/a min over 5m > 5""#,
            #""partly /s contains \"x\"""#,
        ]
        let report = try await report(["partly": body], alerts, ["partly": Self.items])
        #expect(
            report == """
                alert partly > 5: 2 series: partly/a, partly/b
                alert partly /s > 5: 2 series: partly/a, partly/b
                alert partly /t = "a": 2 series: partly/a, partly/b
                alert a: 1 series: partly/a
                  warning: 'min over 5m > 5' can never hold: there is no value
                alert partly /s contains "x": 2 series: partly/a, partly/b
                  fires for 1: partly/a

                """)
    }

    @Test func ofWhatDidNotAnswerNothingIsSaid() async throws {
        let alerts = [
            #""gone > 5""#, #""gone/x > 5""#, #""words > 5""#, #""go* > 5""#, #""words band = good""#,
            #""words count > 5""#,
        ]
        let report = try await report(
            ["gone": "", "words": #"{"n":"a"}"#], alerts, ["words": #","value":null"#])
        #expect(
            report == """
                alert gone > 5: no series yet
                alert gone/x > 5: no series yet
                alert words > 5: 1 series: words
                  warning: 'value > 5' can never hold: there is no value
                alert go* > 5: no series yet
                alert words band = good: 1 series: words
                  warning: 'band = "good"' can never hold: there is no value
                alert words count > 5: 1 series: words

                """)
    }

    @Test func anEmptyAnswerMatchesNothing() async throws {
        let report = try await report(["rooms": "[]"], [#""rooms > 5""#, #""r*/a > 5""#], ["rooms": Self.items])
        #expect(
            report == """
                alert rooms > 5: no series yet
                  warning: no series matches 'rooms > 5'
                alert r*/a > 5: no series yet
                  warning: no series matches 'r*/a > 5'

                """)
    }

    /// What waits for stderr has a bound, which a report may be above.
    @Test func aLongReportIsWrittenInPieces() {
        let report = (0..<5_000).map { "alert \($0): no series yet\n" }.joined()
        let pieces = OnlineCheck.pieces(of: report)
        #expect(pieces.joined() == report && pieces.allSatisfy { $0.utf8.count <= 33 << 10 })
        #expect(pieces.count == report.utf8.count / (32 << 10) + 1 && OnlineCheck.pieces(of: "").isEmpty)
    }

    @Test func knowsTheBandsOfASource() async throws {
        let report = try await report(
            ["aqi": #"{"v":7,"s":"up"}"#, "up": #"{"v":"up"}"#],
            [#""aqi band = good""#, #""up value = down""#, #""up > 0""#],
            ["aqi": #","value":"/v","bands":"cpcb""#, "up": #","value":"/v","states":["up","down"]"#])
        #expect(!report.contains("warning"), "\(report)")
    }
}
