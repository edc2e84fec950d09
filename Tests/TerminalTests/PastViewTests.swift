import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

/// What `[` and `]` do where there is a journal.
@Suite(.limited) struct PastViewTests {
    /// Three series of a minute, the first of them in Detail.
    private func script(columns: Int = 80, rows: Int = 24) -> FeedScript {
        var script = FeedScript(columns: columns, rows: rows)
        script.now = FeedScript.noon - .seconds(60)
        script.hello(run: "now")
        for _ in 0..<6 {
            script.data("s", 5)
            script.data("s", key: "t", 7)
            script.data("t", 6)
            script.pass(10)
        }
        script.view.hasJournal = true
        script.choose("s")
        script.type("2")
        _ = script.frame()
        return script
    }

    /// Answers what is asked for with a value `seconds` before noon, and that there is more.
    private func answer(_ script: inout FeedScript, _ seconds: Double, _ value: Double) throws {
        let asked = script.view.beginReading(at: script.now)
        let (number, request) = try #require(asked)
        let time = FeedScript.noon - .microseconds(Int64(seconds * 1e6))
        let lines = [
            PastSeriesTests.hello("old"), PastSeriesTests.column(time, [value], width: Int64(request.width)),
            String(PastSeriesTests.byeOfMore),
        ]
        _ = script.view.read(Array((lines.joined(separator: "\n") + "\n").utf8), of: number)
        script.view.endReading(of: number)
    }

    @Test func beyondTheHistoryComesTheJournal() throws {
        var script = script()
        var spans: [String] = []
        for _ in 0..<8 {
            script.type("]")
            let row = script.frame().text().split(separator: "\n")[1]
            spans.append(row.split(separator: ", ").last.map(String.init) ?? "")
        }
        #expect(spans == ["5 m", "15 m", "60 m", "6 h", "24 h", "7 d", "7 d", "7 d"])
        for expected in ["24 h", "6 h", "60 m", "15 m", "5 m", "2 m", "60 s"] {
            script.type("[")
            #expect(script.frame().text().holds(", \(expected)"))
            #expect((script.view.past != nil) == !["2 m", "60 s"].contains(expected))
        }
        script.type("]]")
        #expect(script.view.past == nil && script.frame().text().holds(", 5 m"))
    }

    @Test func withoutAJournalAndOnOtherScreensNothingIsAskedFor() {
        var script = script()
        script.view.hasJournal = false
        script.type("]]")
        #expect(script.frame().text().holds(", 2 m") && script.view.past == nil)
        script.view.hasJournal = true
        for screen in "134" {
            script.type("\(screen)]]")
            _ = script.frame()
            #expect(script.view.past == nil && script.view.state.reach == nil)
            let asked = script.view.beginReading(at: script.now)
            #expect(asked == nil)
        }
        // Which do with the history what they did.
        script.type("1[[")
        #expect(script.frame().text().holds(", 30 s"))
    }

    @Test func aHoleInTheJournalIsSaidInWords() throws {
        var script = script()
        script.type("]")
        _ = script.frame()
        let asked = script.view.beginReading(at: script.now)
        let (number, _) = try #require(asked)
        let column = PastSeriesTests.column(FeedScript.noon - .seconds(200), [], gaps: 1)
        let lines = [PastSeriesTests.hello("old"), column, PastSeriesTests.bye]
        _ = script.view.read(Array((lines.joined(separator: "\n") + "\n").utf8), of: number)
        #expect(script.frame().text().holds("✕ journal: lines are missing"))
    }

    @Test func aPausedGraphGetsThePastAndNothingNew() throws {
        var script = script()
        script.type(" ]")
        _ = script.frame()
        script.pass(1)
        script.data("s", 7_777)
        try answer(&script, 200, 40)
        let text = script.frame().text()
        #expect(text.holds("max 40   n 1") && !text.holds("7777"))
        var asked = script.view.beginReading(at: script.now)
        #expect(asked == nil)
        script.type(" ")
        _ = script.frame()
        asked = script.view.beginReading(at: script.now)
        #expect(asked != nil)
    }

    @Test func theCursorReadsThePast() throws {
        var script = script()
        script.type("]")
        _ = script.frame()
        try answer(&script, 200, 40)
        var found = false
        for _ in 0..<140 {
            script.press(.left)
            let text = script.frame().text()
            if text.holds("value 40   window: last 40") {
                #expect(text.holds(" 11:56:"))
                found = true
            }
        }
        #expect(found)
        // Home from the cursor, then from the journal, then from the series.
        script.press(.escape)
        #expect(script.view.state.reach != nil)
        script.press(.escape)
        #expect(script.view.state.reach == nil && script.view.state.screen == .detail)
    }

    @Test func aHostilePastPaintsNothingOfItsOwn() throws {
        var script = script()
        script.type("]")
        _ = script.frame()
        let asked = script.view.beginReading(at: script.now)
        let (number, _) = try #require(asked)
        let lines = [
            PastSeriesTests.hello("\u{1B}[2J"), PastSeriesTests.hello("old"), "\u{1B}]0;title\u{7}",
            PastSeriesTests.column(FeedScript.noon - .seconds(200), [1e308, -1e308]),
            #"{"type":"error","time":"2026-03-01T12:00:00.000000Z","code":"protocol","message":"\u001b[2J\u202ex"}"#,
        ]
        _ = script.view.read(Array((lines.joined(separator: "\n") + "\n").utf8), of: number)
        for columns in [10, 80] {
            script.view.resize(ScreenSize(columns: columns, rows: 24))
            let text = script.frame().text()
            #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x202E })
        }
        #expect(script.frame().text().holds("✕ journal: ␛[2J"))
    }
}
