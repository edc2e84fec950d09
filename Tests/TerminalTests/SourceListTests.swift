import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

extension FeedScript {
    /// Sources of this run, in the order of a configuration.
    mutating func list(_ names: [String], every period: Int? = nil, bands: BandScale? = nil) {
        let sources = names.map { name in
            var status = SourceStatus(source: name, state: .starting, since: now)
            if let period { status.rhythm = .every(.seconds(period)) }
            status.bands = bands
            if name == "catwatch" { status.type = "memory" }
            return status
        }
        apply(nil, "stats", nil, .stats(Line.Stats(asOf: sequence, endpoints: [], sources: sources)))
    }

    /// A value that stands for a word.
    mutating func word(_ source: String, _ key: String, _ value: Double, _ word: String, since: Timestamp) {
        var data = Line.Data(series: source + "/" + key, value: value, text: nil, data: nil, truncated: false)
        (data.word, data.since) = (word, since)
        add(source, source, .data(data))
    }

    mutating func lines() -> [String] { frame().text().split(separator: "\n").map(String.init) }

    /// The chosen row's text.
    mutating func chosen() -> String {
        lines().first { $0.hasPrefix("▸") }.map { String($0.dropFirst().drop { $0 == " " }) } ?? ""
    }

    /// Two sources with headings between two without, and what is measured of them.
    static func four(columns: Int = 80, rows: Int = 24) -> FeedScript {
        var script = FeedScript(columns: columns, rows: rows)
        script.hello()
        script.list(["fact", "breeds", "aqi", "fib"])
        script.data("fact", 43, text: "Cats sleep.")
        for number in 1...12 { script.data("breeds", key: "cat \(number)", text: "country \(number)") }
        for city in ["Köln", "Kiel", "Delhi"] { script.data("aqi", key: city, 7) }
        script.data("fib", 3)
        for source in ["fact", "breeds", "aqi"] { script.latency(source, "GET http://h/" + source, ms: 3) }
        return script
    }
}

