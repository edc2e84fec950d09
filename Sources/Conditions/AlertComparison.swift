package import Feed

/// Compares the alerts that a recording has with those that are computed from its lines.
package struct AlertComparison: Sendable {
    /// Of several alerts with the same key, the first of one side is compared with the first of the other.
    private struct Key: Hashable {
        let id: String
        let state: Alert.State
        let condition: Board.Name
        let about: Board.Name

        init(_ alert: Alert) {
            (id, state) = (alert.id, alert.state)
            (condition, about) = (Board.Name(alert.condition), Board.Name(alert.about))
        }
    }

    // Bound: alerts that `check --same` holds until their twin comes | 10,000 on each side | count as different
    private static let most = 10_000
    /// The most differences that are told.
    package static let mostTold = 10

    private var recorded = Side()
    private var computed = Side()
    private var crashes = 0
    /// The number of alerts that both have.
    package private(set) var same = 0
    /// The number of differences, and the first of them, a sentence each.
    package private(set) var count = 0
    package private(set) var differences: [String] = []

    /// An alert, and the number of crashes before it was told, or computed.
    private typealias Told = (alert: Alert, crashes: Int)

    private struct Side {
        private var alerts: [Key: [Told]] = [:]
        private(set) var count = 0

        mutating func add(_ alert: Alert, after crashes: Int) {
            alerts[Key(alert), default: []].append((alert, crashes))
            count += 1
        }

        mutating func removeFirst(like alert: Alert) -> Told? {
            let key = Key(alert)
            guard var waiting = alerts[key] else { return nil }
            count -= 1
            let first = waiting.removeFirst()
            alerts[key] = waiting.isEmpty ? nil : waiting
            return first
        }

        /// In the order of their times.
        var rest: [Alert] { alerts.values.joined().map(\.alert).sorted { ($0.at, $0.id) < ($1.at, $1.id) } }
    }

    package init() {}

    /// A run has ended without a `bye`: its newest lines may be lost.
    package mutating func noteCrash() { crashes += 1 }

    package mutating func add(recorded alert: Alert) {
        if let twin = computed.removeFirst(like: alert) { return compare((alert, crashes), twin) }
        guard recorded.count < Self.most else { return differ(alert, "is not computed") }
        recorded.add(alert, after: crashes)
    }

    package mutating func add(computed alert: Alert) {
        if let twin = recorded.removeFirst(like: alert) { return compare(twin, (alert, crashes)) }
        guard computed.count < Self.most else { return differ(alert, "is not recorded") }
        computed.add(alert, after: crashes)
    }

    /// Counts those whose twin has not come.
    package mutating func finish() {
        for alert in recorded.rest { differ(alert, "is not computed") }
        for alert in computed.rest { differ(alert, "is not recorded") }
        (recorded, computed) = (Side(), Side())
    }

    private mutating func compare(_ recorded: Told, _ computed: Told) {
        // A crash lost its line, and it was told again when the next run began, as things were then.
        guard recorded.crashes <= computed.crashes else {
            same += 1
            return
        }
        compare(recorded.alert, computed.alert)
    }

    private mutating func compare(_ recorded: Alert, _ computed: Alert) {
        func both(_ what: String, _ left: String, _ right: String) -> String {
            "has \(what) \(left), and \(right) is computed"
        }
        if recorded.at != computed.at {
            differ(recorded, both("the time", recorded.at.text, computed.at.text))
        } else if recorded.since != computed.since {
            differ(recorded, both("since", recorded.since.text, computed.since.text))
        } else if recorded.value != computed.value {
            differ(recorded, both("the value", Self.text(recorded.value), Self.text(computed.value)))
        } else if recorded.text != computed.text {
            differ(recorded, both("the text", recorded.text ?? "none", computed.text ?? "none"))
        } else if recorded.reason != computed.reason {
            differ(recorded, both("the reason", recorded.reason?.rawValue ?? "", computed.reason?.rawValue ?? ""))
        } else {
            same += 1
        }
    }

    private static func text(_ value: Double?) -> String { value.map { "\($0)" } ?? "none" }

    private mutating func differ(_ alert: Alert, _ how: String) {
        count += 1
        guard differences.count < Self.mostTold else { return }
        differences.append("\(alert.at.text) \(alert.condition) (\(alert.about)) \(alert.state.rawValue): \(how)")
    }
}
