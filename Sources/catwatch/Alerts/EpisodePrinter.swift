internal import Feed
internal import Reactor
internal import Settings
internal import Terminal

/// Prints episodes of alerts, one a line, in the order in which they end: however many there are, none is held.
struct EpisodePrinter {
    private let format: LogFormat
    private let isTerminal: Bool
    private var bytes: [UInt8] = []
    private var hasHead = false

    /// The names of the columns and their widths; below 0 for those that are aligned to the right.
    private let columns: [(name: String, width: Int)]

    private static let csvHead =
        "condition,about,source,agent,id,severity,since,fired,resolved,down_s,reason,value,worst_value,run,from,to"

    /// - Parameter names: the alerts that there may be; empty if they are not known.
    init(_ format: LogFormat, isTerminal: Bool, names: [String] = []) {
        (self.format, self.isTerminal) = (format, isTerminal)
        let width = names.map { Sanitizer.visible($0, limit: Self.longestName).unicodeScalars.count }.max() ?? 0
        let names = "began lasted alert about value worst".split(separator: " ").map(String.init)
        columns = Array(zip(names, [19, -10, max(16, width), 20, -9, -9]))
    }

    private static let longestName = 40

    /// The number of gathered bytes.
    var count: Int { bytes.count }

    mutating func add(_ episode: AlertEpisode) {
        switch format {
        case .ndjson: bytes += episode.json
        case .csv:
            if !hasHead { bytes += Array("\(Self.csvHead)\r\n".utf8) }
            bytes += Array((Self.csv(episode) + "\r\n").utf8)
        case .text:
            if !hasHead { bytes += Array((row(columns.map(\.name), "until      lines") + "\n").utf8) }
            bytes += Array((text(episode) + "\n").utf8)
        }
        hasHead = true
    }

    /// Removes and returns the gathered text.
    mutating func removeText() -> String {
        defer { bytes.removeAll(keepingCapacity: true) }
        let text = String(decoding: bytes, as: UTF8.self)
        return isTerminal ? Sanitizer.lines(text) : text
    }

    private func text(_ episode: AlertEpisode) -> String {
        let alert = episode.newest
        let (began, name) = (
            LogText.here(episode.begun).prefix(19), Sanitizer.visible(alert.condition, limit: Self.longestName)
        )
        let agent = episode.agent.map { Sanitizer.visible($0, limit: 40) + ": " } ?? ""
        let lasted = episode.ended == nil ? "fires" : Self.spoken(episode.length(until: episode.begun))
        let value = episode.value.map { NumberText.short($0) } ?? episode.text.map { Sanitizer.visible($0, limit: 30) }
        let cells = [
            String(began), lasted, name, agent + Sanitizer.visible(alert.about, limit: 100), value ?? "",
            alert.worst.map { NumberText.short($0) } ?? "",
        ]
        let reason = alert.reason?.rawValue ?? ""
        return row(
            cells, reason + String(repeating: " ", count: max(0, 11 - reason.count)) + Self.lines(alert.evidence))
    }

    private static func lines(_ evidence: Alert.Evidence) -> String {
        let ends = [evidence.from, evidence.to].filter { $0 > 0 }
        guard let first = ends.first, let last = ends.last else { return "" }
        return first == last ? "\(first)" : "\(first) to \(last)"
    }

    /// Numbers are aligned to the right.
    private func row(_ cells: [String], _ rest: String) -> String {
        let cells = zip(cells, columns).map { cell, column in
            let blanks = String(repeating: " ", count: max(0, abs(column.width) - cell.unicodeScalars.count))
            return column.width < 0 ? blanks + cell : cell + blanks
        }
        return (cells + [rest]).joined(separator: "  ")
    }

    private static func csv(_ episode: AlertEpisode) -> String {
        let (alert, evidence) = (episode.newest, episode.newest.evidence)
        let cells = [
            LogCSV.text(alert.condition), LogCSV.text(alert.about), LogCSV.text(episode.source),
            LogCSV.text(episode.agent ?? ""),
            LogCSV.text(alert.id), LogCSV.text(alert.severity ?? ""), alert.since.text, episode.begun.text,
            episode.ended?.text ?? "", LogCSV.number(alert.down?.seconds), alert.reason?.rawValue ?? "",
            episode.value == nil ? LogCSV.text(episode.text ?? "") : LogCSV.number(episode.value),
            LogCSV.number(alert.worst),
            LogCSV.text(evidence.run), "\(evidence.from)", "\(evidence.to)",
        ]
        return cells.joined(separator: ",")
    }

    /// `45 s`, `12 min 4 s`, `3 h 20 min`, `2 d 4 h`.
    static func spoken(_ duration: Duration) -> String {
        let seconds = Int(duration.seconds.rounded())
        guard seconds >= 60 else { return duration.shortText }
        let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
        guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "" }
        let (large, small) = (units[first], units[first + 1])
        let rest = seconds % large.0 / small.0
        return "\(seconds / large.0) \(large.1)" + (rest > 0 ? " \(rest) \(small.1)" : "")
    }
}
