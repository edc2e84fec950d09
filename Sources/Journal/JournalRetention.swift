internal import Feed
internal import Reactor

/// Lets go of a journal's oldest lines, for their age or for their number, a little at a time.
///
/// Their pages are used again; the file does not get smaller.
struct JournalRetention {
    /// How many lines go at once, and how many pages become free by that, at the most, but for the last step.
    private static let mostLines = 8_192
    private static let mostPages: Int64 = 1_024
    private static let step = 32
    /// By how much a mark may be later than the time, which steps: from there on the clock was wrong when it was made.
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

    init(_ database: SQLiteDatabase, _ settings: JournalSettings, pageSize: Int64) throws(SQLiteFault) {
        age = settings.age
        // A sixteenth is left for what comes while this goes on.
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

    /// Whether there is something to let go of.
    func isDue(at time: Timestamp) throws(SQLiteFault) -> Bool {
        guard let oldest = try oldest.integer() else { return false }
        if try isTooLarge { return true }
        return try oldest < firstYoung(at: time)
    }

    /// How many pages are in use.
    var used: Int64 { get throws(SQLiteFault) { try (pages.integer() ?? 0) - (freePages.integer() ?? 0) } }

    private var isTooLarge: Bool { get throws(SQLiteFault) { try used > mostUsed } }

    /// The place from which on lines are not too old. By the first mark that is young: behind it others may be of a clock that
    /// was wrong. How old lines are that were written before it while the clock was ahead, nobody knows: they go when it does.
    private func firstYoung(at time: Timestamp) throws(SQLiteFault) -> Int64 {
        firstYoung.bind(1, (time - age).microseconds)
        firstYoung.bind(2, (time + Self.tolerance).microseconds)
        return try firstYoung.integer() ?? .min
    }

    /// What is said of lines that were written last while the clock was ahead; nil when it was not.
    func notice(at time: Timestamp) throws(SQLiteFault) -> String? {
        guard let newest = try newest.integer(), newest > (time + Self.tolerance).microseconds else { return nil }
        let days = (newest - time.microseconds) / 86_400_000_000
        return "its newest lines were written by a clock \(days) \(days == 1 ? "day" : "days") ahead of the one now: "
            + "they are kept as long as those that follow"
    }

    /// Within a transaction.
    ///
    /// - Returns: how many lines went: none when the only ones there are at a place that nothing comes before.
    func letGo(in database: SQLiteDatabase, at time: Timestamp) throws(SQLiteFault) -> Int {
        let firstYoung = try firstYoung(at: time)
        let free = try freePages.integer() ?? 0
        var (count, freed) = (0, Int64(0))
        repeat {
            endOfStep.bind(1, try isTooLarge ? Int64.max : firstYoung)
            guard let last = try endOfStep.integer() else { break }
            // Of a run that stays it is known how far it went.
            try database.execute(
                "UPDATE runs SET gone = base + (?1 & \(JournalPlace.most)) WHERE run = ?1 >> \(JournalPlace.bits)", last
            )
            delete.bind(1, last)
            try delete.run()
            count += database.changes
            freed = try (freePages.integer() ?? 0) - free
        } while count < Self.mostLines && freed < Self.mostPages
        try letGoOfRest(in: database)
        return count
    }

    /// What said something of the lines that are gone.
    private func letGoOfRest(in database: SQLiteDatabase) throws(SQLiteFault) {
        // Without a line the newest of everything stays: whose the last line was is asked for at the next start.
        let first = try oldest.integer() ?? .max
        try database.execute("DELETE FROM stats WHERE id < (SELECT max(id) FROM stats WHERE id <= ?1)", first)
        try database.execute("DELETE FROM marks WHERE id < (SELECT max(id) FROM marks WHERE id <= ?1)", first)
        try database.execute(
            "DELETE FROM runs WHERE run < ?1 AND run < (SELECT max(run) FROM runs)", first >> JournalPlace.bits)
    }
}
