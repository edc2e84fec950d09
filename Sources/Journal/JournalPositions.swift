internal import Feed

/// Up to where a journal has the lines of each agent of a fleet, in its last runs: what is written with the lines, so that one
/// is never there without the other.
///
/// The table is made when there is something to write; a journal of one agent's own has none.
struct JournalPositions {
    private struct Key: Hashable {
        let agent: String
        let run: String
    }

    private let database: SQLiteDatabase
    /// What the transaction under way has come to, and the runs in the order they began.
    private var new: [Key: FeedPosition] = [:]
    private var order: [Key] = []

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Notes where a line came from, if it came from an agent of a fleet.
    mutating func note(_ line: UnsafeRawBufferPointer) {
        guard let position = FeedPosition(line.bindMemory(to: UInt8.self)) else { return }
        let key = Key(agent: position.agent, run: position.place.run)
        if let known = new[key] {
            guard known.place.sequence < position.place.sequence else { return }
        } else {
            order.append(key)
        }
        new[key] = position
    }

    /// Writes what was noted, within the transaction under way.
    mutating func write() throws(SQLiteFault) {
        guard !order.isEmpty else { return }
        let noted = order.compactMap { new[$0] }
        (new, order) = ([:], [])
        if try !isThere {
            try database.run(JournalSchema.positions)
        }
        let insert = try database.prepare(
            """
            INSERT INTO positions VALUES (?1, ?2, ?3, ?4) ON CONFLICT (agent, run)
            DO UPDATE SET seq = max(seq, excluded.seq), stream = coalesce(excluded.stream, stream)
            """)
        let prune = try database.prepare(
            """
            DELETE FROM positions WHERE agent = ?1 AND rowid NOT IN
            (SELECT rowid FROM positions WHERE agent = ?1 ORDER BY rowid DESC LIMIT \(RunMarks.most))
            """)
        for position in noted {
            insert.bind(1, position.agent)
            insert.bind(2, position.place.run)
            insert.bind(3, Int64(position.place.sequence))
            insert.bind(4, position.stream.map(Int64.init))
            try insert.run()
            prune.bind(1, position.agent)
            try prune.run()
        }
    }

    private var isThere: Bool {
        get throws(SQLiteFault) {
            try database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'positions'") == 1
        }
    }

    /// All that are there, the newest run of each agent last.
    func read() throws(SQLiteFault) -> [FeedPosition] {
        guard try isThere else { return [] }
        let rows = try database.prepare("SELECT agent, run, seq, stream FROM positions ORDER BY rowid")
        var positions: [FeedPosition] = []
        while try rows.step() {
            let (agent, run, sequence) = (rows.string(0), rows.string(1), Int(rows.integer(2)))
            // They go to other agents: what cannot be a name is none.
            guard AgentName.isValid(agent), RunName.isValid(run), sequence >= 0, sequence < .max else { continue }
            positions.append(
                FeedPosition(agent, FeedPlace(run, sequence), stream: rows.integerIfAny(3).map { Int($0) }))
        }
        return positions
    }
}
