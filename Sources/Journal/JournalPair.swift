/// Whether a journal's file and the log beside it belong together, by what is in them: SQLite believes any log that lies beside a
/// file, and has it overwrite what is there.
enum JournalPair {
    private enum Content {
        case database(SQLiteDatabase, JournalSchema.Finding)
        /// Its pages make no sense; the log may have those that do.
        case broken
        /// It is no database at all.
        case other
    }

    /// Reads all of both.
    ///
    /// - Returns: false when the two make no sense together, or the file makes sense by itself and has something that it would not
    ///   have with the log, but for the oldest lines.
    static func belongTogether(at path: String) throws(SQLiteFault) -> Bool {
        let alone = try content(path, .readAtRest)
        let both = try content(path, .read)
        switch (alone, both) {
        case (.other, .database): return false
        case (.other, _), (.broken, _): return true
        case (.database(_, .journal), .other), (.database(_, .journal), .broken): return false
        case (.database(_, .nothing), .database(let both, _)): return try isSound(both)
        case (.database(let alone, .journal), .database(let both, .journal)):
            guard try isSound(both) else { return false }
            if try contains(both, alone) { return true }
            // The file is in the middle of taking the log in: the log has the pages that make sense.
            return try !isSound(alone)
        case (.database(_, let alone), .database(_, let both)): return alone == both
        case (.database, _): return true
        }
    }

    private static func content(_ path: String, _ access: SQLiteDatabase.Access) throws(SQLiteFault) -> Content {
        do throws(SQLiteFault) {
            let database = try SQLiteDatabase(path, access)
            return .database(database, try JournalSchema.look(at: database))
        } catch {
            guard error.kind == .corrupt else { throw error }
            return error.isNoDatabase ? .other : .broken
        }
    }

    private static func isSound(_ database: SQLiteDatabase) throws(SQLiteFault) -> Bool {
        do throws(SQLiteFault) {
            let check = try database.prepare("PRAGMA integrity_check(1)")
            return try check.step() && check.string(0) == "ok"
        } catch {
            guard error.kind == .corrupt else { throw error }
            return false
        }
    }

    /// Whether all lines are there but the oldest, which may have been let go of, and the run that the newest is of.
    private static func contains(_ both: SQLiteDatabase, _ alone: SQLiteDatabase) throws(SQLiteFault) -> Bool {
        do throws(SQLiteFault) {
            guard let newest = try alone.integer("SELECT max(id) FROM lines WHERE type <> 'gap'") else { return true }
            let first = try both.integer("SELECT min(id) FROM lines") ?? .max
            let runs = try alone.prepare("SELECT run, name, base FROM runs WHERE run >= ? AND run <= ?")
            let sameRun = try both.prepare("SELECT 1 FROM runs WHERE run = ? AND name = ? AND base = ?")
            runs.bind(1, JournalPlace(id: min(first, newest)).run)
            runs.bind(2, JournalPlace(id: newest).run)
            while try runs.step() {
                sameRun.bind(1, runs.integer(0))
                sameRun.bind(2, runs.text(1))
                sameRun.bind(3, runs.integer(2))
                guard try sameRun.step() else { return false }
                sameRun.reset()
            }
            let lines = try alone.prepare("SELECT id, line FROM lines WHERE id >= ? AND type <> 'gap'")
            let same = try both.prepare("SELECT 1 FROM lines WHERE id = ? AND line = ?")
            lines.bind(1, first)
            while try lines.step() {
                same.bind(1, lines.integer(0))
                same.bind(2, lines.text(1))
                guard try same.step() else { return false }
                same.reset()
            }
            return true
        } catch {
            guard error.kind == .corrupt else { throw error }
            // In the middle of being put into it; the log has the pages that make sense.
            return true
        }
    }
}
