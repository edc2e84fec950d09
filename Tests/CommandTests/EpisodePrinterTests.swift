import Feed
import Reactor
import Settings
import TestSupport
import Testing

@testable import catwatch

@Suite(.limited) struct EpisodePrinterTests {
    /// Its texts are from outside.
    private func printed(_ format: LogFormat, isTerminal: Bool, agent: String? = nil) throws -> String {
        var episodes = AlertEpisodes()
        let alert = Alert(
            about: "a\u{1B}[2J", condition: "=cmd|x", state: .firing, id: "1", at: Timestamp(seconds: 90),
            since: Timestamp(seconds: 30), value: 1_130, worst: 1_290, test: "> 1",
            evidence: Alert.Evidence(run: "r", from: 3, to: 9))
        _ = episodes.add(alert, of: "s", agent: agent)
        var printer = EpisodePrinter(format, isTerminal: isTerminal)
        for episode in episodes.firing { printer.add(episode) }
        return printer.removeText()
    }

    @Test func noTextReachesATerminalOrASheetAsItIs() throws {
        for isTerminal in [true, false] {
            let rows = try printed(.text, isTerminal: isTerminal, agent: "web\nforged").split(separator: "\n")
            #expect(rows.count == 2)
            #expect(rows[1].contains("web\u{240A}forged: a\u{241B}[2J"))
            #expect(rows[1].hasSuffix("3 to 9"))
        }
        #expect(try printed(.text, isTerminal: false).contains("fires  =cmd|x"))
        let records = try printed(.csv, isTerminal: false, agent: "=1+1").split(separator: "\r\n")
        #expect(records[1].hasPrefix("'=cmd|x,a\u{1B}[2J,s,'=1+1,1,,"))
        #expect(try !printed(.csv, isTerminal: true).contains("\u{1B}"))
        #expect(try !printed(.ndjson, isTerminal: true).contains("\u{1B}"))
    }
}
