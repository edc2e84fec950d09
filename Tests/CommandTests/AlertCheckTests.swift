import Feed
import Inputs
import Reactor
import Settings
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

    /// What waits for stderr has a bound, which a report may be above.
    @Test func aLongReportIsWrittenInPieces() {
        let report = (0..<5_000).map { "alert \($0): no series yet\n" }.joined()
        let pieces = OnlineCheck.pieces(of: report)
        #expect(pieces.joined() == report && pieces.allSatisfy { $0.utf8.count <= 33 << 10 })
        #expect(pieces.count == report.utf8.count / (32 << 10) + 1 && OnlineCheck.pieces(of: "").isEmpty)
    }
}
