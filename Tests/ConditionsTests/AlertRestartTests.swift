import Conditions
import Reactor
import TestSupport
import Testing

@testable import Feed

/// What an agent knows where it begins to watch: after a restart, after a reload, in the middle of a recording.
@Suite(.limited) struct AlertRestartTests {
    private static let polled = SourceDescription(name: "a", rhythm: .every(.seconds(2)))

    private static func decoded(_ text: String, _ second: Int) throws -> Line {
        try LineDecoder.decode(Array(#"{\#(text),"time":"\#((AlertStage.start + .seconds(second)).text)"}"#.utf8)[...])
    }

    /// Applies lines, and returns what is told meanwhile.
    private static func told(_ book: inout AlertBook, _ lines: (Int, String)...) throws -> [String] {
        for (second, text) in lines { book.apply(try decoded(text, second)) }
        return book.takeAlerts().map { "\($0.alert.condition) \($0.alert.state) \($0.alert.about)" }
    }

    private static func status(_ name: String) -> SourceStatus {
        SourceStatus(source: name, state: .ok, since: AlertStage.start)
    }

    @Test func timeInWhichNoAgentRanMeetsNothing() throws {
        for (line, ending) in [("a > 5 for 3s", 1.0), ("any a > 5 for 3s", 1), ("a not in 0..5 for 3s", 1)] {
            var stage = try AlertStage(line, sources: [Self.polled])
            stage.value("a", at: 1, 9)
            stage.pass(to: 2)
            stage.restart(at: 6)
            #expect(stage.pending == [1])
            stage.value("a", at: 6.1, ending)
            stage.pass(to: 20)
            #expect(stage.told.isEmpty && stage.pending == [0], "\(line)")
        }
    }

    @Test func aSourceFailsAsSoonAsItHasSpoken() throws {
        var stage = try AlertStage("a fails")
        stage.value("a", at: 1, 9)
        stage.restart(at: 6)
        stage.fail("a", at: 7)
        #expect(stage.alerts.map(\.at) == [AlertStage.start + .seconds(7)])
    }

    /// What is read again has nothing of the failure.
    @Test func aFailureOfLongAgoIsOverWithTheFirstAnswer() throws {
        var stage = try AlertStage("a fails")
        stage.fail("a", at: 1)
        stage.pass(to: 100)
        stage.value("a", at: 101, 1)
        stage.fail("a", at: 102)
        stage.restart(at: 1_000, reading: .seconds(10))
        stage.value("a", at: 1_001, 1)
        #expect(stage.alerts.map(\.state) == [.firing, .resolved, .firing, .resolved])
    }

    /// They may be gone, of which nobody told.
    @Test func theSeriesOfSetsAreAwaited() throws {
        var book = try Self.book("all a/* > 50", "a/* > 500")
        book.describe(Self.status("a"))
        for (number, key) in ["x", "y"].enumerated() {
            let line = #""seq":\#(number + 1),"type":"a","source":"a","series":"a/\#(key)","value":9"#
            book.apply(try Self.decoded(line, 1))
        }
        var next = AlertBook(book.rules, run: "r2", interval: .seconds(10), from: nil)
        next.adopt(ended: book)
        next.resume([], sources: [Self.status("a")], isAll: true, at: AlertStage.start + .seconds(5))
        #expect(next.openSeries.map(\.name) == ["a/x", "a/y"])
    }

    @Test func whatIsDueAtAReloadIsTold() throws {
        var book = try Self.book("a > 5 for 10s")
        book.describe(Self.status("a"))
        book.apply(try Self.decoded(#""seq":1,"type":"a","source":"a","series":"a","value":9"#, 1))
        var next = AlertBook(
            book.rules + [try AlertStage.rule("a > 50")], run: "r", interval: .seconds(10), from: nil)
        next.replace(book, [Self.status("a")], kept: [], at: AlertStage.start + .seconds(20))
        let told = next.takeAlerts().map(\.alert)
        #expect(told.map(\.state) == [.firing] && told.first?.at == AlertStage.start + .seconds(11))
        #expect(next.count == 1)
    }

    @Test func theTimeBeforeAStopCountsOnceTheSourceHasSpoken() throws {
        var stage = try AlertStage("a > 5 for 30s", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        stage.restart(at: 40)
        stage.value("a", at: 41, 9)
        #expect(stage.told == ["firing a at 41 since 1 = 9.0"])
    }

    /// It may only speak when something changes.
    @Test func aStreamThatSaysNothingHoldsAfterAMinute() throws {
        var stage = try AlertStage("a > 5 for 3s", "a fails for 3s")
        stage.value("a", at: 1, 9)
        stage.restart(at: 6)
        stage.pass(to: 65)
        #expect(stage.told.isEmpty)
        stage.pass(to: 70)
        #expect(stage.told == ["firing a at 66 since 1 = 9.0"])
    }

    @Test func anAnswerThatDidNotComeMeetsNothing() throws {
        var stage = try AlertStage("a status != 200 for 3s", "a fails for 3s", sources: [Self.polled])
        stage.answer("a", at: 1, status: 500)
        stage.fail("a", at: 1)
        stage.restart(at: 3)
        stage.pass(to: 5)
        #expect(stage.told.isEmpty && stage.pending == [1, 1])
        stage.value("a", at: 5.1, 1)
        stage.answer("a", at: 5.1)
        stage.pass(to: 20)
        #expect(stage.told.isEmpty && stage.pending == [0, 0])
    }

    @Test func whatEndsAnAlertIsNotOverByAStopEither() throws {
        var stage = try AlertStage("a > 5 until < 3 for 10s", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        stage.value("a", at: 2, 1)
        stage.restart(at: 30)
        stage.value("a", at: 31, 9)
        stage.pass(to: 32)
        #expect(stage.alerts.count == 1)
        stage.value("a", at: 33, 1)
        stage.restart(at: 40)
        stage.value("a", at: 41, 1)
        stage.value("a", at: 42.5, 1)
        stage.value("a", at: 43.5, 1)
        #expect(stage.told.last == "resolved a at 43 since 1 = 1.0 by until")
    }

    /// An agent does not read again what is older than two minutes.
    @Test(arguments: [100, 1_000]) func aStopIsComputedAsAnAgentSeesIt(seconds: Double) throws {
        let line = "a > 5 until < 3 for 10s"
        var stage = try AlertStage(line, "a < 3 for 20s", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        stage.value("a", at: 2, 1)
        stage.restart(at: seconds, reading: .seconds(122))
        for second in [1.0, 3, 5, 7, 9, 11, 13] { stage.value("a", at: seconds + second, 1) }
        #expect(stage.alerts.last?.at == AlertStage.start + .seconds(seconds + (seconds > 500 ? 11 : 1)))
        var past = PastAlerts(try [line, "a < 3 for 20s"].map { try AlertStage.rule($0) })
        var computed: [Alert] = []
        AlertStage.read(stage.recording()) { line, _ in
            past.apply(line)
            while let (_, alert) = past.nextAlert() { computed.append(alert) }
        }
        #expect(computed.map { AlertStage.text($0, start: AlertStage.start) } == stage.told)
    }

    /// By the lines from somewhere on, it may be another that came first.
    @Test func ofEqualSeriesTheSameOneDecides() throws {
        for names in [["a/x", "a/y"], ["a/y", "a/x"]] {
            var stage = try AlertStage("any a > 5 until < 3", sources: [Self.polled])
            stage.publish(stage.value(names[0], 7), stage.value(names[1], 7))
            for values in [[8.0, 9], [1, 2]] {
                stage.pass(to: stage.seconds + 1)
                stage.publish(stage.value("a/x", values[0]), stage.value("a/y", values[1]))
            }
            stage.pass(to: 5)
            #expect(stage.alerts.last?.value == 2, "\(names)")
        }
    }

    @Test func aLateAnswerMeetsNothingByAnOldValue() throws {
        for line in [
            "a > 5 for 7s", "any a > 5 for 7s", "a/y > 5 for 7s", #"a/x /t = "old" for 7s"#, "a/y /t exists for 7s",
        ] {
            var stage = try AlertStage(line, sources: [Self.polled])
            func event(_ key: String, _ value: Double, _ text: String) -> Event {
                let data = Array(text.utf8)[...]
                return stage.event("a", .data(Datum(key: Array(key.utf8)[...], value: value, data: data)))
            }
            stage.pass(to: 1)
            stage.publish(event("x", 9, #"{"t":"old"}"#), event("y", 9, #"{"t":"old"}"#))
            stage.pass(to: 10)
            stage.publish(event("x", 1, #"{"t":"new"}"#), event("y", 1, "{}"))
            stage.answer("a", at: 10)
            stage.pass(to: 30)
            #expect(stage.told.isEmpty, "\(line)")
        }
    }

    @Test func alertsOfAReloadKnowThatASourceIsLate() throws {
        var stage = try AlertStage("b > 5", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        stage.answer("a", at: 1)
        stage.pass(to: 8)
        let rules = try ["hot: a > 5", "set: any a > 5", "well: a status = 200"].map { try AlertStage.rule($0) }
        stage.reload(rules, kept: stage.kept)
        stage.value("a", at: 9, 1)
        #expect(stage.told.isEmpty)
        stage.answer("a", at: 9)
        #expect(stage.alerts.map(\.condition) == ["well"])
    }

    @Test func alertsOfAReloadRightAfterAStartWaitAsTheOthersDo() throws {
        var stage = try AlertStage("b > 5", "old: a > 5", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        let kept = stage.kept.filter { $0.source == "a" }
        stage.restart(at: 3)
        stage.reload(try ["hot: a > 5", "set: any a > 5", "old: a > 7"].map { try AlertStage.rule($0) }, kept: kept)
        #expect(stage.told.count == 1)
        stage.value("a", at: 4, 1)
        stage.pass(to: 5)
        #expect(stage.alerts.map(\.state) == [.firing, .resolved] && stage.alerts.last?.condition == "old")
    }

    @Test func alertsOfAReloadKnowThatASourceFails() throws {
        for isFirst in [false, true] {
            var stage = isFirst ? try AlertStage() : try AlertStage("b > 5")
            stage.value("a", at: 1, 9)
            stage.fail("a", at: 2)
            stage.reload(try ["hi: a > 5", "f: a fails"].map { try AlertStage.rule($0) }, kept: stage.kept)
            stage.pass(to: 3)
            #expect(stage.alerts.map(\.condition) == ["f"], "\(isFirst)")
            // Its first answer ends the failure, and says something else.
            stage.value("a", at: 4, 1)
            #expect(stage.alerts.map(\.condition) == ["f", "f"], "\(isFirst)")
        }
    }

    @Test func alertsWhereThereWereNoneKnowThatASourceFails() throws {
        let failure = SourceFailure(Failure(.status, "500"), at: AlertStage.start)
        var status = Self.status("a")
        (status.state, status.failure) = (.failing, failure)
        let rules = try ["hi: a > 5", "f: a fails"].map { try AlertStage.rule($0) }
        var book = AlertBook(rules, run: "r", interval: .seconds(10), from: AlertStage.start)
        let data = try Self.decoded(#""seq":1,"type":"a","source":"a","series":"a","value":9"#, 1)
        book.begin([status], kept: [kept(data)])
        #expect(book.takeAlerts().map(\.alert.condition) == ["f"])
    }

    private func kept(_ line: Line) -> Line {
        var kept = line
        (kept.seq, kept.body) = (nil, .kept(Line.Kept(run: "r", line: line, bytes: [])))
        return kept
    }

    /// While events are left out that change nothing, the clock of the conditions stands still.
    @Test func aStreamThatGoesOnIsNotSilentAfterAReload() throws {
        var stage = try AlertStage("a > 5")
        for second in 1...9 { stage.value("a", at: Double(second), 1) }
        stage.reload(try ["a > 5", "a silent 3s"].map { try AlertStage.rule($0) }, kept: stage.kept.suffix(1))
        #expect(stage.told.isEmpty)
        stage.pass(to: 13)
        #expect(stage.told == ["firing a at 12 since 12 = 3.0"])
        // A series, too, since its newest event.
        var series = try AlertStage("a > 5")
        series.value("a/x", at: 1, 1)
        series.pass(to: 2.5)
        series.reload(try ["a > 5", "a/x silent 3s"].map { try AlertStage.rule($0) }, kept: series.kept)
        series.pass(to: 5)
        #expect(series.told == ["firing a/x at 4 since 4 = 3.0"])
    }

    // MARK: Fleets

    private static func peer(_ agent: String, _ state: String, heard second: Int) -> String {
        let heard = (AlertStage.start + .seconds(second)).text
        return #""seq":1,"type":"peer","source":"catwatch","agent":"\#(agent)","state":"\#(state)","#
            + #""heard":"\#(heard)","since":"\#(heard)""#
    }

    private static func book(_ lines: String..., run: String = "r") throws -> AlertBook {
        AlertBook(
            try lines.map { try AlertStage.rule($0) }, run: run, interval: .seconds(10), from: AlertStage.start)
    }

    @Test func anAgentThatIsRemovedIsNotSilent() throws {
        var book = try Self.book("agent * silent 5s", "agent w fails")
        #expect(try Self.told(&book, (1, Self.peer("w", "live", heard: 1))).isEmpty)
        let away = try Self.told(&book, (2, Self.peer("w", "away", heard: 1)))
        #expect(away == ["agent w fails firing w"])
        let gone = try Self.told(&book, (3, Self.peer("w", "forgotten", heard: 1)))
        #expect(gone == ["agent w fails resolved w"])
        book.advance(to: AlertStage.start + .seconds(100))
        #expect(book.takeAlerts().isEmpty)
        // It is added again.
        #expect(try Self.told(&book, (101, Self.peer("w", "live", heard: 101))).isEmpty)
        book.advance(to: AlertStage.start + .seconds(110))
        #expect(book.takeAlerts().map(\.alert.condition) == ["agent * silent 5s"])
    }

    @Test func theSourcesOfAnAgentThatIsAwayAreUnknown() throws {
        var book = try Self.book("w.q > 5 for 4s")
        book.describe(Self.status("w.q"))
        let value =
            #""seq":2,"type":"q","source":"w.q","series":"w.q","value":9,"agent":"w","run":"o","origin_seq":1"#
        _ = try Self.told(&book, (1, Self.peer("w", "live", heard: 1)), (2, value))
        #expect(try Self.told(&book, (4, Self.peer("w", "away", heard: 3))).isEmpty)
        book.advance(to: AlertStage.start + .seconds(20))
        #expect(book.takeAlerts().isEmpty)
        let told = try Self.told(&book, (21, Self.peer("w", "live", heard: 21)))
        #expect(told == ["w.q > 5 for 4s firing w.q"])
    }

    /// They were taken out of the hub's configuration while it did not run.
    @Test func whatAHubNoLongerHearsOfIsForgottenADayAfterItsStart() throws {
        let lines = ["v: w.q > 5", "down: agent w silent 5s", "u: x.q > 5", "y: agent x fails"]
        var first = AlertBook(
            try lines.map { try AlertStage.rule($0) }, run: "r1", interval: .seconds(10), from: AlertStage.start)
        for name in ["w.q", "x.q"] { first.describe(Self.status(name)) }
        func value(_ source: String, _ number: Int) -> String {
            let agent = source.prefix(1)
            return #""seq":\#(number),"type":"q","source":"\#(source)","series":"\#(source)","value":9,"#
                + #""agent":"\#(agent)","run":"o","origin_seq":1"#
        }
        let told = try Self.told(
            &first, (1, Self.peer("w", "live", heard: 1)), (1, Self.peer("x", "live", heard: 1)), (2, value("w.q", 2)),
            (2, value("x.q", 3)), (9, Self.peer("x", "away", heard: 8)))
        #expect(told.sorted() == ["down firing w", "u firing x.q", "v firing w.q", "y firing x"])
        var book = AlertBook(first.rules, run: "r2", interval: .seconds(10), from: nil)
        let firing = first.firing
        book.adopt(ended: first)
        book.resume(firing, sources: [], isAll: false, at: AlertStage.start + .seconds(20))
        #expect(try Self.told(&book, (21, Self.peer("x", "away", heard: 21)), (22, value("x.q", 2))).isEmpty)
        book.advance(to: AlertStage.start + .seconds(20 + 86_400 - 1))
        #expect(!book.takeAlerts().contains { $0.alert.state == .resolved })
        book.advance(to: AlertStage.start + .seconds(20 + 86_400))
        let ended = book.takeAlerts().filter { $0.alert.state == .resolved }.map(\.alert)
        #expect(ended.map(\.about).sorted() == ["w", "w.q"] && ended.allSatisfy { $0.reason == .forgotten })
        // A source that is there again need not say anything, and a reload changes nothing of that.
        for isThere in [false, true] {
            var next = AlertBook(first.rules, run: "r2", interval: .seconds(10), from: nil)
            next.adopt(ended: first)
            next.resume(firing, sources: [], isAll: false, at: AlertStage.start + .seconds(20))
            if isThere { next.describe(Self.status("w.q")) }
            var reloaded = AlertBook(
                first.rules + [try AlertStage.rule("z > 5")], run: "r2", interval: .seconds(10), from: nil)
            reloaded.replace(next, [], kept: [], at: AlertStage.start + .seconds(21))
            reloaded.advance(to: AlertStage.start + .seconds(20 + 86_400))
            let ended = reloaded.takeAlerts().filter { $0.alert.state == .resolved }.map(\.alert.about)
            #expect(ended.contains("w.q") == !isThere && ended.contains("x.q"))
        }
    }

    // MARK: Recordings

    /// A recording that begins with what fires.
    private static func past(_ line: String, test: String) throws -> PastAlerts {
        var stage = try AlertStage("hot: a > \(test)")
        stage.value("a", at: 1, 1_100)
        let alert = try #require(stage.journal.last { $0.line.isAlert })
        let lines = stage.recording()
        let kept = Array(ControlLine.kept(time: stage.wall, run: "r1", line: alert.bytes).dropLast())
        var past = PastAlerts([try AlertStage.rule(line)])
        AlertStage.read([lines[0], lines[1], kept]) { line, _ in past.apply(line) }
        stage.value("a", at: 2, 1_101)
        AlertStage.read(Array(stage.recording().suffix(1))) { line, _ in past.apply(line) }
        #expect(past.nextAlert() == nil)
        return past
    }

    @Test func whatFiredWhereARecordingBeginsGoesByItsTests() throws {
        #expect(try Self.past("hot: a > 1000", test: "1000").firing.map(\.alert.condition) == ["hot"])
        #expect(try Self.past("hot: a > 2000", test: "1000").firing.isEmpty)
    }

    @Test func aSourceFailsWhereARecordingBegins() throws {
        var past = PastAlerts(try ["f: a fails", "v: a > 5"].map { try AlertStage.rule($0) })
        var status = Self.status("a")
        (status.state, status.failure) = (.failing, SourceFailure(Failure(.status, "500"), at: AlertStage.start))
        let identity = AgentIdentity(run: "r", version: "1", started: AlertStage.start)
        let time = AlertStage.start + .seconds(100)
        let lines = [
            ControlLine.hello(
                time: time, identity: identity, isFiltered: false, interval: .seconds(10), history: .seconds(120),
                firstSequence: 50, nextSequence: 51, isFleet: false),
            ControlLine.stats(time: time, asOf: 49, endpoints: [], sources: [status]),
            Array(
                #"{"seq":50,"time":"\#(time.text)","type":"progress","source":"b","done":1,"page":1}"#.utf8) + [0x0A],
        ]
        AlertStage.read(lines.map { Array($0.dropLast()) }) { line, _ in past.apply(line) }
        #expect(past.firing.map(\.alert.condition) == ["f"])
    }

    // MARK: Names

    @Test func namesThatNothingIsAboutTakeNoRoom() throws {
        var book = try Self.book("late: a/late > 5")
        for number in 0..<100_001 {
            let line = #""seq":\#(number + 1),"type":"a","source":"a","series":"a/\#(number)","value":9"#
            book.apply(try Self.decoded(line, 1))
        }
        let told = try Self.told(&book, (2, #""seq":200000,"type":"a","source":"a","series":"a/late","value":9"#))
        #expect(told == ["late firing a/late"] && book.refused == 0)
    }

    /// Jobs and containers come and go.
    @Test func seriesThatAreGoneMakeRoom() throws {
        var book = try Self.book("high: a/* > 5", "mean: a mean over 1m > 100", "all: all a/* > 5")
        book.describe(Self.status("a"))
        var told: [Alert] = []
        // Of the mean 8,333 have room.
        for round in 0..<10 {
            for number in 0..<1_000 {
                let name = "a/\(round)-\(number)"
                let text = #""seq":1,"type":"a","source":"a","series":"\#(name)","value":\#(number < 2 ? 9 : 1)"#
                book.apply(try Self.decoded(text, round * 2))
            }
            let gone = (0..<1_000).map { "\"\(round)-\($0)\"" }.joined(separator: ",")
            let text = #""seq":2,"type":"progress","source":"a","done":1,"total":1,"page":1,"gone":[\#(gone)]"#
            if round < 9 { book.apply(try Self.decoded(text, round * 2 + 1)) }
            told += book.takeAlerts().map(\.alert)
        }
        #expect(told.filter { $0.condition == "high" && $0.state == .firing }.count == 20)
        #expect(told.filter { $0.condition == "high" && $0.state == .resolved }.count == 18)
        // The last ones have their states.
        for value in [9, 1] {
            let text = #""seq":3,"type":"a","source":"a","series":"a/9-0","value":\#(value)"#
            book.apply(try Self.decoded(text, 21))
        }
        #expect(book.takeAlerts().map(\.alert.about) == ["a/9-0"])
    }

    /// A source may be called like that, too.
    @Test func aConditionAboutASourceThatIsCalledAnyIsNoSet() throws {
        for test in [#""any" > 5"#, "any\tany > 5"] {
            var book = AlertBook(
                [AlertRule(name: "r", conditions: [try Condition(#""any" > 6"#)])], run: "r", interval: .seconds(10),
                from: AlertStage.start)
            let alert = Alert(
                about: "any", condition: "r", state: .firing, id: "1", at: AlertStage.start, since: AlertStage.start,
                test: test, evidence: Alert.Evidence(run: "o", from: 1, to: 1))
            book.resume(
                [(alert, "any")], sources: [Self.status("any")], isAll: true, at: AlertStage.start + .seconds(5))
            #expect(book.count == (test.hasPrefix("\"") ? 1 : 0), "\(test)")
        }
    }
}
