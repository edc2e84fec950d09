/// What a person wants to be told: one condition, or several of which one is enough, under a name.
package struct AlertRule: Sendable, Equatable {
    package enum Severity: String, Sendable, CaseIterable {
        case info, warning, critical
    }

    /// The name in `alert` lines; unlike that of any other rule.
    package let name: String
    /// Never empty. For one series the rule fires when one of them is met, and is resolved when none is.
    package let conditions: [Condition]
    package let severity: Severity?
    /// A text for the person who is told.
    package let note: String?
    /// The time after which an alert that still fires is told again, at least a minute; nil for never.
    package let reminder: Duration?

    // Bound: conditions of all alerts | 10,000 | wrong configuration, exit 2
    /// The most conditions of all rules together.
    package static let mostConditions = 10_000
    // The note of an alert: 1,000 bytes; wrong configuration.
    package static let longestNote = 1_000
    package static let usualReminder = Duration.seconds(86_400)
    package static let shortestReminder = Duration.seconds(60)

    package init(
        name: String, conditions: [Condition], severity: Severity? = nil, note: String? = nil,
        reminder: Duration? = usualReminder
    ) {
        precondition(!conditions.isEmpty)
        (self.name, self.conditions, self.severity, self.note) = (name, conditions, severity, note)
        self.reminder = reminder
    }
}
