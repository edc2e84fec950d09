internal import Feed
internal import Reactor

/// A row of the list.
enum ListRow: Sendable, Hashable {
    /// An alert that fires and is about no series of the list, by its number on the board.
    case alert(Int)
    /// A failing or late source, by its index on the board.
    case trouble(Int)
    /// The heading of a group, by its index in `ListOrder.groups`.
    case heading(Int)
    /// A series, by its index on the board.
    case series(Int)
}

/// The rows of the list and their order; made anew for each frame, except for the order of names, which is kept while
/// there are no new series, and groups that start folded. The page has a twin, order.mjs, tested with the same vectors
/// (Tests/Vectors/order).
struct ListOrder: Sendable {
    /// The sort keys.
    enum Key: Int, Sendable, CaseIterable {
        case source, name, value, change, age

        var next: Key { Key(rawValue: rawValue + 1) ?? .source }
    }

    /// The series of one source, or the latencies, counts and memory of all.
    struct Group: Sendable {
        /// The source's name; empty for `others`.
        let name: String
        /// Whether these are the latencies, counts and memory.
        let isOthers: Bool
        /// The source's index on the board, once it is there.
        fileprivate(set) var source: Int?
        /// Indices of the series, in the order of their first lines.
        fileprivate(set) var members: [Int32] = []
        fileprivate(set) var isFolded = false
        /// Those that match the filter, by name.
        fileprivate(set) var matched: [Int32] = []
        /// Whether it starts folded; nil until that is known.
        fileprivate var start: Bool?
        /// Whether its only series is called like the source itself, and so needs no heading above it.
        fileprivate(set) var isHeading = false

        fileprivate init(_ name: String, isOthers: Bool = false) { (self.name, self.isOthers) = (name, isOthers) }
    }

    /// The index of the group of latencies, counts and memory.
    static let others = 0
    /// A group with more texts than this, or more latencies, counts and memory, starts folded.
    static let mostUnfolded = 8

    /// The topmost first.
    private(set) var rows: [ListRow] = []
    /// The series that match the filter, in their order, folded or not.
    private(set) var series: [Int32] = []
    /// `others`, then sources in the order of their first series; stable while the run lasts.
    private(set) var groups = [Group("", isOthers: true)]
    /// Whether rows have headings.
    private(set) var hasHeadings = false

    /// All series by name, latencies, counts and memory last.
    private var byName: [Int32] = []
    /// The groups of series, by their indices.
    private var groupOf: [Int32] = []
    private var groupNamed: [Board.Name: Int] = [:]
    /// Indices of groups, in their order.
    private var ranked: [Int] = []
    private var filtered: [Int32] = []
    /// What fires and matches the filter: series, and alerts that are about none; the worst first.
    private var firing: [ListRow] = []
    private var firingSeries: Set<Int32> = []
    /// The worst of all alerts that fire.
    private(set) var worst: AlertRow.Severity?
    private var runChanges = -1
    private var filter = ListFilter("")

    /// Updates the order after changes of the board or of what a person chose.
    ///
    /// - Parameters:
    ///   - folds: whether groups are folded, by their names, where a person chose.
    ///   - firingOnly: whether only what fires is shown.
    ///   - lateAt: the agent's time; nil when no source is late, because nothing can come.
    mutating func update(
        _ board: Board, key: Key, filter: ListFilter = ListFilter(""), folds: [String: Bool] = [:],
        firingOnly: Bool = false, lateAt: Timestamp? = nil
    ) {
        if runChanges != board.runChanges || byName.count > board.series.count { self = ListOrder() }
        runChanges = board.runChanges
        let isGrown = byName.count < board.series.count
        if isGrown { extend(board) }
        if isGrown || filter != self.filter { select(board, filter) }
        rank(board)
        sort(board, key)
        for index in groups.indices.dropFirst() where groups[index].start == nil {
            groups[index].start = startsFolded(groups[index], board)
        }
        fold(folds)
        hasHeadings = key == .source && needsHeadings(board)
        findFiring(board)
        list(firingOnly ? nil : troubles(board, lateAt: lateAt))
    }

    // MARK: Series

    private mutating func extend(_ board: Board) {
        func isBefore(_ left: Int32, _ right: Int32) -> Bool {
            let (one, other) = (board.series[Int(left)], board.series[Int(right)])
            if one.kind != other.kind { return one.kind.rawValue < other.kind.rawValue }
            return NaturalOrder.isBefore(one.name, other.name)
        }
        let first = byName.count
        byName += Int32(first)..<Int32(board.series.count)
        byName.sort(by: isBefore)
        for index in first..<board.series.count {
            let group = board.series[index].kind == .data ? group(named: board.series[index].source) : Self.others
            groupOf.append(Int32(group))
            groups[group].members.append(Int32(index))
            groups[group].isHeading =
                groups[group].members.count == 1 && board.series[index].name == groups[group].name
        }
    }

