import Reactor
import TestSupport
import Testing

@testable import Conditions
@testable import Feed

@Suite(.limited) struct AlertEngineTests {
    @Test func eachChangeIsALineBehindTheEvents() throws {
        var stage = try AlertStage("hot: a > 5")
        stage.pass(to: 1)
        stage.publish(
            stage.value("a", 4), stage.value("a", 7), stage.value("a", 8), stage.value("a", 3), stage.value("a", 2))
        #expect(stage.journal.map(\.line.type) == ["a", "a", "a", "a", "a", "alert", "alert"])
        #expect(stage.told == ["firing a at 1 since 1 = 7.0", "resolved a at 1 since 1 = 3.0 by until"])
        let (firing, resolved) = (stage.alerts[0], stage.alerts[1])
        #expect(firing.evidence == Alert.Evidence(run: "r1", from: 2, to: 2))
        #expect(resolved.evidence == Alert.Evidence(run: "r1", from: 2, to: 4))
        #expect(resolved.worst == 8)
        #expect(firing.id == resolved.id)
        #expect(firing.condition == "hot")
        #expect(firing.test == "a > 5")
        #expect(resolved.down == .zero)
        #expect(firing.down == nil)
    }

    @Test(arguments: [
        ("a > 5", Alert.Limit(.greater, 5)), ("a <= 7 and value > 1 for 1s", Alert.Limit(.atMost, 7)),
        ("a status = 200 and value >= 5", Alert.Limit(.atLeast, 5)),
        ("a in 4..9 until < 1", Alert.Limit(.within, 4, 9)),
        ("a not in 8 .. 9", Alert.Limit(.outside, 8, 9)), ("a = 7", Alert.Limit(.equal, 7)),
        ("a != 3", Alert.Limit(.unequal, 3)),
        ("any a* > 5", Alert.Limit(.greater, 5)), ("a max over 1m > 5", nil), (#"a text = "x""#, nil), ("a fails", nil),
    ])
    func saysItsFirstTestOfAValue(_ line: String, _ limit: Alert.Limit?) throws {
        #expect(try Condition(line).shownLimit == limit)
    }

    @Test func goesThroughAllStates() throws {
        var stage = try AlertStage("a > 5 for 10s until < 3 for 5s")
        stage.value("a", at: 1, 7)
        stage.value("a", at: 2, 4)
        stage.value("a", at: 3, 7)
        stage.value("a", at: 4, 9)
        stage.value("a", at: 20, 2)
        stage.value("a", at: 21, 4)
        stage.value("a", at: 22, 2)
        stage.pass(to: 60)
        #expect(
            stage.told == [
                "pending a at 1 since 1 = 7.0", "ok a at 2 since 1 = 4.0", "pending a at 3 since 3 = 7.0",
                "firing a at 13 since 3 = 9.0", "clearing a at 20 since 3 = 2.0", "firing a at 21 since 3 = 4.0",
                "clearing a at 22 since 3 = 2.0", "resolved a at 27 since 3 = 2.0 by until",
            ])
        #expect(stage.alerts.last?.down == .seconds(14))
        #expect(Set(stage.alerts.map(\.id)).count == 2)
        #expect(stage.alerts.map(\.worst).suffix(6) == [7, 9, 9, 9, 9, 9])
    }

    /// An answer is evaluated behind its other lines.
    @Test func theEvidenceIsTheLineWithTheValue() throws {
        var stage = try AlertStage("a > 5 for 1s", sources: [.init(name: "a", rhythm: .every(.seconds(5)))])
        stage.pass(to: 1)
        stage.poll("a", [("a/x", 7), ("a/y", 1)], recovers: false)
        stage.pass(to: 3)
        #expect(stage.alerts.map(\.state) == [.pending, .firing])
        #expect(stage.alerts.allSatisfy { $0.evidence == Alert.Evidence(run: "r1", from: 1, to: 1) })
    }

