extension Painter {
    private static let keys: [(String, String)] = [
        ("1 2 3 4, Tab", "the screens"),
        ("↑ ↓, k j", "choose a series, scroll"),
        ("Enter, Esc", "into a series, and back"),
        ("← →, h l", "fold and unfold a source; read the graph"),
        ("@", "go to a time in the graph"),
        ("space", "pause, and go on"),
        ("+ -", "wider and narrower windows"),
        ("[ ]", "less and more of the history"),
        ("L", "logarithmic scale"),
        ("y", "fix the range of values"),
        ("s", "sort by source, name, value, change, age"),
        ("/", "filter by parts of the name: köln|kiel"),
        ("!", "only what fires, and everything again"),
        ("f F", "one type of line, one source in the feed"),
        ("r", "ask the sources now"),
        ("PgUp PgDn g G", "by pages, to the ends"),
        ("^L ^Z", "write the screen anew, suspend"),
        ("q", "quit"),
    ]

    /// Paints all keys, in two columns when one column has too few rows.
    mutating func paintHelp(_ body: Range<Int>) {
        // The keys for a replay only where they work.
        let keys = playback == nil ? Self.keys : [("< > .", "play slower, faster, the next line")] + Self.keys
        let isWide = grid.columns >= 96
        let needsTwo = body.count < keys.count + 1 && isWide
        let perColumn = needsTwo ? (keys.count + 1) / 2 : keys.count
        for (number, (key, meaning)) in keys.enumerated() {
            let row = body.lowerBound + number % perColumn + (body.count > perColumn ? 1 : 0)
            guard body.contains(row) else { continue }
            let column = 2 + number / perColumn * (grid.columns / 2)
            put(key, theme.accent, row: row, column: column, width: 15)
            put(meaning, theme.text, row: row, column: column + (grid.columns < 40 ? 14 : 17))
        }
    }
}
