internal import Feed
internal import Reactor

/// What a view says of an alert that fires. The page has a twin, alerts.mjs, tested with the same vectors
/// (Tests/Vectors/order).
struct AlertRow: Sendable, Equatable {
    /// The worst first.
    enum Severity: Int, Sendable, Comparable {
        case critical, unknown, warning, info

        init(_ alert: BoardAlert) {
            switch alert.severity {
            case "critical": self = .critical
            case "warning": self = .warning
            case "info": self = .info
            default: self = .unknown
            }
        }

        /// Each severity that is yellow or blue has a mark of its own.
        var mark: String {
            switch self {
            case .critical, .unknown: "✕"
            case .warning: "▲"
            case .info: "◆"
            }
        }

        static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    let severity: Severity
    /// What it is about.
    let name: String
    /// `hot 1130 > 1000 since 14:03`, and what follows: ` · critical`. Apart, as plain ASCII is painted faster.
    private let main: String
    private let rest: String
    /// The width of the text.
    let columns: Int

    // Names, values and tests of alerts in rows: 30, 60 and 100 characters; cut.
    private static let (longestName, longestValue, longestTest) = (30, 60, 100)

    /// - Parameters:
    ///   - more: how many further alerts are about the same.
    ///   - offset: of local time from UTC, in seconds.
    init(_ alert: BoardAlert, more: Int = 0, at now: Timestamp, offset: Int) {
        severity = Severity(alert)
        name = alert.subject
        // In one go: rows are made anew for each frame.
        var main = Self.cut(alert.condition, to: Self.longestName)
        if let value = alert.value.map(NumberText.short) ?? alert.text {
            main += " " + Self.cut(value, to: Self.longestValue)
        }
        main += " " + Self.cut(Self.test(of: alert), to: Self.longestTest)
        main += " since " + NumberText.moment(alert.since, now: now, offset: offset)
        var rest = ""
        if let severity = alert.severity { rest += " · " + severity }
        if alert.isDoubtful { rest += " · lines are missing, it may be over" }
        if more > 0 { rest += " · \(more) more" }
        (self.main, self.rest) = (main, rest)
        columns = main.columns + rest.columns
    }

    var text: String { main + rest }

    func pieces(_ style: Style) -> [Painter.Piece] { rest.isEmpty ? [(main, style)] : [(main, style), (rest, style)] }

    private static func cut(_ text: String, to most: Int) -> String {
        guard text.utf8.count > most, text.unicodeScalars.count > most else { return text }
        return String(text.unicodeScalars.prefix(most - 1)) + "…"
    }

    /// The part of the condition that the value is compared with, or else all of it but a name that the row has.
    private static func test(of alert: BoardAlert) -> String {
        if let limit = alert.limit {
            let end = limit.upper.map { " .. " + NumberText.short($0) } ?? ""
            return limit.comparison.rawValue + " " + NumberText.short(limit.value) + end
        }
        let about = alert.about + " "
        return alert.test.utf8.starts(with: about.utf8)
            ? String(Substring(alert.test.utf8.dropFirst(about.utf8.count))) : alert.test
    }

    /// The lines that show it: `lines 640 to 811`; nil if no line does, or those of another run.
    ///
    /// - Parameter run: the feed's run; that of an agent of a fleet is not looked at.
    static func lines(of alert: BoardAlert, run: String?) -> String? {
        let (from, to) = (alert.evidence.from, alert.evidence.to)
        guard to > 0, alert.agent != nil || alert.evidence.run == run else { return nil }
        let text = from > 0 && from < to ? "lines \(from) to \(to)" : "line \(to)"
        return alert.agent.map { text + " of \($0)" } ?? text
    }

    /// How many fire: `3 alerts`.
    static func count(_ alerts: BoardAlerts) -> String {
        // Some found no room.
        if alerts.refused > 0 { return "\(alerts.count)+ alerts" }
        return alerts.count == 1 ? "1 alert" : "\(alerts.count) alerts"
    }
}

extension Board {
    /// The alerts about a series, the worst first, each with the number of those behind it.
    func alertsByWorst(about series: String) -> [(alert: BoardAlert, more: Int)] {
        let numbers = alerts.numbers(about: series)
        if numbers.count <= 1 { return numbers.compactMap { self.alerts[$0] }.map { ($0, 0) } }
        let alerts = alerts.about(series).enumerated()
            .sorted { (AlertRow.Severity($0.element), $0.offset) < (AlertRow.Severity($1.element), $1.offset) }
        return alerts.enumerated().map { ($0.element.element, alerts.count - 1 - $0.offset) }
    }

    /// The agent of a fleet that an alert is about, or comes from; nil for the feed's own.
    func agent(of alert: BoardAlert) -> String? {
        if let agent = alert.agent { return agent }
        let kind = SeriesKind(of: alert.subject).prefix
        return agent(ofSource: String(Substring(alert.subject.utf8.dropFirst(kind.utf8.count))))
            ?? agents.lazy.map(\.name).first { $0 == alert.subject }
    }
}
