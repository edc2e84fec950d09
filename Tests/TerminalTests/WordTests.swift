import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct WordTests {
    private static let states = BandScale(
        [
            Band(name: "operational", letter: "o", color: .init(red: 0, green: 0xB0, blue: 0x50), upTo: 0.5),
            Band(name: "degraded", letter: "d", color: .init(red: 0xFF, green: 0xE0, blue: 0x30), upTo: 1.5),
            Band(name: "outage", letter: "x", color: .init(red: 0xC0, green: 0, blue: 0), upTo: nil),
        ], higherIsBetter: false)

    /// Two components over a minute, one of which went out.
    private func status(columns: Int = 80) -> FeedScript {
        var script = FeedScript(columns: columns, rows: 24)
        script.hello()
        script.list(["status"], bands: Self.states)
        let start = script.now
        for step in 0..<6 {
            script.word("status", "API", 0, "operational", since: start)
            script.word(
                "status", "Web", step < 4 ? 0 : 2, step < 4 ? "operational" : "outage",
                since: step < 4 ? start : start + .seconds(40))
            script.pass(10)
        }
        return script
    }

    @Test func theListHasTheWordAndItsBlocks() {
        var script = status()
        let grid = script.frame()
        let lines = grid.text().split(separator: "\n").map(String.init)
        let row = lines.firstIndex { $0.holds("status/Web") } ?? 0
        #expect(lines[row].holds("▄▄▄▄▄▄▄▄████") && lines[row].holds(" outage "), "\(lines)")
        #expect(lines[row].holds("for 20s") && !lines[row].holds("↑"), "\(lines)")
        let first = (0..<80).first { grid[row, $0].glyph == 0x2584 } ?? 0
        let theme = Theme()
        let good = Self.states.map { theme.band($0.bands[0]) }
        let bad = Self.states.map { theme.band($0.bands[2]) }
        #expect(grid[row, first].style == good && grid[row, first + 8].style == bad)
    }

    @Test func aChangeOfBandHasItsLetters() {
        var script = FeedScript()
        script.hello()
        script.list(["status"], bands: Self.states)
        script.data("status", 2)
        script.pass(10)
        script.data("status", 1)
        let grid = script.frame()
        let line = script.lines()[3]
        #expect(line.holds("x→d ↓"), "\(line)")
        let place = (0..<80).first { grid[3, $0].glyph == 0x2192 } ?? 1
        let theme = Theme()
        let badges = Self.states.map { [theme.badge($0.bands[2]), theme.badge($0.bands[1])] } ?? []
        #expect([grid[3, place - 1].style, grid[3, place + 1].style] == badges)
        // It got better, though the number went down.
        #expect(grid[3, place].style == theme.good && grid[3, place + 3].style == theme.good)
    }

    @Test func trueAndFalseAreWords() {
        var script = FeedScript()
        script.hello()
        let start = script.now
        script.word("lamp", "hall", 1, "true", since: start)
        script.pass(10)
        script.word("lamp", "hall", 0, "false", since: script.now)
        script.pass(1)
        let grid = script.frame()
        let line = script.lines()[3]
        #expect(line.holds("██▄▄") && line.holds(" false ") && line.holds("for 1s"), "\(line)")
        let first = (0..<80).first { grid[3, $0].glyph == 0x2588 } ?? 0
        #expect([grid[3, first].style, grid[3, first + 2].style] == [Theme().accent, Theme().faint])
    }

    @Test(arguments: [80, 40]) func whatIsGoneSaysSo(columns: Int) {
        var script = FeedScript(columns: columns, rows: 24)
        script.hello()
        script.list(["s"])
        script.data("s", key: "a", 1)
        script.data("s", key: "b", 2)
        script.data("s", key: "c", text: "a text")
        script.pass(5)
        // Whether its value is old does not matter.
        let fresh = script.lines().firstIndex { $0.holds("s/a") } ?? 0
        #expect(script.frame()[fresh, 4].style.foreground != Theme().stale.foreground)
        var progress = Progress(done: 1, total: 1, page: 0)
        progress.gone = ["a", "c"]
        script.add("progress", "s", .progress(progress))
        script.data("s", key: "b", 3)
        let gone = columns == 80 ? "gone 12:00" : "gone"
        let lines = script.lines()
        #expect(lines.filter { $0.hasSuffix(gone) || $0.holds("gone 12:00") }.count == 2, "\(lines)")
        #expect(lines.contains { $0.holds("s/b") && !$0.holds("gone") })
        let row = lines.firstIndex { $0.holds("s/a") } ?? 0
        #expect(script.frame()[row, 4].style.foreground == Theme().stale.foreground)
        script.choose("s/a")
        script.press(.enter)
        #expect(script.frame().text().holds("gone 12:00"))
        script.press(.escape)
        script.data("s", key: "a", 1)
        script.data("s", key: "c", text: "back")
        #expect(!script.frame().text().holds("gone"))
    }

    @Test func aWordThatIsNotInTheListLeavesTheLastOne() {
        var script = status()
        script.data("status", key: "Web", text: "under_maintenance")
        let line = script.lines().first { $0.holds("status/Web") } ?? ""
        #expect(line.holds("████") && line.holds(" outage ") && !line.holds("for "), "\(line)")
        script.data("status", key: "Web", 7)
        #expect(script.lines().contains { $0.holds("status/Web") && $0.holds(" 7 ") })
    }

    @Test(arguments: [1, 15, 60, 3_600, 2_000_000_000]) func aWindowAheadOfTheClockIsNotPainted(seconds: Int) {
        var script = FeedScript()
        script.hello()
        script.list(["s"])
        script.now = script.now + .milliseconds(500)
        let now = script.now
        script.word("s", "a", 1, "true", since: now)
        script.now = now + .seconds(seconds)
        script.word("s", "a", 0, "false", since: script.now)
        script.now = now
        script.choose("s/a")
        script.press(.enter)
        for width in ["", "+", "-", "-", "-"] {
            script.type(width)
            #expect(script.frame().text().holds("s/a"))
        }
    }
}
