internal import Feed

extension Painter {
    /// Paints the pairs of the newest calculation: N on the left, F(N) on the right; the total stays at the bottom.
    mutating func paintPairs(_ source: FibonacciRuns.Source, _ area: Range<Int>) {
        let room = max(area.count - 2, 0)
        state.detailTop = min(state.detailTop, max(source.pairs.count - room, 0))
        let shown = source.pairs.dropFirst(state.detailTop).prefix(room)
        let numberWidth = max(String(source.pairs.last?.n ?? 0).count, 1)
        // As wide as the longest number, or the columns would move while scrolling.
        let longest = source.pairs.last?.f.utf8.count ?? 1
        let valueWidth = min(max(longest, 4), grid.columns - numberWidth - 7)
        paintTable(
            area.count > 1 ? "F(N)" : nil, shown.map { ($0.n, Self.shortened($0.f, to: valueWidth)) }, area,
            (theme.muted, theme.text), widths: (numberWidth, valueWidth))
        var pieces: [Piece] = []
        if let total = source.total {
            pieces = [("total ", theme.muted), (NumberText.fixed(total, 3), theme.title), (" ms", theme.muted)]
        } else {
            pieces = [("computing …", theme.accent)]
        }
        let count = source.pairs.count + source.droppedPairs
        pieces.append(("   \(count) numbers", theme.muted))
        if source.droppedPairs > 0 { pieces.append((", the first \(source.droppedPairs) not kept", theme.muted)) }
        put(pieces, row: area.upperBound - 1, column: 2, width: grid.columns - 4)
    }

    /// Paints all calculations since the agent's start, the newest at the bottom: N on the left, milliseconds on the
    /// right.
    mutating func paintSums(_ source: FibonacciRuns.Source, _ area: Range<Int>) {
        let room = max(area.count - 2, 1)
        // Counted from the end: the newest are shown first.
        state.detailTop = min(state.detailTop, max(source.sums.count - room, 0))
        let shown = source.sums.dropLast(state.detailTop).suffix(room)
        let numberWidth = max(source.sums.map { String($0.n).count }.max() ?? 1, 5)
        let texts = shown.map { ($0.n, NumberText.fixed($0.ms, 3)) }
        let valueWidth = max(texts.map { $0.1.utf8.count }.max() ?? 2, 9)
        paintTable(
            area.count > 2 ? "ms" : nil, texts, area, (theme.text, theme.title), widths: (numberWidth, valueWidth))
        guard area.count > 2 else { return }
        // After attaching late or missing lines, there may have been earlier runs.
        let sawAll = board.hello?.firstSeq == 1 && board.missed == 0
        let count = source.sums.count + source.droppedSums
        put(
            [
                (count == 1 ? "1 run" : "\(count) runs", theme.muted),
                (sawAll ? " since the agent's start   " : " seen here   ", theme.muted), ("Esc", theme.text),
                (" closes", theme.muted),
            ],
            row: area.upperBound - 1, column: 2, width: grid.columns - 4)
    }

    /// Paints pairs of a number and its text, right aligned, from the top of the area.
    private mutating func paintTable(
        _ title: String?, _ rows: [(n: Int, text: String)], _ area: Range<Int>, _ looks: (Style, Style),
        widths: (Int, Int)
    ) {
        var lines = rows.map { ("\($0.n)", $0.text, looks.0, looks.1) }
        if let title { lines.insert(("N", title, theme.faint, theme.faint), at: 0) }
        for (row, line) in zip(area, lines) {
            put(line.0, row: row, endingAt: 2 + widths.0, style: line.2, width: widths.0)
            put(line.1, row: row, endingAt: 5 + widths.0 + widths.1, style: line.3, width: widths.1)
        }
    }

    /// Shortens a long number to its first and last digits and the number of digits.
    static func shortened(_ digits: String, to width: Int) -> String {
        guard digits.utf8.count > width else { return digits }
        let tail = " (\(digits.utf8.count) digits)"
        let room = width - tail.utf8.count - 1
        guard room >= 8 else { return String(digits.prefix(max(width - 1, 0))) + "…" }
        return String(digits.prefix(room - room / 2)) + "…" + String(digits.suffix(room / 2)) + tail
    }
}
