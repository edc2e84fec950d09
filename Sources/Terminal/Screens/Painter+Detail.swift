internal import Feed
internal import Reactor

extension Painter {
    mutating func paintDetail(_ body: Range<Int>) {
        guard let index = state.series, board.series.indices.contains(index) else {
            put("no series", theme.muted, row: body.lowerBound, column: 2)
            return
        }
        let look = look(at: index)
        let series = look.series
        paintTitle(look, row: body.lowerBound)
        let alerts = board.alertsByWorst(about: series.name).map(\.alert)
        let alertRows = min(alerts.count, body.count >= 8 ? 3 : 0)
        for (offset, alert) in alerts.prefix(alertRows).enumerated() {
            paint(
                alert, more: offset == alertRows - 1 ? alerts.count - alertRows : 0, row: body.lowerBound + 1 + offset)
        }
        let rest = body.lowerBound + 1 + alertRows..<body.upperBound
        guard !rest.isEmpty else { return }
        if series.newest == nil {
            paintEvent(series, rest)
        } else {
            // The event gets up to two fifths of the rows, the graph the rest.
            let wanted = eventLines(series, width: grid.columns - 4).count + 1
            let eventRows = rest.count < 12 || wanted == 1 ? 0 : min(wanted, rest.count * 2 / 5)
            let graph = rest.lowerBound..<rest.upperBound - eventRows
            paintGraph(index, look.windows, graph, alerts.filter { $0.limit != nil })
            if eventRows > 0 { paintEvent(series, graph.upperBound..<rest.upperBound) }
        }
    }

    private mutating func paintTitle(_ look: SeriesLook, row: Int) {
        var right: [Piece] = []
        if let quantity = look.quantity {
            right.append((quantity.text, look.isStale ? theme.stale : theme.title))
            if !quantity.unit.isEmpty, grid.columns >= 30 { right.append((" " + quantity.unit, theme.muted)) }
        }
        if let letter = look.letter {
            right.append((grid.columns >= 30 ? "  " : " ", theme.text))
            right += grid.columns >= 30 ? look.badge : [(letter, look.style)]
            if grid.columns >= 60 { right.append((" " + look.name, look.style)) }
        }
        if let arrow = look.arrow { right.append((" \(Character(arrow.glyph))", arrow.style)) }
        if look.series.lastWord != nil, grid.columns >= 40 { right.append(("  " + look.change, theme.muted)) }
        if !look.gone.isEmpty {
            right.append(("  " + look.gone, theme.warning))
        } else if !look.age.isEmpty {
            var text = "  " + look.age + (grid.columns >= 60 ? " ago" : "")
            // An item's own time may be older than the answer that it came with.
            if grid.columns >= 80, let time = look.series.newestTime,
                let answered = board.describedSource(look.series.source)?.answered,
                answered - time > .microseconds(self.width)
            {
                text += ", answered \(NumberText.age(age(answered))) ago"
            }
            if grid.columns >= 60, !look.rhythm.isEmpty { text += ", every " + look.rhythm }
            right.append((text, look.isStale ? theme.warning : theme.muted))
        }
        let width = Self.columns(right)
        let series = look.series
        let (prefix, rest) = series.nameParts
        let isNarrow = grid.columns < 40
        let margin = isNarrow ? 0 : 2
        var name = [(isNarrow ? "" : prefix, theme.muted), (rest, theme.title)]
        if series.kind == .data, let pointer = board.describedSource(series.source)?.valuePointer {
            name.append(("  value: " + pointer, theme.muted))
        }
        put(name, row: row, column: margin, width: max(grid.columns - width - 2 * margin - 1, 4))
        put(right, row: row, column: max(grid.columns - width - margin, margin + 5))
    }

    /// Paints what an alert says, which lines show it, and its note.
    private mutating func paint(_ alert: BoardAlert, more: Int, row: Int) {
        let said = AlertRow(alert, more: more, at: agentNow, offset: utcOffset)
        let style = style(said.severity)
        let rest = [AlertRow.lines(of: alert, run: board.hello?.run), alert.note].compactMap(\.self)
        put(
            [(said.severity.mark + " " + said.text, style), (rest.map { " · " + $0 }.joined(), theme.muted)], row: row,
            column: grid.columns < 40 ? 0 : 2, width: grid.columns - 3)
    }

    // MARK: The event

    /// The text and the fields of the newest event, each line as a label and text.
    private func eventLines(_ series: BoardSeries, width: Int) -> [(label: String, text: String, link: String?)] {
        var lines: [(label: String, text: String, link: String?)] = []
        if let text = series.text {
            for line in Self.wrap(text, width: width, most: 4) { lines.append(("", line, nil)) }
        }
        let labelWidth = min(fields.map { $0.label.columns }.max() ?? 0, 16) + 2
        for field in fields {
            for (number, line) in Self.wrap(field.value, width: max(width - labelWidth, 8), most: 3).enumerated() {
                lines.append((number == 0 ? field.label : " ", line, field.link))
            }
        }
        return lines
    }

    private mutating func paintEvent(_ series: BoardSeries, _ area: Range<Int>) {
        guard let event = series.event else { return }
        var row = area.lowerBound
        if area.count >= 3 {
            var title = "newest event · " + NumberText.clock(event.time, offset: utcOffset)
            if event.isCut { title += " · more than is shown" }
            grid.fill(row: row, columns: 2..<max(grid.columns - 2, 2), with: "─", style: theme.faint)
            put(
                [("─ ", theme.faint), (title, theme.muted), (" ", theme.faint)], row: row, column: 2,
                width: grid.columns - 4)
            row += 1
        }
        let lines = eventLines(series, width: grid.columns - 4)
        let room = area.upperBound - row
        state.detailTop = min(state.detailTop, max(lines.count - room, 0))
        let labelWidth = min(fields.map { $0.label.columns }.max() ?? 0, 16)
        for line in lines.dropFirst(state.detailTop).prefix(max(room, 0)) {
            if line.label.isEmpty {
                put(line.text, theme.text, row: row, column: 2, width: grid.columns - 4)
            } else {
                put(line.label, row: row, endingAt: 2 + labelWidth, style: theme.muted, width: labelWidth)
                let style = line.link == nil ? theme.text : theme.accent.with(.underline)
                grid.put(
                    line.text, row: row, column: 4 + labelWidth, style: style,
                    width: max(grid.columns - labelWidth - 6, 1),
                    link: line.link)
            }
            row += 1
        }
    }

    /// Wraps text into lines of at most `width` columns, at spaces.
    static func wrap(_ text: String, width: Int, most: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var columns = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            let length = String(word).columns
            if !line.isEmpty, columns + 1 + length > width {
                if lines.count == most - 1 {
                    // A word that is too long for its line is cut when it is painted.
                    line += " …"
                    break
                }
                lines.append(line)
                line = ""
                columns = 0
            }
            if !line.isEmpty {
                line += " "
                columns += 1
            }
            line += word
            columns += length
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }
}
