internal import Feed
internal import Reactor

extension Painter {
    /// A column; a width of 0 omits it.
    private struct ListColumn {
        var width = 0
        var end = 0

        var start: Int { end - width }
    }

    private struct ListColumns {
        /// Where marks of sources and names begin.
        var mark = 2
        var name = 2
        var nameWidth = 0
        var spark = 0
        var sparkWidth = 0
        /// The number of columns for one window.
        var windowColumns = 1
        var value = ListColumn()
        var unit = ListColumn()
        var badge = ListColumn()
        var band = ListColumn()
        var arrow = ListColumn()
        var change = ListColumn()
        var rhythm = ListColumn()
        /// The width of `23h59m`.
        var age = ListColumn(width: 6)
        var text = ListColumn()
    }

    static func firstListRow(_ size: ScreenSize) -> Int? {
        size.rows > 1 ? Chrome(size).body.lowerBound + (size.rows >= 10 ? 1 : 0) : nil
    }

    mutating func paintList(_ body: Range<Int>) {
        guard let chosen else {
            let called: [Piece] = [("no series is called ", theme.muted), (state.filter, theme.text)]
            let calm: [Piece] = [
                ("nothing fires; ", theme.muted), ("!", theme.text), (" shows everything", theme.muted),
            ]
            put(state.showsFiringOnly ? calm : called, row: body.lowerBound + 1, column: 2)
            return
        }
        let first = Self.firstListRow(grid.size) ?? body.lowerBound
        let room = max(body.upperBound - first, 1)
        let rows = order.rows
        state.listTop = min(max(state.listTop, chosen - room + 1, 0), chosen, max(rows.count - room, 0))
        if chosen < state.listTop { state.listTop = chosen }
        let shown = rows[state.listTop..<min(state.listTop + room, rows.count)].map { look(of: $0) }
        let columns = layOut(shown)
        if first > body.lowerBound { paintTitles(columns, row: body.lowerBound) }
        for (offset, row) in shown.enumerated() {
            let isChosen = state.listTop + offset == chosen
            if isChosen, hasKeys { grid.put("▸", row: first + offset, column: 0, style: theme.accent.with(.bold)) }
            switch row {
            case .source(let source, let isFolded):
                paint(source, isFolded: isFolded, columns, row: first + offset)
            case .alert(let alert):
                let pieces = pieces(alert, name: [(alert.name, style(alert.severity).with(.bold))])
                put(pieces, row: first + offset, column: columns.mark, width: grid.columns - 1 - columns.mark)
            case .series(let series, let mark):
                if let alert = series.alert {
                    put(alert.severity.mark, style(alert.severity), row: first + offset, column: columns.mark)
                } else if let mark {
                    put(mark.rawValue, style(mark), row: first + offset, column: columns.mark)
                }
                paint(series, columns, row: first + offset, isStrong: isChosen || mark != nil)
            }
        }
    }

