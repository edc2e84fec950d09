internal import Feed
internal import Reactor

/// Reads a SQLite journal in short transactions, so that its writer is not held up.
///
/// Unchecked: used by one thread at a time, as `LineHistory` says.
package final class SQLiteHistory: LineHistory, @unchecked Sendable {
    private let path: String
    /// Counts the damage found in the file; nil when nobody needs that.
    private let readFaults: ReadFaults?
    private var opened: (database: SQLiteDatabase, trace: JournalTrace)?
    /// The range of row ids for the times of the last query.
    private var bounds: (from: Timestamp?, until: Timestamp?, rowIDs: ClosedRange<Int64>)?

    // Lines whose columns are computed in one transaction: 65,536, and those of the next one's microsecond; goes on in
    // the next one.
    private let mostCounted: Int

    package convenience init(path: String, atMost mostCounted: Int = 65_536) {
        self.init(path: path, readFaults: nil, atMost: mostCounted)
    }

    init(path: String, readFaults: ReadFaults?, atMost mostCounted: Int = 65_536) {
        (self.path, self.readFaults, self.mostCounted) = (path, readFaults, mostCounted)
    }

    package func rowID(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace? {
        try use { database throws(JournalFault) in try database.rowID(of: sequence, in: run) }
    }

    package func page(
        _ query: JournalQuery, behind rowID: JournalPlace?, bytes: Int
    ) throws(JournalFault) -> JournalPage? {
        try use { database throws(JournalFault) in
            guard let bounds = try bounds(of: query, in: database) else { return nil }
            var (low, high) = (bounds.lowerBound, bounds.upperBound)
            if let rowID {
                if query.isReversed {
                    guard rowID.id > low else { return nil }
                    high = min(high, rowID.id - 1)
                } else {
                    guard rowID.id < high else { return nil }
                    low = max(low, rowID.id + 1)
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
            let file = opened?.trace.file
            // Its lines have other numbers.
            if let former = query.file, former != file {
                throw JournalFault(.disk, "it was replaced while it was read")
            }
            try database.run("BEGIN")
            defer { try? database.run("COMMIT") }
            let rest = try database.prepare(
                "SELECT time FROM lines WHERE time >= ? AND time < ? ORDER BY time LIMIT 1 OFFSET \(mostCounted)")
            rest.bind(1, query.from.microseconds)
            rest.bind(2, query.until.microseconds)
            let next = try rest.integer().map { Timestamp(microseconds: max($0, query.from.microseconds + 1)) }
                .flatMap { $0 < query.until ? $0 : nil }
            let sums = try ColumnSums(of: query, in: database)
            var columns: [Column] = []
            var time = query.from
            while time < next ?? query.until {
                let end = Window.end(of: Window.index(of: time, width: query.width), width: query.width)
                let part = time..<min(end, next ?? query.until)
                if let column = try sums.column(over: part) { columns.append(column) }
                time = part.upperBound
            }
            let oldest = try database.integer("SELECT min(time) FROM lines")
            return ColumnPage(
                columns: columns, next: next, oldest: oldest.map { Timestamp(microseconds: $0) }, of: file)
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
            if error.kind == .corrupt { readFaults?.add() }
            // Whatever the fault is, the next call opens a new connection.
            close()
            throw error
        }
    }

    /// The connection to the file that has the name now: a damaged one has been moved aside.
    private func database() throws(JournalFault) -> SQLiteDatabase {
        let file = try JournalFile(path)
        let now = try JournalTrace(file)
        if let opened, opened.trace == now { return opened.database }
        try check(now)
        let database = try SQLiteDatabase(file.path, .read)
        if let fault = try JournalSchema.look(at: database).fault { throw fault }
        // The file may have been replaced in between.
        let then = try JournalTrace(file)
        try check(then)
        close()
        opened = (database, then)
        return database
    }

    /// Throws while another file's log lies beside this one; the writer moves that aside before long.
    private func check(_ now: JournalTrace) throws(JournalFault) {
        guard [opened?.trace, readFaults?.trace].contains(where: { $0?.isLeft(beside: now) == true }) else { return }
        throw JournalFault(.disk, "it was replaced, and the log of the one before still lies beside it")
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

/// The query for the values of a series in a span of time, which reads the lines of that time by their index.
///
/// It is run once a column. `GROUP BY` of all columns at once would sort the values in memory first, because SQLite does
/// not know that the index has the columns in order.
private struct ColumnSums {
    private let query: ColumnQuery
    private let sums: SQLiteStatement

    init(of query: ColumnQuery, in database: SQLiteDatabase) throws(JournalFault) {
        let (isOne, value) = Self.value(of: SeriesKind(of: query.series))
        // Gap lines have no source.
        sums = try database.prepare(
            """
            SELECT count(value), min(value), max(value), avg(value), sum(isError), sum(isGap),
                CASE WHEN count(value) > 0 THEN (
                    SELECT \(value) FROM lines
                    WHERE time >= ?1 AND time < ?2 AND id <= ?3 AND source = ?4 AND \(isOne) AND \(value) IS NOT NULL
                    ORDER BY time DESC, id DESC LIMIT 1
                ) END
            FROM (
                SELECT CASE WHEN \(isOne) THEN \(value) END AS value, type = 'error' AS isError, type = 'gap' AS isGap
                FROM lines WHERE time >= ?1 AND time < ?2 AND id <= ?3 AND coalesce(source, ?4) = ?4
            )
            """)
        self.query = query
        sums.bind(3, query.last.id)
        sums.bind(4, query.source)
        if isOne.holds("?5") { sums.bind(5, query.series) }
    }

    /// The condition for a line that may have a value of the series, and the expression for that value.
    private static func value(of kind: SeriesKind) -> (condition: String, value: String) {
        switch kind {
        case .data, .text: ("series = ?5 AND type <> 'window'", "value")
        case .latency: ("type = 'latency'", "value")
        case .memory: ("type = 'memory'", "CAST(line ->> '$.rss_bytes' AS REAL)")
        case .count: ("type = 'progress'", "CAST(line ->> '$.items' AS REAL)")
        }
    }

    /// The column, or part of one, in this time; nil when it has nothing.
    func column(over times: Range<Timestamp>) throws(JournalFault) -> Column? {
        defer { sums.reset() }
        sums.bind(1, times.lowerBound.microseconds)
        sums.bind(2, times.upperBound.microseconds)
        guard try sums.step() else { return nil }
        let start = Window.index(of: times.lowerBound, width: query.width)
        var column = Column(
            start: Window.start(of: start, width: query.width), width: query.width, errors: Int(sums.integer(4)),
            gaps: Int(sums.integer(5)))
        if let low = sums.doubleIfAny(1), let high = sums.doubleIfAny(2), let last = sums.doubleIfAny(6) {
            // The sum of great numbers may be infinite, and then the mean is none.
            let mean = sums.doubleIfAny(3) ?? last
            column.values = BoardWindow(
                start: column.start, width: column.width, last: last, count: Int(sums.integer(0)), minimum: low,
                maximum: high, mean: min(max(mean, low), high))
        }
        return column.values == nil && column.errors == 0 && column.gaps == 0 ? nil : column
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
            let rowID = JournalPlace(id: lines.integer(0))
            if let last, query.isReversed ? rowID.id >= last : rowID.id <= last {
                throw JournalFault(.corrupt, "it has its rows out of order")
            }
            if let run, rowID.run != run.number || taken.count >= bytes || looks > Self.mostLooks { break }
            last = rowID.id
            guard isAsked(lines) else { continue }
            if run == nil {
                guard let found = try database.run(rowID.run) else {
                    throw JournalFault(.corrupt, "it has lines of a run that it does not know")
                }
                run = found
            }
            guard let run else { return }
            let line = lines.text(3)
            let numbers = Self.numbers(
                of: line, isGap: lines.text(2).elementsEqual("gap".utf8), run.sequence(at: rowID))
            (sequences, rowIDs) =
                taken.isEmpty
                ? (numbers, rowID.id...rowID.id)
                : (Self.union(sequences, numbers), Self.union(rowIDs, rowID.id...rowID.id))
            taken += line
            taken.append(0x0A)
        }
        guard let run else { return }
        // The first `stats` behind the first line count that line already.
        let first = JournalPlace(id: rowIDs.lowerBound)
        var stats = try database.stats(at: first)
        if stats == nil { stats = try database.stats(behind: first) }
        page = JournalPage(
            run: run, stats: stats, lines: taken,
            last: JournalPlace(id: query.isReversed ? rowIDs.lowerBound : rowIDs.upperBound), sequences: sequences)
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
