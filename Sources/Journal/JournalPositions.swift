internal import Feed
internal import Reactor

/// The positions of a fleet's members, written in the same transaction as the lines, so that the two always agree.
///
/// Rows are in the order in which they were written last.
struct JournalPositions {
    // Bound: members with positions in a journal | 10,000 | those written last stay
    private static let mostMembers = 10_000

    private let database: SQLiteDatabase

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Writes positions, the newest last, within the current transaction.
    func write(_ positions: [MemberPosition]) throws(JournalFault) {
        guard !positions.isEmpty else { return }
        let delete = try database.prepare("DELETE FROM positions WHERE member = ?1 AND run = ?2")
        let insert = try database.prepare("INSERT INTO positions VALUES (?1, ?2, ?3, ?4)")
        let prune = try database.prepare(
            """
            DELETE FROM positions WHERE member = ?1 AND rowid NOT IN
            (SELECT rowid FROM positions WHERE member = ?1 ORDER BY rowid DESC LIMIT \(RunMarks.most))
            """)
        var hasNew = false
        for position in positions {
            for statement in [delete, insert] {
                statement.bind(1, position.member)
                statement.bind(2, position.line.run)
            }
            try delete.run()
            let isNew = database.changes == 0
            insert.bind(3, Int64(position.line.sequence))
            insert.bind(4, position.stored?.microseconds)
            try insert.run()
            guard isNew else { continue }
            hasNew = true
            prune.bind(1, position.member)
            try prune.run()
        }
        guard hasNew else { return }
        try database.run(
            """
            DELETE FROM positions WHERE member IN (SELECT member FROM positions
            GROUP BY member ORDER BY max(rowid) DESC LIMIT -1 OFFSET \(Self.mostMembers))
            """)
    }

    /// Returns all positions, the newest last.
    func read() throws(JournalFault) -> [MemberPosition] {
        let rows = try database.prepare("SELECT member, run, seq, stored FROM positions ORDER BY rowid")
        var positions: [MemberPosition] = []
        while try rows.step() {
            let (member, run, sequence) = (rows.string(0), rows.string(1), Int(rows.integer(2)))
            // Other agents get these, so invalid names are dropped.
            guard RunName.isValid(run), sequence >= 0, sequence < .max else { continue }
            let stored = rows.integerIfAny(3).map { Timestamp(microseconds: $0) }
            positions.append(MemberPosition(member, LineID(run, sequence), stored: stored))
        }
        return positions
    }
}
