package import Feed
package import Journal
package import Reactor

/// The rows of a journal in memory, with the order and the pages of a real one, and faults when asked for.
///
/// Unchecked: used on one loop.
package final class MemoryHistory: LineHistory, @unchecked Sendable {
    package var files = 1

    package func close() {}

    /// A line, or a `gap` of several.
    package struct Row {
        package let rowID: RowID
        package let numbers: ClosedRange<Int>
        package let time: Timestamp
        /// With its newline.
        package let bytes: [UInt8]
    }

    /// Runs, without the end of the newest, and the `hello` and `stats` of each from some line on.
    private var runs: [JournalRun] = []
    private var greetings: [(from: RowID, bytes: [UInt8])] = []
    private var hello: [UInt8] = []
    package private(set) var rows: [Row] = []
    /// How many pages it gives before it fails; nil for all.
    package var failsAfter: Int?
    package private(set) var pages = 0
    /// The most bytes that were asked for at once.
    package private(set) var mostBytes = 0

    package init() {}

    /// Begins a run; what comes from now on is its.
    package func begin(_ name: String, base: Int = 1, hello: [UInt8]? = nil, stats: [UInt8]? = nil) {
        let identity = AgentIdentity(run: name, version: "1", started: Timestamp(seconds: 0))
        self.hello =
            hello
            ?? ControlLine.hello(
                time: Timestamp(seconds: 0), identity: identity, isFiltered: false, interval: .seconds(10),
                history: .seconds(120), firstSequence: base, nextSequence: base)
        let first = end
        runs.append(JournalRun(first: first, last: .max, name: name, base: first - Int64(base)))
        tell(stats ?? [], from: base)
    }

    /// The row id behind the last line.
    private var end: RowID {
        guard let row = rows.last else { return (runs.last?.first ?? 0) + 1 }
        return max(row.rowID + Int64(row.numbers.count), (runs.last?.first ?? 0) + 1)
    }

    /// Keeps what is said of the sources, from a line of the run that was begun last on.
    package func tell(_ stats: [UInt8], from sequence: Int) {
        greetings.append((runs[runs.count - 1].base + Int64(sequence), hello + stats))
    }

    /// Keeps a line without its newline, or a `gap` of several, of the run that was begun last.
    package func add(_ bytes: [UInt8], _ numbers: ClosedRange<Int>, _ time: Timestamp) {
        let rowID = runs[runs.count - 1].base + Int64(numbers.lowerBound)
        rows.append(Row(rowID: rowID, numbers: numbers, time: time, bytes: bytes + [0x0A]))
    }

    /// Lets go of the oldest rows, and of the runs before the first one that is left.
    package func drop(_ count: Int) {
        rows.removeFirst(count)
        guard let first = rows.first.map({ run(at: $0.rowID).first }) else { return }
        runs.removeAll { $0.first < first }
    }

    private func run(at rowID: RowID) -> JournalRun {
        let index = runs.lastIndex { $0.first <= rowID } ?? 0
        var run = runs[index]
        run.last = runs.indices.contains(index + 1) ? runs[index + 1].first - 1 : max(run.first, rows.last?.rowID ?? 0)
        return run
    }

    /// Which run a row is of.
    package func run(of row: Row) -> String { run(at: row.rowID).name }

    /// The rows of a run.
    package func rows(of name: String) -> ArraySlice<Row> {
        guard let run = runs.last(where: { $0.name == name }).map({ run(at: $0.first) }) else { return [] }
        return rows[partition { $0 >= run.first }..<partition { $0 > run.last }]
    }

    private func fail() throws(JournalFault) {
        if let failsAfter, pages >= failsAfter { throw JournalFault(.disk, "no disk") }
    }

    package func rowID(of sequence: Int, in run: String) throws(JournalFault) -> RowID? {
        try fail()
        return runs.last { $0.name == run }.map { self.run(at: $0.first).rowID(of: sequence) }
    }

    package func page(
        _ query: JournalQuery, behind rowID: RowID?, bytes: Int
    ) throws(JournalFault) -> JournalPage? {
        try fail()
        pages += 1
        mostBytes = max(mostBytes, bytes)
        // Rows are in the order of their row ids.
        let end = rowID.map { rowID in partition { query.isReversed ? $0 >= rowID : $0 > rowID } }
        var index = query.isReversed ? (end ?? rows.count) - 1 : end ?? 0
        var lines: [UInt8] = []
        var first: Row?
        var last: Row?
        var numbers = 0...0
        while rows.indices ~= index {
            let row = rows[index]
            index += query.isReversed ? -1 : 1
            if let from = query.from, row.time < from { continue }
            if let until = query.until, row.time >= until { continue }
            if let first, !run(at: first.rowID).holds(row.rowID) || lines.count >= bytes { break }
            let known = first == nil ? row.numbers : numbers
            numbers =
                min(known.lowerBound, row.numbers.lowerBound)...max(known.upperBound, row.numbers.upperBound)
            if query.includesStats, let last {
                let newer = greetings.last { last.rowID < $0.from && $0.from <= row.rowID }
                lines += JournalPage.stats(of: newer?.bytes ?? [])
            }
            lines += row.bytes
            (first, last) = (first ?? row, row)
        }
        guard let first, let last else { return nil }
        let oldest = min(first.rowID, last.rowID)
        return JournalPage(
            run: run(at: oldest), greeting: greetings.last { $0.from <= oldest }?.bytes ?? [], lines: lines,
            last: last.rowID, sequences: numbers)
    }

    /// The states, by the last row that each includes.
    private var states: [(through: RowID, lines: [UInt8])] = []

    /// Keeps the state behind the last row.
    package func add(state lines: [UInt8]) { states.append((end - 1, lines)) }

    package func state(before rowID: RowID?) throws(JournalFault) -> (through: RowID, lines: [UInt8])? {
        try fail()
        return states.last { $0.through < rowID ?? .max }
    }

    package func alerts(before name: String) throws(JournalFault) -> [UInt8] {
        try fail()
        var alerts: [(key: String, line: [UInt8])] = []
        for row in rows {
            guard let line = try? LineDecoder.decode(row.bytes.dropLast()), case .alert(let alert) = line.body,
                line.agent == nil
            else { continue }
            let key = "\(alert.condition) \(alert.about)"
            alerts.removeAll { $0.key == key }
            let time = rows.last { run(of: $0) != name }?.time ?? row.time
            let kept = ControlLine.kept(time: time, run: run(of: row), line: Array(row.bytes.dropLast()))
            if !alert.state.isOver { alerts.append((key, kept)) }
        }
        return alerts.flatMap(\.line)
    }

    /// How many rows it looks at in one call of `columns`.
    package var mostCounted = 16

    package func columns(_ query: ColumnQuery) throws(JournalFault) -> ColumnPage {
        try fail()
        pages += 1
        let wanted = rows.filter { query.from..<query.until ~= $0.time }
            .sorted { ($0.time, $0.rowID) < ($1.time, $1.rowID) }
        let rest = wanted.dropFirst(mostCounted).first { $0.time > query.from }?.time
        var columns: [Column] = []
        for row in wanted where rest.map({ row.time < $0 }) ?? true {
            guard let part = query.column(row.bytes.dropLast(), at: row.time) else { continue }
            if columns.last?.start == part.start {
                columns[columns.count - 1].absorb(part)
            } else {
                columns.append(part)
            }
        }
        return ColumnPage(columns: columns, next: rest, oldest: rows.map(\.time).min())
    }

    /// Where the first row is whose row id is as asked for, as all behind it are.
    private func partition(_ isBehind: (RowID) -> Bool) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(rows[middle].rowID) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension ColumnQuery {
    /// What a single line is in these columns; nil for nothing.
    package func column(_ bytes: ArraySlice<UInt8>, at time: Timestamp) -> Column? {
        guard let line = try? LineDecoder.decode(bytes) else { return nil }
        var column = Column(start: Window.start(of: Window.index(of: time, width: width), width: width), width: width)
        if case .gap = line.body {
            column.gaps = 1
            return column
        }
        guard line.source == source else { return nil }
        let value: Double? =
            switch line.body {
            case .data(let data) where data.series == series: data.value
            case .latency(let sample) where series == "latency:\(source)": sample.ms
            case .memory(let sample) where series == "memory:\(source)": Double(sample.resident)
            case .progress(let progress) where series == "count:\(source)": progress.items.map { Double($0) }
            default: nil
            }
        if case .error = line.body { column.errors = 1 } else if value == nil { return nil }
        column.values = value.map {
            BoardWindow(
                start: column.start, width: width, last: $0, count: 1, minimum: $0, maximum: $0, mean: $0)
        }
        return column
    }
}
