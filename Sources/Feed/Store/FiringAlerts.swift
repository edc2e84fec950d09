/// The alerts that are not ok, in the order in which they began, and for how many series, sources or sets each condition fires.
struct FiringAlerts: Sendable {
    /// A condition of ours, of the relayed agent, or of an agent of a fleet.
    private struct Name: Hashable {
        let agent: String?
        let condition: Board.Name
    }

    private struct Condition {
        let name: Name
        /// How many alerts are not ok, and how many of these fire.
        var count = 0
        var firing = 0
    }

    private struct Alert {
        /// Its number among all that began to fire.
        let number: Int
        let condition: Int
        var isFiring: Bool
    }

    /// By series.
    private var alerts: [Int32: Alert] = [:]
    /// In their order, with some that are over: those whose number is not the series' any more.
    private var order: [(number: Int, series: Int32)] = []
    /// The number of the next alert.
    private var end = 0

    private var conditions: [Condition] = []
    private var positions: [Name: Int] = [:]
    private var idle = 0

    // Bound: conditions of alert lines that are counted | those that fire, and 1,000; 256 bytes of a name | those that do not fire
    //   forgotten; names cut
    private static let mostIdle = 1_000
    private static let longestName = 256

    /// The number of alerts that fire.
    private(set) var count = 0
    func contains(_ series: Int) -> Bool { alerts[Int32(truncatingIfNeeded: series)] != nil }
    /// Whether as many alerts are not ok.
    func isAll(_ number: Int) -> Bool { alerts.count == number }

    /// Records that an alert fires or is pending; one that did either before keeps its place.
    mutating func set(_ series: Int, of condition: String, isFiring: Bool, agent: String?) {
        let series = Int32(truncatingIfNeeded: series)
        if let known = alerts[series] {
            guard known.isFiring != isFiring else { return }
            alerts[series]?.isFiring = isFiring
            conditions[known.condition].firing += isFiring ? 1 : -1
            count += isFiring ? 1 : -1
            return
        }
        let position = position(of: Self.name(condition, agent))
        if conditions[position].count == 0 { idle -= 1 }
        conditions[position].count += 1
        if isFiring {
            conditions[position].firing += 1
            count += 1
        }
        alerts[series] = Alert(number: end, condition: position, isFiring: isFiring)
        if order.count >= 2 * alerts.count + 64 { order.removeAll { alerts[$0.series]?.number != $0.number } }
        order.append((end, series))
        end += 1
    }

    /// Records that an alert is over; nothing if it was not there.
    mutating func finish(_ series: Int) {
        guard let alert = alerts.removeValue(forKey: Int32(truncatingIfNeeded: series)) else { return }
        conditions[alert.condition].count -= 1
        if alert.isFiring {
            conditions[alert.condition].firing -= 1
            count -= 1
        }
        guard conditions[alert.condition].count == 0 else { return }
        idle += 1
        if idle > Self.mostIdle { removeIdle() }
    }

    private static func name(_ condition: String, _ agent: String?) -> Name {
        Name(agent: agent, condition: Board.Name(LineEncoder.cut(condition, at: longestName)))
    }

    private mutating func position(of name: Name) -> Int {
        if let known = positions[name] { return known }
        positions[name] = conditions.count
        conditions.append(Condition(name: name))
        idle += 1
        return conditions.count - 1
    }

    private mutating func removeIdle() {
        var moved = [Int](repeating: 0, count: conditions.count)
        var kept: [Condition] = []
        for (position, condition) in conditions.enumerated() where condition.count > 0 {
            moved[position] = kept.count
            kept.append(condition)
        }
        (conditions, idle) = (kept, 0)
        positions = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($0.element.name, $0.offset) })
        alerts = alerts.mapValues { Alert(number: $0.number, condition: moved[$0.condition], isFiring: $0.isFiring) }
    }

    // MARK: Reading

    /// For how many series a condition of ours fires, or is pending.
    func count(of condition: String) -> AlertCount {
        let known = positions[Self.name(condition, nil)].map { conditions[$0] }
        return AlertCount(
            agent: nil, condition: condition, firing: known?.firing ?? 0,
            pending: (known?.count ?? 0) - (known?.firing ?? 0))
    }

    /// The conditions that are not ok, or were not.
    var counts: [AlertCount] {
        conditions.map {
            AlertCount(
                agent: $0.name.agent, condition: $0.name.condition.text, firing: $0.firing,
                pending: $0.count - $0.firing)
        }
    }

    /// The series of the alerts that fire, in the order in which they began, each with its condition's agent.
    var all: [(series: Int, agent: String?)] {
        order.compactMap { entry in
            guard let alert = alerts[entry.series], alert.number == entry.number, alert.isFiring else { return nil }
            return (Int(entry.series), conditions[alert.condition].name.agent)
        }
    }
}

/// For how many series, sources or sets of series a condition fires.
package struct AlertCount: Sendable, Equatable {
    /// The agent of a fleet whose condition it is; nil for the feed's own.
    package let agent: String?
    package let condition: String
    package let firing: Int
    /// For how many its tests hold, but not yet for long enough.
    package let pending: Int
}

/// An alert that fires.
package struct FiringAlert: Sendable {
    /// The agent of a fleet that it is of; nil for the feed's own.
    package let agent: String?
    /// Its newest line as a `kept` line has it; nil if there was no room for it.
    package let line: [UInt8]?

    /// What the line says.
    package var alert: Alert? {
        guard let line, case .alert(let alert)? = try? LineDecoder.decodeKept(line[...]).body else { return nil }
        return alert
    }
}
