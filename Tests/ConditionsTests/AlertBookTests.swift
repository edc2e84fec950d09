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

    @Test func whatWasOnlySeenIsNotMissedForEver() throws {
        var stage = try AlertStage("a/* silent 60s", "a/x silent 60s")
        stage.value("a/x", at: 1, 7)
        stage.pass(to: 90_000)
        let told = stage.told.filter { !$0.hasPrefix("reminder") }
        #expect(
            told == [
                "firing a/x at 61 since 61 = 60.0", "firing a/x at 61 since 61 = 60.0",
                "resolved a/x at 86461 since 61 by forgotten",
            ])
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

    @Test func anAlertThatWasLostIsToldOnceUnderItsOwnID() throws {
        var stage = try AlertStage("a > 5 for 10s")
        stage.value("a", at: 1, 7)
        stage.pass(to: 12)
        let id = stage.alerts[0].id
        // And the line of a window behind it.
        stage.restart(at: 15, losing: 2)
        stage.value("a", at: 16, 7)
        #expect(stage.told == ["firing a at 16 since 1 = 7.0"])
        #expect(stage.alerts[0].id == id)
    }

    @Test func aConditionThatIsGoneAfterARestartIsResolved() throws {
        var stage = try AlertStage("one: a > 5", "two: a > 6")
        stage.value("a", at: 1, 7)
        stage.restart(at: 10, [try AlertStage.rule("two: a > 6")])
        #expect(stage.told.count == 3)
        #expect(stage.told.last == "resolved a at 10 since 1 = 7.0 by removed")
        #expect(stage.alerts.last?.condition == "one")
    }

    @Test func silenceCountsWhileTheAgentIsDownButGivesEachATurn() throws {
        let sources = [SourceDescription(name: "a"), SourceDescription(name: "p", rhythm: .every(.seconds(10)))]
        var stage = try AlertStage("a silent 5m", "p silent 5m", sources: sources)
        stage.value("a", at: 1, 7)
        stage.value("p", at: 1, 7)
        stage.restart(at: 1_000)
        stage.pass(to: 1_024)
        #expect(stage.told.isEmpty)
        stage.pass(to: 1_059)
        #expect(stage.told == ["firing p at 1025 since 1025 = 1024.0"])
        stage.value("a", at: 1_059.5, 7)
        stage.pass(to: 1_100)
        #expect(stage.told.count == 1)
    }

    @Test func whatWasSilentBeforeARestartStillIs() throws {
        let sources = [SourceDescription(name: "a"), SourceDescription(name: "p", rhythm: .every(.seconds(10)))]
        var stage = try AlertStage("a/x silent 1m", "a silent 1m", "p silent 1m", sources: sources)
        stage.value("a/x", at: 1, 7)
        stage.value("p", at: 1, 7)
        stage.sample()
        stage.pass(to: 100)
        #expect(stage.told.count == 3)
        stage.restart(at: 130, reading: .seconds(60))
        stage.pass(to: 250)
        stage.restart(at: 1_000, reading: .seconds(60))
        stage.pass(to: 1_200)
        #expect(stage.told.count == 3)
        stage.value("a/x", at: 1_201, 7)
        #expect(stage.told.suffix(2).allSatisfy { $0.hasSuffix("at 1201 since 61 = 0.0 by until") })
        #expect(Set(stage.alerts.map(\.id)).count == 3 && stage.told.count == 5)
    }

    @Test func whatSpokeAfterARestartMayFallSilent() throws {
        var stage = try AlertStage("a silent 5s")
        stage.restart(at: 10)
        stage.value("a", at: 11, 7)
        stage.pass(to: 17)
        #expect(stage.told == ["firing a at 16 since 16 = 5.0"])
    }

    @Test func aSpanReachesBackBeforeTheRestart() throws {
        var stage = try AlertStage("a mean over 1m > 5")
        stage.value("a", at: 1, 9)
        stage.restart(at: 10)
        stage.value("a", at: 11, 7)
        #expect(stage.told == ["firing a at 11 since 11 = 8.0"])
    }

    @Test func aClockSetBackWhileTheAgentWasDownIsNoTime() throws {
        var stage = try AlertStage("a > 5 for 30s")
        stage.value("a", at: 1_000, 7)
        stage.restart(at: 500)
        stage.value("a", at: 510, 7)
        stage.pass(to: 529)
        #expect(stage.told.isEmpty)
        stage.pass(to: 531)
        #expect(stage.told.count == 1)
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

    @Test func aReloadBringsNoRemovedSourceBack() throws {
        var stage = try AlertStage("* > 5", sources: [.init(name: "a"), .init(name: "b")])
        stage.value("b/x", at: 1, 9)
        stage.retire("b")
        stage.reload(try ["* > 5", "new: a > 5"].map { try AlertStage.rule($0) }, kept: stage.kept)
        #expect(stage.told == ["firing b/x at 1 since 1 = 9.0", "resolved b/x at 1 since 1 by forgotten"])
        // What it still had to say decides nothing.
        stage.value("b/x", at: 2, 10)
        #expect(stage.told.count == 2)
    }

    @Test func aSourceThatComesBackBeginsAnew() throws {
        var stage = try AlertStage("b silent 1h", "b fails", sources: [.init(name: "a"), .init(name: "b")])
        stage.sample()
        stage.fail("b", at: 1)
        stage.retire("b")
        stage.value("a", at: 7_000, 1)
        stage.register(.init(name: "b"))
        stage.fail("b", at: 7_001)
        #expect(
            stage.told == [
                "firing b at 1 since 1 = connect", "resolved b at 1 since 1 by forgotten",
                "firing b at 7001 since 7001 = connect",
            ])
        stage.pass(to: 10_600)
        #expect(stage.told.last == "firing b at 10600 since 10600 = 3600.0")
    }

    @Test func aSourceThatIsGoneAfterARestartIsForgotten() throws {
        var stage = try AlertStage("* > 5", sources: [.init(name: "a"), .init(name: "b")])
        stage.value("b/x", at: 1, 9)
        stage.restart(at: 10, sources: [.init(name: "a")])
        #expect(stage.told.last == "resolved b/x at 10 since 1 = 9.0 by forgotten")
    }

    @Test func aSetWithoutSeriesIsForgotten() throws {
        var stage = try AlertStage("any a/* > 5")
        stage.value("a/x", at: 1, 9)
        stage.pass(to: 2)
        let answer = CompleteAnswer(Progress(done: 0, total: 0, page: 1, items: 0), from: 100, isReported: true)
        stage.publish(stage.event("a", .answer(answer)))
        stage.pass(to: 3)
        #expect(stage.told.count == 2 && stage.told.last?.hasSuffix("since 1 by forgotten") == true)
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

    @Test func aWordAfterANumberIsLookedAt() throws {
        var stage = try AlertStage("a > 5", #"a value = "w""#)
        stage.pass(to: 1)
        stage.publish(stage.value("a", 1), stage.value("a", 2))
        let word = Datum(value: 3, word: Array("w".utf8)[...])
        stage.publish(stage.event("a", .data(word)))
        #expect(stage.alerts.map(\.text) == [#""w""#])
    }

    @Test func aLateEventBehindOnesThatWereLeftOutIsLate() throws {
        for interrupts in [false, true] {
            var stage = try AlertStage("a > 5")
            stage.pass(to: 6)
            func event(_ value: Double, _ second: Int) -> Event {
                stage.event("a", .data(Datum(value: value)), time: AlertStage.start + .seconds(second))
            }
            let events = [event(1, 1), event(2, 5), event(9, 3)]
            stage.publish(events[0], events[1])
            if interrupts { stage.publish(stage.event("a", .progress(Progress(done: 1, total: nil, page: 1)))) }
            stage.publish(events[2])
            #expect(stage.told.isEmpty, "\(interrupts)")
        }
    }

    @Test func dataAfterAFailureIsLookedAt() throws {
        var stage = try AlertStage("a > 5", "a fails")
        stage.pass(to: 1)
        stage.publish(stage.value("a", 1), stage.value("a", 2))
        stage.publish(stage.event("a", .error(Failure(.connect, "no"))))
        stage.publish(stage.value("a", 3))
        #expect(stage.alerts.map(\.state) == [.firing, .resolved])
    }

    @Test func aFailureEndsWhatIsLeftOut() throws {
        var stage = try AlertStage("a > 5 for 10s")
        stage.pass(to: 1)
        stage.publish(stage.value("a", 1), stage.value("a", 2))
        stage.publish(stage.event("a", .error(Failure(.connect, "no"))))
        stage.publish(stage.value("a", 3))
        stage.publish(stage.event("a", .recovered(Recovery(down: .seconds(1), attempts: 1))))
        stage.publish(stage.value("a", 9), stage.value("a", 10))
        stage.pass(to: 12)
        #expect(stage.told == ["firing a at 11 since 1 = 10.0"])
        #expect(stage.alerts[0].evidence.worst == stage.alerts[0].evidence.to)
    }

    @Test func theWorstOfThoseThatComeTogetherIsKnown() throws {
        var stage = try AlertStage("a > 5")
        stage.pass(to: 1)
        for value in [6.0, 7, 7, 6, 8, 6, 1] { stage.publish(stage.value("a", value)) }
        // The line behind the first is the alert.
        #expect(stage.alerts.last?.evidence.worst == 6)
    }

    @Test func anEventThatIsOlderThanOneLeftOutIsLate() throws {
        for interrupts in [false, true] {
            var stage = try AlertStage("a > 5")
            stage.value("a", at: 1, 1)
            // Changes nothing, and is not looked at.
            stage.value("a", at: 5, 2)
            if interrupts { stage.answer("a", at: 5) }
            stage.publish(stage.event("a", .data(Datum(value: 9)), time: AlertStage.start + .seconds(3)))
            #expect(stage.told.isEmpty, "\(interrupts)")
            stage.value("a", at: 6, 9)
            #expect(stage.told.count == 1)
        }
    }

    @Test func eventsOfOthersDoNotMoveTime() throws {
        let sources = [SourceDescription(name: "a"), SourceDescription(name: "b")]
        let rules = [try AlertStage.rule("a > 5")]
        var stage = AlertStage(rules, sources: sources)
        stage.pass(to: 1)
        stage.publish(stage.event("b", .data(Datum(value: 1)), time: stage.wall + .seconds(7)))
        stage.value("a", at: 2, 9)
        #expect(stage.told == ["firing a at 2 since 2 = 9.0"])
        let again = AlertStage.recomputed(rules, from: stage.journal, sources: sources)
        #expect(again.map(\.since) == stage.alerts.map(\.since))
    }

    @Test func aReloadLetsTheEndOfASetGoOn() throws {
        var stage = try AlertStage("any a/* > 5 until < 3 for 10m")
        stage.value("a/x", at: 1, 9)
        stage.value("a/x", at: 10, 1)
        stage.pass(to: 500)
        stage.reload(try ["any a/* > 5 until < 3 for 10m", "new: a > 50"].map { try AlertStage.rule($0) })
        stage.pass(to: 612)
        #expect(stage.told.count == 2 && stage.told.last?.hasPrefix("resolved a/* at 610") == true)
    }

    @Test func anOlderKeptLineReplacesNothing() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a", at: 1, 7)
        let kept = stage.kept
        stage.value("a", at: 2, 1)
        stage.reload(try ["a > 5", "new: a > 6"].map { try AlertStage.rule($0) }, kept: kept)
        #expect(stage.alerts.filter { $0.condition == "a > 5" }.count == 2)
    }

    @Test func theWorstLineIsTheFirstWithTheWorstValueThatHeld() throws {
        var stage = try AlertStage("a < 2")
        stage.pass(to: 1)
        for value in [1.0, -3, -3, 0] { stage.publish(stage.value("a", value)) }
        stage.restart(at: 5)
        stage.value("a", at: 6, 3)
        #expect(stage.alerts.map(\.evidence.worst) == [1, nil])
        var other = try AlertStage("a < 2")
        other.pass(to: 1)
        for value in [1.0, -3, -3, 0, 3] { other.publish(other.value("a", value)) }
        #expect(other.alerts.map(\.evidence.worst) == [1, 3])
    }

    @Test func windowsGoOnBehindAStepOfTheClock() throws {
        var stage = try AlertStage("a last > 4")
        stage.value("a", at: 1, 9)
        stage.pass(to: 11)
        stage.setClock(by: .seconds(-3_600))
        stage.value("a", at: 12, 1)
        stage.pass(to: 31)
        #expect(stage.alerts.map(\.state) == [.firing, .resolved])
    }

    @Test func muchTimeAtOnceIsOneReminder() throws {
        let rule = AlertRule(name: "hot", conditions: [try Condition("a > 5")], reminder: .seconds(60))
        var book = AlertBook([rule], run: "r", interval: .seconds(10), from: AlertStage.start)
        let data = #"{"seq":1,"time":"2026-05-28T20:26:40.000000Z","type":"a","source":"a","series":"a","value":9}"#
        book.apply(try LineDecoder.decode(Array(data.utf8)[...]))
        book.advance(to: AlertStage.start + .seconds(86_400))
        #expect(book.takeAlerts().map(\.alert.state) == [.firing, .reminder])
    }

    @Test func aReloadLetsAnEndGoOn() throws {
        var stage = try AlertStage("a > 5 until < 3 for 10m")
        stage.value("a", at: 1, 9)
        stage.value("a", at: 10, 1)
        stage.pass(to: 500)
        stage.reload(try ["a > 5 until < 3 for 10m", "new: a > 50"].map { try AlertStage.rule($0) }, kept: stage.kept)
        stage.pass(to: 611)
        #expect(stage.told.last == "resolved a at 610 since 1 = 1.0 by until")
        #expect(stage.alerts.last?.evidence.worst == stage.alerts.first?.evidence.to)
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

    @Test func aNewConditionCountsNoSleep() throws {
        var stage = try AlertStage("a > 50")
        stage.value("a", at: 1, 7)
        stage.sample()
        stage.setClock(slept: .seconds(28_800))
        stage.pass(to: 11)
        stage.reload(try ["a > 50", "a silent 5m", "a/x silent 5m"].map { try AlertStage.rule($0) }, kept: stage.kept)
        stage.pass(to: 320)
        #expect(
            stage.told == ["firing a at 29101 since 29101 = 300.0", "firing a/x at 29111 since 29111 = 300.0"])
    }

    @Test func aReloadCountsNoAnswerTwice() throws {
        var stage = try AlertStage("p p50 over 1m > 1s", "p errors over 1m > 0%", sources: [.init(name: "p")])
        stage.answer("p", at: 1, ms: 2_000)
        let rules = try ["p p50 over 1m > 1s", "p errors over 1m > 0%", "p > 1"].map { try AlertStage.rule($0) }
        stage.reload(rules, kept: stage.kept)
        stage.pass(to: 2)
        #expect(stage.told.isEmpty)
    }

    @Test func conditionsOfTheSameTextKeepTheirOwnStates() throws {
        let rules = try ["warn", "page"].map { AlertRule(name: $0, conditions: [try Condition("a > 5 for 10m")]) }
        var stage = AlertStage(rules, sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 9)
        stage.pass(to: 300)
        stage.reload(rules + [try AlertStage.rule("new: a > 50")], kept: [])
        stage.pass(to: 602)
        #expect(stage.alerts.map(\.condition) == ["warn", "page"])
        #expect(stage.told == ["firing a at 601 since 1 = 9.0", "firing a at 601 since 1 = 9.0"])
    }

    @Test func anEpisodeThatIsOverGivesItsNameToNoOther() throws {
        let rule = try AlertStage.rule("a > 5 for 10s")
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 9)
        stage.pass(to: 12)
        stage.restart(at: 13, [])
        stage.restart(at: 14, [rule])
        stage.value("a", at: 15, 9)
        #expect(stage.alerts.map(\.state) == [.firing, .resolved, .firing])
        #expect(Set(stage.alerts.map(\.id)).count == 2)
    }

    @Test func aLateEventBehindAStepOfTheClockIsLate() throws {
        var stage = try AlertStage("a > 1000")
        stage.value("a", at: 1, 5)
        stage.setClock(by: .seconds(-3_600))
        stage.value("a", at: 30, 5)
        // A window ends, and its line comes.
        stage.pass(to: 45)
        stage.publish(stage.event("a", .data(Datum(value: 2_000)), time: stage.wall + .seconds(-20)))
        #expect(stage.told.isEmpty)
    }

    @Test func aReloadDuringTheStartTellsNothingTwice() throws {
        let old = try AlertStage.rule("hot: a > 5")
        var stage = AlertStage([old], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 9)
        var past = PastAlerts([old])
        AlertStage.read(stage.recording()) { line, _ in past.apply(line) }
        var book = AlertBook([old, try AlertStage.rule("new: a > 50")], run: "r2", interval: .seconds(10), from: nil)
        book.adopt(past.book(of: "r2", with: [old], interval: .seconds(10)))
        let source = SourceStatus(source: "a", state: .ok, since: stage.wall)
        book.resume(stage.journal.map(\.line).filter(\.isAlert), sources: [source], at: stage.wall + .seconds(10))
        #expect(book.takeAlerts().isEmpty && book.count == 1)
    }

    @Test func nothingBeginsWhileItsEndHolds() throws {
        var stage = try AlertStage("a > 50 until > 40", "any a > 50 until > 40")
        for second in 1...5 { stage.value("a", at: Double(second), 60) }
        #expect(stage.told.isEmpty)
        var other = try AlertStage("a > 50 for 2s until ms < 10")
        other.value("a", at: 0, 1)
        other.answer("a", at: 1, ms: 5)
        other.value("a", at: 2, 60)
        other.pass(to: 10)
        other.answer("a", at: 11, ms: 20)
        other.pass(to: 14)
        #expect(other.told == ["firing a at 13 since 11 = 60.0"])
    }

    @Test func whatASourceSaidBeforeItWasRemovedDoesNotCountWhenItIsBack() throws {
        var stage = try AlertStage("a/* mean < 5")
        stage.value("a/x", at: 1, 1)
        stage.pass(to: 12)
        #expect(stage.told.count == 1)
        stage.retire("a")
        stage.register(SourceDescription(name: "a"))
        stage.value("a/x", at: 13, 1)
        // A reload that changes nothing judges all.
        stage.reload([try AlertStage.rule("a/* mean < 5")])
        #expect(stage.told.count == 2 && stage.told[1].hasSuffix("by forgotten"))
        stage.pass(to: 21)
        #expect(stage.told.count == 3)
    }

    @Test func aDescriptionPutsNoSetOff() throws {
        var stage = try AlertStage(
            "all a > 50", sources: [SourceDescription(name: "a"), SourceDescription(name: "b")])
        stage.value("a", at: 1, 60)
        stage.fail("b", at: 1.015)
        stage.register(SourceDescription(name: "a"))
        stage.pass(to: 2)
        #expect(stage.told == ["firing a at 1.02 since 1.02 = 60.0"])
    }

    @Test func aDeadlineThatTellsNothingMovesNoClock() throws {
        var stage = try AlertStage("a fails", "any a > 50")
        stage.value("a", at: 1, 10)
        stage.fail("a", at: 2)
        stage.pass(to: 2.06)
        let late = stage.event("a", .data(Datum(value: 20)), time: stage.wall - .seconds(1))
        stage.publish(late)
        #expect(stage.told == ["firing a at 2 since 2 = connect", "resolved a at 2 since 2 by until"])
    }

    @Test func aClearingThatHadBegunGoesOnBehindTwoRestarts() throws {
        var stage = try AlertStage("a > 50 until < 20 for 3s")
        stage.value("a", at: 1, 60)
        stage.value("a", at: 2, 10)
        stage.restart(at: 4)
        stage.fail("a", at: 4.5)
        stage.restart(at: 6)
        stage.fail("a", at: 6.5)
        stage.recover("a", at: 7)
        stage.value("a", at: 8, 10)
        #expect(stage.told.map { $0.prefix { $0 != "=" } } == ["firing a at 1 since 1 ", "resolved a at 8 since 1 "])
    }

    @Test func timeGoesOnInARunBehindAStepBack() throws {
        var stage = try AlertStage("a mean over 1s > 50")
        for second in [1.1, 1.2] { stage.value("a", at: second, 10) }
        stage.restart(at: 2, after: .seconds(-3_600))
        for second in [2.1, 2.2, 2.3] { stage.value("a", at: second, 0) }
        stage.pass(to: 5)
        stage.restart(at: 5)
        for second in [5.1, 5.2] { stage.value("a", at: second, 60) }
        #expect(stage.told.count == 1 && stage.told[0].hasPrefix("firing a"))
    }

    /// What a line comes to does not depend on where reading begins.
    @Test func wholeMicrosecondsAreAllThatAStepMoves() throws {
        func times(_ earlier: Int) throws -> [String] {
            let rule = try AlertStage.rule("a > 5 for 1s")
            var book = AlertBook([rule], run: "r", interval: .seconds(10), from: AlertStage.start)
            func apply(_ number: Int, _ second: Int, _ members: String) throws {
                let time = (AlertStage.start + .seconds(second)).text
                let line = #"{"seq":\#(number),"time":"\#(time)",\#(members)}"#
                book.apply(try LineDecoder.decode(Array(line.utf8)[...]))
            }
            let clock = #""type":"clock","source":"catwatch","step_s":0.0000006,"slept_s":0"#
            for number in 0..<earlier { try apply(number + 1, number, clock) }
            try apply(5, 5, #""type":"a","source":"a","series":"a","value":9"#)
            try apply(6, 5, clock)
            try apply(7, 8, #""type":"a","source":"a","series":"a","value":9"#)
            return book.takeAlerts().map(\.alert.at.text)
        }
        let all = try times(0)
        #expect(all.count == 1)
        for earlier in 1...4 { #expect(try times(earlier) == all) }
    }

    @Test func howFarTheClockWentAheadIsCounted() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a", at: 1, 1)
        stage.setClock(by: .seconds(100))
        stage.setClock(by: .seconds(-1_000))
        stage.setClock(slept: .seconds(7))
        var past = PastAlerts([])
        AlertStage.read(stage.recording()) { line, _ in past.apply(line) }
        #expect(past.skipped == .seconds(107))
    }

    /// Events of one time may begin several.
    @Test func episodesHaveNamesOfTheirOwnWhateverWasRead() throws {
        let rule = try AlertStage.rule("a > 5")
        func names(reading: Set<Alert.State>) throws -> [String] {
            var book = AlertBook([rule], run: "r", interval: .seconds(10), from: AlertStage.start)
            var names: [String] = []
            for (number, value) in [9, 1, 9, 1, 9].enumerated() {
                let line =
                    #"{"seq":\#(number + 1),"time":"2026-06-01T00:00:00Z","type":"a","source":"a","series":"a","value":\#(value)}"#
                book.apply(try LineDecoder.decode(Array(line.utf8)[...]))
                for (source, alert) in book.takeAlerts() {
                    if alert.state == .firing { names.append(alert.id) }
                    guard reading.contains(alert.state) else { continue }
                    var line = Line(seq: 90 + number, time: alert.at, type: "alert", body: .alert(alert))
                    line.source = source
                    book.apply(line)
                }
            }
            return names
        }
        let all = try names(reading: [.firing, .resolved])
        #expect(Set(all).count == 3)
        #expect(try names(reading: [.firing]) == all)
        #expect(try names(reading: []) == all)
    }

    @Test func anAlertWhoseLineAloneWasLostKeepsItsName() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a", at: 1, 9)
        let name = try #require(stage.alerts.first?.id)
        stage.restart(at: 2, losing: 1)
        stage.value("a", at: 3, 9)
        #expect(stage.alerts.map(\.id) == [name])
    }

    /// The condition was another one: `computed` knows nothing of its episodes.
    @Test func anEpisodeOfAConditionThatWasChangedHasANameOfItsOwn() throws {
        func rule(_ line: String) throws -> AlertRule { AlertRule(name: "r", conditions: [try Condition(line)]) }
        var stage = AlertStage([try rule("a > 5")], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 9)
        stage.restart(at: 2, [])
        stage.restart(at: 3, [try rule("a > 6 for 10s")])
        stage.value("a", at: 20, 9)
        #expect(stage.alerts.map(\.state) == [.firing, .resolved, .firing])
        #expect(stage.alerts[0].since == stage.alerts[2].since && stage.alerts[0].id != stage.alerts[2].id)
    }

    @Test func whatIsPendingIsCountedThroughRestartsAndReloads() throws {
        let rule = try AlertStage.rule("a > 5 for 10s")
        var stage = AlertStage([rule], sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 9)
        #expect(stage.pending == [1])
        stage.reload([rule, try AlertStage.rule("a > 50")])
        #expect(stage.pending == [1, 0])
        stage.restart(at: 3, [rule])
        #expect(stage.pending == [1])
        stage.value("a", at: 4, 9)
        stage.pass(to: 12)
        #expect(stage.pending == [0] && stage.alerts.count == 1)
        // Its line is lost, and that of a window.
        stage.restart(at: 22, losing: 2)
        #expect(stage.pending == [1])
        stage.value("a", at: 22.5, 9)
        #expect(stage.pending == [0] && stage.alerts.count == 1)
        stage.restart(at: 23)
        stage.value("a", at: 24, 1)
        #expect(stage.pending == [0] && stage.alerts.map(\.state) == [.firing, .resolved])
        // By what is read again it is pending, and it fires.
        var other = AlertStage([rule], sources: [SourceDescription(name: "a")])
        other.value("a", at: 1, 9)
        other.value("a", at: 17, 9)
        other.restart(at: 20, reading: .seconds(5))
        #expect(other.pending == [0] && other.alerts.count == 1)
    }

    @Test func whatARemovedSourceSaidLastDoesNotCount() throws {
        var stage = try AlertStage("a errors over 5m > 50%", "a/* mean over 1m > 5")
        for second in 1...6 { stage.fail("a", at: Double(second)) }
        stage.recover("a", at: 7)
        for second in 8...12 { stage.value("a/x", at: Double(second), 9) }
        #expect(stage.alerts.count == 2)
        stage.retire("a")
        stage.register(SourceDescription(name: "a"))
        stage.value("a/x", at: 20, 9)
        stage.pass(to: 30)
        #expect(stage.alerts.map(\.state) == [.firing, .firing, .resolved, .resolved])
    }

    @Test func aSetThatBecomesAConditionOfSeriesIsJudgedAnew() throws {
        func rule(_ line: String) throws -> AlertRule { AlertRule(name: "h", conditions: [try Condition(line)]) }
        var stage = AlertStage([try rule("any a > 5")], sources: [SourceDescription(name: "a")])
        stage.value("a/x", at: 1, 9)
        stage.pass(to: 2)
        #expect(stage.alerts.map(\.about) == ["a"])
        stage.reload([try rule("a > 100")])
        #expect(stage.alerts.map(\.reason) == [nil, .changed])
        stage.reload([try rule("a > 5")])
        stage.value("a/x", at: 3, 10)
        stage.reload([try rule("any a > 5")], kept: stage.kept)
        stage.pass(to: 5)
        #expect(stage.alerts.suffix(3).map { "\($0.state) \($0.about)" } == ["firing a/x", "resolved a/x", "firing a"])
    }

    @Test func aNewConditionIsAboutNothingThatIsGone() throws {
        func rules(_ lines: String...) throws -> [AlertRule] { try lines.map { try AlertStage.rule($0) } }
        let sources = ["a", "c"].map { SourceDescription(name: $0) }
        var stage = AlertStage(try rules("x: a < 0"), sources: sources)
        stage.value("a/hi", at: 1, 9)
        stage.value("a/low", at: 2, 1)
        stage.publish(stage.event("a", .progress(Progress(done: 1, total: 1, page: 1, items: 1, gone: ["low"]))))
        stage.value("a/hi", at: 3, 9)
        stage.reload(try rules("x: a < 0", "all: all a > 5"), kept: stage.kept.filter { $0.source == "a" }.suffix(1))
        stage.value("a/hi", at: 4, 9)
        stage.pass(to: 5)
        #expect(stage.alerts.map(\.condition) == ["all"])
        // Nor a source that was removed two runs before.
        stage.value("c/x", at: 6, 9)
        stage.restart(at: 10, try rules("x: a < 0"), sources: [sources[0]])
        stage.value("a/hi", at: 11, 9)
        stage.restart(at: 12, try rules("fire: * > 5"), sources: [sources[0]])
        stage.value("a/hi", at: 13, 9)
        #expect(stage.alerts.last?.condition == "fire" && stage.pending == [0])
    }

    @Test func deadlinesOfOneTimeGoByTheirNumber() {
        var random = SeededGenerator(seed: 15_100)
        for _ in 0..<50 {
            var schedule = DeadlineSchedule<Int>()
            for id in (0..<20).shuffled(using: &random) {
                schedule.set(id, at: AlertStage.start + .seconds(7))
                schedule.set(id, at: AlertStage.start + .seconds(id / 5))
                schedule.add(id, at: AlertStage.start + .seconds(8))
            }
            schedule.set(7, at: nil)
            var popped: [Int] = []
            while let next = schedule.pop(at: AlertStage.start + .seconds(9)) {
                #expect(next.time == AlertStage.start + .seconds(next.key / 5))
                popped.append(next.key)
            }
            #expect(popped == (0..<20).filter { $0 != 7 })
        }
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

    @Test func eachLineOfAnAgentCountsThatMayBeSilent() throws {
        var book = AlertBook(
            [try AlertStage.rule("agent web1 silent 5s")], run: "r", interval: .seconds(10), from: AlertStage.start)
        let (isAbout, isElse) = (book.isAbout(source: "web1.q"), book.isAbout(source: "q"))
        #expect(isAbout && !isElse)
    }

    @Test func whatWasLeftOutIsForgottenAfterAMinute() throws {
        let polled = SourceDescription(name: "p", rhythm: .every(.seconds(200)))
        var stage = try AlertStage("all * > 5", sources: [polled, SourceDescription(name: "a")])
        stage.fail("p", at: 2)
        stage.value("p", at: 3, 9)
        stage.value("a", at: 4, 9)
        stage.pass(to: 10)
        // An error beside the data says that there is more.
        #expect(stage.told.isEmpty)
        stage.value("a", at: 50, 1)
        stage.value("a", at: 101, 9)
        stage.pass(to: 102)
        #expect(stage.told.count == 1)
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

    /// Without values there are no windows, and without those no line of the feed's own for long.
    @Test func anEventCountsWhenItCameAlsoIfNothingElseTellsOfTheTime() throws {
        let rule = try AlertStage.rule(#"a text = "x" for 2s"#)
        var book = AlertBook([rule], run: "r", interval: .seconds(1), from: AlertStage.start)
        for (number, second) in [8, 9, 11].enumerated() {
            let time = (AlertStage.start + .seconds(second)).text
            let line =
                #"{"seq":\#(number + 1),"time":"\#(time)","type":"a","source":"a","series":"a","text":"x"}"#
            book.apply(try LineDecoder.decode(Array(line.utf8)[...]))
        }
        #expect(book.takeAlerts().map(\.alert.at) == [AlertStage.start + .seconds(10)])
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
