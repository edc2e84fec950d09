internal import Feed
internal import Reactor

/// Reads a journal in a file of SQLite's, in short transactions: whoever writes it is not held up.
///
/// Unchecked: used by one thread at a time, as `LineHistory` says.
package final class SQLiteHistory: LineHistory, @unchecked Sendable {
    private let path: String
    private var opened: SQLiteDatabase?

    package init(path: String) { self.path = path }

    private func database() throws(SQLiteFault) -> SQLiteDatabase {
        if let opened { return opened }
        let database = try SQLiteDatabase(path, .read)
        database.setPatience(milliseconds: 1_000)
        try database.run("PRAGMA cache_size = -512")
        opened = database
        return database
    }

    package func place(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace? {
        do throws(SQLiteFault) {
            let runs = try database().prepare(
                "SELECT run, base FROM runs WHERE name = ? AND base <= ? ORDER BY run DESC")
            runs.bind(1, run)
            runs.bind(2, Int64(sequence))
            guard try runs.step() else { return nil }
            let offset = min(Int64(sequence) - runs.integer(1), JournalPlace.most)
            return JournalPlace(run: runs.integer(0), offset: offset)
        } catch {
            throw JournalFault(error)
        }
    }

    package func page(
        _ query: JournalQuery, behind place: JournalPlace?, bytes: Int
    ) throws(JournalFault) -> JournalPage? {
        do throws(SQLiteFault) {
            let database = try database()
            try database.run("BEGIN")
            defer { try? database.run("COMMIT") }
            guard let bounds = try bounds(of: query, in: database) else { return nil }
            return try page(query, within: bounds, behind: place, bytes, in: database)
        } catch {
            throw JournalFault(error)
        }
    }

    /// Between which places lines of the times asked for are.
    private func bounds(
        of query: JournalQuery, in database: SQLiteDatabase
    ) throws(SQLiteFault) -> ClosedRange<Int64>? {
        guard query.from != nil || query.until != nil else { return 0...Int64.max }
        let statement = try database.prepare("SELECT min(id), max(id) FROM lines WHERE time >= ? AND time < ?")
        statement.bind(1, query.from?.microseconds ?? .min)
        statement.bind(2, query.until?.microseconds ?? .max)
        guard try statement.step(), let first = statement.integerIfAny(0), let last = statement.integerIfAny(1) else {
            return nil
        }
        return first...last
    }

    private func page(
        _ query: JournalQuery, within bounds: ClosedRange<Int64>, behind place: JournalPlace?, _ bytes: Int,
        in database: SQLiteDatabase
    ) throws(SQLiteFault) -> JournalPage? {
        var low = bounds.lowerBound
        var high = bounds.upperBound
        if let place {
            if query.isReversed {
                guard place.id > low else { return nil }
                high = min(high, place.id - 1)
            } else {
                guard place.id < high else { return nil }
                low = max(low, place.id + 1)
            }
        }
        let lines = try database.prepare(
            "SELECT id, time, type, source, series, line FROM lines WHERE id BETWEEN ? AND ? ORDER BY id "
                + (query.isReversed ? "DESC" : "ASC"))
        lines.bind(1, low)
        lines.bind(2, high)
        var page: JournalPage?
        while try lines.step() {
            let place = JournalPlace(id: lines.integer(0))
            if let page, place.run != page.run.number || page.lines.count >= bytes { break }
            let time = Timestamp(microseconds: lines.integer(1))
            if let from = query.from, time < from { continue }
            if let until = query.until, time >= until { continue }
            if let types = query.types, !types.contains(lines.string(2)) { continue }
            if let sources = query.sources, !sources.contains(lines.string(3)) { continue }
            if let series = query.series, series != lines.string(4) { continue }
            if page == nil {
                page = try run(place.run, in: database).map {
                    JournalPage(run: $0, stats: nil, lines: [], last: place, sequences: 0...0)
                }
                page?.stats = try stats(at: place, in: database)
            }
            guard var filled = page else { return nil }
            page = nil  // it has its lines alone
            let sequence = filled.run.base + Int(place.offset)
            let isFirst = filled.lines.isEmpty
            filled.lines += lines.text(5)
            filled.lines.append(0x0A)
            filled.last = place
            filled.sequences =
                isFirst
                ? sequence...sequence
                : min(sequence, filled.sequences.lowerBound)...max(sequence, filled.sequences.upperBound)
            page = filled
        }
        return page
    }

    private func run(_ number: Int64, in database: SQLiteDatabase) throws(SQLiteFault) -> JournalRun? {
        let runs = try database.prepare("SELECT name, base, ended, hello FROM runs WHERE run = \(number)")
        guard try runs.step() else { return nil }
        return JournalRun(
            number: number, name: runs.string(0), base: Int(runs.integer(1)),
            ended: runs.integerIfAny(2) == nil ? nil : runs.string(2), hello: Array(runs.text(3)) + [0x0A])
    }

    private func stats(at place: JournalPlace, in database: SQLiteDatabase) throws(SQLiteFault) -> [UInt8]? {
        let stats = try database.prepare(
            "SELECT line FROM stats WHERE id BETWEEN \(place.run << JournalPlace.bits) AND \(place.id)"
                + " ORDER BY id DESC LIMIT 1")
        return try stats.step() ? Array(stats.text(0)) + [0x0A] : nil
    }
}
