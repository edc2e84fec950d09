package import Reactor

/// An alert from when it fires until it is resolved.
package struct Episode: Sendable, Equatable {
    package let source: String
    /// The agent of a fleet that told it; nil for our own.
    package let agent: String?
    /// When it began to fire.
    package let begun: Timestamp
    /// The value that decided that; nil if the line is missing.
    package let value: Double?
    /// The same, if it is no number.
    package let text: String?
    /// Its newest alert.
    package fileprivate(set) var newest: Alert

    /// When it was resolved; nil if it still fires.
    package var ended: Timestamp? { newest.state == .resolved ? newest.at : nil }

    /// How long it has fired.
    ///
    /// - Parameter now: when it still fires.
    package func length(until now: Timestamp) -> Duration { newest.down ?? max(.zero, (ended ?? now) - begun) }

    /// The episode as a JSON object on a line of its own.
    package var json: [UInt8] {
        let texts = [source, agent ?? "", text ?? ""].reduce(newest.textBytes) { $0 + $1.utf8.count }
        return LineWriter.bytes(atMost: LineWriter.mostEscaped(texts) + 1_024) { writer in
            writer.raw("{")
            writer.string("condition", newest.condition)
            writer.string("about", newest.about)
            writer.string("source", source)
            writer.string("agent", agent)
            writer.string("id", newest.id)
            writer.string("severity", newest.severity)
            writer.time("since", newest.since)
            writer.time("fired", begun)
            writer.time("resolved", ended)
            writer.number("down_s", newest.down?.seconds)
            writer.string("reason", newest.reason?.rawValue)
            writer.number("value", value)
            writer.string("text", text)
            writer.number("worst_value", newest.worst)
            writer.string("test", newest.test)
            writer.evidence(newest.evidence)
            writer.raw("}\n")
        }
    }
}

/// Gathers episodes from alerts, in their order. It holds those that still fire.
package struct Episodes: Sendable {
    private struct Key: Hashable {
        let agent: String?
        let id: String
        let condition: Board.Name
        let about: Board.Name
    }

    // Bound: episodes that fire at once, in the tables of `check --against` and `log --alerts` | 100,000 | further ones left
    //   out, counted
    private static let most = 100_000

    private var episodes: [Key: (number: Int, episode: Episode)] = [:]
    private var count = 0
    /// The number of alerts that there was no room for.
    package private(set) var leftOut = 0

    package init() {}

    /// Adds the next alert.
    ///
    /// - Returns: the episode that ends with it.
    package mutating func add(_ alert: Alert, of source: String, agent: String? = nil) -> Episode? {
        let key = Key(
            agent: agent, id: alert.id, condition: Board.Name(alert.condition), about: Board.Name(alert.about))
        var episode = episodes[key]?.episode ?? Episode(beginning: alert, source, agent)
        episode.newest = alert
        guard alert.state != .resolved else {
            episodes[key] = nil
            return episode
        }
        if let number = episodes[key]?.number {
            episodes[key] = (number, episode)
        } else if episodes.count < Self.most {
            episodes[key] = (count, episode)
            count += 1
        } else {
            leftOut += 1
        }
        return nil
    }

    /// Those that still fire, in the order in which they began.
    package var firing: [Episode] { episodes.values.sorted { $0.number < $1.number }.map(\.episode) }
}

extension Episode {
    /// - Parameter alert: its first one that is known: lines before may be missing.
    fileprivate init(beginning alert: Alert, _ source: String, _ agent: String?) {
        let isFirst = alert.state == .firing
        let begun =
            switch alert.state {
            case .firing: alert.at
            case .reminder: alert.since
            case .resolved: alert.at - (alert.down ?? .zero)
            }
        self.init(
            source: source, agent: agent, begun: begun, value: isFirst ? alert.value : nil,
            text: isFirst ? alert.text : nil, newest: alert)
    }
}
