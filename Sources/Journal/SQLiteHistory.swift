internal import Feed
internal import Reactor

/// Reads a SQLite journal in short transactions, so that its writer is not held up.
///
/// Unchecked: used by one thread at a time, as `LineHistory` says.
package final class SQLiteHistory: LineHistory, @unchecked Sendable {
    private let path: String
    /// Counts the damage found in the file; nil when nobody needs that.
    private let shared: SharedJournal?
    private var opened: (database: SQLiteDatabase, file: FileIdentity)?
    package private(set) var files = 0
    private var lastFile: FileIdentity?
    /// The range of row ids for the times of the last query.
    private var bounds: (from: Timestamp?, until: Timestamp?, rowIDs: ClosedRange<Int64>)?

    // Lines whose columns are computed in one transaction: 65,536, and those of the next one's microsecond; goes on in
    // the next one.
    private let mostCounted: Int

    package convenience init(path: String, atMost mostCounted: Int = 65_536) {
        self.init(path: path, shared: nil, atMost: mostCounted)
    }

    init(path: String, shared: SharedJournal?, atMost mostCounted: Int = 65_536) {
        (self.path, self.shared, self.mostCounted) = (path, shared, mostCounted)
    }

    package func rowID(of sequence: Int, in run: String) throws(JournalFault) -> RowID? {
        try use { database throws(JournalFault) in try database.run(named: run)?.rowID(of: sequence) }
    }

    package func page(
        _ query: JournalQuery, behind rowID: RowID?, bytes: Int
    ) throws(JournalFault) -> JournalPage? {
        try use { database throws(JournalFault) in
            guard let bounds = try bounds(of: query, in: database) else { return nil }
            var (low, high) = (bounds.lowerBound, bounds.upperBound)
            if let rowID {
                if query.isReversed {
                    guard rowID > low else { return nil }
                    high = min(high, rowID - 1)
                } else {
                    guard rowID < high else { return nil }
                    low = max(low, rowID + 1)
                }
            }
            while low <= high {
                var search = Search(query: query, bytes: bytes)
                try database.run("BEGIN")
                defer { try? database.run("COMMIT") }
                try search.run(in: database, low: low, high: high)
                if let page = search.page { return page }
                guard !search.isOver, let last = search.last, last != (query.isReversed ? low : high) else {
                    return nil
                }
                if query.isReversed { high = last - 1 } else { low = last + 1 }
            }
            return nil
        }
    }

    package func columns(_ query: ColumnQuery) throws(JournalFault) -> ColumnPage {
        try use { database throws(JournalFault) in
            try database.run("BEGIN")
            defer { try? database.run("COMMIT") }
            let rest = try database.prepare(
                "SELECT time FROM lines WHERE time >= ? AND time < ? ORDER BY time LIMIT 1 OFFSET \(mostCounted)")
            rest.bind(1, query.from.microseconds)
            rest.bind(2, query.until.microseconds)
            let next = try rest.integer().map { Timestamp(microseconds: max($0, query.from.microseconds + 1)) }
                .flatMap { $0 < query.until ? $0 : nil }
            let columns = try readColumns(query, until: next ?? query.until, in: database)
            let oldest = try database.integer("SELECT min(time) FROM lines")
            return ColumnPage(columns: columns, next: next, oldest: oldest.map { Timestamp(microseconds: $0) })
        }
    }

    package func state(before rowID: RowID?) throws(JournalFault) -> (through: RowID, lines: [UInt8])? {
        try use { database throws(JournalFault) in
            let rows = try database.prepare("SELECT id, lines FROM states WHERE id < ? ORDER BY id DESC LIMIT 1")
            defer { rows.reset() }
            rows.bind(1, rowID ?? .max)
            return try rows.step() ? (rows.integer(0), rows.bytes(1)) : nil
        }
    }

    // Bound: alerts read from a journal at the start | 8 MiB of lines | older ones are forgotten
    private static let mostAlertBytes = 8 << 20

    package func alerts(before run: String) throws(JournalFault) -> [UInt8] {
        try use { database throws(JournalFault) in
            let rows = try database.prepare(
                """
                SELECT run, line, (SELECT time FROM lines
                    WHERE id < coalesce((SELECT max(run) FROM runs WHERE name = ?), ~(1 << 63)) ORDER BY id DESC LIMIT 1)
                FROM alerts ORDER BY rowid DESC
                """)
            defer { rows.reset() }
            rows.bind(1, run)
            var (kept, count): ([[UInt8]], Int) = ([], 0)
            while try rows.step() {
                // With no line before the run, the alert has just begun.
                let time = rows.integerIfAny(2).map { Timestamp(microseconds: $0) } ?? Timestamp(microseconds: .min)
                kept.append(ControlLine.kept(time: time, run: rows.string(0), line: rows.bytes(1)))
                count += kept[kept.count - 1].count
                if count > Self.mostAlertBytes { break }
            }
            return Array(kept.reversed().joined())
        }
    }

    /// The columns of the lines before `end`, which are read by the index of their times.
    private func readColumns(
        _ query: ColumnQuery, until end: Timestamp, in database: SQLiteDatabase
    ) throws(JournalFault) -> [Column] {
        let (isOne, value) = Self.value(of: SeriesKind(of: query.series))
        // Gap lines have no source.
        let rows = try database.prepare(
            """
            SELECT time, type = 'error', type = 'gap', CASE WHEN \(isOne) THEN \(value) END FROM lines
            WHERE time >= ?1 AND time < ?2 AND coalesce(source, ?3) = ?3 AND (\(isOne) OR type IN ('error', 'gap'))
            ORDER BY time, id
            """)
        defer { rows.reset() }
        rows.bind(1, query.from.microseconds)
        rows.bind(2, end.microseconds)
        rows.bind(3, query.source)
        if isOne.holds("?4") { rows.bind(4, query.series) }
        var columns: [Column] = []
        var values: Window?
        while try rows.step() {
            let (errors, gaps, value) = (Int(rows.integer(1)), Int(rows.integer(2)), rows.doubleIfAny(3))
            guard value != nil || errors + gaps > 0 else { continue }
            let time = Timestamp(microseconds: rows.integer(0))
            let index = Window.index(of: time, width: query.width)
            let start = Window.start(of: index, width: query.width)
            if columns.last?.start != start {
                columns.append(Column(start: start, width: query.width))
                values = nil
            }
            let last = columns.count - 1
            columns[last].errors += errors
            columns[last].gaps += gaps
            guard let value else { continue }
            if values?.add(value, time: time.microseconds, sequence: 0) == nil {
                values = Window(index: index, value: value, time: time, sequence: 0)
            }
            columns[last].values = values.map { BoardWindow($0, width: query.width) }
        }
        return columns
    }

    /// The condition for a line that may have a value of the series, and the expression for that value.
    private static func value(of kind: SeriesKind) -> (condition: String, value: String) {
        switch kind {
        case .data, .text, .alert: ("series = ?4 AND type <> 'window'", "value")
        case .latency: ("type = 'latency'", "value")
        case .memory: ("type = 'memory'", "CAST(line ->> '$.rss_bytes' AS REAL)")
        case .count: ("type = 'progress'", "CAST(line ->> '$.items' AS REAL)")
        }
    }

    // MARK: The file

    private func use<Value>(
        _ body: (SQLiteDatabase) throws(JournalFault) -> Value
    ) throws(JournalFault) -> Value {
        let database = try database()
        do throws(JournalFault) {
            return try body(database)
        } catch {
            if error.kind == .corrupt { shared?.addReadFault() }
            // Whatever the fault is, the next call opens a new connection.
            close()
            throw error
        }
    }

    /// The connection to the file that has the name now: a damaged one has been moved aside.
    private func database() throws(JournalFault) -> SQLiteDatabase {
        let file = try JournalFile(path)
        try file.checkKind()
        let now = try file.identity()
        if let own = shared?.file, own != now {
            throw JournalFault(.disk, "it was replaced, and the agent has not opened the new one yet")
        }
        if let opened, opened.file == now { return opened.database }
        let database = try SQLiteDatabase(file.path, .read)
        if let fault = try JournalSchema.look(at: database).fault { throw fault }
        close()
        opened = (database, now)
        if now != lastFile { (lastFile, files) = (now, files + 1) }
        return database
    }

    package func close() { (opened, bounds) = (nil, nil) }

    /// The range of row ids for the query's times; nil for none.
    private func bounds(
        of query: JournalQuery, in database: SQLiteDatabase
    ) throws(JournalFault) -> ClosedRange<Int64>? {
        guard query.from != nil || query.until != nil else { return 0...Int64.max }
        if let bounds, bounds.from == query.from, bounds.until == query.until { return bounds.rowIDs }
        let statement = try database.prepare(
            "SELECT min(id), max(id), (SELECT max(time) FROM lines) FROM lines WHERE time >= ? AND time < ?")
        statement.bind(1, query.from?.microseconds ?? .min)
        statement.bind(2, query.until?.microseconds ?? .max)
        guard try statement.step(), let first = statement.integerIfAny(0), let last = statement.integerIfAny(1) else {
            return nil
        }
        guard first <= last else { throw JournalFault(.corrupt, "it has its rows out of order") }
        // More lines may come for times in the future.
        let isOver = query.until.map { $0.microseconds <= statement.integer(2) } ?? false
        let rowIDs = first...(isOver ? last : Int64.max)
        bounds = (query.from, query.until, rowIDs)
        return rowIDs
    }
}

