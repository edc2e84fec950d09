internal import Feed
internal import Reactor

/// Deletes a journal's oldest lines when they are too old or the file is too large, a few at a time.
///
/// Their pages are reused; the file does not shrink.
struct JournalRetention {
    // Lines that a journal deletes at a time: 8,192, or 1,024 pages (4 MiB); the last step may exceed both; rest in
    // further transactions.
    private static let mostLines = 8_192
    private static let mostPages: Int64 = 1_024
    private static let step = 32
    // Bound: alerts that a journal knows to be firing | the newest 100,000 | older ones are deleted with old lines
    private static let mostAlerts: Int64 = 100_000
    /// How far a mark may be ahead of the present time: beyond that, the clock was wrong when the mark was made.
    private static let tolerance = Duration.seconds(86_400)

    private let age: Duration
    private let mostUsed: Int64
    private let pages: SQLiteStatement
    private let freePages: SQLiteStatement
    private let oldest: SQLiteStatement
    private let endOfStep: SQLiteStatement
    private let firstYoung: SQLiteStatement
    private let delete: SQLiteStatement
    private let newest: SQLiteStatement

    init(_ database: SQLiteDatabase, _ settings: JournalSettings, pageSize: Int64) throws(JournalFault) {
        age = settings.age
        // A sixteenth is kept free for lines that come during the deletion.
        mostUsed = Int64(settings.bytes - settings.bytes / 16) / pageSize
        pages = try database.prepare("PRAGMA page_count")
        freePages = try database.prepare("PRAGMA freelist_count")
        oldest = try database.prepare("SELECT min(id) FROM lines")
        endOfStep = try database.prepare(
            "SELECT max(id) FROM (SELECT id FROM lines WHERE id < ? ORDER BY id LIMIT \(Self.step))")
        firstYoung = try database.prepare(
            """
            SELECT id FROM marks WHERE id > (
                SELECT id FROM marks WHERE time <= ?1
                AND id < (SELECT id FROM marks WHERE time > ?1 AND time <= ?2 ORDER BY id LIMIT 1)
                ORDER BY id DESC LIMIT 1)
            ORDER BY id LIMIT 1
            """)
        newest = try database.prepare("SELECT time FROM marks ORDER BY id DESC LIMIT 1")
        delete = try database.prepare("DELETE FROM lines WHERE id <= ?")
    }

    /// Whether there are lines to delete.
    func isDue(at time: Timestamp) throws(JournalFault) -> Bool {
        guard let oldest = try oldest.integer() else { return false }
        if try isTooLarge { return true }
        return try oldest < firstYoung(at: time)
    }

    /// The number of pages in use.
    var used: Int64 { get throws(JournalFault) { try (pages.integer() ?? 0) - (freePages.integer() ?? 0) } }

    private var isTooLarge: Bool { get throws(JournalFault) { try used > mostUsed } }

    /// The row id from which lines are young enough, by the first young mark: later marks may come from a wrong clock.
    /// The age of lines before it, written while the clock was ahead, is unknown: they are deleted with it.
    private func firstYoung(at time: Timestamp) throws(JournalFault) -> Int64 {
        firstYoung.bind(1, (time - age).microseconds)
        firstYoung.bind(2, (time + Self.tolerance).microseconds)
        return try firstYoung.integer() ?? .min
    }

    /// A sentence for when the clock was ahead as the newest lines were written; nil when it was not.
    func notice(at time: Timestamp) throws(JournalFault) -> String? {
        guard let newest = try newest.integer(), newest > (time + Self.tolerance).microseconds else { return nil }
        let days = (newest - time.microseconds) / 86_400_000_000
        return "its newest lines were written by a clock \(days) \(days == 1 ? "day" : "days") ahead of the one now: "
            + "they are kept as long as those that follow"
    }

    /// Deletes old lines, within a transaction.
    ///
    /// - Returns: the number of deleted lines; 0 when the only line left has the greatest id, `Int64.max`.
    func letGo(in database: SQLiteDatabase, at time: Timestamp) throws(JournalFault) -> Int {
        let firstYoung = try firstYoung(at: time)
        let free = try freePages.integer() ?? 0
        var (count, freed) = (0, Int64(0))
        repeat {
            endOfStep.bind(1, try isTooLarge ? Int64.max : firstYoung)
            guard let last = try endOfStep.integer() else { break }
            // A run that stays remembers its last deleted line.
            try database.execute(
                "UPDATE runs SET gone = ?1 - base WHERE run = (SELECT max(run) FROM runs WHERE run <= ?1)", last)
            delete.bind(1, last)
            try delete.run()
            count += database.changes
            freed = try (freePages.integer() ?? 0) - free
        } while count < Self.mostLines && freed < Self.mostPages
        try letGoOfRest(in: database)
        return count
    }

    /// Deletes the rows that belonged only to deleted lines.
    private func letGoOfRest(in database: SQLiteDatabase) throws(JournalFault) {
        // Without any line, the newest rows are kept: the next start needs the last run.
        let first = try oldest.integer() ?? .max
        for table in ["greetings", "marks", "states"] {
            try database.execute(
                "DELETE FROM \(table) WHERE id < (SELECT max(id) FROM \(table) WHERE id <= ?1)", first)
        }
        try database.execute("DELETE FROM runs WHERE run < (SELECT max(run) FROM runs WHERE run <= ?1)", first)
        try database.execute(
            "DELETE FROM alerts WHERE rowid <= (SELECT rowid FROM alerts ORDER BY rowid DESC LIMIT 1 OFFSET ?1)",
            Self.mostAlerts)
    }
}