@Suite(.limited) struct SourceListTests {
    @Test func theFirstScreenIsThatOfTheConfiguration() {
        var script = FeedScript.four()
        let rows = script.lines().dropFirst(3).prefix(11).map { String($0.drop { $0 == " " || $0 == "▸" }) }
        let beginnings = [
            "● fact ", "● breeds ▸ 12 series", "● aqi ▾ 3 series", "Delhi ", "Kiel ", "Köln ", "● fib ",
            "latency, counts, memory ▾ 3 series", "latency:aqi ", "latency:breeds ", "latency:fact ",
        ]
        for (row, beginning) in zip(rows, beginnings) { #expect(row.hasPrefix(beginning), "\(row)") }
        #expect(script.chosen().hasPrefix("● fact"))
    }

    @Test(arguments: [(80, 24), (40, 24), (24, 12)])
    func ofThreeFailingSourcesAmongTwentyAllReasonsCanBeRead(columns: Int, rows: Int) {
        var script = FeedScript(columns: columns, rows: rows)
        script.hello()
        let names = (1...20).map { "s\($0)" }
        script.list(names + ["catwatch"])
        for name in names { for key in ["a", "b", "c"] { script.data(name, key: key, 1) } }
        script.fail("s7", Failure(.status, "404 Not Found", attempt: 5, retryIn: .seconds(3)))
        script.fail("s12", Failure(.dns, "no address", attempt: 2, retryIn: .seconds(90)))
        script.fail("s20", Failure(.timeout, "no answer"))
        script.pass(0.5)
        let screen = script.lines()
        for (name, reason) in [("s7", "404 Not Found"), ("s12", "no address"), ("s20", "no answer")] {
            #expect(screen.contains { $0.holds("✕ \(name)  \(reason)") }, "\(screen)")
        }
        if columns == 80 {
            #expect(screen[3] == "▸ ✕ s7  404 Not Found · since 12:00 (0s) · 5th try · next in 3 s", "\(screen)")
            #expect(screen[4].hasSuffix("2nd try · next in 1m30s") && screen[5].hasSuffix("since 12:00 (0s)"))
        }
        #expect(screen[1].hasPrefix(columns < 40 ? " 3 of 20 failing  …" : " 3 of 20 failing  ✕ s7"), "\(screen)")
        // Wherever one is in the list: the chips of those that fail come first.
        script.press(.end)
        #expect(script.lines()[1].hasPrefix(" 3 of 20 failing  "))
        // Another screen has no rows for them, and names the newest.
        script.type("4")
        #expect(script.lines()[1].hasPrefix(" 3 sources failing · ✕"))
        script.type("1")
        script.press(.home)
        for key in ["s", "s", "s", "s"] {
            script.type(key)
            #expect(script.lines().contains { $0.holds("✕ s12  no address") })
        }
        script.type("s")
        // It goes when the source answers.
        for name in ["s7", "s12", "s20"] { script.data(name, key: "a", 2) }
        #expect(!script.frame().text().holds("✕") && !script.frame().text().holds("failing"))
    }

    @Test func aLateSourceHasARowUntilItAnswers() {
        var script = FeedScript()
        script.hello()
        script.list(["slow", "stream"], every: 60)
        script.data("slow", 1)
        script.pass(150)
        #expect(!script.frame().text().holds("nothing for"))
        script.pass(1)
        #expect(script.lines()[3] == "▸ ◐ slow  nothing for 2m31s, expected each 60 s", "\(script.lines())")
        // Nothing can come from an agent that is lost, or has ended.
        script.view.connection = .lost(reason: "gone", since: script.now, retryAt: nil)
        #expect(!script.frame().text().holds("nothing for"))
        script.view.connection = .open
        #expect(script.frame().text().holds("nothing for"))
        script.view.playback = TerminalView.Playback(speed: "1x", isPaused: true)
        #expect(!script.frame().text().holds("nothing for"))
        script.view.playback = nil
        script.data("slow", 2)
        #expect(!script.frame().text().holds("nothing for"))
    }

    // MARK: Folding

    @Test func keysFoldAndUnfold() {
        var script = FeedScript.four()
        func rows() -> Int { script.view.order.rows.count }
        _ = script.frame()
        script.press(.down)
        #expect(script.chosen().hasPrefix("● breeds ▸"))
        let folded = rows()
        for (key, isFolded) in [
            (Key.right, false), (.right, false), (.left, true), (.left, true), (.enter, false), (.enter, true),
            (.character("l"), false), (.character("h"), true),
        ] {
            script.press(key)
            #expect(script.chosen().hasPrefix(isFolded ? "● breeds ▸ 12" : "● breeds ▾ 12"), "\(key)")
            #expect(rows() == folded + (isFolded ? 0 : 12))
            #expect(script.view.state.screen == .list)
        }
        // On a series, keys do what they always did.
        script.press(.up, .left)
        #expect(script.view.state.screen == .list && rows() == folded)
        script.press(.right)
        #expect(script.view.state.screen == .detail)
        // What was chosen outlives the run.
        script.press(.escape, .down, .enter)
        script.hello(run: "2")
        script.list(["fact", "breeds"])
        script.data("fact", 1)
        for number in 1...12 { script.data("breeds", key: "\(number)", text: "t") }
        #expect(script.frame().text().holds("breeds ▾ 12 series"))
        for number in 0...1_000 { script.view.state.fold("\(number)", true) }
        #expect(script.view.state.folds.count <= 1_000)
    }

    @Test func aFilterShowsWhatIsFolded() {
        var script = FeedScript.four()
        _ = script.frame()
        script.type("/CAT 11|kiel | ||lat")
        #expect(script.frame().text().holds("5 of 20"))
        script.press(.enter)
        let rows = script.lines().dropFirst(3).map { String($0.drop { $0 == " " || $0 == "▸" }) }
        for (row, beginning) in zip(
            rows, ["● breeds ▾ 1 of 12 series", "cat 11", "● aqi ▾ 1 of 3 series", "Kiel", "latency, counts"])
        {
            #expect(row.hasPrefix(beginning), "\(row)")
        }
        script.press(.home, .left)
        #expect(script.frame().text().holds("a filter shows all that matches"))
        script.press(.enter)
        #expect(script.frame().text().holds("breeds/cat 11 "))
        script.press(.escape, .escape)
        #expect(script.frame().text().holds("● breeds ▸ 12 series"))
        // Enter, and Enter again, is all it takes to open what matches.
        script.hello(run: "2")
        script.list(["fact", "aqi"])
        script.data("fact", 1)
        for city in ["Köln", "Kiel"] { script.data("aqi", key: city, 7) }
        script.type("/kie")
        #expect(script.chosen().hasPrefix("Kiel"))
        script.press(.enter, .enter)
        #expect(script.frame().text().holds("aqi/Kiel "))
        script = .four()
        script.type("/zzz|")
        #expect(script.frame().text().holds("no series is called"))
        script.press(.escape)
        script.type("/|")
        #expect(script.frame().text().holds("20 of 20"))
    }

    // MARK: Choosing

    @Test func enterOnAFailingSourceOpensItsFirstSeries() {
        var script = FeedScript.four()
        script.fail("breeds", Failure(.dns, "no address"))
        script.fail("none", Failure(.dns, "no address"))
        _ = script.frame()
        script.press(.enter)
        #expect(script.frame().text().holds("breeds/cat 1 "))
        // It has no row of its own while its heading is folded, so that stands for it.
        script.press(.escape)
        #expect(script.chosen().hasPrefix("✕ breeds ▸"))
        // One without a series leads nowhere.
        script.press(.home, .down)
        #expect(script.chosen().hasPrefix("✕ none  no address"))
        script.press(.enter)
        #expect(script.view.state.screen == .list)
        script.type("2")
        #expect(script.view.state.screen == .detail)
    }

    @Test func namesAreNotWhatTheySeem() {
        var script = FeedScript()
        script.hello()
        script.list(["#", "\u{1B}[2Jx"])
        script.data("#", key: "#", 1)
        script.data("#", key: "\u{1B}]0;t\u{7}", 2)
        script.data("\u{1B}[2Jx", key: "\u{1B}[31m", 3)
        script.fail("\u{1B}[2Jx", Failure(.status, "\u{1B}[31mred\u{202E}"))
        let text = script.frame().text()
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" })
        #expect(text.holds("● # ▾ 2 series") && text.holds("    # "))
        script.choose("#/#")
        #expect(script.chosen().hasPrefix("# "))
        script.press(.enter)
        #expect(script.frame().text().holds("#/#"))
        script.press(.escape, .up, .up, .left)
        #expect(script.chosen().hasPrefix("● # ▸ 2 series"))
    }

    /// Any keys over lines that come meanwhile: each row once, each series below its own heading, the choice on a row.
    @Test(arguments: 0..<4) func rowsStayWhole(_ part: UInt64) {
        let rounds = UInt64(LongRun.rounds(short: 4, long: 50))
        for seed in part * rounds..<(part + 1) * rounds {
            var random = SeededGenerator(seed: 700 + seed)
            var script = FeedScript(columns: 60, rows: 12)
            script.hello()
            let names = ["a", "b", "c", "d"]
            script.list(names, every: 5)
            let keys: [Key] =
                [
                    .up, .down, .left, .right, .enter, .escape, .home, .end, .pageDown,
                    .mouse(.init(kind: .press, column: 3, row: 5)),
                ] + "ss/ab|\u{7F} hl1!".unicodeScalars.map { .character($0) }
            for step in 0..<60 {
                let source = names.randomElement(using: &random) ?? ""
                switch Int.random(in: 0...9, using: &random) {
                case 0: script.fail(source, Failure(.dns, "x", retryIn: .seconds(2)))
                case 1: script.pass(Double.random(in: 0...20, using: &random))
                case 2: script.latency(source, "GET http://h", ms: 1)
                case 3: script.data(source, key: "\(Int.random(in: 0...14, using: &random))", text: "t")
                case 4: script.data(source, Bool.random(using: &random) ? 1 : nil)
                case 5 where step % 20 == 0: script.hello(run: "\(step)")
                case 6:
                    script.alert(
                        source + (["", "/3", "/*"].randomElement(using: &random) ?? ""),
                        isOver: Bool.random(using: &random))
                case 5 where step % 7 == 0: script.list(names.shuffled(using: &random), every: 5)
                default: if let key = keys.randomElement(using: &random) { script.press(key) }
                }
                let grid = script.frame()
                let (order, state) = (script.view.order, script.view.state)
                let board = script.view.paused?.board ?? script.view.board
                let rows = order.rows
                var faults: [String] = []
                func check(_ holds: Bool, _ fault: String) { if !holds { faults.append(fault) } }
                check(Set(rows).count == rows.count, "a row twice")
                var heading: Int?
                var hasBegun = false
                var shown: Set<Int32> = []
                for row in rows {
                    switch row {
                    case .alert(let number):
                        check(!hasBegun, "an alert below the top")
                        check(board.alerts[number] != nil, "an alert that is over")
                    case .trouble(let source):
                        check(!hasBegun, "trouble below the top")
                        check(board.sources[source].state != .starting, "trouble without a reason")
                    case .heading(let group):
                        (heading, hasBegun) = (group, true)
                        check(order.hasHeadings && state.sort == .source, "a heading in another order")
                        check(!order.groups[group].matched.isEmpty, "a heading without a match")
                    case .series(let index):
                        check(!order.fires(index) || !hasBegun, "what fires is below the top")
                        hasBegun = hasBegun || !order.fires(index)
                        shown.insert(Int32(index))
                        if order.isBelowHeading(index) {
                            check(heading == order.group(ofSeries: index), "a series below another heading")
                        }
                    }
                }
                let hidden = Set(order.series).subtracting(shown)
                check(shown.isSubset(of: order.series), "a series that does not match")
                check(
                    state.showsFiringOnly
                        || hidden.allSatisfy { order.groups[order.group(ofSeries: Int($0))].isFolded }
                            && (hidden.isEmpty || ListFilter(state.filter).isEmpty),
                    "a series that is not folded is hidden"
                )
                let count = board.sources.count { $0.isListed && $0.state == .failing }
                let troubles = rows.count { if case .trouble = $0 { true } else { false } }
                check(
                    !state.filter.isEmpty || state.showsFiringOnly || troubles >= count,
                    "a failing source without a row")
                if state.screen == .list, state.prompt == nil, !state.showsHelp, !rows.isEmpty, !board.series.isEmpty {
                    let marks = (0..<grid.rows).count { grid[$0, 0].glyph == 0x25B8 }
                    check(marks == 1, "\(marks) chosen rows")
                }
                #expect(faults == [], "seed \(700 + seed), step \(step)")
                if !faults.isEmpty { return }
            }
        }
    }

    /// Frames are paced: keys may come between the greeting of another run and the first frame of it.
    @Test(arguments: ["n", "2", "3", "4", "s", "r", "l", "h", "j", "k", "S", "y", "+", "]", "\r"])
    func aKeyBeforeTheFirstFrameOfAnotherRunIsTaken(key: String) {
        for chosen in [ListRow.trouble(1), .heading(1), .series(2)] {
            var script = FeedScript()
            script.hello()
            script.list(["a", "b"])
            for name in ["x", "y", "z"] { script.data("a", key: name, 1) }
            script.fail("b", Failure(.dns, "no address"))
            _ = script.frame()
            script.view.state.selected = chosen
            _ = script.frame()
            script.hello(run: "2")
            if key == "\r" { script.press(.enter) } else { script.type(key) }
            _ = script.frame()
            script.press(.enter)
            #expect(!script.frame().text().isEmpty)
        }
    }
}
