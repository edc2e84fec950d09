internal import Feed
internal import Reactor

extension Painter {
    /// The content of one row, before columns are laid out.
    private struct ListRow {
        var index: Int
        var series: BoardSeries
        var quantity: Quantity?
        var standing: StandingLook
        var windows: [BoardWindow]
        var change = ""
        var age = ""
        var isStale = false
    }

    /// The positions of columns; a width of 0 omits one.
    private struct ListColumns {
        var name = 2
        var nameWidth = 0
        var spark = 0
        var sparkWidth = 0
        /// The number of columns for one window.
        var windowColumns = 1
        var valueEnd = 0
        var valueWidth = 0
        var unitWidth = 0
        var badge = 0
        var bandWidth = 0
        var hasBadge = false
        var arrow = 0
        var hasArrow = false
        var changeEnd = 0
        var changeWidth = 0
        /// The width of `23h59m`.
        static let ageWidth = 6
        var ageEnd = 0
        var text = 0
        var textWidth = 0
    }

    static func firstListRow(_ size: ScreenSize) -> Int? {
        size.rows > 1 ? Chrome(size).body.lowerBound + (size.rows >= 10 ? 1 : 0) : nil
    }

    mutating func paintList(_ body: Range<Int>) {
        guard !rows.isEmpty else {
            put(
                [("no series is called ", theme.muted), (state.filter, theme.text)], row: body.lowerBound + 1, column: 2
            )
            return
        }
        let first = Self.firstListRow(grid.size) ?? body.lowerBound
        let room = max(body.upperBound - first, 1)
        let chosen = state.selected.flatMap { chosen in rows.firstIndex { Int($0) == chosen } } ?? 0
        state.listTop = min(max(state.listTop, chosen - room + 1, 0), chosen, max(rows.count - room, 0))
        if chosen < state.listTop { state.listTop = chosen }
        let shown = rows[state.listTop..<min(state.listTop + room, rows.count)].map { row(Int($0)) }
        let columns = layOut(shown)
        if first > body.lowerBound { paintTitles(columns, row: body.lowerBound) }
        for (offset, row) in shown.enumerated() {
            paint(row, columns, row: first + offset, isChosen: state.listTop + offset == chosen)
        }
    }

    private func row(_ index: Int) -> ListRow {
        let series = board.series[index]
        let windows = series.newest == nil ? [] : windows(index)
        let standing = standing(series, windows)
        var row = ListRow(index: index, series: series, standing: look(standing, series), windows: windows)
        if let newest = series.newest {
            let quantity = Quantity(newest.value, series.kind, unit: unit(series))
            row.quantity = quantity
            row.change = standing.changeText(quantity, series.kind, unit: unit(series))
        }
        if let time = series.newestTime { row.age = NumberText.age(age(time)) }
        row.isStale = isStale(series)
        return row
    }

    private func layOut(_ rows: [ListRow]) -> ListColumns {
        let width = grid.columns
        var columns = ListColumns()
        var longestName = 6
        var hasText = false
        var longestBand = 0
        for row in rows {
            let (prefix, rest) = label(row.series)
            longestName = max(longestName, prefix.columns + rest.columns)
            if let quantity = row.quantity {
                columns.valueWidth = max(columns.valueWidth, quantity.text.columns)
                columns.unitWidth = max(columns.unitWidth, quantity.unit.columns)
                hasText = hasText || row.series.text?.isEmpty == false
            }
            if row.standing.letter != nil {
                columns.hasBadge = true
                longestBand = max(longestBand, row.standing.name.columns)
            }
        }
        // Steady widths, or columns would move with every value and every scrolled row.
        for scale in board.sources.lazy.compactMap({ $0.isListed ? $0.bands : nil }) {
            columns.hasBadge = columns.valueWidth > 0
            for band in scale.bands { longestBand = max(longestBand, band.name.columns) }
        }
        columns.valueWidth = columns.valueWidth == 0 ? 0 : min(max(columns.valueWidth, width >= 40 ? 7 : 3), 12)
        columns.unitWidth = min(columns.unitWidth, 9)
        if width < 30 { columns.unitWidth = 0 }
        columns.hasArrow = width >= 24 && columns.valueWidth > 0
        columns.hasBadge = columns.hasBadge && width >= 30
        columns.bandWidth = columns.hasBadge && width >= 100 ? min(longestBand, 14) : 0
        columns.changeWidth = width >= 72 && columns.valueWidth > 0 ? 8 : 0
        var fixed = columns.valueWidth + 1 + ListColumns.ageWidth + 1
        if columns.unitWidth > 0 { fixed += columns.unitWidth + 1 }
        if columns.hasBadge { fixed += 4 + (columns.bandWidth > 0 ? columns.bandWidth + 1 : 0) }
        if columns.hasArrow { fixed += 2 }
        if columns.changeWidth > 0 { fixed += columns.changeWidth + 1 }
        var room = max(width - 2 - fixed, 4)
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
        var place = 2 + columns.nameWidth
        if columns.sparkWidth > 0 {
            columns.spark = place + 2
            place += columns.sparkWidth + 2
        }
        place += columns.valueWidth + 1
        columns.valueEnd = place
        if columns.unitWidth > 0 { place += columns.unitWidth + 1 }
        if columns.hasBadge {
            columns.badge = place + 1
            place += 4
            if columns.bandWidth > 0 { place += columns.bandWidth + 1 }
        }
        if columns.hasArrow {
            columns.arrow = place + 1
            place += 2
        }
        if columns.changeWidth > 0 {
            place += columns.changeWidth + 1
            columns.changeEnd = place
        }
        place += ListColumns.ageWidth + 1
        columns.ageEnd = min(place, width)
        if wantsText, width - place >= 12 {
            columns.text = place + 2
            columns.textWidth = width - place - 3
        }
        return columns
    }

