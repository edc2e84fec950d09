/// Decides by their contents whether a journal's file and the log beside it belong together: SQLite applies any log
/// that lies beside a file, and overwrites the file with it.
enum JournalPair {
    private enum Content {
        case database(SQLiteDatabase, JournalSchema.Finding)
        /// The pages are damaged; the log may have good copies.
        case broken
        /// The file is no database.
        case other
    }

    /// Reads both completely.
    ///
    /// - Returns: false when the two together are damaged, or when the file alone is sound and has something, other
    ///   than its oldest lines, that is missing together with the log.
    static func belongTogether(at path: String) throws(JournalFault) -> Bool {
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
            // A checkpoint was interrupted: only together with its log is the file sound.
            return try !isSound(alone)
        case (.database(_, let alone), .database(_, let both)): return alone == both
        case (.database, _): return true
        }
    }

    private static func content(_ path: String, _ access: SQLiteDatabase.Access) throws(JournalFault) -> Content {
        do throws(JournalFault) {
            let database = try SQLiteDatabase(path, access)
            return .database(database, try JournalSchema.look(at: database))
        } catch {
            guard error.kind == .corrupt else { throw error }
            return error.isNoDatabase ? .other : .broken
        }
    }

    private static func isSound(_ database: SQLiteDatabase) throws(JournalFault) -> Bool {
        do throws(JournalFault) {
            let check = try database.prepare("PRAGMA integrity_check(1)")
            return try check.step() && check.string(0) == "ok"
        } catch {
            guard error.kind == .corrupt else { throw error }
            return false
        }
    }

    /// Whether `both` has the lines of `alone`, but for the oldest, which may have been deleted, and their runs.
    private static func contains(_ both: SQLiteDatabase, _ alone: SQLiteDatabase) throws(JournalFault) -> Bool {
        do throws(JournalFault) {
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
            // A checkpoint was interrupted; the log has good copies of the pages.
            return true
        }
    }
}
