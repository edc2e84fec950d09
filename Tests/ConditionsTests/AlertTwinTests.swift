import Conditions
import Reactor
import TestSupport
import Testing

@testable import Feed

/// Alerts of random feeds, against a witness that looks at the whole history anew for each moment.
@Suite(.limited) struct AlertTwinTests {
    private typealias Happening = ConditionTwinTests.Happening
    private typealias History = ConditionTwinTests.History

    @Test func tellsEachTurnThatALookAtAllOfHistoryFinds() throws {
        for round in 0..<LongRun.rounds(short: 15, long: 2_000) {
            var random = SeededGenerator(seed: UInt64(7_100 + round))
            let hold = Int(random.next() % 3) * 7
            let end = [nil, 0, 11][Int(random.next() % 3)]
            let ending = end.map { $0 == 0 ? " until < 4" : " until < 4 for \($0)00ms" } ?? ""
            var stage = try AlertStage("a > 5\(hold == 0 ? "" : " for \(hold)00ms")\(ending)")
            var history = History()
            var tenth = 0
            for _ in 0..<40 {
                tenth += 1 + Int(random.next() % 12)
                stage.pass(to: Double(tenth) / 10)
                let happening: Happening? =
                    switch random.next() % 12 {
                    case 0...6: .value(series: random.next() % 2 == 0 ? "x" : "y", Double(random.next() % 8))
                    case 7: .failure
                    case 8: .recovery
                    case 9: .unchanged
                    default: nil
                    }
                // A step of the clock is nothing that happens.
                if random.next() % 9 == 0 { stage.setClock(by: .seconds(Int(random.next() % 7_200) - 3_600)) }
                if random.next() % 9 == 0 { stage.setClock(slept: .seconds(Int(random.next() % 7_200))) }
                guard let happening else { continue }
                history.happenings.append((tenth, happening))
                let second = Double(tenth) / 10
                switch happening {
                case .value(let series, let value): stage.value("a/\(series)", at: second, value)
                case .failure: stage.fail("a", at: second)
                case .recovery: stage.recover("a", at: second)
                case .unchanged: stage.answer("a", at: second, status: 304)
                case .gap: break
                }
            }
            check(stage, history, hold, end, until: tenth, seed: random.seed)
        }
    }

    private func check(
        _ stage: borrowing AlertStage, _ history: History, _ hold: Int, _ end: Int?, until now: Int, seed: UInt64
    ) {
        // Times in lines move with the clock; durations do not.
        var offset = Duration.zero
        var told: [String: [History.Turn]] = [:]
        var since: [String: (written: Timestamp, tenth: Int)] = [:]
        for recorded in stage.journal {
            if case .clock(let change) = recorded.line.body { offset += change.step + change.slept }
            guard case .alert(let alert) = recorded.line.body else { continue }
            func tenth(_ time: Timestamp) -> Int { Int(((time - AlertStage.start - offset).seconds * 10).rounded()) }
            // All lines of an episode have the same, as the clock was then.
            if alert.state == .firing { since[alert.about] = (alert.since, tenth(alert.since)) }
            #expect(alert.since == since[alert.about]?.written, "seed \(seed)")
            told[alert.about, default: []].append(
                History.Turn(
                    isMet: alert.state == .firing, at: tenth(alert.at), since: since[alert.about]?.tenth ?? -1))
            guard let value = alert.value else { continue }
            let series = String(alert.about.dropFirst(2))
            let isNewest = [0, 1].contains { before in
                // Time may have decided just before a value came.
                let past = history.happenings.filter { $0.tenth <= tenth(alert.at) - before }
                let newest = past.last { if case .value(series, _) = $0.what { true } else { false } }
                return newest?.what == .value(series: series, value)
            }
            #expect(isNewest, "seed \(seed)")
        }
        for series in ["x", "y"] {
            let wanted = history.turns(series, hold: hold, end: end, until: now)
            #expect(
                told["a/\(series)"] ?? [] == wanted,
                "seed \(seed), hold \(hold), end \(String(describing: end)), \(series): \(history.happenings)")
        }
    }

    private static let lines = [
        "one: a > 5", "two: a > 5 for 7s until < 3 for 4s", "three: any a/* > 6", "four: all a/* > 2 for 3s",
        "five: p status != 200 for 2s", "six: p errors over 40s > 50%", "seven: a mean over 20s > 4 and value > 3",
        "eight: a/x silent 15s", "nine: p fails for 5s", "ten: a last > 4", "eleven: p p50 over 30s > 20ms",
        "twelve: a count over 20s > 3", "thirteen: p silent 20s", #"fourteen: a /state = "on" for 3s"#,
    ]

    /// Random lines of two sources for some time; the clock steps and the machine sleeps now and then.
    private static func play(_ stage: inout AlertStage, _ random: inout SeededGenerator, steps: Int) {
        stage.sample()
        var second = stage.seconds
        for _ in 0..<steps {
            second += Double(random.next() % 40) / 10
            switch random.next() % 14 {
            case 0...4: stage.value("a/\(random.next() % 2 == 0 ? "x" : "y")", at: second, Double(random.next() % 10))
            case 5: stage.data("a", at: second, #"{"state":"\#(random.next() % 2 == 0 ? "on" : "off")"}"#)
            case 6: stage.fail("p", at: second)
            case 7: stage.recover("p", at: second)
            case 8, 9:
                let status = [200, 200, 500, 304][Int(random.next() % 4)]
                stage.answer("p", at: second, status: status, ms: Double(random.next() % 40))
            case 10: stage.setClock(by: .microseconds(Int(random.next() % 100_000_000) - 50_000_000))
            case 11: stage.setClock(slept: .microseconds(Int(random.next() % 100_000_000)))
            default: stage.pass(to: second)
            }
        }
    }

    private static let sources = [
        SourceDescription(name: "a"), SourceDescription(name: "p", rhythm: .every(.seconds(5))),
    ]

    @Test func aRestartOrAReloadNeitherRepeatsNorForgets() throws {
        let rules = try Self.lines.map { try AlertStage.rule($0) }
        for round in 0..<LongRun.rounds(short: 8, long: 1_000) {
            var random = SeededGenerator(seed: UInt64(9_100 + round))
            var stage = AlertStage(rules, sources: Self.sources)
            for _ in 0..<6 {
                Self.play(&stage, &random, steps: 25)
                let some = rules.shuffled(using: &random).dropLast(Int(random.next() % 3))
                switch random.next() % 3 {
                case 0: stage.restart(at: stage.seconds + Double(random.next() % 60), losing: Int(random.next() % 12))
                case 1: stage.restart(at: stage.seconds + 1, losing: 0, Array(some))
                default: stage.reload(Array(some))
                }
            }
            var firing: [[UInt8]: String] = [:]
            var ended: Set<String> = []
            for alert in stage.alerts {
                switch alert.state {
                case .firing:
                    #expect(firing[alert.key] == nil, "seed \(random.seed): \(alert) fires beside another")
                    #expect(!ended.contains(alert.id), "seed \(random.seed): \(alert) has the name of one that is over")
                    firing[alert.key] = alert.id
                case .reminder: #expect(firing[alert.key] == alert.id, "seed \(random.seed)")
                case .resolved:
                    #expect(firing[alert.key] == alert.id, "seed \(random.seed): \(alert) did not fire")
                    firing[alert.key] = nil
                    ended.insert(alert.id)
                }
            }
        }
    }
}
