internal import Feed
internal import Reactor

extension Painter {
    mutating func paintFeed(_ body: Range<Int>) {
        let wanted = state.filter.lowercased()
        let all = board.lines
        // Backwards from the newest line, no further than visible.
        let most = state.feedBack + body.count
        var lines: [BoardLine] = []
        for line in all.reversed() {
            if let type = state.feedType, line.type != type { continue }
            if !wanted.isEmpty, !matches(line, wanted) { continue }
            lines.append(line)
            if lines.count == most { break }
        }
        state.feedBack = min(state.feedBack, max(lines.count - body.count, 0))
        let shown = lines.dropFirst(state.feedBack).prefix(body.count)
        guard !shown.isEmpty else {
            put("no such lines yet", theme.muted, row: body.lowerBound + body.count / 3, column: 2)
            return
        }
        let longest = shown.map { subject($0).columns }.max() ?? 0
        let subjectWidth = min(max(longest, 16), grid.columns >= 100 ? 32 : 20)
        var row = body.lowerBound + shown.count - 1
        for line in shown {
            paint(line, subjectWidth, row: row)
            row -= 1
        }
        if state.feedBack > 0 || state.feedType != nil {
            var text = state.feedType.map { " \($0) only " } ?? ""
            if state.feedBack > 0 { text += " \(state.feedBack) newer below " }
            put(
                text, row: body.upperBound - 1, endingAt: grid.columns - 1, style: theme.warning.with(.inverse),
                width: 40)
        }
    }

    private func matches(_ line: BoardLine, _ wanted: String) -> Bool {
        [line.type, line.source, line.series, line.text, line.code].contains { text in
            text?.lowercased().holds(wanted) == true
        }
    }

    /// The subject of a line: a series, or a type of line and its source.
    private func subject(_ line: BoardLine) -> String {
        if let series = line.series, line.type != "window" { return series }
        return line.type + " " + (line.series ?? line.source)
    }

    private mutating func paint(_ line: BoardLine, _ subjectWidth: Int, row: Int) {
        let isWide = grid.columns >= 60
        let isError = line.type == "error"
        let isQuiet = ["window", "latency", "memory", "agent", "progress"].contains(line.type)
        let style = isError ? theme.bad : isQuiet ? theme.muted : theme.text
        var column = 1
        if grid.columns >= 32 {
            let time = NumberText.clock(line.time, offset: utcOffset, decimals: isWide ? 3 : 0)
            column += put(time, theme.faint, row: row, column: column) + 2
        }
        if isWide {
            put(subject(line), isQuiet || isError ? style : theme.muted, row: row, column: column, width: subjectWidth)
            column += subjectWidth + 2
        }
        put(words(line, style, isWide: isWide), row: row, column: column, width: grid.columns - column - 1)
    }

    /// The journal's record of the previous run.
    private static func restarted(_ line: BoardLine) -> String {
        guard let run = line.text else { return "no run before is known" }
        let end = line.code.map { "ended (\($0))" } ?? "was cut off"
        return "last run \(end), kept to \(NumberText.fixed(line.value ?? 0, 0)): \(run)"
    }

    /// The text of a line.
    private func words(_ line: BoardLine, _ style: Style, isWide: Bool) -> [Piece] {
        let unit = board.describedSource(line.source)?.unit
        let quantity = line.value.map { Quantity($0, line.kind, unit: unit).whole } ?? ""
        let name: [Piece] = isWide ? [] : [((line.series ?? line.source) + "  ", theme.muted)]
        switch line.type {
        case "error":
            return name + [(line.code ?? "error", theme.bad.with(.bold)), ("  " + (line.text ?? ""), theme.bad)]
        case "latency": return name + [(quantity + "  ", theme.muted), (line.text ?? "", theme.faint)]
        case "memory": return name + [(quantity + " resident", theme.muted)]
        case "window": return name + [("last " + quantity, theme.muted)]
        case "recovered":
            return name + [("answers again after " + NumberText.length(.seconds(line.value ?? 0)), theme.good)]
        case "progress": return name + [(quantity + " so far", theme.accent)]
        case "restart": return name + [(Self.restarted(line), line.code == nil ? theme.warning : theme.muted)]
        case "peer": return name + [("is " + (line.text ?? ""), line.text == "live" ? theme.muted : theme.warning)]
        case "lost": return name + [(NumberText.fixed(line.value ?? 0, 0) + " lines are lost", theme.bad)]
        case "agent": return name + [("how the agent is doing: see Metrics", theme.faint)]
        default:
            var pieces = name
            if line.value != nil { pieces.append((quantity, theme.title)) }
            if let text = line.text { pieces.append(((line.value == nil ? "" : "  ") + text, style)) }
            return pieces
        }
    }
}
