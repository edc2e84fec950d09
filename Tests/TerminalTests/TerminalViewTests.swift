import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct TerminalViewTests {
    private func text(_ script: inout FeedScript) -> String { script.frame().text() }

    @Test func tabAndDigitsGoThroughTheScreens() {
        var script = FeedScript.busy()
        _ = script.frame()
        for screen in [ViewState.Screen.detail, .metrics, .feed, .list] {
            script.press(.tab)
            #expect(script.view.state.screen == screen)
        }
        script.press(.backTab)
        #expect(script.view.state.screen == .feed)
        for (digit, screen) in zip("1234", ViewState.Screen.allCases) {
            script.type(String(digit))
            #expect(script.view.state.screen == screen)
        }
    }

    @Test func enterGoesIntoARowAndEscapeComesBack() {
        var script = FeedScript.busy()
        _ = script.frame()
        script.press(.down, .down, .enter)
        #expect(text(&script).holds("aqi/São Paulo"))
        #expect(script.view.state.screen == .detail)
        script.press(.escape)
        #expect(script.view.state.screen == .list)
        script.press(.end)
        #expect(text(&script).holds("▸ memory:catwatch"))
        script.press(.home, .up)
        #expect(text(&script).holds("▸ aqi/Delhi"))
    }

    @Test func aPausedViewShowsWhatWasThere() {
        var script = FeedScript.busy()
        script.type(" ")
        let before = script.frame().text()
        script.pass(7)
        script.data("fact", 777_777, text: "unseen")
        script.data("fact", 777_778, text: "unseen")
        let after = script.frame().text()
        #expect(!after.holds("777777") && !after.holds("unseen"))
        #expect(before.holds("0 new") && after.holds("2 new"))
        script.type(" ")
        #expect(text(&script).holds("777778"))
    }

    @Test func valuesGrowOldByTheLocalClock() {
        var script = FeedScript.busy()
        script.pass(12)
        #expect(text(&script).holds(" 12s"))
        #expect(script.frame()[3, 2].style != script.view.theme.stale)
        let shown = script.frame()
        let fact = (0..<shown.rows).first { shown[$0, 2].glyph == 0x66 } ?? 0
        // Not before two and a half windows have passed without anything new.
        script.pass(13)
        #expect(script.frame()[fact, 2].style != script.view.theme.stale)
        script.pass(0.000_001)
        #expect(script.frame()[fact, 2].style == script.view.theme.stale)
        script.pass(6.999_999)
        let grid = script.frame()
        #expect(grid.text().holds(" 32s"))
        let row = (0..<grid.rows).first { grid[$0, 2].glyph == 0x66 } ?? 0
        #expect(grid[row, 2].style == script.view.theme.stale)
    }

    @Test(arguments: [(0.25, "↑", "+0.25"), (-0.25, "↓", "-0.25")])
    func aSmallChangeHasItsDirection(_ change: Double, _ arrow: String, _ amount: String) {
        var script = FeedScript()
        script.hello()
        script.data("x", 10)
        script.pass(10)
        script.data("x", 10 + change)
        let row = text(&script).split(separator: "\n").first { $0.hasPrefix("▸ x") } ?? ""
        #expect(String(row).holds(arrow) && String(row).holds(amount), "\(row)")
    }

    @Test func nothingIsGreenWhileTheAgentIsLost() {
        var script = FeedScript()
        script.hello()
        script.add("progress", "breeds", .progress(Progress(done: 1, total: nil, page: 0)))
        func dot(_ grid: CellGrid) -> Style? { grid.cells.first { $0.glyph == 0x25CF }?.style }
        // In the middle of the screen, as nothing else can be shown yet.
        #expect(dot(script.frame()) == script.view.theme.good)
        script.view.connection = .lost(reason: "gone", since: script.now, retryAt: nil)
        #expect(dot(script.frame()) == script.view.theme.warning)
    }

    @Test func theNewestFailureIsTold() {
        var script = FeedScript.busy()
        script.fail("fact", Failure(.dns, "first"))
        script.pass(1)
        script.fail("breeds", Failure(.dns, "second"))
        #expect(text(&script).holds("2 sources failing · ✕ breeds: dns, second"))
    }

    @Test func nIsAskedOfSourcesThatSaySo() {
        var script = FeedScript()
        script.hello()
        var sources = ["a", "b"].map {
            SourceStatus(source: $0, state: .starting, since: script.now, type: "fibonacci")
        }
        sources[1].takesN = true
        script.apply(nil, "stats", nil, .stats(Line.Stats(asOf: 0, endpoints: [], sources: sources)))
        script.data("a", 1)
        script.data("b", 1)
        _ = script.frame()
        script.choose("a")
        script.type("n")
        #expect(script.view.state.prompt == nil)
        script.choose("b")
        script.type("n1234567")
        #expect(script.view.state.prompt == .number("123456"))
    }

    @Test func windowsGetWiderAndNarrower() {
        var script = FeedScript.busy()
        for (key, width) in [
            ("+", 30), ("+", 60), ("+", 60), ("-", 30), ("-", nil), ("-", 5), ("-", 2), ("-", 1), ("-", 1),
        ] {
            script.type(key)
            #expect(script.view.state.width == width.map { Duration.seconds($0) }, "\(key)")
            #expect(text(&script).holds("\(width ?? 10) s windows"))
        }
    }

    @Test func historyGetsShorterAndLonger() {
        var script = FeedScript.busy()
        for (key, span) in [("[", 60), ("[", 30), ("[", 10), ("[", 10), ("]", 30), ("]", 60), ("]", nil), ("]", nil)] {
            script.type(key)
            #expect(script.view.state.span == span.map { Duration.seconds($0) }, "\(key)")
        }
    }

    @Test func theFilterTakesWhatIsTyped() {
        var script = FeedScript.busy()
        script.type("/KATZ")
        #expect(text(&script).holds("1 of 12"))
        #expect(script.view.order.rows.count == 1)
        script.press(.enter)
        script.type("q")
        #expect(script.view.state.prompt == nil)
        script.press(.escape)
        #expect(script.view.state.filter == "")
        script.type("/")
        script.press(.paste("lat\u{1B}[2J\nency"), .backspace)
        #expect(script.view.state.filter == "lat[2Jenc")
        script.press(.escape)
        #expect(script.view.state.filter == "")
    }

    @Test func nAsksForDigitsOnly() {
        var script = FeedScript.busy()
        _ = script.frame()
        script.type("n")
        #expect(script.view.state.prompt == nil)
        script.data("fibonacci", 1, json: #"{"n":3,"ms":1}"#)
        _ = script.frame()
        script.choose("fibonacci")
        script.type("n9x-0 .")
        #expect(script.view.state.prompt == .number("90"))
        #expect(script.view.handle(.enter, now: script.now) == .calculate(source: "fibonacci", n: 90))
        script.type("n")
        #expect(script.view.handle(.enter, now: script.now) == nil)
    }

    @Test(arguments: [
        (Key.character("q"), Action.quit), (.control("c"), .quit), (.control("z"), .suspend), (.control("l"), .redraw),
        (.character("r"), .poll(source: nil)),
    ])
    func keysAskForWhatTheViewCannotDo(_ key: Key, _ action: Action) {
        var script = FeedScript.busy()
        #expect(script.view.handle(key, now: script.now) == action)
    }

    @Test func refreshInDetailIsForItsSource() {
        var script = FeedScript.busy()
        _ = script.frame()
        script.press(.enter)
        #expect(script.view.handle(.character("r"), now: script.now) == .poll(source: "aqi"))
    }

    @Test func theRangeStaysWhereItWasFixed() {
        var script = FeedScript.busy()
        _ = script.frame()
        script.choose("fact")
        script.press(.enter)
        script.type("y")
        let range = script.view.state.range
        #expect(range == 20...100)
        script.data("fact", 5_000)
        _ = script.frame()
        #expect(text(&script).holds("range fixed"))
        #expect(!text(&script).holds("5000 ┤"))
        script.type("y")
        #expect(script.view.state.range == nil)
    }

    @Test func anotherRunForgetsWhatWasChosen() {
        var script = FeedScript.busy()
        _ = script.frame()
        script.press(.down, .enter)
        script.type(" ")
        script.hello(run: "2")
        #expect(script.view.state.selected == nil)
        #expect(script.view.paused == nil)
        #expect(text(&script).holds("waiting for the first value"))
    }

    @Test func theFeedScrollsBackAndFiltersByType() {
        var script = FeedScript.busy()
        script.type("4")
        #expect(text(&script).holds("Aegean, Greece"))
        script.press(.pageUp)
        #expect(!text(&script).holds("Aegean, Greece"))
        #expect(text(&script).holds("19 newer below"))
        script.press(.enter)
        script.type("fff")
        #expect(script.view.state.feedType == "breeds")
        #expect(text(&script).split(separator: "\n").filter { $0.hasPrefix(" 12:00") }.count == 2)
        script.press(.escape)
        #expect(script.view.state.feedType == nil)
    }

    @Test(arguments: [1, 2, 3, 7, 8, 9, 10, 11], [1, 2, 5, 12, 20, 29, 60])
    func everySizeIsPainted(_ rows: Int, _ columns: Int) {
        for screen in ["1", "2", "3", "4", "?"] {
            for var script in [FeedScript.busy(columns: columns, rows: rows), .hostile(columns: columns, rows: rows)] {
                _ = script.frame()
                script.type(screen)
                #expect(script.frame().cells.count == rows * columns)
            }
        }
    }

    @Test func oneLineSaysTheValue() {
        var script = FeedScript.busy(columns: 40, rows: 1)
        script.pass(3)
        #expect(text(&script) == "aqi/Delhi 234 µg/m³ P ↑ 3s\n")
        script.fail("aqi", Failure(.timeout, "no answer", retryIn: .seconds(4)))
        #expect(text(&script) == "✕ aqi: next try in 4.0 s · timeout, no …\n")
    }

    /// Any keys at any sizes over any feed: no crash, and nothing that acts on a terminal.
    @Test func survivesRandomKeysAndSizes() {
        var random = SeededGenerator(seed: 33)
        let keys: [Key] =
            [
                .up, .down, .left, .right, .enter, .escape, .tab, .backTab, .pageUp, .pageDown, .home, .end, .backspace,
                .paste("9\u{1B}x"),
                .mouse(.init(kind: .press, column: 3, row: 5)), .mouse(.init(kind: .wheelDown, column: 3, row: 5)),
                .function(1),
            ] + "1234 +-[]Lysf/?nSrgG9a".unicodeScalars.map { .character($0) }
        var scripts = [FeedScript.busy(), .hostile(), FeedScript()]
        for round in 0..<LongRun.rounds(short: 400, long: 20_000) {
            let index = Int.random(in: 0..<scripts.count, using: &random)
            let size = ScreenSize(
                columns: Int.random(in: 1...130, using: &random), rows: Int.random(in: 1...50, using: &random))
            scripts[index].view.resize(size)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                if let key = keys.randomElement(using: &random) { scripts[index].press(key) }
            }
            scripts[index].pass(Double.random(in: 0...3, using: &random))
            if round % 5 == 0 {
                let values: [Double] = [0, -1, 1e300, -1e300, .leastNonzeroMagnitude, 42, 1e18]
                scripts[index].data(
                    "fact", key: Bool.random(using: &random) ? "k" : nil, values.randomElement(using: &random),
                    text: "t")
            }
            if round % 9 == 0 {
                let n = Int.random(in: 0...99, using: &random)
                scripts[index].data(
                    "fibonacci", json: #"{"n":\#(n),"f":"\#(String(repeating: "9", count: n * 9 + 1))"}"#)
            }
            let grid = scripts[index].frame()
            let isClean = grid.text().unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F...0x9F ~= $0.value) || $0 == "\n"
            }
            #expect(isClean, "round \(round), seed \(random.seed)")
        }
    }

    @Test func bytesOfOneChangedValueAreFew() {
        var script = FeedScript.busy(columns: 120, rows: 40)
        var renderer = GridRenderer(TerminalCapabilities(depth: .full))
        _ = renderer.render(script.frame())
        script.data("aqi", key: "Delhi", 235)
        let bytes = renderer.render(script.frame())
        #expect(!bytes.isEmpty && bytes.count <= 200)
    }
}