    private mutating func paintTitles(_ columns: ListColumns, row: Int) {
        func mark(_ key: ListOrder.Key, _ text: String) -> Piece {
            state.sort == key ? (text + "▾", theme.accent) : (text, theme.faint)
        }
        let name = mark(.name, "name")
        put([name], row: row, column: columns.name, width: columns.nameWidth + 1)
        if columns.sparkWidth >= 7 {
            // Series without values have their text there.
            let title = columns.valueWidth > 0 ? "history" : "text"
            put(title, theme.faint, row: row, column: columns.spark)
        }
        if columns.valueWidth > 0 {
            let value = mark(.value, "value")
            // The sort mark is behind the last digit.
            let end = columns.valueEnd + (state.sort == .value ? 1 : 0)
            put(value.text, row: row, endingAt: end, style: value.style, width: columns.valueWidth + 1)
        }
        if columns.hasBadge { put("band", theme.faint, row: row, column: columns.badge) }
        if columns.changeWidth > 0 {
            let change = mark(.change, "change")
            put(change.text, row: row, endingAt: columns.changeEnd, style: change.style, width: 8)
        }
        let age = mark(.age, "age")
        put(age.text, row: row, endingAt: columns.ageEnd, style: age.style, width: ListColumns.ageWidth)
        if columns.textWidth > 0 { put("newest", theme.faint, row: row, column: columns.text) }
    }

    private mutating func paint(_ item: ListRow, _ columns: ListColumns, row: Int, isChosen: Bool) {
        func look(_ style: Style) -> Style { item.isStale ? theme.stale : style }
        let quiet = look(theme.muted)
        let strong = isChosen ? look(theme.text).with(.bold) : look(theme.text)
        if isChosen, hasKeys { grid.put("▸", row: row, column: 0, style: theme.accent.with(.bold)) }
        let (prefix, rest) = label(item.series)
        put([(prefix, quiet), (rest, strong)], row: row, column: columns.name, width: columns.nameWidth)
        put(
            item.age, row: row, endingAt: columns.ageEnd, style: item.isStale ? theme.warning : quiet,
            width: ListColumns.ageWidth)
        guard let quantity = item.quantity else {
            let start = columns.spark > 0 ? columns.spark : 2 + columns.nameWidth + 1
            if let text = item.series.text {
                put(text, quiet, row: row, column: start, width: columns.ageEnd - ListColumns.ageWidth - 1 - start)
            }
            return
        }
        paintSpark(item, columns, row: row)
        put(quantity.text, row: row, endingAt: columns.valueEnd, style: strong, width: columns.valueWidth)
        put(quantity.unit, quiet, row: row, column: columns.valueEnd + 1, width: columns.unitWidth)
        let standing = item.standing
        if columns.hasBadge, let letter = standing.letter {
            put(" \(letter) ", look(standing.badge), row: row, column: columns.badge, width: 3)
            put(standing.name, look(standing.style), row: row, column: columns.badge + 4, width: columns.bandWidth)
        }
        if columns.hasArrow, let arrow = standing.arrow {
            grid.put(glyph: arrow, row: row, column: columns.arrow, style: look(standing.arrowStyle))
        }
        put(item.change, row: row, endingAt: columns.changeEnd, style: quiet, width: columns.changeWidth)
        if let text = item.series.text { put(text, quiet, row: row, column: columns.text, width: columns.textWidth) }
    }

    private mutating func paintSpark(_ item: ListRow, _ columns: ListColumns, row: Int) {
        guard columns.sparkWidth > 0 else { return }
        let count = columns.sparkWidth / columns.windowColumns
        let spark = Sparkline(item.windows, width: width, last: lastWindow, count: count)
        let scale = bands(item.series)
        for (place, slot) in spark.slots.enumerated() {
            for offset in 0..<columns.windowColumns {
                let column = columns.spark + place * columns.windowColumns + offset
                switch slot {
                case .before: break
                case .missing: grid.put(glyph: "·", row: row, column: column, style: theme.faint)
                case .level(let level, let value):
                    let style =
                        item.isStale
                        ? theme.stale : scale.map { theme.band($0.bands[$0.index(of: value)]) } ?? theme.accent
                    grid.put(glyph: Sparkline.blocks[level], row: row, column: column, style: style)
                }
            }
        }
    }

    /// The two parts of a series' label; a narrow screen shows the key without its source.
    func label(_ series: BoardSeries) -> (String, String) {
        let (prefix, rest) = series.nameParts
        return grid.columns < 30 && prefix.utf8.last == UInt8(ascii: "/") ? ("", rest) : (prefix, rest)
    }
}
