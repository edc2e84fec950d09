internal import Feed
internal import Reactor

extension Painter {
    mutating func paintFeed(_ body: Range<Int>) {
        let rows = FeedRows(
            board.lines, type: state.feedType, source: state.feedSource, filter: ListFilter(state.filter)
        ).rows
        state.feedBack = min(state.feedBack, max(rows.count - body.count, 0))
        let shown = rows.dropLast(state.feedBack).suffix(body.count)
        guard !shown.isEmpty else {
            put("no such lines yet", theme.muted, row: body.lowerBound + body.count / 3, column: 2)
            return
        }
        let longest = shown.map { subject($0).columns }.max() ?? 0
        let subjectWidth = min(max(longest, 16), grid.columns >= 100 ? 32 : 20)
        for (offset, row) in shown.enumerated() { paint(row, subjectWidth, row: body.lowerBound + offset) }
        let only = [state.feedSource, state.feedType].compactMap(\.self)
        if state.feedBack > 0 || !only.isEmpty {
            var text = only.isEmpty ? "" : " \(only.joined(separator: ", ")) only "
            if state.feedBack > 0 { text += " \(state.feedBack) newer below " }
            put(
                text, row: body.upperBound - 1, endingAt: grid.columns - 1, style: theme.warning.with(.inverse),
                width: 40)
        }
    }

    /// The subject of a row: a source, a series, or a type of line and its source.
    private func subject(_ row: FeedRows.Row) -> String {
        switch row {
        case .items(let lines): lines[0].source
        case .line(let line): subject(line)
        }
    }

    private func subject(_ line: BoardLine) -> String {
        if let series = line.series, line.type != "window" { return series }
        return line.type + " " + (line.series ?? line.source)
    }

    private mutating func paint(_ item: FeedRows.Row, _ subjectWidth: Int, row: Int) {
        let isWide = grid.columns >= 60
        let line: BoardLine
        switch item {
        case .line(let single): line = single
        // Items of an answer may have times of their own: the newest line is at its end.
        case .items(let lines): line = lines[lines.count - 1]
        }
        let isError = line.type == "error"
        let isQuiet = ["window", "latency", "memory", "agent", "progress"].contains(line.type)
        let style = isError ? theme.bad : isQuiet ? theme.muted : theme.text
        var column = 1
        if grid.columns >= 32 {
            let time = NumberText.clock(line.time, offset: utcOffset, decimals: isWide ? 3 : 0)
            column += put(time, theme.faint, row: row, column: column) + 2
        }
        if isWide {
            put(subject(item), isQuiet || isError ? style : theme.muted, row: row, column: column, width: subjectWidth)
            column += subjectWidth + 2
        }
        var pieces: [Piece]
        if case .items(let lines) = item {
            pieces = isWide ? [] : [(line.source + "  ", theme.muted)]
            pieces += [("\(lines.count) items", theme.title), ("  ", theme.text)]
            // No more than may be visible.
            for (place, line) in lines.prefix(20).enumerated() {
                pieces.append(((place > 0 ? ", " : "") + FeedRows.key(line), theme.muted))
            }
            if lines.count > 20 { pieces.append((", …", theme.muted)) }
        } else {
            pieces = words(line, style, isWide: isWide)
        }
        put(pieces, row: row, column: column, width: grid.columns - column - 1)
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
        case "alert":
            let isOver = line.code == Alert.State.resolved.rawValue
            let words = (line.code ?? "") + ": " + (line.text ?? "") + (line.value == nil ? "" : "  " + quantity)
            return name + [(words, isOver ? theme.good : theme.bad)]
        case "clock": return name + [("the clock was set, or the machine slept", theme.warning)]
        case "agent": return name + [("how the agent is doing: see Metrics", theme.faint)]
        default:
            var pieces = name
            if line.value != nil { pieces.append((line.word ?? quantity, theme.title)) }
            if let text = line.text { pieces.append(((line.value == nil ? "" : "  ") + text, style)) }
            return pieces
        }
    }
}
