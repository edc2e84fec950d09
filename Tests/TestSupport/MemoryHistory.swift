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
        package let rowID: JournalPlace
        package let numbers: ClosedRange<Int>
        package let time: Timestamp
        /// With its newline.
        package let bytes: [UInt8]
    }

    private var runs: [(run: JournalRun, stats: [(from: JournalPlace, bytes: [UInt8])])] = []
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
        let own = ControlLine.hello(
            time: Timestamp(seconds: 0), identity: identity, isFiltered: false, interval: .seconds(10),
            history: .seconds(120), firstSequence: base, nextSequence: base)
        let number = Int64(runs.count + 1)
        let run = JournalRun(number: number, name: name, base: base, ended: nil, hello: hello ?? own)
        runs.append((run, []))
        if let stats { tell(stats, from: base) }
    }

    /// Keeps what is said of the sources, from a line of the run that was begun last on.
    package func tell(_ stats: [UInt8], from sequence: Int) {
        runs[runs.count - 1].stats.append((rowID(of: sequence, in: runs[runs.count - 1].run), stats))
    }

    /// Keeps a line without its newline, or a `gap` of several, of the run that was begun last.
    package func add(_ bytes: [UInt8], _ numbers: ClosedRange<Int>, _ time: Timestamp) {
        let rowID = rowID(of: numbers.lowerBound, in: runs[runs.count - 1].run)
        rows.append(Row(rowID: rowID, numbers: numbers, time: time, bytes: bytes + [0x0A]))
    }

    /// Lets go of the oldest rows, and of the runs before the first one that is left.
    package func drop(_ count: Int) { rows.removeFirst(count) }

    /// Which run a row is of.
    package func run(of row: Row) -> String { runs[Int(row.rowID.id >> 36) - 1].run.name }

    /// The rows of a run.
    package func rows(of run: String) -> ArraySlice<Row> {
        guard let number = runs.last(where: { $0.run.name == run })?.run.number else { return [] }
        let end = partition { $0.id >> 36 > number }
        return rows[partition { $0.id >> 36 >= number }..<end]
    }

    private func rowID(of sequence: Int, in run: JournalRun) -> JournalPlace {
        JournalPlace(id: run.number << 36 | min(Int64(sequence) - Int64(run.base), 1 << 36 - 1))
    }

    private func fail() throws(JournalFault) {
        if let failsAfter, pages >= failsAfter { throw JournalFault(.disk, "no disk") }
    }

    package func rowID(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace? {
        try fail()
        let named = runs.map(\.run).filter { $0.name == run }
        guard let found = named.last(where: { $0.base <= sequence }) ?? named.first,
            found.number == runs.count || rows.first.map({ $0.rowID.id >> 36 <= found.number }) ?? false
        else { return nil }
        return rowID(of: max(sequence, found.base), in: found)
    }

    package func page(
        _ query: JournalQuery, behind rowID: JournalPlace?, bytes: Int
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
            if let first, first.rowID.id >> 36 != row.rowID.id >> 36 || lines.count >= bytes { break }
            let known = first == nil ? row.numbers : numbers
            numbers =
                min(known.lowerBound, row.numbers.lowerBound)...max(known.upperBound, row.numbers.upperBound)
            if query.includesStats, let last {
                let stats = runs[Int(row.rowID.id >> 36) - 1].stats
                lines += stats.last { last.rowID < $0.from && $0.from <= row.rowID }?.bytes ?? []
            }
            lines += row.bytes
            (first, last) = (first ?? row, row)
        }
        guard let first, let last else { return nil }
        let (run, stats) = runs[Int(first.rowID.id >> 36) - 1]
        let oldest = min(first.rowID, last.rowID)
        return JournalPage(
            run: run, stats: (stats.last { $0.from <= oldest } ?? stats.first)?.bytes, lines: lines, last: last.rowID,
            sequences: numbers)
    }

    package func alerts() throws(JournalFault) -> [UInt8] {
        try fail()
        var alerts = UnresolvedAlerts()
        for row in rows.reversed().prefix(UnresolvedAlerts.mostLines) {
            let line = LineID(run(of: row), row.numbers.lowerBound)
            let newest = rows.last { run(of: $0) == line.run }?.time ?? row.time
            guard alerts.add(row.bytes.dropLast(), line, time: { newest }) else { break }
        }
        return alerts.lines
    }

    /// How many rows it looks at in one call of `columns`.
    package var mostCounted = 16

    package func columns(_ query: ColumnQuery) throws(JournalFault) -> ColumnPage {
        try fail()
        pages += 1
        let wanted = rows.filter { query.from..<query.until ~= $0.time && $0.rowID <= query.last }
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
    private func partition(_ isBehind: (JournalPlace) -> Bool) -> Int {
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