    @Test func theNextEpisodeHasAnotherID() throws {
        var stage = try AlertStage("a > 5")
        for second in 1...4 { stage.value("a", at: Double(second), second % 2 == 1 ? 7 : 3) }
        stage.publish(stage.value("a", 7), stage.value("a", 3), stage.value("a", 7), stage.value("a", 3))
        #expect(stage.alerts.map(\.state) == Array([[.firing, .resolved]].repeated(4).joined()))
        #expect(Set(stage.alerts.map(\.id)).count == 4)
    }

    @Test func namesWhatIsNoNumber() throws {
        var stage = try AlertStage(#"a /state = "down""#, "a fails", "a silent 30s")
        stage.data("a", at: 1, #"{"state":"up"}"#)
        stage.data("a", at: 2, #"{"state":"down"}"#)
        stage.fail("a", at: 3)
        stage.pass(to: 40)
        #expect(
            stage.told == [
                #"firing a at 2 since 2 = "down""#, "firing a at 3 since 3 = connect", "firing a at 32 since 32 = 30.0",
            ])
    }

    @Test func withoutAResultTheStateStays() throws {
        var stage = try AlertStage("a > 5 for 10s", sources: [.init(name: "a", rhythm: .every(.seconds(30)))])
        func poll(_ second: Double, _ value: Double) {
            stage.value("a", at: second, value)
            stage.answer("a", at: second)
        }
        poll(1, 7)
        stage.fail("a", at: 5)
        stage.recover("a", at: 14)
        #expect(stage.told == ["pending a at 1 since 1 = 7.0"])
        poll(15, 7)
        #expect(stage.told.last == "firing a at 15 since 1 = 7.0")
        stage.fail("a", at: 16)
        // Late, and never back.
        stage.pass(to: 1_000)
        #expect(stage.told.count == 2)
    }

    @Test func severalConditionsOfAnAlertMakeOneEpisode() throws {
        let rule = AlertRule(
            name: "bad", conditions: [try Condition("a > 5"), try Condition("a < 1 for 5s")], severity: .critical,
            note: "look")
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 7)
        stage.value("a", at: 2, 0)
        stage.pass(to: 8)
        stage.value("a", at: 9, 3)
        #expect(
            stage.told == [
                "firing a at 1 since 1 = 7.0", "resolved a at 2 since 1 = 0.0 by until", "pending a at 2 since 2 = 0.0",
                "firing a at 7 since 2 = 0.0", "resolved a at 9 since 2 = 3.0 by until",
            ])
        #expect(stage.alerts[0].severity == "critical")
        #expect(stage.alerts[0].note == "look")
    }

    @Test func aSetHasOneAlert() throws {
        var stage = try AlertStage("any a/* > 5", "all a/* > 5")
        stage.pass(to: 1)
        stage.publish(stage.value("a/y", 2), stage.value("a/x", 7))
        #expect(stage.told == ["firing a/* at 1 since 1 = 7.0"])
        stage.pass(to: 2)
        stage.publish(stage.value("a/y", 8))
        #expect(stage.told.last == "firing a/* at 2 since 2 = 8.0")
        #expect(stage.journal.last?.line.source == "a")
    }

    @Test func whatIsGoneIsForgotten() throws {
        var stage = try AlertStage("a > 5", "a silent 5s")
        stage.value("a/x", at: 1, 7)
        stage.pass(to: 2)
        let answer = CompleteAnswer(Progress(done: 1, total: 1, page: 1, items: 0), from: 100, isReported: true)
        stage.publish(stage.event("a", .answer(answer)))
        #expect(stage.told.last == "resolved a/x at 2 since 1 by forgotten")
        stage.value("a/x", at: 3, 7)
        stage.retire("a")
        #expect(stage.told.last == "resolved a/x at 3 since 3 by forgotten")
        stage.pass(to: 100)
        #expect(stage.told.count == 4, "a source that is not there is not silent")
    }

