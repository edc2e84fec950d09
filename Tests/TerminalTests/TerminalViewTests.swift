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
        script.press(.down, .down, .down, .down, .enter)
        #expect(text(&script).holds("aqi/São Paulo"))
        #expect(script.view.state.screen == .detail)
        script.press(.escape)
        #expect(script.view.state.screen == .list)
        script.press(.end)
        #expect(text(&script).holds("▸   memory:catwatch"))
        script.press(.home, .up)
        #expect(text(&script).holds("▸ ● fact"))
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

    @Test func aRecordingIsPausedInsteadOfTheView() {
        var script = FeedScript.busy()
        #expect(script.view.handle(.character(">"), now: script.now) == nil)
        script.view.playback = TerminalView.Playback(speed: "10x", isPaused: false)
        #expect(text(&script).holds("replay 10x") && text(&script).holds("<> speed"))
        let keys: [(Unicode.Scalar, Action.Playing)] = [(" ", .pause), (">", .faster), ("<", .slower), (".", .next)]
        for (key, action) in keys {
            #expect(script.view.handle(.character(key), now: script.now) == .play(action))
        }
        script.view.playback?.isPaused = true
        #expect(text(&script).holds("replay paused") && text(&script).holds("space resume"))
        // The view goes on by itself: what comes is shown.
        script.data("fact", 777_777, text: "seen")
        #expect(text(&script).holds("777777"))
        script.view.resize(ScreenSize(columns: 50, rows: 10))
        #expect(text(&script).holds("replay paused"))
    }

    /// A listing that is asked every ten minutes is as it should be for that long; only then it is late.
    @Test(
        arguments: [
            (Rhythm.every(.seconds(600)), 1_500.0), (.every(.seconds(2)), 25), (.every(.seconds(12)), 30),
            (.stream, 25),
            (.once, nil),
        ] as [(Rhythm, Double?)])
    func staleIsTwoAndAHalfTimesWhatIsExpected(_ rhythm: Rhythm, _ limit: Double?) {
        var script = FeedScript()
        script.hello()
        let status = SourceStatus(source: "x", state: .starting, since: script.now, rhythm: rhythm)
        script.apply(nil, "stats", nil, .stats(Line.Stats(asOf: 0, endpoints: [], sources: [status])))
        script.data("x", 1)
        script.latency("x", "GET http://h/x", ms: 3)
        func isStale() -> [Bool] {
            let grid = script.frame()
            let theme = Theme()
            let dot = grid.cells.first { $0.glyph == 0x25D0 || $0.glyph == 0x25CF }?.style
            // A late source, and one that fails, has a row above the two series.
            let row = grid.text().holds("nothing for") || grid.text().holds("gone · since") ? 4 : 3
            return [
                [theme.stale, theme.stale.with(.bold)].contains(grid[row, 2].style),
                grid[row + 1, 10].style == theme.stale, dot == theme.warning,
            ]
        }
        script.pass(limit ?? 1e6)
        #expect(isStale() == [false, false, false])
        script.pass(0.000_001)
        #expect(isStale() == Array(repeating: limit != nil, count: 3))
        // What came once from a source that fails may be anything by now.
        script.fail("x", Failure(.dns, "gone"))
        #expect(isStale().prefix(2) == [true, true])
    }

    @Test(arguments: [(5, "–", "–"), (19, "–", "–"), (20, "p95 20", "–"), (100, "p95 20", "p99 20")])
    func percentilesOfFewAnswersAreNotShown(_ count: Int, _ p95: String, _ p99: String) {
        var script = FeedScript(columns: 40, rows: 24)
        script.hello()
        for number in 0..<count { script.latency("x", "GET http://h/x", ms: Double(200 + number % 10)) }
        script.type("3")
        let text = script.frame().text()
        #expect(text.holds("p95 \(p95 == "–" ? "–" : "20")") && text.holds("p99 \(p99 == "–" ? "–" : "20")"), "\(text)")
    }

    @Test func theDetailsTellTheAgeOfAnItemAndOfItsAnswer() {
        var script = FeedScript()
        script.hello()
        script.latency("station", "GET http://h/station", ms: 1)
        script.now = FeedScript.noon - .seconds(1_800)
        script.data("station", 7)
        script.now = FeedScript.noon
        script.latency("station", "GET http://h/station", ms: 1)
        script.pass(3)
        script.choose("station")
        _ = script.frame()
        script.press(.enter)
        #expect(text(&script).holds("30m03s ago, answered 3s ago"), "\(text(&script))")
        #expect(text(&script).holds("● station 3s"), "\(text(&script))")
        script.data("station", 8)
        #expect(text(&script).holds("0s ago") && !text(&script).holds("answered"), "\(text(&script))")
    }

    @Test func anOutageThatIsOverIsTold() {
        var script = FeedScript()
        script.hello()
        script.fail("x", Failure(.dns, "gone"))
        script.pass(75)
        script.add("recovered", "x", .recovered(Recovery(down: .seconds(75), attempts: 3)))
        script.data("x", 1)
        script.add("recovered", "y", .recovered(Recovery(down: .milliseconds(250), attempts: 1)))
        #expect(text(&script).holds("● x 0s back after 1 m 15 s") && text(&script).holds("● y back after 250 ms"))
        script.type("4")
        #expect(text(&script).holds("recovered x") && text(&script).holds("answers again after 1 m 15 s"))
        script.type("3")
        let outages = "x           back at 12:01:15 after 1 m 15 s, 3 failed attempts"
        #expect(text(&script).holds(outages) && text(&script).holds("250 ms, 1 failed attempt\n"), "\(text(&script))")
        // Later it is history, which the metrics tell.
        script.pass(60)
        #expect(text(&script).holds("back after"))
        script.pass(0.000_001)
        #expect(!text(&script).holds("back after") && text(&script).holds(outages))
        // It is no news of a source that fails once more.
        script.add("recovered", "x", .recovered(Recovery(down: .seconds(2), attempts: 1)))
        script.fail("x", Failure(.dns, "gone"))
        #expect(!text(&script).holds("back after"))
    }

    @Test func nothingIsGreenWhileTheAgentIsLost() {
        var script = FeedScript()
        script.hello()
        script.add("progress", "breeds", .progress(Progress(done: 1, total: nil, page: 0)))
        func dot(_ grid: CellGrid) -> Style? { grid.cells.first { $0.glyph == 0x25CF }?.style }
        // In the middle of the screen, as nothing else can be shown yet.
        #expect(dot(script.frame()) == Theme().good)
        script.view.connection = .lost(reason: "gone", since: script.now, retryAt: nil)
        #expect(dot(script.frame()) == Theme().warning)
    }

    @Test func whoseTheSocketIsStandsBesideTheHost() {
        var script = FeedScript(columns: 100)
        script.hello()
        #expect(!text(&script).holds("socket of"))
        script.view.owner = "root"
        #expect(text(&script).holds("  socket of root  observatory  ") == false)
        #expect(text(&script).holds("  observatory  socket of root  "))
        script.view.resize(ScreenSize(columns: 80, rows: 24))
        script.view.owner = "user 65534"
        #expect(text(&script).holds("  socket of user 65534  "))
    }

    @Test func theNewestFailureIsTold() {
        var script = FeedScript.busy()
        script.fail("fact", Failure(.dns, "first"))
        script.pass(1)
        script.fail("breeds", Failure(.dns, "second"))
        script.type("4")
        #expect(text(&script).holds("2 sources failing · ✕ breeds  second · since 12:00 (0s)"), "\(text(&script))")
    }

    @Test func theFilterTakesWhatIsTyped() {
        var script = FeedScript.busy()
        script.type("/KATZ")
        #expect(text(&script).holds("1 of 12"))
        #expect(script.view.order.series.count == 1)
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

    @Test(arguments: [(80, 24), (40, 24), (40, 8)])
    func aFilterThatHoldsIsSaid(columns: Int, rows: Int) {
        var script = FeedScript.busy(columns: columns, rows: rows)
        script.type("/Delhi")
        script.press(.enter)
        for key in ["1", "4"] {
            script.type(key)
            #expect(text(&script).holds("/Delhi  Esc clears  "))
        }
        script.type("2")
        #expect(text(&script).holds("/Delhi  "))
        script.type("3")
        #expect(!text(&script).holds("/Delhi"))
        // The old text is what is typed on, and nothing is called like that.
        script.type("1/ nowhere in this world")
        #expect(text(&script).holds("filter: Delhi nowhere"))
        script.press(.enter)
        let shown = text(&script)
        #expect(shown.holds("no series is called") && shown.holds("  Esc clears  ") && shown.holds("? help  q quit"))
        script.press(.escape)
        #expect(!text(&script).holds("Esc clears"))
    }

    @Test(arguments: [
        (Key.character("q"), Action.quit), (.control("c"), .quit), (.control("z"), .suspend), (.control("l"), .redraw),
        (.character("r"), .poll(source: nil)),
    ])
    func keysAskForWhatTheViewCannotDo(_ key: Key, _ action: Action) {
        var script = FeedScript.busy()
        #expect(script.view.handle(key, now: script.now) == action)
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
        let scripts = [FeedScript.busy(columns: columns, rows: rows), .hostile(columns: columns, rows: rows)]
        for screen in ["1", "2", "3", "4", "?"] {
            for var script in scripts {
                _ = script.frame()
                script.type(screen)
                #expect(script.frame().cells.count == rows * columns)
            }
        }
    }

    @Test func oneLineSaysTheValue() {
        var script = FeedScript.busy(columns: 40, rows: 1)
        script.pass(3)
        script.choose("aqi/Delhi")
        #expect(text(&script) == "aqi/Delhi 234 µg/m³ P ↓ 3s\n")
        // What fails is the topmost row.
        script.fail("aqi", Failure(.timeout, "no answer", retryIn: .seconds(4)))
        _ = script.frame()
        script.press(.home)
        #expect(text(&script) == "✕ aqi  no answer · since 12:00 (0s) · n…\n")
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
            ] + "1234 +-[]LysfF@|/?nSrgG9a".unicodeScalars.map { .character($0) }
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
}
