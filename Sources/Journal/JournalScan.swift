/// Reads everything in a journal once after the start, a little at a time, to find damage early.
///
/// `PRAGMA quick_check` would check more, but block everybody for its duration (decision 0043).
struct JournalScan {
    // Rows that the check of a journal reads at a time: 8,192, or 4 MiB; rest in the next step.
    private static let mostBytes: Int64 = 4 << 20
    private static let mostRows = 8_192

    private enum Progress {
        case begin
        case lines(after: Int64, until: Int64)
        case times(after: (time: Int64, id: Int64), until: Int64)
        case rest
        case done
    }

    private let shared: SharedJournal
    /// The number of read faults when the scan began.
    private var known: Int
    private var progress = Progress.begin

    init(_ shared: SharedJournal) {
        self.shared = shared
        known = shared.readFaults
    }

    /// Reads a little more; starts again when a reader has found another fault.
    ///
    /// - Returns: whether there is more to read.
    /// - Throws: the damage it finds.
    mutating func step(in database: SQLiteDatabase) throws(JournalFault) -> Bool {
        let count = shared.readFaults
        if count != known { (progress, known) = (.begin, count) }
        switch progress {
        case .begin:
            let last = try database.integer("SELECT max(id) FROM lines")
            progress = last.map { .lines(after: .min, until: $0) } ?? .rest
        case .lines(let last, let end): progress = try lines(after: last, until: end, in: database)
        case .times(let last, let end): progress = try times(after: last, until: end, in: database)
        case .rest:
            // These tables are small.
            for part in [
                "length(name) FROM runs", "length(lines) FROM greetings", "length(lines) FROM states",
                "time FROM marks", "line FROM alerts", "run FROM positions",
            ] {
                let rows = try database.prepare("SELECT \(part)")
                while try rows.step() {}
            }
            progress = .done
        case .done: return false
        }
        return true
    }

    private func lines(
        after last: Int64, until end: Int64, in database: SQLiteDatabase
    ) throws(JournalFault) -> Progress {
        // SQLite has to read all of a text to find its length.
        let lines = try database.prepare("SELECT id, length(line) FROM lines WHERE id > ? AND id <= ? ORDER BY id")
        var (last, rows, bytes) = (last, 0, Int64(0))
        lines.bind(1, last)
        lines.bind(2, end)
        while try lines.step() {
            try Self.check(lines.integer(0) > last)
            (last, rows, bytes) = (lines.integer(0), rows + 1, bytes + lines.integer(1))
            if rows >= Self.mostRows || bytes >= Self.mostBytes { return .lines(after: last, until: end) }
        }
        guard let end = try database.integer("SELECT max(time) FROM lines") else { return .rest }
        return .times(after: (.min, .min), until: end)
    }

    private func times(
        after last: (time: Int64, id: Int64), until end: Int64, in database: SQLiteDatabase
    ) throws(JournalFault) -> Progress {
        let times = try database.prepare(
            "SELECT time, id FROM lines INDEXED BY lines_time WHERE (time, id) > (?, ?) AND time <= ? ORDER BY time, id"
        )
        times.bind(1, last.time)
        times.bind(2, last.id)
        times.bind(3, end)
        var (last, rows) = (last, 0)
        while try times.step() {
            let next = (time: times.integer(0), id: times.integer(1))
            try Self.check(next > last)
            (last, rows) = (next, rows + 1)
            if rows >= 4 * Self.mostRows { return .times(after: last, until: end) }
        }
        return .rest
    }

    /// A page that is linked twice, or in a circle, gives rows out of order, and could be read for ever.
    private static func check(_ isInOrder: Bool) throws(JournalFault) {
        guard isInOrder else { throw JournalFault(.corrupt, "it has its rows out of order") }
    }
}
