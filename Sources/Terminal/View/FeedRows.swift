internal import Feed

/// The rows of the feed screen: lines, and answers of many items as one row each. The page has a twin, tested with the
/// same vectors (Tests/Vectors/order/feed.json).
struct FeedRows {
    enum Row: Equatable {
        case line(BoardLine)
        /// Data lines of one source, without another line between them and without a series twice.
        case items([BoardLine])
    }

    /// So many lines become one row.
    static let fewest = 3

    /// The oldest first.
    private(set) var rows: [Row] = []

    /// - Parameters:
    ///   - type: the only type of line; nil for all.
    ///   - source: the only source; nil for all.
    init(_ lines: some Sequence<BoardLine>, type: String?, source: String?, filter: ListFilter) {
        var items: [BoardLine] = []
        var names: Set<Board.Name> = []
        func isItem(_ line: BoardLine) -> Bool { line.series != nil && line.type != "window" }
        for line in lines {
            if let type, line.type != type { continue }
            if let source, line.source != source { continue }
            guard filter.isEmpty || Self.matches(line, filter) else { continue }
            let goesOn = items.last.map { $0.source == line.source && $0.sequence + 1 == line.sequence } ?? false
            if !isItem(line) || !goesOn || names.contains(Board.Name(line.series ?? "")) {
                add(items)
                (items, names) = ([], [])
            }
            if isItem(line) {
                items.append(line)
                names.insert(Board.Name(line.series ?? ""))
            } else {
                rows.append(.line(line))
            }
        }
        add(items)
    }

    private mutating func add(_ items: [BoardLine]) {
        if items.count >= Self.fewest { rows.append(.items(items)) } else { rows += items.map { .line($0) } }
    }

    private static func matches(_ line: BoardLine, _ filter: ListFilter) -> Bool {
        [line.type, line.source, line.series, line.text, line.code].contains { $0.map { filter.matches($0) } == true }
    }

    /// The key of an item: the name of its series behind that of its source.
    static func key(_ line: BoardLine) -> String {
        guard let series = line.series, series.utf8.starts(with: (line.source + "/").utf8) else {
            return line.series ?? ""
        }
        return String(Substring(series.utf8.dropFirst(line.source.utf8.count + 1)))
    }
}
