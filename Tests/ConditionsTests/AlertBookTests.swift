import Reactor
import TestSupport
import Testing

@testable import Conditions
@testable import Feed

@Suite(.limited) struct AlertBookTests {
    @Test func standsRightBehindTheLineThatDecided() throws {
        var stage = try AlertStage("hot: a > 5")
        stage.pass(to: 1)
        stage.publish(
            stage.value("a", 4), stage.value("a", 7), stage.value("a", 8), stage.value("a", 3), stage.value("a", 2))
        #expect(stage.journal.map(\.line.type) == ["a", "a", "alert", "a", "a", "alert", "a"])
        #expect(stage.told == ["firing a at 1 since 1 = 7.0", "resolved a at 1 since 1 = 3.0 by until"])
        let (firing, resolved) = (stage.alerts[0], stage.alerts[1])
        #expect(firing.evidence == Alert.Evidence(run: "r1", from: 2, to: 2, worst: 2))
        #expect(resolved.evidence == Alert.Evidence(run: "r1", from: 2, to: 5, worst: 4))
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
        let rule = AlertRule(name: "a", conditions: [try Condition(line)])
        #expect(rule.conditions[0].shownLimit == limit)
        guard line == "a in 4..9 until < 1" else { return }
        var stage = try AlertStage(line)
        stage.value("a", at: 1, 7)
        stage.value("a", at: 2, 0)
        #expect(stage.alerts.map(\.limit) == [limit, limit])
    }

    @Test func firesWhenItsTimeHasCome() throws {
        var stage = try AlertStage("a > 5 for 10s until < 3 for 5s")
        stage.value("a", at: 1, 7)
        stage.value("a", at: 4, 9)
        stage.pass(to: 20)
        stage.value("a", at: 21, 4)
        stage.value("a", at: 22, 2)
        stage.pass(to: 60)
        #expect(stage.told == ["firing a at 11 since 1 = 9.0", "resolved a at 27 since 1 = 2.0 by until"])
        #expect(stage.alerts[0].evidence == Alert.Evidence(run: "r1", from: 1, to: 2, worst: 2))
        #expect(stage.alerts[1].down == .seconds(16))
    }

    @Test func theNextEpisodeHasAnotherID() throws {
        var stage = try AlertStage("a > 5")
        for second in 1...4 { stage.value("a", at: Double(second), second % 2 == 1 ? 7 : 3) }
        stage.publish(stage.value("a", 7), stage.value("a", 3), stage.value("a", 7), stage.value("a", 3))
        #expect(
            stage.alerts.map(\.state) == [
                .firing, .resolved, .firing, .resolved, .firing, .resolved, .firing, .resolved,
            ])
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

    @Test func unknownKeepsTheState() throws {
        var stage = try AlertStage("a > 5 for 10s")
        stage.value("a", at: 1, 7)
        stage.fail("a", at: 5)
        stage.recover("a", at: 14)
        #expect(stage.told.isEmpty)
        stage.value("a", at: 15, 7)
        #expect(stage.told == ["firing a at 15 since 1 = 7.0"])
        stage.fail("a", at: 16)
        stage.pass(to: 90)
        #expect(stage.told.count == 1)
    }

