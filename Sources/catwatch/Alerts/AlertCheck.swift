internal import Conditions
internal import Feed
internal import Settings

/// What fires after the first answers of the sources.
struct AlertCheck {
    private let rules: [AlertRule]
    /// What fires is about, by the names of the rule and of the episode.
    private var firing: [String: [String: String]] = [:]

    private static let mostNames = 3

    init(_ rules: [AlertRule]) { self.rules = rules }

    /// Applies an alert line.
    mutating func apply(_ alert: Alert) {
        switch (alert.state, alert.reason) {
        case (.firing, _), (.clearing, _): firing[alert.condition, default: [:]][alert.id] = alert.about
        // A source is not read any more once it has answered.
        case (.pending, _), (.ok, _), (.reminder, _), (.resolved, .forgotten): break
        case (.resolved, _): firing[alert.condition]?[alert.id] = nil
        }
    }

    /// Whether an alert fires.
    var isFiring: Bool { firing.values.contains { !$0.isEmpty } }

    /// A line for each alert.
    var report: String {
        rules.map { rule in
            let names = (firing[LineEncoder.cut(rule.name)]?.values).map { $0.sorted() } ?? []
            let shown = names.prefix(Self.mostNames).map { Sanitizer.visible($0, limit: 100) }.joined(separator: ", ")
            let state = names.isEmpty ? "does not fire" : "fires for \(names.count): \(shown)"
            let more = names.count > Self.mostNames ? ", …" : ""
            return "alert \(Sanitizer.visible(rule.name, limit: 100)): \(state)\(more)\n"
        }.joined()
    }
}
