internal import Feed
internal import Reactor

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
    private var new: [Key: AgentPosition] = [:]
    private var order: [Key] = []
    /// Agents that are forgotten since the last commit.
    private var gone: Set<String> = []

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Notes where a line came from, if it came from an agent of a fleet.
    mutating func note(_ line: UnsafeRawBufferPointer) {
        guard let position = AgentPosition(line.bindMemory(to: UInt8.self)) else { return forget(line) }
        gone.remove(position.agent)
        let key = Key(agent: position.agent, run: position.line.run)
        if let known = new[key] {
            guard known.line.sequence < position.line.sequence else { return }
        } else {
            order.append(key)
        }
        new[key] = position
    }

    /// One that has said nothing for so long that the fleet forgets it has no place here, either: names would be without end. One
    /// that was taken out of a configuration keeps its, as it may be put back, and one that a person had forgotten, as its last
    /// message may be the stream's.
    private mutating func forget(_ line: UnsafeRawBufferPointer) {
        // Most that say nothing of a place are windows.
        guard let type = LineHead(line)?.type, type == "peer",
            let line = try? LineDecoder.decode(Bytes(line)), case .peer(let peer) = line.body, let agent = line.agent,
            peer.state == MemberState.Standing.forgotten.rawValue, let heard = peer.heard,
            peer.since - heard > MemberState.lifetime - Self.slew
        else { return }
        gone.insert(agent)
        order.removeAll { $0.agent == agent }
        for key in new.keys where key.agent == agent { new[key] = nil }
    }

    /// By how much a wall clock that is set right, slowly, may be wrong after a day.
    private static let slew = Duration.seconds(60)

    /// Writes what was noted, within the transaction under way.
    mutating func write() throws(SQLiteFault) {
        defer { (new, order, gone) = ([:], [], []) }
        if !gone.isEmpty, try isThere {
            let delete = try database.prepare("DELETE FROM positions WHERE agent = ?1")
            for agent in gone {
                delete.bind(1, agent)
                try delete.run()
            }
        }
        let noted = order.compactMap { new[$0] }
        guard !noted.isEmpty else { return }
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
            insert.bind(2, position.line.run)
            insert.bind(3, Int64(position.line.sequence))
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
    func read() throws(SQLiteFault) -> [AgentPosition] {
        guard try isThere else { return [] }
        let rows = try database.prepare("SELECT agent, run, seq, stream FROM positions ORDER BY rowid")
        var positions: [AgentPosition] = []
        while try rows.step() {
            let (agent, run, sequence) = (rows.string(0), rows.string(1), Int(rows.integer(2)))
            // They go to other agents: what cannot be a name is none.
            guard AgentName.isValid(agent), RunName.isValid(run), sequence >= 0, sequence < .max else { continue }
            positions.append(
                AgentPosition(agent, LineID(run, sequence), stream: rows.integerIfAny(3).map { Int($0) }))
        }
        return positions
    }
}
