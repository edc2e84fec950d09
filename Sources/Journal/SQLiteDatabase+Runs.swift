internal import Feed
internal import Reactor

/// Queries about runs that both the writer and the readers of a journal need.
extension SQLiteDatabase {
    /// Runs one statement with these parameters.
    func execute(_ statement: String, _ number: Int64, _ text: String? = nil) throws(JournalFault) {
        let prepared = try prepare(statement)
        prepared.bind(1, number)
        if let text { prepared.bind(2, text) }
        try prepared.run()
    }

    /// The run of the line with this row id; nil when there is none.
    func run(at rowID: RowID) throws(JournalFault) -> JournalRun? { try run("run <= ?1", rowID, nil) }

    /// The newest run.
    func newestRun() throws(JournalFault) -> JournalRun? { try run(at: .max) }

    /// The newest run of this name.
    func run(named name: String) throws(JournalFault) -> JournalRun? { try run("run <= ?1 AND name = ?2", .max, name) }

    private func run(_ condition: String, _ number: Int64, _ name: String?) throws(JournalFault) -> JournalRun? {
        let runs = try prepare(
            """
            SELECT run, coalesce((SELECT min(run) FROM runs n WHERE n.run > r.run) - 1, (SELECT max(id) FROM lines)),
                name, base, ended
            FROM runs r WHERE \(condition) ORDER BY run DESC LIMIT 1
            """)
        runs.bind(1, number)
        if let name { runs.bind(2, name) }
        guard try runs.step() else { return nil }
        let (first, base) = (runs.integer(0), runs.integer(3))
        let sequence = first.subtractingReportingOverflow(base)
        guard first > 0, first < .max, !sequence.overflow, sequence.partialValue >= 0 else {
            throw JournalFault(.corrupt, "it has a run that cannot be")
        }
        return JournalRun(
            first: first, last: max(first - 1, runs.integer(1)), name: runs.string(2), base: base,
            ended: runs.stringIfAny(4))
    }

    /// The sequence number of the newest line kept of a run, not counting `gap` lines; 0 for none.
    func lastKept(of run: JournalRun) throws(JournalFault) -> Int {
        let newest = try integer(
            """
            SELECT id FROM lines WHERE id BETWEEN \(run.first) AND \(run.last) AND type <> 'gap' ORDER BY id DESC LIMIT 1
            """)
        if let newest { return run.sequence(at: newest) }
        return try gone(of: run) ?? 0
    }

    /// The sequence number up to which all lines of a run are kept or known to be missing; 0 for none.
    func lastKnown(of run: JournalRun) throws(JournalFault) -> Int {
        let lines = try prepare(
            "SELECT id, type = 'gap', line FROM lines WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1")
        lines.bind(1, run.first)
        lines.bind(2, run.last)
        guard try lines.step() else { return try gone(of: run) ?? 0 }
        let sequence = run.sequence(at: lines.integer(0))
        guard lines.integer(1) == 1, let gap = Line.Gap(lines.bytes(2)[...]) else { return sequence }
        return max(sequence, gap.to)
    }

    /// The sequence number up to which a run's lines are not in the journal; nil when the run is unknown.
    func gone(of run: JournalRun) throws(JournalFault) -> Int? {
        guard let gone = try integer("SELECT gone FROM runs WHERE run = \(run.first)") else { return nil }
        guard 0..<Int64.max ~= gone else { throw JournalFault(.corrupt, "it has a run that cannot be") }
        return Int(gone)
    }

    /// The newest `hello` and `stats` for a line; empty for none.
    func greeting(at rowID: RowID) throws(JournalFault) -> [UInt8] {
        let greetings = try prepare("SELECT lines FROM greetings WHERE id <= ? ORDER BY id DESC LIMIT 1")
        greetings.bind(1, rowID)
        return try greetings.step() ? greetings.bytes(0) : []
    }
}