    @Test func severalConditionsOfAnAlertMakeOneEpisode() throws {
        let rule = AlertRule(
            name: "bad", conditions: [try Condition("a > 5"), try Condition("a < 1")], severity: .critical, note: "look"
        )
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 7)
        stage.value("a", at: 2, 0)
        stage.value("a", at: 3, 3)
        #expect(stage.told == ["firing a at 1 since 1 = 7.0", "resolved a at 3 since 1 = 3.0 by until"])
        #expect(stage.alerts[0].severity == "critical")
        #expect(stage.alerts[0].note == "look")
    }

    @Test func aSetHasOneAlert() throws {
        var stage = try AlertStage("any a/* > 5", "all a/* > 5")
        stage.pass(to: 1)
        stage.publish(stage.value("a/x", 7), stage.value("a/y", 2))
        stage.pass(to: 2)
        #expect(stage.told == ["firing a/* at 1 since 1 = 7.0"])
        stage.publish(stage.value("a/y", 8))
        stage.pass(to: 3)
        #expect(stage.told.last == "firing a/* at 2.02 since 2.02 = 8.0")
        #expect(stage.journal.last?.line.source == "a")
    }

    @Test func eachSeriesHasItsOwn() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a/x", at: 1, 7)
        stage.value("a/y", at: 2, 8)
        stage.value("a/x", at: 3, 1)
        #expect(
            stage.told == [
                "firing a/x at 1 since 1 = 7.0", "firing a/y at 2 since 2 = 8.0",
                "resolved a/x at 3 since 1 = 1.0 by until",
            ])
    }

    @Test func aSeriesThatIsGoneIsForgotten() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a/x", at: 1, 7)
        stage.pass(to: 2)
        let answer = CompleteAnswer(Progress(done: 1, total: 1, page: 1, items: 0), from: 100, isReported: true)
        stage.publish(stage.event("a", .answer(answer)))
        #expect(stage.told.last == "resolved a/x at 2 since 1 by forgotten")
    }

    @Test func aSourceThatIsRemovedIsForgotten() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a", at: 1, 7)
        stage.pass(to: 2)
        stage.retire("a")
        #expect(stage.told.last == "resolved a at 1 since 1 by forgotten")
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

    // MARK: Time

    @Test(arguments: [3_600, -3_600]) func aStepOfTheClockIsNoTime(step: Int) throws {
        var stage = try AlertStage("a > 5 for 20s", "a silent 60s")
        stage.value("a", at: 1, 7)
        stage.setClock(by: .seconds(step))
        stage.pass(to: 5)
        #expect(stage.told.isEmpty)
        stage.pass(to: 70)
        #expect(
            stage.told == [
                "firing a at \(21 + step) since \(1 + step) = 7.0",
                "firing a at \(61 + step) since \(61 + step) = 60.0",
            ])
    }

    @Test func sleepIsNoTime() throws {
        var stage = try AlertStage("a silent 60s", "a > 5 for 20s until < 3 for 20s")
        stage.value("a", at: 1, 7)
        stage.setClock(slept: .seconds(3_600))
        stage.pass(to: 30)
        #expect(stage.told == ["firing a at 3621 since 3601 = 7.0"])
        stage.value("a", at: 31, 1)
        stage.setClock(slept: .seconds(3_600))
        stage.pass(to: 50)
        #expect(stage.told.count == 1)
        stage.pass(to: 52)
        #expect(stage.told.count == 2)
        stage.pass(to: 100)
        #expect(stage.told.last == "firing a at 7291 since 7291 = 60.0")
    }

    // MARK: Restart and reload

    @Test func aRestartRepeatsNothingAndForgetsNothing() throws {
        var stage = try AlertStage("a > 5", "b > 5 for 30s", sources: [.init(name: "a"), .init(name: "b")])
        stage.value("a", at: 1, 7)
        stage.value("b", at: 2, 7)
        stage.restart(at: 10)
        #expect(stage.told == ["firing a at 1 since 1 = 7.0"])
        stage.value("a", at: 11, 8)
        stage.value("b", at: 20, 8)
        stage.pass(to: 31)
        #expect(stage.told.count == 1)
        stage.pass(to: 33)
        #expect(stage.told.last == "firing b at 32 since 2 = 8.0")
        stage.value("a", at: 34, 1)
        #expect(stage.told.last == "resolved a at 34 since 1 = 1.0 by until")
        #expect(stage.alerts.last?.id == stage.alerts.first?.id)
        #expect(stage.alerts.last?.down == .seconds(33))
        #expect(stage.alerts.last?.evidence == Alert.Evidence(run: "r2", from: 0, to: 6, worst: 1))
    }

    @Test func aConditionThatIsGoneAfterARestartIsResolved() throws {
        var stage = try AlertStage("one: a > 5", "two: a > 6")
        stage.value("a", at: 1, 7)
        stage.restart(at: 10, [try AlertStage.rule("two: a > 6")])
        #expect(stage.told.count == 3)
        #expect(stage.told.last == "resolved a at 10 since 1 = 7.0 by removed")
        #expect(stage.alerts.last?.condition == "one")
    }

    @Test func whatSpokeAfterARestartMayFallSilent() throws {
        var stage = try AlertStage("a silent 5s")
        stage.restart(at: 10)
        stage.value("a", at: 11, 7)
        stage.pass(to: 17)
        #expect(stage.told == ["firing a at 16 since 16 = 5.0"])
    }

    @Test func aReloadIsNoTransition() throws {
        var stage = try AlertStage("hot: a > 5", "b > 5 for 30s", sources: [.init(name: "a"), .init(name: "b")])
        stage.value("a", at: 1, 7)
        stage.value("b", at: 2, 7)
        stage.pass(to: 3)
        let rules = try ["b > 5 for 30s", "new: b > 100", "hot: a > 5"].map { try AlertStage.rule($0) }
        stage.reload(rules)
        #expect(stage.told.count == 1)
        stage.pass(to: 33)
        #expect(stage.told.last == "firing b at 32 since 2 = 7.0")
        stage.value("a", at: 34, 1)
        #expect(stage.alerts.last?.id == stage.alerts.first?.id)
    }

    @Test func aChangedConditionKeepsItsEpisodeAndIsJudgedAnew() throws {
        var stage = try AlertStage("hot: a > 5", "warm: a > 5")
        stage.value("a", at: 1, 7)
        stage.pass(to: 2)
        let kept = stage.kept
        stage.reload(try ["hot: a > 6 for 1h", "warm: a > 100"].map { try AlertStage.rule($0) }, kept: kept)
        #expect(stage.told.count == 3)
        #expect(stage.told.last == "resolved a at 2 since 1 = 7.0 by changed")
        #expect(stage.alerts.last?.condition == "warm")
        stage.value("a", at: 3, 6)
        #expect(stage.told.last == "resolved a at 3 since 1 = 6.0 by until")
        #expect(stage.alerts.last?.condition == "hot")
    }

    @Test func aRemovedConditionIsResolved() throws {
        var stage = try AlertStage("hot: a > 5")
        stage.value("a", at: 1, 7)
        stage.reload([])
        #expect(stage.told.last == "resolved a at 1 since 1 = 7.0 by removed")
    }

    @Test func aNewConditionKnowsTheNewestLines() throws {
        var stage = try AlertStage("hot: a > 50")
        stage.value("a", at: 1, 7)
        let kept = stage.kept
        stage.pass(to: 2)
        stage.reload(try ["hot: a > 50", "warm: a > 5"].map { try AlertStage.rule($0) }, kept: kept)
        #expect(stage.told.count == 1)
        #expect(stage.alerts.first?.condition == "warm")
    }

    /// Of events that come together all but the first may be left out.
    @Test(
        arguments: [
            ("a > 5", [4, 5, 6], 1), ("a > 5", [6, 6, 5], 2), ("a >= 5", [6, 5, 5, 4], 2), ("a < 5", [6, 5, 4], 1),
            ("a <= 5", [4, 5, 6], 2),
            ("a in 2..4", [1, 2, 4, 5], 2), ("a not in 2..4", [3, 4, 2, 1], 1), ("a > 5 until < 3", [6, 4, 3, 2], 2),
            ("any a > 5", [1, 6], 1), ("a = 5", [4, 5, 6], 2), ("a > 5 and < 8", [6, 7, 8], 2),
        ] as [(String, [Double], Int)])
    func eventsThatComeTogetherAreNotLeftOutWhenTheyMatter(_ line: String, _ values: [Double], _ count: Int) throws {
        var stage = try AlertStage(line)
        stage.pass(to: 1)
        for value in values { stage.publish(stage.value("a", value)) }
        stage.pass(to: 2)
        #expect(stage.alerts.count == count, "\(stage.told)")
    }

    @Test func severalRemindersThatAreDueAtOnceAreOne() throws {
        let rule = AlertRule(name: "hot", conditions: [try Condition("a > 5")], reminder: .seconds(60))
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 7)
        stage.restart(at: 300_000)
        #expect(stage.told == ["firing a at 1 since 1 = 7.0", "reminder a at 300000 since 1 = 7.0"])
        stage.pass(to: 300_061)
        #expect(stage.told.last == "reminder a at 300060 since 1 = 7.0")
        let daily = AlertRule(name: "hot", conditions: rule.conditions)
        stage.reload([daily])
        stage.pass(to: 380_000)
        stage.reload([rule])
        stage.pass(to: 380_001)
        #expect(stage.alerts.count == 4)
    }

    @Test func deadlinesThatWereReplacedTakeNoRoom() {
        var schedule = DeadlineSchedule<Int>()
        for second in 0..<10_000 { schedule.set(1, at: AlertStage.start + .seconds(second)) }
        let heap = Mirror(reflecting: schedule).children.first { $0.label == "heap" }?.value as? [Any]
        #expect(heap.map { 1..<100 ~= $0.count } == true)
    }

    @Test func conditionsAreToldInTheirOrder() throws {
        var stage = try AlertStage("wide: a/* > 5", "named: a/x > 5", "all: * > 5", "more: a/x > 6")
        stage.value("a/x", at: 1, 9)
        #expect(stage.alerts.map(\.condition) == ["wide", "named", "all", "more"])
    }

    @Test func noSkewOfAnAgentIsTooMuch() throws {
        var book = AlertBook([try AlertStage.rule("* > 5")], run: "r", interval: .seconds(10), from: AlertStage.start)
        for skew in ["1e300", "-1e300"] {
            let peer =
                #"{"seq":1,"time":"2026-05-28T20:26:41.000000Z","type":"peer","source":"x.catwatch","state":"live","#
                + #""since":"2026-05-28T20:26:41.000000Z","skew_ms":\#(skew),"lost":0,"agent":"x"}"#
            let data =
                #"{"seq":2,"time":"2026-05-28T20:26:42.000000Z","type":"a","source":"x.a","series":"x.a","value":9,"#
                + #""agent":"x","origin_run":"o","origin_seq":1}"#
            for line in [peer, data] { book.apply(try LineDecoder.decode(Array(line.utf8)[...])) }
        }
        #expect(book.takeAlerts().map(\.alert.about) == ["x.a"])
    }

    // MARK: Kept lines

    @Test func aReaderThatComesLateKnowsWhatFires() throws {
        var stage = try AlertStage("one: a > 5", "two: a > 6")
        stage.value("a", at: 1, 7)
        // The log keeps two minutes.
        stage.pass(to: 500)
        stage.value("a", at: 501, 5.5)
        stage.pass(to: 1_000)
        stage.value("a", at: 1_001, 5.5)
        #expect(stage.keptAlerts() == ["one firing"])
    }

    @Test func anotherAgentsAlertsDecideNothing() throws {
        var book = AlertBook([try AlertStage.rule("a > 5")], run: "r", interval: .seconds(10), from: AlertStage.start)
        func forged(_ state: String, _ end: String) throws -> Line {
            let line =
                #"{"seq":1,"time":"2026-05-28T20:26:41.000000Z","type":"alert","source":"a","about":"a","condition":"a > 5","#
                + #""state":"\#(state)","id":"1","at":"2026-05-28T20:26:41.000000Z","since":"2026-05-28T20:26:41.000000Z","#
                + #""test":"a > 5","evidence":{"run":"r","from":1,"to":1}\#(end)}"#
            return try LineDecoder.decode(Array(line.utf8)[...])
        }
        book.apply(try forged("resolved", #","down_s":1,"reason":"until""#))
        book.apply(try forged("firing", ""))
        #expect(book.takeAlerts().isEmpty)
        let foreign = try forged("firing", #","agent":"x","origin_run":"o","origin_seq":1"#)
        book.resume([foreign], sources: nil, at: AlertStage.start)
        #expect(book.count == 0)
    }
}
