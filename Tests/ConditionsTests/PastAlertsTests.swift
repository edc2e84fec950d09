import Conditions
import Reactor
import TestSupport
import Testing

@testable import Feed

/// What a recording comes to, against what was told while it was made.
@Suite(.limited) struct PastAlertsTests {
    private static func compare(_ lines: [[UInt8]], _ rules: [AlertRule]) -> AlertComparison {
        var (past, comparison) = (PastAlerts(rules), AlertComparison())
        AlertStage.read(lines) { line, decoded in
            past.apply(line)
            if case .alert(let alert)? = decoded?.body { comparison.add(recorded: alert) }
            while let (_, alert) = past.nextAlert() { comparison.add(computed: alert) }
        }
        comparison.finish()
        return comparison
    }

    @Test func aJournalComesToTheAlertsThatItHas() throws {
        let rules = try AlertTwinTests.lines.map { try AlertStage.rule($0) }
        var restarts = 0
        for round in 0..<LongRun.rounds(short: 50, long: 2_000) {
            var random = SeededGenerator(seed: UInt64(12_100 + round))
            var stage = AlertStage(rules, sources: AlertTwinTests.sources)
            stage.restart(at: 0)
            for _ in 0..<4 {
                AlertTwinTests.play(&stage, &random, steps: 25)
                guard random.next() % 3 > 0 else { continue }
                stage.restart(at: stage.seconds + Double(random.next() % 60))
                restarts += 1
            }
            var lines = stage.recording()
            // A reader that was away for a moment gets both again.
            let last = try #require(lines.lastIndex { $0.starts(with: Array(#"{"type":"hello""#.utf8)) })
            lines.insert(contentsOf: lines[last...last + 1], at: (last + lines.count) / 2 + 1)
            let comparison = Self.compare(lines, rules)
            #expect(comparison.differences == [], "seed \(random.seed)")
            #expect(comparison.same == stage.alerts.count, "seed \(random.seed)")
        }
        #expect(restarts > 50)
    }

    @Test func aSourceThatIsGoneInTheNextRunIsForgotten() throws {
        var stage = try AlertStage("p fails", "a > 5", sources: AlertTwinTests.sources)
        stage.restart(at: 0)
        stage.fail("p", at: 1)
        stage.value("a", at: 2, 9)
        stage.restart(at: 20, sources: [AlertTwinTests.sources[0]])
        #expect(stage.alerts.map(\.reason) == [nil, nil, .forgotten])
        let rules = try ["p fails", "a > 5"].map { try AlertStage.rule($0) }
        let comparison = Self.compare(stage.recording(), rules)
        #expect(comparison.differences == [])
        #expect(comparison.same == 3)
    }

    @Test func linesThatAreLeftOutDecideNothing() throws {
        let rules = try AlertTwinTests.calm.map { try AlertStage.rule($0) }
        let sources = AlertTwinTests.sources + ["b", "c", "d"].map { SourceDescription(name: $0) }
        for round in 0..<LongRun.rounds(short: 40, long: 2_000) {
            var random = SeededGenerator(seed: UInt64(14_100 + round))
            var stage = AlertStage(rules, sources: sources)
            stage.restart(at: 0)
            stage.sample()
            AlertTwinTests.playCalm(&stage, &random)
            stage.restart(at: stage.seconds + 20)
            AlertTwinTests.playCalm(&stage, &random)
            var (past, again) = (PastAlerts(rules), [Alert]())
            AlertStage.read(stage.recording()) { line, _ in
                past.apply(line)
                while let (_, alert) = past.nextAlert() { again.append(alert) }
            }
            #expect(!again.isEmpty)
            #expect(again == stage.alerts, "seed \(random.seed)")
        }
    }