    private mutating func group(named name: String) -> Int {
        if let index = groupNamed[Board.Name(name)] { return index }
        groups.append(Group(name))
        groupNamed[Board.Name(name)] = groups.count - 1
        return groups.count - 1
    }

    private mutating func select(_ board: Board, _ filter: ListFilter) {
        self.filter = filter
        filtered = filter.isEmpty ? byName : byName.filter { filter.matches(board.series[Int($0)].name) }
        for index in groups.indices { groups[index].matched = [] }
        for index in filtered { groups[Int(groupOf[Int(index)])].matched.append(index) }
    }

    /// Sources as the board has them, those that it does not have by their first series, and `others` last.
    private mutating func rank(_ board: Board) {
        var places = [Int](repeating: .max, count: board.sources.count)
        for (place, source) in board.sourceOrder.enumerated() { places[source] = place }
        for index in groups.indices.dropFirst() where groups[index].source == nil {
            groups[index].source = board.source(named: groups[index].name)
        }
        ranked = groups.indices.dropFirst()
            .map { (place: groups[$0].source.map { places[$0] } ?? .max, index: $0) }
            .sorted { ($0.place, $0.index) < ($1.place, $1.index) }
            .map(\.index)
        ranked.append(Self.others)
    }

    private mutating func sort(_ board: Board, _ key: Key) {
        switch key {
        case .source: series = ranked.flatMap { groups[$0].matched }
        case .name: series = filtered
        case .value, .change, .age:
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
            series = keyed.map(\.index)
        }
    }

    private static func number(_ key: Key, _ series: BoardSeries) -> Double {
        switch key {
        case .source, .name: 0
        case .value: series.newest?.value ?? -.infinity
        case .change: series.change.map(abs) ?? -1
        case .age: Double(series.newestTime?.microseconds ?? .min)
        }
    }

    // MARK: Headings

    /// Folds and unfolds groups, as a person chose or as they start.
    private mutating func fold(_ folds: [String: Bool]) {
        for index in groups.indices {
            groups[index].isFolded =
                folds[groups[index].name] ?? groups[index].start
                ?? (index == Self.others && groups[index].members.count > Self.mostUnfolded)
        }
    }

    /// Whether a source's series start folded: many texts without a value do. It stays so when a value or fewer texts
    /// follow, or rows would come and go by themselves. Nil while there are few texts and no value.
    private func startsFolded(_ group: Group, _ board: Board) -> Bool? {
        var texts = 0
        for member in group.members {
            if board.series[Int(member)].newest != nil { return false }
            if board.series[Int(member)].event?.text != nil { texts += 1 }
        }
        return texts > Self.mostUnfolded ? true : nil
    }

    /// Of several listed sources with data, one has more than one series.
    private func needsHeadings(_ board: Board) -> Bool {
        var (listed, hasMany) = (0, false)
        for group in groups.dropFirst() {
            guard let source = group.source, board.sources[source].isListed else { continue }
            listed += 1
            hasMany = hasMany || group.members.count > 1
            if listed > 1, hasMany { return true }
        }
        return false
    }

    /// Listed sources that fail, then those that are late; with a filter, those that match it or a series of which does.
    private func troubles(_ board: Board, lateAt now: Timestamp?) -> [Int] {
        var (failing, late): ([Int], [Int]) = ([], [])
        for index in board.sourceOrder where board.sources[index].isListed {
            if board.sources[index].state == .failing {
                if isWanted(board.sources[index].name) { failing.append(index) }
            } else if let now, board.sources[index].lateness(at: now, window: board.interval) != nil {
                if isWanted(board.sources[index].name) { late.append(index) }
            }
        }
        return failing + late
    }

    private func isWanted(_ source: String) -> Bool {
        filter.matches(source) || groupNamed[Board.Name(source)].map { !groups[$0].matched.isEmpty } == true
    }

    private mutating func findFiring(_ board: Board) {
        (firing, firingSeries, worst) = ([], [], nil)
        let alerts = board.alerts.numbers.compactMap { number in
            board.alerts[number].map { (number: number, alert: $0, severity: AlertRow.Severity($0)) }
        }
        for (number, alert, _) in alerts.sorted(by: { ($0.severity, $0.number) < ($1.severity, $1.number) }) {
            worst = worst ?? AlertRow.Severity(alert)
            if let index = board.series(named: alert.subject) {
                guard filter.matches(alert.subject), firingSeries.insert(Int32(index)).inserted else { continue }
                firing.append(.series(index))
            } else if filter.matches(alert.subject) || filter.matches(alert.condition) {
                firing.append(.alert(number))
            }
        }
    }