/// Searches a journal for the requested lines, in one transaction.
private struct Search {
    // Rows that a search for a reader's lines reads in a transaction: 16,384; rest in the next one.
    private static let mostLooks = 16_384

    let query: JournalQuery
    let bytes: Int
    var page: JournalPage?
    /// The last line that was read.
    var last: Int64?
    /// Whether there are no more lines.
    var isOver = false

    mutating func run(in database: SQLiteDatabase, low: Int64, high: Int64) throws(JournalFault) {
        let lines = try database.prepare(
            "SELECT id, time, type, line FROM lines WHERE id BETWEEN ? AND ? ORDER BY id "
                + (query.isReversed ? "DESC" : "ASC"))
        lines.bind(1, low)
        lines.bind(2, high)
        let newer =
            try query.includesStats
            ? database.prepare("SELECT id, lines FROM greetings WHERE id > ? ORDER BY id") : nil
        var nextGreeting: RowID?
        var run: JournalRun?
        var taken: [UInt8] = []
        var sequences = 0...0
        var rowIDs = low...low
        var looks = 0
        while looks < Self.mostLooks || run != nil {
            guard try lines.step() else {
                isOver = true
                break
            }
            looks += 1
            let rowID = lines.integer(0)
            if let last, query.isReversed ? rowID >= last : rowID <= last {
                throw JournalFault(.corrupt, "it has its rows out of order")
            }
            if let run, !run.holds(rowID) || taken.count >= bytes || looks > Self.mostLooks { break }
            last = rowID
            guard isAsked(lines) else { continue }
            if run == nil {
                guard let found = try database.run(at: rowID) else {
                    throw JournalFault(.corrupt, "it has lines of a run that it does not know")
                }
                run = found
                newer?.bind(1, rowID)
                if let newer, try newer.step() { nextGreeting = newer.integer(0) }
            }
            guard let run else { return }
            var stats: [UInt8] = []
            while let newer, let next = nextGreeting, next <= rowID {
                stats = JournalPage.stats(of: newer.bytes(1))
                nextGreeting = try newer.step() ? newer.integer(0) : nil
            }
            taken += stats
            let line = lines.text(3)
            let numbers = Self.numbers(
                of: line, isGap: lines.text(2).elementsEqual("gap".utf8), run.sequence(at: rowID))
            (sequences, rowIDs) =
                taken.isEmpty
                ? (numbers, rowID...rowID)
                : (Self.union(sequences, numbers), Self.union(rowIDs, rowID...rowID))
            taken += line
            taken.append(0x0A)
        }
        guard let run else { return }
        page = JournalPage(
            run: run, greeting: try database.greeting(at: rowIDs.lowerBound), lines: taken,
            last: query.isReversed ? rowIDs.lowerBound : rowIDs.upperBound, sequences: sequences)
    }

    private static func union<Bound>(
        _ left: ClosedRange<Bound>, _ right: ClosedRange<Bound>
    ) -> ClosedRange<Bound> {
        min(left.lowerBound, right.lowerBound)...max(left.upperBound, right.upperBound)
    }

    private func isAsked(_ line: SQLiteStatement) -> Bool {
        let time = Timestamp(microseconds: line.integer(1))
        if let from = query.from, time < from { return false }
        if let until = query.until, time >= until { return false }
        return true
    }

    /// The sequence numbers that a line stands for: one, or a `gap`'s range.
    private static func numbers(of line: UnsafeRawBufferPointer, isGap: Bool, _ sequence: Int) -> ClosedRange<Int> {
        guard isGap, let gap = Line.Gap(Bytes(line)), gap.to >= sequence else { return sequence...sequence }
        return sequence...gap.to
    }
}
