import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct FeedRowsTests {
    /// Tests/Vectors/order/feed.json: lines, and the rows of the feed screen.
    @Test func rowsAreThoseOfTheVector() throws {
        var board = Board()
        for line in VectorFiles.lines(try VectorFiles.vector("feed.json", in: "order")["lines"]) {
            board.apply(try LineDecoder.decode(Bytes(line)))
        }
        for vector in try VectorFiles.elements("cases", of: "feed.json", in: "order") {
            let rows = FeedRows(
                board.lines, type: vector["type"]?.string, source: vector["source"]?.string,
                filter: ListFilter(vector["filter"]?.string ?? "")
            ).rows
            let found = VectorJSON.array(rows.map(vectorRow))
            let difference = found.difference(from: try #require(vector["rows"]))
            #expect(difference == nil, "\(vector["about"]?.string ?? "")")
        }
    }

    private func vectorRow(_ row: FeedRows.Row) -> VectorJSON {
        switch row {
        case .line(let line): .int(line.sequence)
        case .items(let lines):
            .object([
                "source": .string(lines[0].source), "from": .int(lines[0].sequence), "items": .int(lines.count),
                "keys": .array(lines.prefix(3).map { .string(FeedRows.key($0)) }),
            ])
        }
    }

    @Test func theScreenHasTheKeys() {
        var script = FeedScript.four()
        script.type("4")
        let text = script.frame().text()
        #expect(
            text.holds("breeds            12 items  cat 1, cat 2, cat 3")
                && text.holds("aqi               3 items  Köln, Kiel, Delhi"), "\(text)")
        for number in 1...25 { script.data("many", key: "k\(number)", 1) }
        script.view.resize(ScreenSize(columns: 200, rows: 24))
        #expect(script.frame().text().holds("25 items  k1, k2, ") && script.frame().text().holds("k20, …"))
        script.view.resize(ScreenSize(columns: 40, rows: 24))
        #expect(script.frame().text().holds("many  25 items  k1"))
    }
}

@Suite(.limited) struct GoToTimeTests {
    private func script() -> FeedScript {
        var script = FeedScript()
        script.now = FeedScript.noon - .seconds(100)
        script.hello()
        for value in 0..<50 {
            script.data("s", Double(value))
            script.pass(2)
        }
        script.view.readTime = { text, now in Int(text).map { now - .seconds($0) } }
        script.choose("s")
        script.type("2")
        _ = script.frame()
        return script
    }

    private func go(_ script: inout FeedScript, _ text: String) {
        script.type("@" + text)
        script.press(.enter)
        _ = script.frame()
    }

    @Test func theCursorGoesToATimeAndStaysThere() {
        var script = script()
        script.type("@6x")
        #expect(script.frame().text().holds(" go to: 6x█"))
        script.press(.backspace)
        script.type("0")
        script.press(.enter)
        #expect(script.frame().text().holds("11:59:00.") || script.frame().text().holds("11:58:59."))
        #expect(script.frame().text().holds("value 20"), "\(script.frame().text())")
        script.pass(15)
        script.data("s", 50)
        #expect(script.frame().text().holds("value 20"), "\(script.frame().text())")
        // A chosen span that is too short for it is given up.
        script.type("[[")
        #expect(script.view.state.span == .seconds(30))
        go(&script, "20")
        #expect(script.view.state.span == .seconds(30))
        go(&script, "60")
        #expect(script.view.state.span == nil)
        // From there on by keys, and back to none.
        script.press(.right)
        #expect(script.view.state.scrubTime == nil && script.view.state.scrub != nil)
        go(&script, "60")
        script.press(.escape)
        #expect(script.view.state.scrubTime == nil && script.view.state.scrub == nil)
        #expect(script.frame().text().holds("last 50"))
    }

    @Test(arguments: [
        ("300", true, Duration.seconds(300)), ("301", true, .seconds(900)), ("3600", true, .seconds(3_600)),
        ("86400", true, .seconds(86_400)), ("60", true, nil), ("300", false, nil),
    ]) func olderTimesComeFromTheJournal(text: String, hasJournal: Bool, span: Duration?) {
        var script = script()
        script.view.hasJournal = hasJournal
        go(&script, text)
        #expect(script.view.state.reach?.duration == span)
        #expect(script.frame().text().holds("there is no journal (--journal)") == !hasJournal)
        if span != nil {
            #expect(script.view.beginReading(at: script.now) != nil)
            go(&script, "60")
            #expect(script.view.state.reach == nil && script.view.state.scrub != nil)
        }
    }

    @Test(arguments: [
        ("half past", "\"half past\" is no time"), ("-60", "that time is yet to come"),
        ("604801", "the graph goes back 7 days"), ("\u{1B}[2J", " is no time"),
    ]) func whatCannotBeGoneToIsSaid(text: String, words: String) {
        var script = script()
        script.view.hasJournal = true
        script.type("@")
        script.press(.paste(text), .enter)
        #expect(script.frame().text().holds(words), "\(script.frame().text())")
        #expect(script.view.state.scrub == nil && script.view.state.prompt == nil)
    }

    @Test func withoutAJournalTheHistoryEndsWithAWord() {
        var script = script()
        script.type("[")
        #expect(!script.frame().text().holds("no journal"))
        script.type("]]")
        #expect(script.frame().text().holds("there is no journal (--journal) of older times"))
        script.press(.escape)
        script.type("1]")
        #expect(!script.frame().text().holds("no journal"))
        // A text has no graph.
        script.data("t", text: "a text")
        _ = script.frame()
        script.choose("t")
        script.type("2")
        go(&script, "5")
        #expect(script.frame().text().holds("there is no graph"))
    }
}
