internal import Feed
internal import Reactor

/// The series in the list and their order; kept from frame to frame, so that 10,000 series cost little more than ten.
///
/// The order by name is extended by new series. Other orders are sorted again when there are new lines, starting from
/// the last order, which is nearly sorted.
struct ListOrder: Sendable {
    /// The sort keys.
    enum Key: Int, Sendable, CaseIterable {
        case name, value, change, age

        var next: Key { Key(rawValue: rawValue + 1) ?? .name }
    }

    /// Indices of series, the topmost first.
    private(set) var rows: [Int32] = []

    /// All series by name, latencies and memory last.
    private var byName: [Int32] = []
    private var filtered: [Int32] = []
    private var runChanges = -1
    private var filter = ""
    private var key = Key.name
    private var lastSequence = -1

    /// Updates the order after changes of the board, key or filter.
    mutating func update(_ board: Board, key: Key, filter: String) {
        let isOtherRun = runChanges != board.runChanges || byName.count > board.series.count
        if isOtherRun { self = ListOrder() }
        let isGrown = byName.count < board.series.count
        if isGrown { extend(board) }
        let isFilteredAnew = isGrown || isOtherRun || filter != self.filter
        if isFilteredAnew { select(board, filter) }
        let isSortedAnew = isFilteredAnew || key != self.key || (key != .name && lastSequence != board.lastSequence)
        runChanges = board.runChanges
        self.key = key
        guard isSortedAnew else { return }
        lastSequence = board.lastSequence
        sort(board)
    }

    private mutating func extend(_ board: Board) {
        func isBefore(_ left: Int32, _ right: Int32) -> Bool {
            let (one, other) = (board.series[Int(left)], board.series[Int(right)])
            if one.kind != other.kind { return one.kind.rawValue < other.kind.rawValue }
            return NaturalOrder.isBefore(one.name, other.name)
        }
        let new = (Int32(byName.count)..<Int32(board.series.count)).sorted(by: isBefore)
        var merged: [Int32] = []
        merged.reserveCapacity(board.series.count)
        var old = byName[...]
        for index in new {
            while let first = old.first, isBefore(first, index) {
                merged.append(first)
                old.removeFirst()
            }
            merged.append(index)
        }
        byName = merged + old
    }

    private mutating func select(_ board: Board, _ filter: String) {
        self.filter = filter
        let wanted = filter.lowercased()
        filtered =
            filter.isEmpty ? byName : byName.filter { board.series[Int($0)].name.lowercased().holds(wanted) }
    }

    private mutating func sort(_ board: Board) {
        guard key != .name else {
            rows = filtered
            return
        }
        // Descending (for ages: the newest first), then by name. Latencies and memory are not comparable with other
        // values: they stay last.
        var keyed: [(key: Double, kind: SeriesKind, position: Int32, index: Int32)] = []
        keyed.reserveCapacity(filtered.count)
        for (position, index) in filtered.enumerated() {
            let series = board.series[Int(index)]
            keyed.append((Self.number(key, series), series.kind, Int32(position), index))
        }
        keyed.sort { left, right in
            if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
            return left.key != right.key ? left.key > right.key : left.position < right.position
        }
        rows = keyed.map(\.index)
    }

    private static func number(_ key: Key, _ series: BoardSeries) -> Double {
        switch key {
        case .name: 0
        case .value: series.newest?.value ?? -.infinity
        case .change: series.change.map(abs) ?? -1
        case .age: Double(series.newestTime?.microseconds ?? .min)
        }
    }
}

extension BoardSeries {
    /// The difference between the newest value and the last one of the latest earlier window; nil without one.
    var change: Double? {
        guard let newest else { return nil }
        for window in windows.reversed() where window.start.microseconds <= newest.microseconds - window.width {
            let change = newest.value - window.last
            return change.isFinite ? change : nil
        }
        return nil
    }

    /// The time of the newest event.
    var newestTime: Timestamp? {
        guard let event else { return newest?.time }
        return newest.map { max($0.time, event.time) } ?? event.time
    }
}
