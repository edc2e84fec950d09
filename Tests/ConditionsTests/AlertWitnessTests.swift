import Feed
import Reactor
import TestSupport
import Testing

@testable import Conditions

/// Alerts of random feeds, through restarts and reloads, against a witness that looks at all of history for each moment.
@Suite(.limited) struct AlertWitnessTests {
    private typealias Rule = WitnessRule

    private static let all: [Rule] = [
        Rule(name: "high", subject: "s/*", test: .above(5)),
        Rule(name: "held", subject: "s/*", test: .above(4), hold: 3),
        Rule(name: "slow", subject: "s/*", test: .above(6), hold: 2, end: (3, 4)),
        Rule(name: "apart", subject: "p/*", test: .above(6), end: (3, 0)),
        Rule(name: "room", subject: "p/*", test: .above(4), hold: 20, end: (4, 12)),
        Rule(name: "any", set: "any", subject: "s/*", test: .above(7), end: (5, 3)),
        Rule(name: "all", set: "all", subject: "p/*", test: .above(2), hold: 6),
        Rule(name: "fails", subject: "p", test: .fails, hold: 7),
        Rule(name: "status", subject: "p", test: .badStatus),
        Rule(name: "quiet", subject: "p", test: .silent(13)),
        Rule(name: "mute", subject: "s/*", test: .silent(6)),
    ]
    private static let changed: [Rule] = [
        Rule(name: "high", subject: "s/*", test: .above(3), hold: 2),
        Rule(name: "apart", subject: "p/*", test: .above(6), end: (5, 9)),
        Rule(name: "fails", subject: "p", test: .fails),
    ]

    private static func rules(_ rules: [Rule]) throws -> [AlertRule] { try AlertStage.rules(rules.map(\.line)) }

    @Test func everyChangeIsThatOfTheRules() throws {
        for round in 0..<LongRun.rounds(short: 60, long: 2_000) {
            var random = SeededGenerator(seed: UInt64(42_000 + round))
            var now = Self.all
            var stage = AlertStage(
                try Self.rules(now),
                sources: [.init(name: "s"), .init(name: "p", rhythm: .every(.seconds(5)))])
            var witness = AlertWitness(now)
            var (tenth, second, fails) = (0, 0, false)
            for _ in 0..<60 {
                tenth += 1 + Int(random.next() % 40)
                if tenth % 10 == 0 { tenth += 1 }
                while second + 1 <= tenth / 10 {
                    second += 1
                    stage.tick(at: Double(second))
                    witness.evaluate(at: Double(second))
                }
                let time = Double(tenth) / 10
                stage.go(to: time)
                switch random.next() % 16 {
                case 0...6:
                    let (series, value) = (random.next() % 2 == 0 ? "s/x" : "s/y", Double(random.next() % 10))
                    stage.publish(stage.value(series, value))
                    witness.value(series, value, at: time)
                case 7...10:
                    let values = ["p/x", "p/y"].map { (series: $0, value: Double(random.next() % 10)) }
                    stage.poll("p", values, recovers: fails)
                    witness.answer(200, values, at: time)
                    fails = false
                case 11:
                    stage.poll("p", [], status: 304, recovers: fails)
                    witness.answer(304, [], at: time)
                    fails = false
                case 12, 13:
                    stage.poll("p", nil, recovers: false)
                    witness.answer(nil, [], at: time)
                    fails = true
                case 14:
                    tenth += 10 * Int(random.next() % 60)
                    second = tenth / 10
                    let newestLine = ((stage.journal.last?.line.time ?? AlertStage.start) - AlertStage.start).seconds
                    stage.restart(after: Double(tenth) / 10 - time)
                    witness.restart(at: Double(tenth) / 10, newestLine: newestLine)
                    fails = false
                default:
                    now = Self.all.shuffled(using: &random).dropLast(Int(random.next() % 4)).map { rule in
                        random.next() % 3 > 0 ? rule : Self.changed.first { $0.name == rule.name } ?? rule
                    }
                    stage.reload(try Self.rules(now))
                    witness.reload(now, at: time)
                }
            }
            try check(stage, witness, seed: random.seed)
        }
    }

    private func check(_ stage: borrowing AlertStage, _ witness: AlertWitness, seed: UInt64) throws {
        func second(_ time: Timestamp) -> Double { ((time - AlertStage.start).seconds * 10).rounded() / 10 }
        let told = stage.alerts.filter { $0.state != .reminder }.map {
            AlertWitness.Told(
                about: $0.about, condition: $0.condition, state: $0.state.rawValue, at: second($0.at),
                since: second($0.since))
        }
        func sorted(_ told: [AlertWitness.Told]) -> [String] {
            told.enumerated().sorted {
                ($0.element.condition, $0.element.about, $0.offset) < (
                    $1.element.condition, $1.element.about, $1.offset
                )
            }
            .map {
                "\($0.element.condition) \($0.element.about) \($0.element.state) at \($0.element.at) since \($0.element.since)"
            }
        }
        let (ours, theirs) = (sorted(told), sorted(witness.told))
        guard ours != theirs else { return }
        let first = zip(ours, theirs).first { $0 != $1 }
        Issue.record("seed \(seed): \(first?.0 ?? ours.last ?? "-") against \(first?.1 ?? theirs.last ?? "-")")
    }
}

/// A condition, in parts.
struct WitnessRule: Equatable {
    enum Test: Equatable {
        case above(Double)
        case fails
        case silent(Double)
        case badStatus
    }

    var name: String
    /// `any` or `all`; empty for each.
    var set = ""
    /// `s/*`, or the source `p`.
    var subject: String
    var test: Test
    var hold = 0.0
    var end: (below: Double, hold: Double)?

    static func == (left: WitnessRule, right: WitnessRule) -> Bool { left.line == right.line }

    /// As people write it.
    var line: String {
        func text(_ hold: Double) -> String { hold > 0 ? " for \(Int(hold))s" : "" }
        let test =
            switch test {
            case .above(let limit): "value > \(limit)"
            case .fails: "fails"
            case .silent(let span): "silent \(Int(span))s"
            case .badStatus: "status != 200"
            }
        let end = end.map { " until value < \($0.below)\(text($0.hold))" } ?? ""
        return "\(name): \(set) \(subject) \(test)\(text(hold))\(end)"
    }
}
