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
    /// `hot 1130 > 1000 since 14:03 · critical`
    let text: String

    // Names of alerts in rows: 30 characters; cut.
    private static let longestName = 30

    /// - Parameters:
    ///   - more: how many further alerts are about the same.
    ///   - offset: of local time from UTC, in seconds.
    init(_ alert: BoardAlert, more: Int = 0, at now: Timestamp, offset: Int) {
        severity = Severity(alert)
        name = alert.subject
        let scalars = alert.condition.unicodeScalars
        let isLong = scalars.count > Self.longestName
        var words = [isLong ? String(scalars.prefix(Self.longestName - 1)) + "…" : alert.condition]
        if let value = alert.value.map(NumberText.short) ?? alert.text { words.append(value) }
        words.append(Self.test(of: alert))
        words.append("since " + NumberText.moment(alert.since, now: now, offset: offset))
        var parts = [words.joined(separator: " ")]
        if let severity = alert.severity { parts.append(severity) }
        if alert.isDoubtful { parts.append("lines are missing, it may be over") }
        if more > 0 { parts.append("\(more) more") }
        text = parts.joined(separator: " · ")
    }

    /// The part of the condition that the value is compared with, or else all of it but a name that the row has.
    private static func test(of alert: BoardAlert) -> String {
        if let limit = alert.limit {
            let ends = [limit.value, limit.upper].compactMap(\.self).map(NumberText.short).joined(separator: " .. ")
            return limit.comparison.rawValue + " " + ends
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
        var text = from > 0 && from < to ? "lines \(from) to \(to)" : "line \(to)"
        if let worst = alert.evidence.worst, worst > 0, worst != to { text += ", worst \(worst)" }
        return alert.agent.map { text + " of \($0)" } ?? text
    }

    /// How many fire: `3 alerts`.
    static func count(_ count: Int) -> String { count == 1 ? "1 alert" : "\(count) alerts" }
}

extension Board {
    /// The alerts about a series, the worst first, each with the number of those behind it.
    func alertsByWorst(about series: String) -> [(alert: BoardAlert, more: Int)] {
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