    private func layOut(_ rows: [RowLook]) -> ListColumns {
        let width = grid.columns
        var columns = ListColumns()
        columns.mark = width < 40 && order.hasMarks ? 1 : 2
        columns.name = order.hasMarks ? columns.mark + 2 : columns.mark
        var longestName = 6
        var hasText = false
        var longestBand = 0
        var hasBadge = false
        var (valueWidth, unitWidth, changeWidth) = (0, 0, 8)
        for case .series(let row, _) in rows {
            let (prefix, rest) = label(row)
            longestName = max(longestName, prefix.columns + rest.columns)
            if let quantity = row.quantity {
                valueWidth = max(valueWidth, quantity.text.columns)
                unitWidth = max(unitWidth, quantity.unit.columns)
                changeWidth = min(max(changeWidth, row.change.columns), 10)
                hasText = hasText || row.series.text?.isEmpty == false
            }
            if row.letter != nil {
                hasBadge = true
                longestBand = max(longestBand, row.name.columns)
            }
        }
        // Steady widths, or columns would move with every value and every scrolled row.
        for scale in board.sources.lazy.compactMap({ $0.isListed ? $0.bands : nil }) {
            hasBadge = valueWidth > 0
            for band in scale.bands { longestBand = max(longestBand, band.name.columns) }
        }
        let hasValues = valueWidth > 0
        if hasValues { columns.value.width = min(max(valueWidth, width >= 40 ? 7 : 3), width >= 80 ? 20 : 12) }
        if width >= 30 { columns.unit.width = min(unitWidth, 9) }
        if hasBadge, width >= 30 { columns.badge.width = 3 }
        if hasBadge, width >= 100 { columns.band.width = min(longestBand, 14) }
        if hasValues, width >= 24 { columns.arrow.width = 1 }
        if hasValues, width >= 72 { columns.change.width = changeWidth }
        if width >= 80, hasRhythms { columns.rhythm.width = 5 }
        // Those behind the sparkline, each with a blank before it.
        let order: [WritableKeyPath<ListColumns, ListColumn>] = [
            \.value, \.unit, \.badge, \.band, \.arrow, \.change, \.rhythm, \.age,
        ]
        let shown = order.filter { columns[keyPath: $0].width > 0 }
        let gap = hasValues ? 0 : 1
        let fixed = shown.reduce(gap) { $0 + columns[keyPath: $1].width + 1 }
        var room = max(width - columns.name - fixed, 4)
        let sparkLeast = room >= 24 ? min(windowCount, 12) + 1 : 0
        columns.nameWidth = min(longestName, max(room - sparkLeast, 4), width >= 160 ? 40 : 32)
        // Short names leave free room at the end of the row, not between columns, but are not too narrow.
        columns.nameWidth = min(max(columns.nameWidth, width >= 60 ? 12 : 6), room)
        room -= columns.nameWidth
        // The newest texts get a column if that is wide enough and leaves room for the history.
        let wantsText = hasText && room >= min(windowCount, 30) + 28
        if room >= 8 {
            let limit = wantsText ? max(room / 3, min(windowCount, 30)) : room - 2
            let most = wantsText ? 2 : width >= 150 ? 4 : 3
            columns.windowColumns = min(max(limit / windowCount, 1), most)
            columns.sparkWidth = min(windowCount * columns.windowColumns, limit)
        }
        var place = columns.name + columns.nameWidth
        if columns.sparkWidth > 0 {
            columns.spark = place + 2
            place += columns.sparkWidth + 2
        }
        place += gap
        for column in shown {
            place += columns[keyPath: column].width + 1
            columns[keyPath: column].end = place
        }
        if hasText, !wantsText {
            // What is free goes to the texts, which begin behind the value.
            columns.rhythm.end += max(width - 1 - place, 0)
            place = max(place, width - 1)
        }
        columns.age.end = min(place, width)
        if wantsText, width - place >= 12 { columns.text = ListColumn(width: width - place - 3, end: width - 1) }
        return columns
    }

    /// Whether any row has a period of its own: of all rows, or columns would move with every scrolled row.
    private var hasRhythms: Bool {
        func isSlow(_ source: BoardSource) -> Bool {
            if case .every(let period) = source.rhythm { period > board.interval } else { false }
        }
        guard order.hasHeadings else { return board.sources.contains(where: isSlow) }
        return order.groups.contains { $0.isHeading && $0.source.map { isSlow(board.sources[$0]) } == true }
    }

    private mutating func paintTitles(_ columns: ListColumns, row: Int) {
        func mark(_ key: ListOrder.Key, _ text: String) -> Piece {
            state.sort == key ? (text + "▾", theme.accent) : (text, theme.faint)
        }
        let title = columns.nameWidth < 7 ? "" : "source"
        let name = state.sort == .source ? mark(.source, title) : mark(.name, "name")
        put([name], row: row, column: columns.name, width: columns.nameWidth + 1)
        if columns.sparkWidth >= 7 {
            // Series without values have their text there.
            let title = columns.value.width > 0 ? "history" : "text"
            put(title, theme.faint, row: row, column: columns.spark)
        }
        if columns.value.width > 0 {
            let value = mark(.value, "value")
            // The sort mark is behind the last digit.
            let end = columns.value.end + (state.sort == .value ? 1 : 0)
            put(value.text, row: row, endingAt: end, style: value.style, width: columns.value.width + 1)
        }
        if columns.badge.width > 0 { put("band", theme.faint, row: row, column: columns.badge.start) }
        if columns.change.width > 0 {
            let change = mark(.change, "change")
            put(change.text, row: row, endingAt: columns.change.end, style: change.style, width: columns.change.width)
        }
        if columns.rhythm.width > 0 { put("each", theme.faint, row: row, column: columns.rhythm.start) }
        let age = mark(.age, "age")
        put(age.text, row: row, endingAt: columns.age.end, style: age.style, width: columns.age.width)
        if columns.text.width > 0 { put("newest", theme.faint, row: row, column: columns.text.start) }
    }

