package import Reactor

/// An alert from when it fires until it is resolved.
package struct AlertEpisode: Sendable, Equatable {
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

    fileprivate var textBytes: Int {
        [source, agent ?? "", text ?? ""].reduce(newest.textBytes) { $0 + $1.utf8.count }
    }

    /// The episode as a JSON object on a line of its own.
    package var json: [UInt8] {
        LineWriter.bytes(atMost: LineWriter.mostEscaped(textBytes) + 1_024) { writer in
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
package struct AlertEpisodes: Sendable {
    private struct Key: Hashable {
        let agent: String?
        let id: String
        let condition: Board.Name
        let about: Board.Name
    }

    // Bound: episodes that fire at once, in the tables of `check --against` and `log --alerts` | 100,000, 64 MiB of texts |
    //   further ones left out, counted
    private static let most = 100_000
    private static let mostBytes = 64 << 20

    private var episodes: [Key: (number: Int, episode: AlertEpisode)] = [:]
    private var count = 0
    private var bytes = 0
    /// The number of alerts that there was no room for.
    package private(set) var leftOut = 0

    package init() {}

    /// Adds the next alert.
    ///
    /// - Returns: the episode that ends with it.
    package mutating func add(_ alert: Alert, of source: String, agent: String? = nil) -> AlertEpisode? {
        let key = Key(
            agent: agent, id: alert.id, condition: Board.Name(alert.condition), about: Board.Name(alert.about))
        guard alert.state != .pending, alert.state != .ok else { return nil }
        var episode = episodes[key]?.episode ?? AlertEpisode(beginning: alert, source, agent)
        episode.newest = alert
        let known = episodes.removeValue(forKey: key)
        bytes -= known?.episode.textBytes ?? 0
        guard !alert.state.isOver else { return episode }
        if known == nil, episodes.count >= Self.most || bytes + episode.textBytes > Self.mostBytes {
            leftOut += 1
        } else {
            episodes[key] = (known?.number ?? count, episode)
            count += known == nil ? 1 : 0
            bytes += episode.textBytes
        }
        return nil
    }

    /// Those that still fire, in the order in which they began.
    package var firing: [AlertEpisode] { episodes.values.sorted { $0.number < $1.number }.map(\.episode) }
}

extension AlertEpisode {
    /// - Parameter alert: its first one that is known: lines before may be missing.
    fileprivate init(beginning alert: Alert, _ source: String, _ agent: String?) {
        let isFirst = alert.state == .firing
        let begun =
            switch alert.state {
            case .firing: alert.at
            case .pending, .ok, .reminder, .clearing: alert.since
            case .resolved: alert.at - (alert.down ?? .zero)
            }
        self.init(
            source: source, agent: agent, begun: begun, value: isFirst ? alert.value : nil,
            text: isFirst ? alert.text : nil, newest: alert)
    }
}