    /// - Parameter troubles: indices of sources; nil to list only what fires.
    private mutating func list(_ troubles: [Int]?) {
        rows = firing
        guard let troubles else { return }
        rows += troubles.map { .trouble($0) }
        let calm = { [firingSeries] (index: Int32) in firingSeries.isEmpty || !firingSeries.contains(index) }
        guard hasHeadings else {
            rows += series.lazy.filter(calm).map { .series(Int($0)) }
            return
        }
        for index in ranked where !groups[index].matched.isEmpty {
            if !groups[index].isHeading { rows.append(.heading(index)) }
            if !groups[index].isFolded || groups[index].isHeading || !filter.isEmpty {
                rows += groups[index].matched.lazy.filter(calm).map { .series(Int($0)) }
            }
        }
    }

    // MARK: Choosing

    /// The group of a series.
    func group(ofSeries index: Int) -> Int { Int(groupOf[index]) }

    /// Whether a series' row is its source's heading as well.
    func isHeading(_ index: Int) -> Bool { hasHeadings && groups[group(ofSeries: index)].isHeading }

    /// Whether a series matches the filter.
    func matches(_ index: Int) -> Bool {
        groupOf.indices.contains(index) && groups[group(ofSeries: index)].matched.contains(Int32(index))
    }

    /// Whether a series stands below the heading of its group, and not on top because it fires.
    func isBelowHeading(_ index: Int) -> Bool {
        hasHeadings && !groups[group(ofSeries: index)].isHeading && !fires(index)
    }

    /// Whether a series stands on top because it fires.
    func fires(_ index: Int) -> Bool { firingSeries.contains(Int32(index)) }

    /// Whether some row has a mark before its name.
    var hasMarks: Bool { hasHeadings || !firing.isEmpty }

    /// The position of the row that stands for `row`: it itself, or its group's heading or first series; else the first,
    /// with a filter the first match. Nil when there are no rows.
    func position(of row: ListRow?, _ board: Board) -> Int? {
        func first(_ isIt: (Int) -> Bool) -> Int? {
            rows.firstIndex { if case .series(let index) = $0 { isIt(index) } else { false } }
        }
        if let row, let group = group(of: row, board),
            let position = rows.firstIndex(of: row) ?? rows.firstIndex(of: .heading(group))
                ?? first({ self.group(ofSeries: $0) == group })
        {
            return position
        }
        let match = filter.isEmpty ? nil : first { _ in true }
        return match ?? (rows.isEmpty ? nil : 0)
    }

    /// The series that a row leads to: its own, or the first of its group or source.
    func firstSeries(of row: ListRow, _ board: Board) -> Int? {
        if case .series(let index) = row { return index }
        if let group = group(of: row, board), let first = series.first(where: { groupOf[Int($0)] == group }) {
            return Int(first)
        }
        switch row {
        case .trouble(let source): return within(board.sources[source].name, board).first
        case .alert(let number):
            // Of a pattern too the source comes first.
            let source = board.alerts[number]?.subject.split(separator: "/").first.map { String($0) }
            return source.flatMap { within($0, board).first }
        case .heading, .series: return nil
        }
    }

    private func group(of row: ListRow, _ board: Board) -> Int? {
        switch row {
        case .trouble(let source):
            board.sources.indices.contains(source) ? groupNamed[Board.Name(board.sources[source].name)] ?? -1 : nil
        case .heading(let group): groups.indices.contains(group) ? group : nil
        case .alert: nil
        case .series(let index): groupOf.indices.contains(index) ? group(ofSeries: index) : nil
        }
    }

    /// The series of a source that match the filter, in their order: its data, then its latency, count and memory.
    func within(_ source: String, _ board: Board) -> [Int] {
        let name = Board.Name(source)
        return series.map { Int($0) }.filter { Board.Name(board.series[$0].source) == name }
    }
}

/// Texts separated by `|`, any of which may be a part of a name; any name matches when there are none.
struct ListFilter: Sendable, Equatable {
    private let words: [String]

    init(_ text: String) {
        words = text.lowercased().unicodeScalars.split(separator: "|").compactMap { part in
            let word = part.drop { $0 == " " }
            let end = word.lastIndex { $0 != " " }.map { word.index(after: $0) } ?? word.startIndex
            return word[..<end].isEmpty ? nil : String(word[..<end])
        }
    }

    var isEmpty: Bool { words.isEmpty }

    func matches(_ text: String) -> Bool {
        guard !words.isEmpty else { return true }
        let text = text.lowercased()
        return words.contains { text.holds($0) }
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