    /// Paints a failing or late source, or a heading.
    private mutating func paint(_ item: SourceRow, isFolded: Bool?, _ columns: ListColumns, row: Int) {
        let pieces = pieces(item, isFolded: isFolded)
        // What is wrong may take the whole row; a heading has its age where series have theirs.
        let end = item.age.isEmpty ? grid.columns - 1 : columns.age.start - 1
        put(pieces, row: row, column: columns.mark, width: end - columns.mark)
        put(
            item.age, row: row, endingAt: columns.age.end, style: item.mark == .late ? theme.warning : theme.muted,
            width: columns.age.width)
    }

    /// A row about a source: its mark and name, and what there is to say.
    func pieces(_ item: SourceRow, isFolded: Bool?) -> [Piece] {
        var pieces: [Piece] = []
        if let mark = item.mark { pieces.append((mark.rawValue + " ", style(mark))) }
        guard let isFolded else {
            let style = item.mark.map { self.style($0) } ?? theme.text
            return pieces + [(item.name, style.with(.bold)), ("  " + item.text, style)]
        }
        return pieces + [
            (item.name, theme.title), (isFolded ? " ▸ " : " ▾ ", theme.accent), (item.text, theme.muted),
        ]
    }

    private mutating func paint(_ item: SeriesLook, _ columns: ListColumns, row: Int, isStrong: Bool) {
        func look(_ style: Style) -> Style { item.isStale ? theme.stale : style }
        let quiet = look(theme.muted)
        let strong = isStrong ? look(theme.text).with(.bold) : look(theme.text)
        let (prefix, rest) = label(item)
        let name: [Piece] = [(prefix, quiet), (rest, strong)]
        let alertArea = item.alert.map { self.alertArea($0, item, columns, name: Self.columns(name)) }
        if let alert = item.alert, alertArea.map({ $0.count < min(alert.columns, Self.leastAlert) }) == true {
            // The value stands beside the age, if there is room for it.
            var end = grid.columns
            if end >= 60, let quantity = item.quantity {
                put(item.age, row: row, endingAt: columns.age.end, style: quiet, width: columns.age.width)
                end = columns.age.start - 1
                put(quantity.text, strong, row: row, before: &end, width: columns.value.width)
            }
            let pieces = pieces(alert, name: [(prefix, theme.muted), (rest, theme.text.with(.bold))]).dropFirst()
            put(Array(pieces), row: row, column: columns.name, width: end - columns.name)
            return
        }
        put(name, row: row, column: columns.name, width: columns.nameWidth)
        let end = columns.age.end
        if item.gone.isEmpty {
            let style = item.isStale ? theme.warning : quiet
            put(item.age, row: row, endingAt: end, style: style, width: columns.age.width)
        }
        defer {
            // Over the columns for what changes, where there are some.
            let text = columns.change.width > 0 || columns.value.width == 0 ? item.gone : String(item.gone.prefix(4))
            put(text, row: row, endingAt: end, style: theme.warning, width: text.columns)
        }
        put(item.rhythm, row: row, endingAt: columns.rhythm.end, style: theme.faint, width: columns.rhythm.width)
        guard let quantity = item.quantity else {
            let start = columns.spark > 0 ? columns.spark : columns.name + columns.nameWidth + 1
            if let alert = item.alert, let alertArea {
                put(alert.pieces(style(alert.severity)), row: row, column: alertArea.lowerBound, width: alertArea.count)
            } else if let text = item.series.text {
                put(text, quiet, row: row, column: start, width: columns.age.start - 1 - start)
            }
            return
        }
        paintSpark(item, columns, row: row)
        if let alert = item.alert, let alertArea {
            // Over the older windows.
            let width = min(alert.columns + 1, alertArea.count)
            grid.fill(row: row, columns: alertArea.prefix(width), with: " ", style: .plain)
            put(alert.pieces(style(alert.severity)), row: row, column: alertArea.lowerBound, width: width)
        }
        put(quantity.text, row: row, endingAt: columns.value.end, style: strong, width: columns.value.width)
        put(quantity.unit, quiet, row: row, column: columns.unit.start, width: columns.unit.width)
        if columns.badge.width > 0 {
            put(item.badge.map { ($0.text, look($0.style)) }, row: row, column: columns.badge.start, width: 3)
            put(item.name, look(item.style), row: row, column: columns.band.start, width: columns.band.width)
        }
        // A text has the room of what its series has not, where it has no column.
        let start = columns.value.end + 1
        let room = (item.rhythm.isEmpty ? columns.age.start : columns.rhythm.start) - start - 2
        if columns.text.width == 0, room >= 16, quantity.unit.isEmpty, item.badge.isEmpty, item.gone.isEmpty,
            let text = item.series.text, !text.isEmpty
        {
            put(text, quiet, row: row, column: start + 1, width: room)
            return
        }
        if columns.arrow.width > 0, item.gone.isEmpty, let arrow = item.arrow {
            grid.put(glyph: arrow.glyph, row: row, column: columns.arrow.start, style: look(arrow.style))
        }
        let change = item.gone.isEmpty ? item.change : ""
        put(change, row: row, endingAt: columns.change.end, style: quiet, width: columns.change.width)
        if let text = item.series.text {
            put(text, quiet, row: row, column: columns.text.start, width: columns.text.width)
        }
    }

