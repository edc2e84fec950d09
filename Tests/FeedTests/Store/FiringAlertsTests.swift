import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct FiringAlertsTests {
    /// The same by hand.
    private struct Twin {
        var firing: [(series: Int, condition: String, agent: String?)] = []
        /// What fired once, in its order.
        var seen: [String] = []

        mutating func begin(_ series: Int, _ condition: String, _ agent: String?) {
            guard !firing.contains(where: { $0.series == series }) else { return }
            firing.append((series, condition, agent))
            if !seen.contains(name(condition, agent)) { seen.append(name(condition, agent)) }
        }

        func name(_ condition: String, _ agent: String?) -> String { "\(agent ?? "") \(condition)" }
        func count(_ name: String) -> Int { firing.count { self.name($0.condition, $0.agent) == name } }
    }

    private static func order(_ alerts: FiringAlerts) -> [Int] {
        alerts.all.map(\.series)
    }

    private static func counts(_ alerts: FiringAlerts) -> [String: Int] {
        Dictionary(alerts.counts.map { ("\($0.agent ?? "") \($0.condition)", $0.firing) }) { $0 + $1 }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func comesToTheSameAsByHand(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (alerts, twin) = (FiringAlerts(), Twin())
        for step in 0..<3_000 {
            let series = Int.random(in: 0..<(step % 700 < 350 ? 300 : 10), using: &random)
            if Bool.random(using: &random) {
                let condition = "c\(Int.random(in: 0..<7, using: &random))"
                let agent = [nil, nil, "web1", "web2"].randomElement(using: &random) ?? nil
                alerts.set(series, of: condition, isFiring: true, agent: agent)
                twin.begin(series, condition, agent)
            } else {
                alerts.finish(series)
                twin.firing.removeAll { $0.series == series }
            }
            #expect(alerts.count == twin.firing.count, "seed \(seed), step \(step)")
            guard step % 50 == 0 else { continue }
            #expect(Self.order(alerts) == twin.firing.map(\.series), "seed \(seed), step \(step)")
            #expect(
                Self.counts(alerts) == Dictionary(uniqueKeysWithValues: twin.seen.map { ($0, twin.count($0)) }),
                "seed \(seed), step \(step)")
            #expect(alerts.count(of: "c3").firing == twin.count(" c3"), "seed \(seed), step \(step)")
        }
    }

    @Test func aReminderKeepsThePlaceAndAnotherEpisodeComesLast() {
        var alerts = FiringAlerts()
        for series in [5, 3, 5, 9] { alerts.set(series, of: "a", isFiring: true, agent: nil) }
        #expect(Self.order(alerts) == [5, 3, 9] && alerts.count(of: "a").firing == 3)
        alerts.finish(5)
        alerts.finish(7)
        alerts.set(5, of: "a", isFiring: true, agent: nil)
        #expect(Self.order(alerts) == [3, 9, 5] && alerts.count(of: "a").firing == 3)
    }

    @Test func namesThatFireNoMoreAreForgottenWhenTheyAreTooMany() {
        var alerts = FiringAlerts()
        alerts.set(-1, of: "first", isFiring: true, agent: nil)
        for number in 0..<5_000 {
            alerts.set(number, of: "c\(number)", isFiring: true, agent: "web1")
            if number != 2_500 { alerts.finish(number) }
            #expect(alerts.counts.count <= 1_003)
        }
        alerts.set(-2, of: "last", isFiring: true, agent: nil)
        #expect(Self.order(alerts) == [-1, 2_500, -2])
        let counts = Self.counts(alerts)
        #expect(counts[" first"] == 1 && counts["web1 c2500"] == 1 && counts[" last"] == 1)
        #expect(counts.values.reduce(0, +) == 3)
        alerts.finish(2_500)
        #expect(Self.counts(alerts)["web1 c2500"] == 0 && alerts.count == 2)
    }

    @Test func whatIsOverTakesNoMemory() throws {
        var alerts = FiringAlerts()
        for number in 0..<10_000 {
            alerts.set(number, of: "a", isFiring: true, agent: nil)
            alerts.finish(number)
        }
        let order = try #require(Mirror(reflecting: alerts).descendant("order"))
        #expect(Mirror(reflecting: order).children.count <= 64)
    }

    @Test func namesAreCut() {
        var alerts = FiringAlerts()
        alerts.set(0, of: String(repeating: "é", count: 4_000), isFiring: true, agent: nil)
        #expect(alerts.counts[0].condition == String(repeating: "é", count: 128))
        #expect(alerts.count(of: String(repeating: "é", count: 4_000)).firing == 1)
    }
}
