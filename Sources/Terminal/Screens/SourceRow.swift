internal import Feed
internal import Reactor

/// What a row of the list says of a source: that it fails or is late, or as the heading above its series. The page has
/// a twin, tested with the same vectors (Tests/Vectors/order).
struct SourceRow: Sendable, Equatable {
    enum Mark: String, Sendable {
        case ok = "●"
        case late = "◐"
        case failing = "✕"
        case starting = "○"
    }

    /// Nil for latencies, counts and memory, which are of all sources.
    var mark: Mark?
    var name: String
    /// What is wrong, the most useful part first; or how many series there are, and the period.
    var text: String
    /// The time since the last good answer; empty if it does not matter or is not known.
    var age = ""

    init(name: String, text: String) { (self.name, self.text) = (name, text) }

    /// A failing or late source.
    ///
    /// - Parameters:
    ///   - window: the width of the agent's windows.
    ///   - offset: of local time from UTC, in seconds.
    init(trouble source: BoardSource, at now: Timestamp, window: Duration, offset: Int) {
        name = source.name
        guard source.state == .failing else {
            mark = .late
            let (silence, expected) = source.lateness(at: now, window: window) ?? (.zero, window)
            text = "nothing for \(NumberText.age(silence)), expected each \(NumberText.span(expected))"
            return
        }
        mark = .failing
        let failure = source.failure
        var parts = [[failure?.message, failure?.code].compactMap(\.self).first { !$0.isEmpty } ?? "fails"]
        let since = NumberText.moment(source.since, now: now, offset: offset)
        parts.append("since \(since) (\(NumberText.age(now - source.since)))")
        if let attempt = failure?.attempt, attempt > 1 { parts.append("\(NumberText.ordinal(attempt)) try") }
        if let retryAt = failure?.retryAt {
            parts.append("next " + NumberText.countdown(retryAt - now))
        }
        text = parts.joined(separator: " · ")
    }

    /// The heading of a group.
    ///
    /// - Parameters:
    ///   - source: the group's source; nil for latencies, counts and memory, or while it is unknown.
    ///   - window: the width of the agent's windows.
    init(heading group: ListOrder.Group, of source: BoardSource?, at now: Timestamp, window: Duration) {
        name = group.isOthers ? "latency, counts, memory" : group.name
        let (matched, all) = (group.matched.count, group.members.count)
        text = (matched < all ? "\(matched) of " : "") + "\(all) series"
        guard let source else { return }
        mark = Mark(source, at: now, window: window)
        if case .every(let period) = source.rhythm { text += " · each \(NumberText.span(period))" }
        if let answered = source.answered { age = NumberText.age(now - answered) }
    }
}

extension SourceRow.Mark {
    /// - Parameter window: the width of the agent's windows.
    init(_ source: BoardSource, at now: Timestamp, window: Duration) {
        switch source.state {
        case .starting: self = .starting
        case .failing: self = .failing
        case .ok:
            let isLate = source.answered.map { Optional(source).isStale($0, at: now, window: window) } ?? false
            self = isLate ? .late : .ok
        }
    }
}