    @Test func oneThatIsForgedOrMissingIsFound() throws {
        let rules = try AlertTwinTests.lines.map { try AlertStage.rule($0) }
        var random = SeededGenerator(seed: 13_100)
        var stage = AlertStage(rules, sources: AlertTwinTests.sources)
        stage.restart(at: 0)
        AlertTwinTests.play(&stage, &random, steps: 150)
        let lines = stage.recording()
        let places = lines.indices.filter { lines[$0].starts(with: Array(#"{"seq""#.utf8)) && isAlert(lines[$0]) }
        #expect(places.count > 10)
        for place in places.prefix(20) {
            var cut = lines
            cut.remove(at: place)
            #expect(Self.compare(cut, rules).count == 1, "\(place)")
            let text = String(decoding: lines[place], as: UTF8.self)
            let forgeries = [
                (#""since":"2"#, #""since":"1"#), (#""at":"2"#, #""at":"1"#), (#""id":""#, #""id":"0"#),
                (#""value":"#, #""value":1"#),
            ]
            for (old, new) in forgeries where text.contains(old) {
                var forged = lines
                forged[place] = Array(text.replacing(old, with: new).utf8)
                #expect(Self.compare(forged, rules).count > 0, "\(new) in \(text)")
            }
        }
    }

    private func isAlert(_ line: [UInt8]) -> Bool {
        if case .alert? = try? LineDecoder.decode(line[...]).body { true } else { false }
    }

    @Test func aRuleKnowsWhetherItIsAboutAnything() throws {
        var stage = try AlertStage("a > 5")
        stage.value("a", at: 1, 7)
        var past = PastAlerts(
            try ["a > 5", "b > 5", "a/x > 5", "typo silent 1m", "a silent 1m"].map { try AlertStage.rule($0) })
        AlertStage.read(stage.recording()) { line, _ in past.apply(line) }
        #expect((0..<5).map { past.hasSubject($0) } == [true, false, false, false, true])
    }

    /// As a journal is read from some time on: with the newest lines before it.
    @Test func whatFiresWhereARecordingBeginsFiresOn() throws {
        var stage = try AlertStage("hot: a > 5 until < 3", "old: b > 5", sources: AlertTwinTests.sources)
        stage.value("a", at: 1, 9)
        stage.value("a", at: 20, 4)
        stage.value("a", at: 30, 2)
        stage.value("a", at: 40, 7)
        let lines = stage.recording()
        let begin = try #require(lines.firstIndex { String(decoding: $0, as: UTF8.self).contains(#""value":4}"#) })
        let kept = lines[2..<begin].filter {
            isAlert($0) || String(decoding: $0, as: UTF8.self).contains(#""value":9}"#)
        }
        #expect(kept.count == 2)
        let time = AlertStage.start + .seconds(20)
        func keptLine(_ line: [UInt8]) -> [UInt8] {
            Array(ControlLine.kept(time: time, run: "r1", line: line).dropLast())
        }
        let hello = String(decoding: lines[0], as: UTF8.self).replacing(#""first_seq":1"#, with: #""first_seq":9"#)
        let part = [Array(hello.utf8), lines[1]] + kept.map(keptLine) + lines[begin...]
        var told: [String] = []
        var past = PastAlerts(try ["hot: a > 5 until < 3", "new: a > 3"].map { try AlertStage.rule($0) })
        AlertStage.read(part) { line, _ in
            past.apply(line)
            while let (_, alert) = past.nextAlert() {
                told.append("\(alert.condition) \(AlertStage.text(alert, start: AlertStage.start))")
            }
        }
        #expect(
            told == [
                "new firing a at 20 since 20 = 9.0", "hot resolved a at 30 since 1 = 2.0 by until",
                "new resolved a at 30 since 20 = 2.0 by until", "hot firing a at 40 since 40 = 7.0",
                "new firing a at 40 since 40 = 7.0",
            ])
    }

    @Test func anAlertThatACrashLostMayBeToldLater() {
        func alert(_ second: Int64) -> Alert {
            Alert(
                about: "a", condition: "c", state: .firing, id: "1", at: Timestamp(seconds: second),
                since: Timestamp(seconds: 1), test: "> 1", evidence: Alert.Evidence(run: "r", from: 1, to: 1))
        }
        for (crashes, differences) in [(0, 1), (1, 0)] {
            var comparison = AlertComparison()
            comparison.add(computed: alert(5))
            if crashes > 0 { comparison.noteCrash() }
            comparison.add(recorded: alert(7))
            comparison.finish()
            #expect(comparison.count == differences)
            #expect(comparison.same == 1 - differences)
        }
        var early = AlertComparison()
        early.add(recorded: alert(5))
        early.noteCrash()
        early.add(computed: alert(7))
        #expect(early.count == 1)
    }

    /// A feed of two sources, told by lines: `second members`.
    private static func alerts(_ rule: String, isFleet: Bool = false, _ lines: [(Int, String)]) throws -> [String] {
        var past = PastAlerts([try AlertStage.rule(rule)])
        var told: [String] = []
        let sources = ["a", "b"].map { SourceStatus(source: $0, state: .ok, since: AlertStage.start) }
        for (second, text) in lines {
            let time = AlertStage.start + .seconds(second)
            var bytes = Array(text.utf8)
            switch text {
            case "hello":
                let identity = AgentIdentity(run: "r\(second)", version: "1", started: time)
                bytes = ControlLine.hello(
                    time: time, identity: identity, isFiltered: false, interval: .seconds(10), history: .seconds(120),
                    firstSequence: 1, nextSequence: 1, isFleet: isFleet)
            case "a and b", "a":
                let listed = text == "a" ? [sources[0]] : sources
                bytes = ControlLine.stats(time: time, asOf: 0, endpoints: [], sources: listed)
            default: bytes = Array(#"{\#(text),"time":"\#(time.text)"}"#.utf8)
            }
            AlertStage.read([bytes.last == 0x0A ? bytes.dropLast() : bytes]) { line, _ in past.apply(line) }
            while let (_, alert) = past.nextAlert() { told.append("\(alert.state) \(alert.about)") }
        }
        return told
    }

    private static func value(_ source: String, _ number: Int, _ value: Int = 9) -> String {
        #""seq":\#(number),"type":"\#(source)","source":"\#(source)","series":"\#(source)","value":\#(value)"#
    }

    /// The agents of a fleet come and go.
    @Test(arguments: [false, true]) func aSourceThatIsNotListedIsForgottenButInAFleet(isFleet: Bool) throws {
        let told = try Self.alerts(
            "* > 5", isFleet: isFleet,
            [(1, "hello"), (1, "a and b"), (2, Self.value("b", 1)), (3, "a"), (4, Self.value("a", 2))])
        #expect(told == ["firing b"] + (isFleet ? [] : ["resolved b"]) + ["firing a"])
    }

    @Test(arguments: [false, true]) func ofARunWhoseBeginningIsMissingNothingIsKnownBefore(isCut: Bool) throws {
        let gap = isCut ? [(5, #""type":"gap","from":1,"to":5,"reason":"journal""#)] : []
        let told = try Self.alerts(
            "a mean over 1m > 10",
            [(1, "hello"), (1, "a and b"), (2, Self.value("a", 1, 0)), (3, Self.value("a", 2, 0)), (5, "hello")]
                + [(5, "a and b")] + gap + [(8, Self.value("a", 6, 15)), (9, Self.value("a", 7, 15))])
        #expect(told == (isCut ? ["firing a"] : []))
    }

    @Test func theWorstValueOutlivesARestart() throws {
        var stage = try AlertStage("a > 5", sources: [SourceDescription(name: "a")])
        stage.value("a", at: 1, 7)
        stage.value("a", at: 2, 30)
        stage.restart(at: 10, reading: .seconds(1))
        stage.value("a", at: 11, 8)
        stage.value("a", at: 12, 1)
        #expect(stage.alerts.map(\.worst) == [7, 8])
        // What is told is all that a restart knows, unless it reads the lines.
        var other = try AlertStage("a > 5", sources: [SourceDescription(name: "a")])
        other.value("a", at: 1, 7)
        other.value("a", at: 2, 30)
        other.restart(at: 3)
        other.value("a", at: 4, 1)
        #expect(other.alerts.map(\.worst) == [7, 30])
        // A reminder tells of it, too.
        let rule = AlertRule(name: "r", conditions: [try Condition("a > 5")], reminder: .seconds(100))
        var reminded = AlertStage([rule], sources: [SourceDescription(name: "a")])
        reminded.value("a", at: 1, 7)
        reminded.value("a", at: 2, 30)
        reminded.value("a", at: 3, 8)
        reminded.pass(to: 110)
        reminded.restart(at: 120, reading: .seconds(1))
        reminded.value("a", at: 121, 1)
        #expect(reminded.alerts.map(\.worst) == [7, 30, 30])
        #expect(reminded.alerts[1].evidence.worst == 3)
        // Though it is met by the lines that are read again.
        var again = try AlertStage("a > 5", sources: [SourceDescription(name: "a")])
        again.value("a", at: 1, 30)
        again.value("a", at: 6, 8)
        again.restart(at: 8, reading: .seconds(3))
        again.value("a", at: 9, 1)
        #expect(again.alerts.map(\.worst) == [30, 30])
        // Less is worse where less is wanted.
        var low = try AlertStage("a < 5")
        for (second, value) in [4.0, 2, 3, 9].enumerated() { low.value("a", at: Double(second), value) }
        #expect(low.alerts.map(\.worst) == [4, 2])
        #expect(low.alerts.last?.evidence.worst == 3)
    }
}
