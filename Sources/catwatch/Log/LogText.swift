internal import Feed
internal import Journal
internal import Reactor
internal import Terminal

/// Lines as text for people, one on each line.
enum LogText {
    /// A line without its line end: its local time, source, type and contents. Safe for a terminal.
    static func line(_ row: JournalRows.Row) -> String {
        let line = try? LineDecoder.decode(Array(row.line)[...])
        let source = Sanitizer.visible(bytes: row.source, limit: 40)
        let type = Sanitizer.visible(bytes: row.type, limit: 40)
        let said =
            line.map { words(of: $0.body, source: $0.source ?? "") } ?? Sanitizer.visible(bytes: row.line, limit: 500)
        return "\(here(row.time))  \(padded(source, 12))  \(padded(type, 9))  \(said)"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
    }

    /// `2026-11-22 09:25:34.123`
    static func here(_ time: Timestamp) -> String {
        let text = (time + .seconds(LocalTime.offset(at: time))).text
        return text.prefix(10) + " " + text.dropFirst(11).prefix(12)
    }

    /// The text of an event, or the message of a failure; nil for other lines.
    static func message(of row: JournalRows.Row) -> String? {
        switch try? LineDecoder.decode(Array(row.line)[...]).body {
        case .data(let data): data.text
        case .error(let failure), .refusal(let failure): "\(failure.code.rawValue): \(failure.message)"
        default: nil
        }
    }

    private static func words(of body: Line.Body, source: String) -> String {
        switch body {
        case .data(let data):
            let series = data.series == source ? nil : Sanitizer.visible(data.series, limit: 60)
            let text = data.text.map { Sanitizer.visible($0, limit: 500) }
            let value = data.word.map { Sanitizer.visible($0) } ?? data.value.map(NumberText.short)
            return [series, value, text].compactMap(\.self).joined(separator: "  ")
        case .latency(let sample):
            let late = "\(NumberText.milliseconds(sample.ms)) ms  \(sample.status)"
            return "\(late)  \(Sanitizer.visible(sample.endpoint, limit: 300))"
        case .memory(let sample): return "\(NumberText.fixed(Double(sample.resident) / 1_048_576, 1)) MiB"
        case .window(let window):
            let series = window.series == source ? "" : Sanitizer.visible(window.series, limit: 60) + "  "
            let range = "\(NumberText.short(window.min)) to \(NumberText.short(window.max))"
            return "\(series)\(NumberText.short(window.last))  \(window.count) from \(range)"
        case .error(let failure), .refusal(let failure):
            return
                "\(Sanitizer.visible(failure.code.rawValue, limit: 40)): \(Sanitizer.visible(failure.message, limit: 500))"
        case .progress(let progress): return "\(progress.done)" + (progress.total.map { " of \($0)" } ?? "")
        case .recovered(let recovery):
            return
                "after \(NumberText.fixed(recovery.down.seconds, 1)) s, at attempt \(recovery.attempts.addingSaturated(1))"
        case .agent(let agent): return "\(agent.events) events, \(agent.readers) readers"
        case .gap(let gap):
            return "\(gap.from) to \(gap.to) are missing"
                + (gap.reason.map { ": " + Sanitizer.visible($0, limit: 60) } ?? "")
        case .restart(let restart):
            guard let last = restart.lastRun else { return "" }
            let end = restart.ended.map { "ended: " + Sanitizer.visible($0, limit: 60) } ?? "did not end well"
            return "run \(Sanitizer.visible(last)) \(end); kept up to \(restart.lastSequence ?? 0)"
        case .alert(let alert):
            let value = alert.value.map { NumberText.short($0) } ?? alert.text.map { Sanitizer.visible($0, limit: 100) }
            let name = Sanitizer.visible(alert.condition, limit: 100)
            return "\(alert.state.rawValue): \(name) (\(Sanitizer.visible(alert.about, limit: 60)))"
                + (value.map { ", \($0)" } ?? "")
        case .clock(let change):
            return "was set by \(NumberText.fixed(change.step.seconds, 1)) s; slept"
                + " \(NumberText.fixed(change.slept.seconds, 1)) s"
        case .lost(let lost): return "\(lost.numbers.lowerBound) to \(lost.numbers.upperBound) are lost"
        case .peer(let peer):
            let host = peer.host.name.isEmpty ? "" : ", on \(Sanitizer.visible(peer.host.name, limit: 60))"
            return "is \(Sanitizer.visible(peer.state, limit: 40))\(host)"
        case .hello, .stats, .bye, .kept, .unknown: return ""
        }
    }
}