    private mutating func paintSpark(_ item: SeriesLook, _ columns: ListColumns, row: Int) {
        guard columns.sparkWidth > 0 else { return }
        let count = columns.sparkWidth / columns.windowColumns
        let extent = extent(of: item.series)
        let spark = Sparkline(item.windows, width: extent.width, last: extent.last, count: count)
        let scale = bands(item.series)
        for (place, slot) in spark.slots.enumerated() {
            for offset in 0..<columns.windowColumns {
                let column = columns.spark + place * columns.windowColumns + offset
                switch slot {
                case .before: break
                case .missing: grid.put(glyph: "·", row: row, column: column, style: theme.faint)
                case .level(let level, let value):
                    let place = scale?.index(of: value)
                    var style = scale.map { theme.band($0.bands[$0.index(of: value)]) } ?? theme.accent
                    var level = level
                    if item.series.lastWord != nil {
                        let isOff = scale == nil && value == 0
                        level = Sparkline.level(ofBand: place ?? (isOff ? 0 : 1), of: scale?.bands.count ?? 2)
                        if isOff { style = theme.faint }
                    }
                    if item.isStale { style = theme.stale }
                    grid.put(glyph: Sparkline.blocks[level], row: row, column: column, style: style)
                }
            }
        }
    }

    /// The least columns for the text of an alert beside the value.
    private static let leastAlert = 28

    /// Where the text of an alert goes: from where the history begins, or from the end of a name if it is too long for that.
    private func alertArea(
        _ alert: AlertRow, _ item: SeriesLook, _ columns: ListColumns, name width: Int
    ) -> Range<Int> {
        let end = item.quantity == nil ? columns.age.start - 1 : columns.value.start - 1
        let least = columns.name + min(width, columns.nameWidth) + 2
        let start = columns.spark > 0 && end - columns.spark >= alert.columns ? columns.spark : least
        return start..<max(start, end)
    }

    /// A row about an alert: its mark, what it is about, and what it says.
    func pieces(_ alert: AlertRow, name: [Piece]) -> [Piece] {
        let style = style(alert.severity)
        return [(alert.severity.mark + " ", style)] + name + [("  ", style)] + alert.pieces(style)
    }

    /// The two parts of a series' label; below a heading and on a narrow screen it is the key without its source.
    func label(_ look: SeriesLook) -> (String, String) {
        let (prefix, rest) = look.series.nameParts
        let isKey = (look.isBelowHeading || grid.columns < 30) && prefix.utf8.last == UInt8(ascii: "/")
        return isKey ? ("", rest) : (prefix, rest)
    }
}
