internal import Conditions
internal import Feed
internal import Reactor

/// An alert as the configuration or the command line gives it, with its places for error messages.
struct ConfiguredAlert: Sendable, Equatable {
    private(set) var name = ""
    private(set) var lines: [Line] = []
    private var severity: AlertRule.Severity?
    private var note: String?
    private var reminder: Duration? = AlertRule.usualReminder
    let origin: Origin

    /// A condition, and its place; that is nil for the command line's.
    struct Line: Sendable, Equatable {
        let condition: Condition
        let mark: ConfigMark?
    }

    var rule: AlertRule {
        AlertRule(
            name: name, conditions: lines.map(\.condition), severity: severity, note: note, reminder: reminder)
    }

    /// Creates an alert of the command line.
    init(_ condition: Condition, from origin: Origin) {
        (name, self.origin) = (condition.name, origin)
        lines = [Line(condition: condition, mark: nil)]
    }

    /// Reads a line, or an object.
    init(_ node: ConfigNode) throws(UsageError) {
        let origin = Origin.file(node.mark)
        switch node.value {
        case .string:
            let line = try Line(node)
            (self.origin, name, lines) = (origin, line.condition.name, [line])
        case .object:
            self = try node.object(Self.keys, into: Self(from: origin)) { alert, _ in alert }
        default: throw node.wrong("a condition or an object")
        }
    }

    /// The first condition, for messages.
    var quoted: String { UsageError.quoted(lines.first?.condition.text ?? name) }

    private init(from origin: Origin) { self.origin = origin }

    /// What a configuration writes: the line where it says everything.
    var tree: JSONTree {
        guard let line = lines.first, lines.count == 1, name == line.condition.name, severity == nil, note == nil,
            reminder == AlertRule.usualReminder
        else { return ObjectKey.tree(of: self, Self.keys) }
        return line.tree
    }

    // Conditions of an alert: 100; wrong configuration.
    static let mostLines = 100
    static let remindersRange = AlertRule.shortestReminder...Duration.seconds(365 * 86_400)
    // Name of an alert: 4,096 bytes; wrong configuration.
    private static let longestName = 4_096

    static let keys: [ObjectKey<ConfiguredAlert>] = [
        .init(
            SettingTable.rows.name.name, text(atMost: longestName), "Its name in lines; unique.", isNeeded: true, \.name
        ),
        .init(
            "when",
            SettingType(
                .conditions, tree: { $0.count == 1 ? $0[0].tree : .array($0.map(\.tree)) }, read: lines),
            "The condition, or up to \(mostLines) of which one is enough; without names.",
            isNeeded: true, \.lines),
        .init("severity", Types.words(AlertRule.Severity.allCases), "How bad it is.", \.severity),
        .init(
            "note", text(atMost: AlertRule.longestNote),
            "A text for the person who is told, up to \(AlertRule.longestNote) bytes.", \.note),
        .init(
            "remind", reminderType,
            "The time after which an alert that still fires is told again, from 1m; `false` for never, `24h` without it.",
            get: { $0.reminder == AlertRule.usualReminder ? nil : .some($0.reminder) }, set: { $0.reminder = $1 }),
    ]

    private static func text(atMost most: Int) -> SettingType<String> {
        Types.text(limit: most) { $0.utf8.count > most ? "is longer than \(most) bytes" : nil }
    }

    private static let reminderType: SettingType<Duration?> = {
        let type = Types.duration(remindersRange)
        return SettingType(.durationOrFalse(remindersRange), tree: { $0.map(type.tree) ?? .boolean(false) }) {
            node throws(UsageError) in
            switch node.value {
            case .boolean(false): return nil
            case .boolean(true): throw UsageError("is true; write how often, or false for never")
            default: return try type.value(of: node)
            }
        }
    }()

    /// Reads a line or an array of lines, without names.
    private static func lines(_ node: ConfigNode) throws(UsageError) -> [Line] {
        func line(_ node: ConfigNode) throws(UsageError) -> Line {
            let line = try Line(node)
            guard line.condition.name == line.condition.text else {
                let name = UsageError.quoted(line.condition.name)
                throw UsageError("begins with a name of its own, \(name); leave it out, as the object has the name")
            }
            return line
        }
        switch node.value {
        case .string: return [try line(node)]
        case .array([]): throw UsageError("is empty; write a condition")
        case .array: return try node.elements(atMost: mostLines, line)
        default: throw node.wrong("a condition or an array of conditions")
        }
    }
}

extension ConfiguredAlert.Line {
    /// - Throws: the fault of the condition, at its place in the string where that is known.
    init(_ node: ConfigNode) throws(UsageError) {
        guard case .string(let text) = node.value else { throw node.wrong("a condition") }
        do throws(ConditionFault) {
            self.init(condition: try Condition(text), mark: node.mark)
        } catch {
            let before = error.line.unicodeScalars.prefix(error.column - 1)
            // The fault counts escapes and hidden characters as they are shown.
            let isAsWritten = before.count <= node.tree.plainLength && text.unicodeScalars.starts(with: before)
            throw UsageError(
                error.description, at: isAsWritten ? node.mark.moved(by: error.column) : node.mark)
        }
    }

    fileprivate var tree: JSONTree { .string(condition.text) }
}

/// Checks what alerts must not have in common.
struct AlertRegister {
    private var alerts: [ConfiguredAlert] = []
    private var numbers: [String: Int] = [:]
    private var conditions = 0

    /// Adds an alert.
    ///
    /// - Returns: what is wrong with it beside the others; nil if nothing is.
    mutating func add(_ alert: ConfiguredAlert) -> String? {
        let before = conditions
        conditions += alert.lines.count
        if let number = numbers[alert.name] {
            let (name, other) = (UsageError.quoted(alert.name), alerts[number])
            return "\(name) is the name of another alert already: \(other.quoted) from \(other.origin.text)"
        }
        numbers[alert.name] = alerts.count
        alerts.append(alert)
        let most = AlertRule.mostConditions
        return before <= most && conditions > most ? "\(most) conditions are the most of all alerts" : nil
    }
}
