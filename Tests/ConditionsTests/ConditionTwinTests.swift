import Feed
import Reactor
import TestSupport
import Testing

@testable import Conditions

/// Conditions on the values of a source, against a witness that looks at the whole history anew for each moment.
@Suite(.limited) struct ConditionTwinTests {
    enum Happening: Equatable {
        case value(series: String, Double)
        case failure, recovery, unchanged, gap
    }

    /// Everything that has happened, at ascending times in tenths of a second.
    struct History {
        var happenings: [(tenth: Int, what: Happening)] = []

        /// Whether the newest value of a series is above a limit at a moment; nil for unknown.
        ///
        /// - Parameter isBefore: whether without the happenings of that moment.
        func isAbove(_ limit: Double, _ series: String, at tenth: Int, isBefore: Bool) -> Bool? {
            let past = happenings.filter { $0.tenth < tenth + (isBefore ? 0 : 1) }.map(\.what)
            func last(_ isMeant: (Happening) -> Bool) -> Int { past.lastIndex(where: isMeant) ?? -1 }
            let failed = last { $0 == .failure }
            let unchanged = last { $0 == .unchanged }
            let good = last {
                if case .value = $0 { true } else { $0 == .recovery || $0 == .unchanged }
            }
            let read = last { if case .value(series, _) = $0 { true } else { false } }
            guard read >= 0, case .value(_, let value) = past[read], failed <= good, last({ $0 == .gap }) < read,
                failed < read || unchanged > failed
            else { return nil }
            return value > limit
        }

        /// A time from which on a condition is met, or is not, and since when its tests held.
        struct Turn: Equatable {
            var isMet: Bool
            var at: Int
            var since: Int
        }

        /// Whether `series > 5 for HOLD until < 4 for END` is met at a moment.
        ///
        /// - Parameter end: nil without `until`.
        func isMet(_ series: String, hold: Int, end: Int?, at now: Int) -> Bool {
            turns(series, hold: hold, end: end, until: now).last?.isMet ?? false
        }

        func turns(_ series: String, hold: Int, end: Int?, until now: Int) -> [Turn] {
            var turns: [Turn] = []
            var (since, ending, isFiring): (Int?, Int?, Bool) = (nil, nil, false)
            // Deadlines come before what happens at the same moment.
            for step in 0...2 * now + 1 {
                let (tenth, isBefore) = (step / 2, step % 2 == 0)
                let before = (isFiring: isFiring, since: since)
                defer {
                    if isFiring != before.isFiring {
                        turns.append(Turn(isMet: isFiring, at: tenth, since: since ?? before.since ?? -1))
                    }
                }
                let isAbove = isAbove(5, series, at: tenth, isBefore: isBefore)
                if !isFiring {
                    if isAbove == true { since = since ?? tenth }
                    if isAbove == false { since = nil }
                    if isAbove == true, let since, tenth - since >= hold { (isFiring, ending) = (true, nil) }
                    continue
                }
                guard let end else {
                    if isAbove == false { (isFiring, since) = (false, nil) }
                    continue
                }
                // 4 is neither above 5 nor below 4.
                let isBelow = self.isAbove(3.5, series, at: tenth, isBefore: isBefore).map { !$0 }
                if isBelow == true { ending = ending ?? tenth }
                if isBelow == false { ending = nil }
                if isBelow == true, let ending, tenth - ending >= end { (isFiring, since) = (false, nil) }
            }
            return turns
        }
    }

    @Test func agreesWithALookAtAllOfHistory() throws {
        for round in 0..<LongRun.rounds(short: 20, long: 2_000) {
            var random = SeededGenerator(seed: UInt64(2_500 + round))
            let hold = Int(random.next() % 3) * 7
            let end = [nil, 0, 11][Int(random.next() % 3)]
            let ending = end.map { $0 == 0 ? " until < 4" : " until < 4 for \($0)00ms" } ?? ""
            let line = "> 5\(hold == 0 ? "" : " for \(hold)00ms")\(ending)"
            var stage = try ConditionStage("a/x \(line)", "a/y \(line)")
            var history = History()
            var tenth = 0
            for _ in 0..<25 {
                tenth += 1 + Int(random.next() % 12)
                let second = Double(tenth) / 10
                let happening: Happening
                switch random.next() % 12 {
                case 0...6: happening = .value(series: random.next() % 2 == 0 ? "x" : "y", Double(random.next() % 8))
                case 7: happening = .failure
                case 8: happening = .recovery
                case 9: happening = .unchanged
                case 10: happening = .gap
                default:
                    // Only time passes.
                    stage.pass(to: second)
                    check(&stage, history, hold, end, tenth, random.seed)
                    continue
                }
                history.happenings.append((tenth, happening))
                switch happening {
                case .value(let series, let value): try stage.value("a/\(series)", second, value)
                case .failure: try stage.error("a", second)
                case .recovery: try stage.recovered("a", second)
                case .unchanged: try stage.latency("a", second, status: 304)
                case .gap:
                    stage.pass(to: second)
                    try stage.gap()
                }
                check(&stage, history, hold, end, tenth, random.seed)
            }
        }
    }

    private func check(
        _ stage: inout ConditionStage, _ history: History, _ hold: Int, _ end: Int?, _ tenth: Int, _ seed: UInt64
    ) {
        for (number, series) in ["x", "y"].enumerated() {
            let wanted = history.isMet(series, hold: hold, end: end, at: tenth)
            #expect(
                stage.board.isMet(number) == wanted,
                "seed \(seed), \(series) at \(tenth), hold \(hold), end \(String(describing: end)): \(history)")
        }
    }
}
