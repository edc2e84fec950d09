internal import Feed

extension Painter {
    /// The pairs of the newest calculation: N left, F(N) right; the total stays at the bottom.
    mutating func paintPairs(_ source: FibonacciRuns.Source, _ area: Range<Int>) {
        let room = max(area.count - 2, 0)
        state.detailTop = min(state.detailTop, max(source.pairs.count - room, 0))
        let shown = source.pairs.dropFirst(state.detailTop).prefix(room)
        let numberWidth = max(String(source.pairs.last?.n ?? 0).count, 1)
        let left = 2
        // No wider than the longest of all, lest the columns move while scrolling.
        let longest = source.pairs.last?.f.utf8.count ?? 1
        let valueWidth = min(max(longest, 4), grid.columns - left - numberWidth - 5)
        let end = left + numberWidth + 3 + valueWidth
        var row = area.lowerBound
        if area.count > 1 {
            put("N", row: row, endingAt: left + numberWidth, style: theme.faint, width: numberWidth)
            put("F(N)", row: row, endingAt: end, style: theme.faint, width: valueWidth)
            row += 1
        }
        for pair in shown {
            put("\(pair.n)", row: row, endingAt: left + numberWidth, style: theme.muted, width: numberWidth)
            put(Self.shortened(pair.f, to: valueWidth), row: row, endingAt: end, style: theme.text, width: valueWidth)
            row += 1
        }
        let last = area.upperBound - 1
        var pieces: [Piece] = []
        if let total = source.total {
            pieces = [("total ", theme.muted), (NumberText.fixed(total, 3), theme.title), (" ms", theme.muted)]
        } else {
            pieces = [("computing …", theme.accent)]
        }
        let count = source.pairs.count + source.droppedPairs
        pieces.append(("   \(count) numbers", theme.muted))
        if source.droppedPairs > 0 { pieces.append((", the first \(source.droppedPairs) not kept", theme.muted)) }
        put(pieces, row: last, column: 2, width: grid.columns - 4)
    }

    /// All calculations since the agent's start, the newest at the bottom: N left, milliseconds right.
    mutating func paintSums(_ source: FibonacciRuns.Source, _ area: Range<Int>) {
        let room = max(area.count - 2, 1)
        // Counted from the end: the newest are seen first.
        state.detailTop = min(state.detailTop, max(source.sums.count - room, 0))
        let shown = source.sums.dropLast(state.detailTop).suffix(room)
        let numberWidth = max(source.sums.map { String($0.n).count }.max() ?? 1, 5)
        let texts = shown.map { ($0.n, NumberText.fixed($0.ms, 3)) }
        let valueWidth = max(texts.map { $0.1.utf8.count }.max() ?? 2, 9)
        let end = 2 + numberWidth + 3 + valueWidth
        var row = area.lowerBound
        if area.count > 2 {
            put("N", row: row, endingAt: 2 + numberWidth, style: theme.faint, width: numberWidth)
            put("ms", row: row, endingAt: end, style: theme.faint, width: 2)
            row += 1
        }
        for (n, text) in texts where row < area.upperBound {
            put("\(n)", row: row, endingAt: 2 + numberWidth, style: theme.text, width: numberWidth)
            put(text, row: row, endingAt: end, style: theme.title, width: valueWidth)
            row += 1
        }
        guard area.count > 2 else { return }
        // Attached later, or with something missed, there may have been others.
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

    /// A long number as its first and last digits and how many there are.
    static func shortened(_ digits: String, to width: Int) -> String {
        guard digits.utf8.count > width else { return digits }
        let tail = " (\(digits.utf8.count) digits)"
        let room = width - tail.utf8.count - 1
        guard room >= 8 else { return String(digits.prefix(max(width - 1, 0))) + "…" }
        return String(digits.prefix(room - room / 2)) + "…" + String(digits.suffix(room / 2)) + tail
    }
}
