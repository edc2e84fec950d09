internal import Feed
internal import Reactor

/// The last sequence number that a journal has of each agent of a fleet, for its last runs. Written in the same
/// transaction as the lines, so that the two always agree.
///
/// The table is created when there is something to write; a journal without a fleet has none.
struct JournalPositions {
    private struct Key: Hashable {
        let agent: String
        let run: String
    }

    private let database: SQLiteDatabase
    /// The new positions of the current transaction, and their runs in the order in which they began.
    private var new: [Key: AgentPosition] = [:]
    private var order: [Key] = []
    /// Agents that were forgotten since the last commit.
    private var gone: Set<String> = []

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Records the position of a line, if it came from an agent of a fleet.
    mutating func record(_ line: UnsafeRawBufferPointer) {
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

    /// Deletes the positions of an agent that the fleet has forgotten for its silence, or names would accumulate
    /// without end. An agent that was removed from the configuration keeps its positions, because it may be put back,
    /// and so does one that a person had forgotten, because its last message may still be in the stream.
    private mutating func forget(_ line: UnsafeRawBufferPointer) {
        // Most lines without a position are windows.
        guard let type = LineHead(line)?.type, type == "peer",
            let line = try? LineDecoder.decode(Bytes(line)), case .peer(let peer) = line.body, let agent = line.agent,
            peer.state == MemberState.Standing.forgotten.rawValue, let heard = peer.heard,
            peer.since - heard > MemberState.lifetime - Self.slew
        else { return }
        gone.insert(agent)
        order.removeAll { $0.agent == agent }
        for key in new.keys where key.agent == agent { new[key] = nil }
    }

    /// The most that a slowly adjusted wall clock may be off after a day.
    private static let slew = Duration.seconds(60)

    /// Writes the remembered positions, within the current transaction.
    mutating func write() throws(JournalFault) {
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
        get throws(JournalFault) {
            try database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'positions'") == 1
        }
    }

    /// Returns all positions, the newest run of each agent last.
    func read() throws(JournalFault) -> [AgentPosition] {
        guard try isThere else { return [] }
        let rows = try database.prepare("SELECT agent, run, seq, stream FROM positions ORDER BY rowid")
        var positions: [AgentPosition] = []
        while try rows.step() {
            let (agent, run, sequence) = (rows.string(0), rows.string(1), Int(rows.integer(2)))
            // Other agents get these, so invalid names are dropped.
            guard AgentName.isValid(agent), RunName.isValid(run), sequence >= 0, sequence < .max else { continue }
            positions.append(
                AgentPosition(agent, LineID(run, sequence), stream: rows.integerIfAny(3).map { Int($0) }))
        }
        return positions
    }
}
