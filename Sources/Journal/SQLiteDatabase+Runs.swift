internal import Feed

/// Queries about runs that both the writer and the readers of a journal need.
extension SQLiteDatabase {
    /// Runs one statement with these parameters.
    func execute(_ statement: String, _ number: Int64, _ text: String? = nil) throws(JournalFault) {
        let prepared = try prepare(statement)
        prepared.bind(1, number)
        if let text { prepared.bind(2, text) }
        try prepared.run()
    }

    func run(_ number: Int64) throws(JournalFault) -> JournalRun? {
        try run("WHERE run = ?1", number)
    }

    func newestRun() throws(JournalFault) -> JournalRun? {
        try run("WHERE run >= ?1 ORDER BY run DESC LIMIT 1", .min)
    }

    /// The row of this run whose `base` is the greatest that is not above this sequence number, if any.
    func run(of name: String, holding sequence: Int) throws(JournalFault) -> JournalRun? {
        try run("WHERE base <= ?1 AND name = ?2 ORDER BY base DESC, run DESC LIMIT 1", Int64(sequence), name)
    }

    /// The row of this run with the lowest sequence numbers.
    func firstRun(of name: String) throws(JournalFault) -> JournalRun? {
        try run("WHERE base >= ?1 AND name = ?2 ORDER BY base, run LIMIT 1", 0, name)
    }

    /// The row id where the run's line with this sequence number is, or would be; nil when nothing of the run is kept.
    func rowID(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace? {
        if let row = try self.run(of: run, holding: sequence) {
            // The number is too large for the row: the row id behind all of its lines.
            return row.rowID(of: sequence) ?? JournalPlace(run: row.number, offset: JournalPlace.most)
        }
        // The row id before all kept lines of the run, whose beginning was deleted or never came.
        return try firstRun(of: run).map { JournalPlace(run: $0.number, offset: 0) }
    }

    private func run(
        _ condition: String, _ number: Int64, _ name: String? = nil
    ) throws(JournalFault) -> JournalRun? {
        let run = try row(condition, number, name)
        if let run, !(1...JournalPlace.mostRuns ~= run.number && run.base >= 0) {
            throw JournalFault(.corrupt, "it has a run that cannot be")
        }
        return run
    }

    /// The first row of `runs` with this condition, whatever is in it.
    func row(_ condition: String, _ number: Int64, _ name: String? = nil) throws(JournalFault) -> JournalRun? {
        let runs = try prepare("SELECT run, name, base, ended, hello FROM runs \(condition)")
        runs.bind(1, number)
        if let name { runs.bind(2, name) }
        guard try runs.step() else { return nil }
        return JournalRun(
            number: runs.integer(0), name: runs.string(1), base: Int(runs.integer(2)), ended: runs.stringIfAny(3),
            hello: runs.bytes(4) + [0x0A])
    }

    /// The row id of a run's oldest line.
    func firstRowID(of run: JournalRun) throws(JournalFault) -> JournalPlace? {
        try integer("SELECT min(id) FROM lines WHERE \(condition(of: run))").map(JournalPlace.init(id:))
    }

    /// The sequence number of the newest line ever kept of a run, not counting `gap` lines; 0 for none.
    func lastKept(of run: JournalRun) throws(JournalFault) -> Int {
        let newest = try integer(
            "SELECT id FROM lines WHERE \(condition(of: run)) AND type <> 'gap' ORDER BY id DESC LIMIT 1")
        if let newest { return run.sequence(at: JournalPlace(id: newest)) }
        // Lines before the first gap may be in another row of the same run.
        let first = try firstRowID(of: run).map { run.sequence(at: $0) - 1 } ?? 0
        return max(0, first, try gone(of: run.number) ?? 0)
    }

    /// The sequence number up to which all lines of a run are kept or known to be missing; 0 for none.
    func lastKnown(of run: JournalRun) throws(JournalFault) -> Int {
        guard let last = try integer("SELECT max(id) FROM lines WHERE \(condition(of: run))") else {
            return max(0, try gone(of: run.number) ?? 0)
        }
        let sequence = run.sequence(at: JournalPlace(id: last))
        return max(sequence, try gap(at: last)?.to ?? sequence)
    }

    /// The gap that begins at this row id; nil when the row is another line.
    func gap(at id: Int64) throws(JournalFault) -> Line.Gap? {
        let lines = try prepare("SELECT line FROM lines WHERE id = ? AND type = 'gap'")
        lines.bind(1, id)
        guard try lines.step(), let gap = Line.Gap(lines.bytes(0)[...]),
            let run = try run(id >> JournalPlace.bits), run.rowID(of: gap.from)?.id == id
        else { return nil }
        return gap
    }

    /// The line at this row id, without its newline; nil for none.
    func line(at id: Int64) throws(JournalFault) -> [UInt8]? {
        let lines = try prepare("SELECT line FROM lines WHERE id = ?")
        lines.bind(1, id)
        return try lines.step() ? lines.bytes(0) : nil
    }

    /// The last `stats` line of the run up to this row id, with its newline; nil for none.
    func stats(at rowID: JournalPlace) throws(JournalFault) -> [UInt8]? {
        try stats("BETWEEN \(rowID.id & ~JournalPlace.most) AND \(rowID.id) ORDER BY id DESC")
    }

    /// The first `stats` line of the run behind this row id, with its newline; nil for none.
    func stats(behind rowID: JournalPlace) throws(JournalFault) -> [UInt8]? {
        try stats("BETWEEN \(rowID.next.id) AND \(rowID.id | JournalPlace.most) ORDER BY id")
    }

    private func stats(_ condition: String) throws(JournalFault) -> [UInt8]? {
        let stats = try prepare("SELECT line FROM stats WHERE id \(condition) LIMIT 1")
        return try stats.step() ? stats.bytes(0) + [0x0A] : nil
    }

    /// The last deleted sequence number of a run; 0 for none, nil when the run is unknown.
    func gone(of run: Int64) throws(JournalFault) -> Int? {
        try integer("SELECT gone FROM runs WHERE run = \(run)").map { Int($0) }
    }

    private func condition(of run: JournalRun) -> String {
        let first = run.number << JournalPlace.bits
        return "id BETWEEN \(first) AND \(first | JournalPlace.most)"
    }
}