    @Test func itIsToldAgainAfterADay() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a", at: 1, 7)
        stage.pass(to: 200_000)
        #expect(
            stage.told == [
                "firing a at 1 since 1 = 7.0", "reminder a at 86401 since 1 = 7.0",
                "reminder a at 172801 since 1 = 7.0",
            ])
        stage.value("a", at: 200_001, 1)
        #expect(stage.alerts.last?.down == .seconds(200_000))
        stage.pass(to: 400_000)
        #expect(stage.alerts.count == 4)
    }

    /// Whoever removes the last member of a set, or one that kept it open, ends what only that one held.
    @Test func aSourceThatIsRemovedIsNoMember() throws {
        var stage = try AlertStage("any * fails", "all a* > 5", sources: [.init(name: "a"), .init(name: "a2")])
        stage.fail("a", at: 1)
        stage.value("a2", at: 2, 7)
        #expect(stage.told == ["firing * at 1 since 1 = connect"])
        stage.retire("a")
        #expect(stage.told.contains("resolved * at 2 since 1 by until"), "\(stage.told)")
        #expect(stage.told.last == "firing a* at 2 since 2 = 7.0")
        stage.retire("a2")
        #expect(stage.told.last == "resolved a* at 2 since 2 by forgotten")
    }

    @Test func aSourceThatComesBackHasItsTimeToSpeak() throws {
        var stage = try AlertStage("a silent 5s", "a/x silent 5s")
        stage.value("a/x", at: 1, 7)
        stage.retire("a")
        stage.pass(to: 100)
        stage.register("a")
        stage.pass(to: 104)
        #expect(stage.told.isEmpty)
        stage.pass(to: 106)
        #expect(stage.told == ["firing a/x at 105 since 105 = 5.0", "firing a at 105 since 105 = 5.0"])
    }

    @Test func theWindowsOfResponseTimesCountAtOnce() throws {
        var stage = try AlertStage(#""latency:a" max > 50"#)
        stage.answer("a", at: 1, ms: 70)
        // No event comes: the window's end is enough.
        stage.pass(to: 21)
        #expect(stage.alerts.map(\.about) == ["latency:a"])
        #expect(stage.alerts.first?.value == 70)
    }

    /// A series with values and one without may have the same name, and room is made for others.
    @Test func aSeriesWhoseTextsGoIsStillThere() throws {
        var stage = try AlertStage("a/x > 5", #"a text contains "bad""#)
        stage.pass(to: 1)
        func text(_ key: String, _ text: String) -> Event {
            stage.event("a", .data(Datum(key: Array(key.utf8)[...], text: Array(text.utf8)[...])))
        }
        stage.publish(text("x", "bad"), stage.value("a/x", 7))
        for number in 0..<30_000 { stage.publish(text("k\(number)", number == 29_999 ? "bad" : "good")) }
        stage.publish(stage.value("a/x", 1))
        #expect(stage.told.contains("resolved a/x at 1 since 1 = 1.0 by until"))
        #expect(stage.told.contains(#"firing a/k29999 at 1 since 1 = "bad""#))
    }

    // MARK: Time

    @Test(arguments: [3_600, -3_600]) func aStepOfTheClockIsNoTime(step: Int) throws {
        var stage = try AlertStage("a > 5 for 20s", "a silent 60s")
        stage.value("a", at: 1, 7)
        stage.setClock(by: .seconds(step))
        stage.pass(to: 5)
        #expect(stage.told.count == 1)
        stage.pass(to: 70)
        #expect(
            stage.told.dropFirst() == [
                "firing a at \(21 + step) since 1 = 7.0", "firing a at \(61 + step) since \(61 + step) = 60.0",
            ])
    }

    @Test func sleepIsNoTime() throws {
        var stage = try AlertStage("a > 5 for 20s until < 3 for 20s")
        stage.value("a", at: 1, 7)
        stage.setClock(slept: .seconds(3_600))
        stage.pass(to: 30)
        #expect(stage.told.last == "firing a at 3621 since 1 = 7.0")
        stage.value("a", at: 31, 1)
        stage.setClock(slept: .seconds(3_600))
        stage.pass(to: 50)
        #expect(stage.told.count == 3)
        stage.pass(to: 52)
        #expect(stage.alerts.last?.state == .resolved)
        #expect(stage.alerts.last?.down == .seconds(30))
    }

    /// In each state, the clock goes on when the source does.
    @Test(arguments: [3_600, -3_600, 0]) func noStateMindsTheClockOrSleep(step: Int) throws {
        for slept in [0, 7_200] {
            var stage = try AlertStage("a > 5 for 10s until < 3 for 10s")
            func move() { stage.setClock(by: .seconds(step), slept: .seconds(slept)) }
            move()
            stage.value("a", at: 1, 7)
            move()
            stage.pass(to: 10)
            #expect(stage.alerts.map(\.state) == [.pending])
            stage.pass(to: 12)
            move()
            #expect(stage.alerts.map(\.state) == [.pending, .firing])
            stage.value("a", at: 20, 1)
            move()
            stage.pass(to: 29)
            #expect(stage.alerts.last?.state == .clearing)
            stage.pass(to: 31)
            #expect(stage.alerts.last?.state == .resolved)
            #expect(stage.alerts.last?.down == .seconds(19))
        }
    }

    @Test func aValueThatCrossesAThousandTimesASecondCostsTenLines() throws {
        var stage = try AlertStage("a > 5")
        stage.pass(to: 1)
        for number in 0..<1_000 { stage.publish(stage.value("a", number % 2 == 0 ? 7 : 3)) }
        #expect(stage.alerts.count == 10)
        stage.value("a", at: 1.5, 7)
        stage.pass(to: 3)
        #expect(stage.alerts.count == 11)
        #expect(stage.alerts.last?.state == .firing, "the newest value")
    }

    @Test func aSourceThatNeverAnswersDecidesNothing() throws {
        var stage = try AlertStage(
            "a > 5", "all a/* > 5", "a fails", "a silent 50s",
            sources: [.init(name: "a", rhythm: .every(.seconds(10)))])
        stage.pass(to: 49)
        #expect(stage.told.isEmpty)
        for second in [55.0, 65, 75] { stage.fail("a", at: second) }
        #expect(stage.told == ["firing a at 50 since 50 = 50.0", "firing a at 55 since 55 = connect"])
    }

    @Test func aSetOfMoreSeriesThanThereIsRoomForSaysSoOnce() throws {
        var stage = try AlertStage("any a/* > 5")
        stage.pass(to: 1)
        var batch = EventBatch()
        for number in 0..<20_000 { batch.add(stage.value("a/\(number)", number == 3 ? 7 : 1)) }
        stage.publish(batch)
        stage.value("a/3", at: 2, 1)
        #expect(stage.told == ["firing a/* at 1 since 1 = 7.0"], "the others may hold")
        let errors = stage.journal.count { if case .error = $0.line.body { true } else { false } }
        #expect(errors == 1)
    }

    // MARK: Restart and reload

    /// Names that are swapped, given twice, or come back.
    @Test func aReloadGoesByNames() throws {
        var stage = try AlertStage("one: a > 5", "two: a > 6")
        stage.value("a", at: 1, 7)
        let ids = stage.alerts.map(\.id)
        stage.reload(try AlertStage.rules(["two: a > 5", "one: a > 6"]))
        #expect(stage.alerts.count == 2)
        stage.value("a", at: 2, 5.5)
        #expect(stage.alerts.last?.condition == "one")
        #expect(stage.alerts.last?.id == ids[0])
        stage.reload([])
        #expect(stage.told.last == "resolved a at 2 since 1 = 7.0 by removed")
        stage.reload(try AlertStage.rules(["two: a > 5"]))
        #expect(stage.alerts.count == 4, "it knows nothing of before")
        stage.value("a", at: 3, 7)
        #expect(stage.alerts.last?.state == .firing)
        #expect(!ids.contains(stage.alerts.last?.id ?? ""))
    }

    @Test func aRestartGoesOnWhereTheNewestLineLeftIt() throws {
        var stage = try AlertStage(
            "a > 5", "b > 5 for 30s", "c > 5 until < 3 for 30s",
            sources: [.init(name: "a"), .init(name: "b"), .init(name: "c")])
        stage.value("a", at: 1, 7)
        stage.value("b", at: 2, 7)
        stage.value("c", at: 2, 7)
        stage.value("c", at: 2, 1)
        stage.value("a", at: 10, 7)
        stage.restart(after: 1_000)
        #expect(stage.told.count == 4)
        stage.pass(to: 1_100)
        #expect(stage.told.count == 4, "nothing has spoken yet")
        stage.value("b", at: 1_101, 8)
        // Eight seconds had passed, and a hundred since.
        #expect(stage.told.last == "firing b at 1101 since 2 = 8.0")
        stage.value("c", at: 1_102, 2)
        #expect(stage.told.last == "resolved c at 1102 since 2 = 2.0 by until")
        stage.value("a", at: 1_103, 1)
        #expect(stage.told.last == "resolved a at 1103 since 1 = 1.0 by until")
        #expect(stage.alerts.last?.id == stage.alerts.first?.id)
        // Nine seconds before the stop, 93 behind it.
        #expect(stage.alerts.last?.down == .seconds(102))
        #expect(stage.alerts.last?.evidence == Alert.Evidence(run: "r2", from: 0, to: 5))
    }

    @Test func aRestartAddsNoTimeToADuration() throws {
        var stage = try AlertStage("a > 5 for 30s")
        stage.value("a", at: 1, 7)
        stage.value("a", at: 11, 7)
        stage.restart(after: 1_000)
        stage.value("a", at: 1_012, 7)
        stage.pass(to: 1_030)
        #expect(stage.told.count == 1)
        stage.pass(to: 1_032)
        #expect(stage.told.last == "firing a at 1031 since 1 = 7.0")
    }

    @Test func aConditionThatIsGoneIsResolved() throws {
        for isRestart in [true, false] {
            var stage = try AlertStage("one: a > 5", "two: a > 6", "three: a > 6 for 1h")
            stage.value("a", at: 1, 7)
            let rules = try AlertStage.rules(["two: b > 6"])
            isRestart ? stage.restart(after: 0, rules) : stage.reload(rules)
            #expect(
                stage.told.suffix(3) == [
                    "resolved a at 1 since 1 = 7.0 by removed", "resolved a at 1 since 1 = 7.0 by removed",
                    "ok a at 1 since 1 = 7.0 by removed",
                ])
        }
    }

    @Test func aSourceThatIsGoneAfterARestartIsForgotten() throws {
        var stage = try AlertStage("* > 5", sources: [.init(name: "a"), .init(name: "b")])
        stage.value("a", at: 1, 7)
        stage.journal(rename: "a", to: "c")
        stage.restart(after: 1)
        #expect(stage.told.last == "resolved c at 2 since 1 = 7.0 by forgotten")
    }

    @Test func whatIsSilentStaysSoUntilItSpeaks() throws {
        var stage = try AlertStage("a silent 5s")
        stage.pass(to: 6)
        #expect(stage.told == ["firing a at 5 since 5 = 5.0"])
        stage.restart(after: 100)
        stage.pass(to: 200)
        #expect(stage.told.count == 1)
        stage.value("a", at: 201, 1)
        #expect(stage.told.last == "resolved a at 201 since 5 = 0.0 by until")
        stage.pass(to: 207)
        #expect(stage.told.last == "firing a at 206 since 206 = 5.0")
    }

    @Test func aReloadIsNoChange() throws {
        var stage = try AlertStage(
            "hot: a > 5", "b > 5 for 30s", "any: any b/* > 3", sources: [.init(name: "a"), .init(name: "b")])
        stage.value("a", at: 1, 7)
        stage.value("b", at: 2, 7)
        stage.value("b/x", at: 2, 4)
        stage.pass(to: 3)
        let count = stage.told.count
        let rules = try AlertStage.rules(["any: any b/* > 3", "b > 5 for 30s", "new: b > 100", "hot: a > 5"])
        stage.reload(rules)
        #expect(stage.told.count == count)
        stage.pass(to: 33)
        #expect(stage.told.last == "firing b at 32 since 2 = 7.0")
        stage.value("a", at: 34, 1)
        #expect(stage.alerts.last?.id == stage.alerts.first?.id)
        stage.value("b/x", at: 35, 1)
        #expect(stage.told.last == "resolved b/* at 35 since 2 = 1.0 by until")
    }

    @Test func aChangedConditionGoesOnWithTheNextEvent() throws {
        var stage = try AlertStage("hot: a > 5", "warm: a > 5")
        stage.value("a", at: 1, 7)
        stage.pass(to: 2)
        stage.reload(try AlertStage.rules(["hot: a > 6 for 1h", "warm: a > 100"]))
        #expect(stage.told.count == 2)
        stage.value("a", at: 3, 6.5)
        #expect(stage.told.last == "resolved a at 3 since 1 = 6.5 by until")
        #expect(stage.alerts.last?.condition == "warm")
        stage.value("a", at: 4, 6)
        #expect(stage.told.last == "resolved a at 4 since 1 = 6.0 by until")
        #expect(stage.alerts.last?.worst == 6.5, "that of the tests as they are")
        #expect(stage.alerts.last?.condition == "hot")
    }

    @Test func severalRemindersThatAreDueAtOnceAreOne() throws {
        let rule = AlertRule(name: "hot", conditions: [try Condition("a > 5")], reminder: .seconds(60))
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 7)
        stage.pass(to: 62)
        stage.reload([AlertRule(name: "hot", conditions: rule.conditions)])
        stage.pass(to: 1_000)
        #expect(stage.told == ["firing a at 1 since 1 = 7.0", "reminder a at 61 since 1 = 7.0"])
        stage.reload([rule])
        stage.pass(to: 1_001)
        #expect(stage.told.last == "reminder a at 1000 since 1 = 7.0")
        #expect(stage.told.count == 3)
    }

    @Test func whatIsAboutToEndIsNotToldAgain() throws {
        let rule = AlertRule(name: "hot", conditions: [try Condition("a > 5 until < 3 for 1h")], reminder: .seconds(60))
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 7)
        stage.value("a", at: 2, 1)
        stage.pass(to: 1_000)
        #expect(stage.alerts.map(\.state) == [.firing, .clearing])
    }

    @Test func aCutTextIsNoWholeOne() throws {
        var stage = try AlertStage(#"a text not contains "x""#)
        stage.pass(to: 1)
        stage.publish(stage.event("a", .data(Datum(text: Array("abc".utf8)[...], flaws: .cut))))
        #expect(stage.told.isEmpty)
        stage.publish(stage.event("a", .data(Datum(text: Array("abc".utf8)[...]))))
        #expect(stage.alerts.count == 1)
    }

    @Test func theStoreLooksAtTimeWhenItIsDue() async throws {
        try await withLoop(virtual: true) { loop in
            let store = EventStore(
                on: loop, wall: LoopWall(loop),
                identity: AgentIdentity(run: "r", version: "1", started: AlertStage.start))
            let source = await store.register(SourceDescription(name: "a"))
            let rules = try AlertStage.rules(["a > 5 for 7s"])
            await store.setObserver(AlertEngine(rules, run: "r", window: .seconds(10), at: store.moment))
            await store.publish([Event(time: store.wallTime, source: source, body: .data(Datum(value: 7)))])
            try await loop.sleep(for: .milliseconds(7_001))
            #expect(await store.firingAlerts == 1)
        }
    }

    private struct LoopWall: WallClock {
        let loop: EventLoop
        init(_ loop: EventLoop) { self.loop = loop }
        var now: Timestamp { AlertStage.start + .nanoseconds(loop.clock.now.nanoseconds) }
    }

    // MARK: Stored alerts

    private static func moment(_ seconds: Int) -> Moment {
        Moment(
            wall: AlertStage.start + .seconds(seconds),
            now: LoopInstant(nanoseconds: (Int64(seconds) + 1) * 1_000_000_000))
    }

    private static func stored(_ state: Alert.State, at second: Int, since: Int, age: Int) -> AlertEngine.Stored {
        let alert = Alert(
            about: "web.a", condition: "hot", state: state, id: "1", at: moment(second).wall, since: moment(since).wall,
            test: "web.a > 5 for 10s", evidence: Alert.Evidence(run: "r0", from: 1, to: 2))
        return AlertEngine.Stored(alert, of: "web.a", age: .seconds(age))
    }

    private static func engine(_ stored: AlertEngine.Stored, at second: Int) throws -> AlertEngine {
        var engine = AlertEngine(
            try AlertStage.rules(["hot: web.a > 5 for 10s"]), run: "r1", window: .seconds(10), at: moment(second))
        engine.restore([stored], isFleet: true, at: moment(second))
        return engine
    }

    /// A reminder says when it was written, and not since when it fires.
    @Test func howLongItHasFiredGoesOn() throws {
        for (state, at, down) in [(Alert.State.firing, 20, 1_000 - 900 + 5), (.reminder, 80, 1_000 - 900 + 5 + 60)] {
            var engine = try Self.engine(Self.stored(state, at: at, since: 10, age: 5), at: 900)
            let wanted = engine.series(named: "web.a", of: "web.a", at: Self.moment(1_000))
            engine.observe(1, of: wanted.index, line: 1, at: Self.moment(1_000))
            #expect(engine.nextAlert()?.alert.down == .seconds(down))
        }
    }

    /// The engine begins while sources are asked already: their next answers are no change.
    @Test(arguments: [SourceStatus.State.ok, .failing], [Alert.State?.none, .firing])
    func aSourceThatHasAnsweredBeforeTheEngineBegins(_ state: SourceStatus.State, _ before: Alert.State?) throws {
        let moment = Self.moment(100)
        var engine = AlertEngine(
            try AlertStage.rules(["broken: web.a fails"]), run: "r1", window: .seconds(10), at: moment)
        let failure = Failure(.connect, "no")
        let status = SourceStatus(
            source: "web.a", state: state, since: moment.wall,
            failure: state == .failing ? SourceFailure(failure, at: moment.wall) : nil)
        engine.describe(status, at: moment)
        let alert = Alert(
            about: "web.a", condition: "broken", state: .firing, id: "1", at: moment.wall, since: moment.wall,
            test: "fails", evidence: Alert.Evidence(run: "r0", from: 1, to: 2))
        let stored = before.map { _ in AlertEngine.Stored(alert, of: "web.a", age: .zero) }
        engine.restore([stored].compactMap { $0 }, isFleet: false, at: moment)
        engine.describe(status, at: moment)
        engine.observe(state == .ok ? .data : .failure(failure), of: "web.a", line: 1, at: Self.moment(101))
        engine.settle(at: Self.moment(101))
        var states: [Alert.State] = []
        while let next = engine.nextAlert() { states.append(next.alert.state) }
        #expect(states == (state == .ok ? (before == nil ? [] : [.resolved]) : (before == nil ? [.firing] : [])))
    }

    @Test func whatDoesNotComeBackIsForgottenAfterADay() throws {
        for comesBack in [false, true] {
            var engine = try Self.engine(Self.stored(.firing, at: 20, since: 10, age: 5), at: 100)
            let wanted = engine.series(named: "web.a", of: "web.a", at: Self.moment(100))
            if comesBack { engine.observe(.data, of: "web.a", line: 1, at: Self.moment(101)) }
            #expect(engine.nextDue.map { $0 <= Self.moment(100 + 86_401).now } == true)
            engine.tick(at: Self.moment(100 + 86_401))
            let alert = engine.nextAlert()?.alert
            #expect(
                alert?.state == (comesBack ? .reminder : .resolved) && alert?.reason == (comesBack ? nil : .forgotten))
            guard !comesBack else { continue }
            for second in [90_000, 90_020] {
                engine.observe(7, of: wanted.index, line: 2, at: Self.moment(second))
                engine.tick(at: Self.moment(second))
            }
            #expect([engine.nextAlert()?.alert.state, engine.nextAlert()?.alert.state] == [.pending, .firing])
        }
    }

    @Test func aRecordedSeriesThatIsGoneComesBack() throws {
        var engine = AlertEngine(
            try AlertStage.rules(["hot: a > 5"]), run: "r", window: .seconds(10), at: Self.moment(0))
        var recorded = RecordedEvents()
        let lines = [
            #"{"seq":1,"time":"2026-05-28T20:26:41.000000Z","type":"a","source":"a","series":"a/x","value":7}"#,
            #"{"seq":2,"time":"2026-05-28T20:26:42.000000Z","type":"progress","source":"a","done":1,"page":1,"items":1,"gone":["x"]}"#,
            #"{"seq":3,"time":"2026-05-28T20:26:43.000000Z","type":"a","source":"a","series":"a/y","value":1}"#,
            #"{"seq":4,"time":"2026-05-28T20:26:44.000000Z","type":"a","source":"a","series":"a/x","value":8}"#,
        ]
        for line in lines {
            Array(line.utf8).withUnsafeBufferPointer { bytes in
                if let line = RecordedLine(bytes) { recorded.show(line, to: &engine, at: Self.moment(1)) }
            }
        }
        var told: [String] = []
        while let (_, alert) = engine.nextAlert() { told.append("\(alert.state) \(alert.about)") }
        #expect(told == ["firing a/x", "resolved a/x", "firing a/x"])
    }

    @Test func conditionsAreToldInTheirOrder() throws {
        var stage = try AlertStage("wide: a/* > 5", "named: a/x > 5", "all: * > 5", "more: a/x > 6")
        stage.value("a/x", at: 1, 9)
        #expect(stage.alerts.map(\.condition) == ["wide", "named", "all", "more"])
    }

    // MARK: Kept lines

    @Test func aReaderThatComesLateKnowsWhatFires() throws {
        var stage = try AlertStage("one: a > 5", "two: a > 6", "three: a > 5 for 1h")
        stage.value("a", at: 1, 7)
        // The log keeps two minutes.
        stage.pass(to: 500)
        stage.value("a", at: 501, 5.5)
        stage.pass(to: 1_000)
        stage.value("a", at: 1_001, 5.5)
        #expect(stage.keptAlerts() == ["one firing", "three pending"])
    }

    /// Lines of members pass through: they decide nothing of ours.
    @Test func forgedAlertLinesDecideNothing() throws {
        let moment = Moment(wall: AlertStage.start, now: LoopInstant(nanoseconds: 0))
        var engine = AlertEngine(try AlertStage.rules(["a > 5"]), run: "r", window: .seconds(10), at: moment)
        for state in Alert.State.allCases {
            let line =
                #"{"seq":1,"time":"2026-05-28T20:26:41.000000Z","type":"alert","source":"a","about":"a","condition":"a > 5","#
                + #""state":"\#(state.rawValue)","id":"1","at":"2026-05-28T20:26:41.000000Z","since":"2026-05-28T20:26:41.000000Z","#
                + #""test":"a > 5","evidence":{"run":"r","from":1,"to":1},"agent":"x","origin_run":"o","origin_seq":1}"#
            engine.apply(try LineDecoder.decode(Array(line.utf8)[...]), at: moment)
        }
        engine.settle(at: moment)
        engine.tick(at: moment)
        #expect(!engine.hasAlerts)
    }
}

extension Array {
    fileprivate func repeated(_ count: Int) -> [Element] { (0..<count).flatMap { _ in self } }
}
