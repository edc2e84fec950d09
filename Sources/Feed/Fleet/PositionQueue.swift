/// The positions of members that belong to lines of the log which the journal has yet to take.
struct PositionQueue: Sendable {
    private struct Run: Hashable {
        let member: String
        let name: String
    }
    /// Each with the number of our newest line when it was added.
    private var entries: [(sequence: Int, position: MemberPosition)] = []
    // Bound: positions of a fleet's members that a journal has yet to take | 4,096, or twice as many as lines in the
    //   log and runs before those | all but the newest of each run dropped
    /// The number of entries at which those of lines that the log has dropped are joined.
    private var most = Self.least
    private static let least = 4_096

    var count: Int { entries.count }

    /// Adds a position that belongs to all lines up to this number, and no further ones.
    ///
    /// - Parameter first: the number of the first line of the log.
    mutating func add(_ position: MemberPosition, through sequence: Int, logFrom first: Int) {
        entries.append((sequence, position))
        guard entries.count >= most else { return }
        let dropped = entries.prefix { $0.sequence < first }
        entries.replaceSubrange(..<dropped.endIndex, with: Self.newest(of: dropped))
        most = max(Self.least, 2 * entries.count)
    }

    /// Removes the positions that belong to the lines up to this number; returns the newest of each run, the newest last.
    mutating func take(through sequence: Int) -> [MemberPosition] {
        let taken = entries.prefix { $0.sequence <= sequence }
        entries.removeFirst(taken.count)
        return Self.newest(of: taken).map(\.position)
    }

    private static func newest(
        of entries: ArraySlice<(sequence: Int, position: MemberPosition)>
    ) -> [(sequence: Int, position: MemberPosition)] {
        var seen: Set<Run> = []
        let newest = entries.reversed().filter {
            seen.insert(Run(member: $0.position.member, name: $0.position.line.run)).inserted
        }
        return newest.reversed()
    }
}
