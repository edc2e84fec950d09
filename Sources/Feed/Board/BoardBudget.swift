/// Which owners (series, sources) have something of their newest line kept, in the order of the lines' numbers, and how many
/// bytes that is in all.
///
/// It only does the counting; the bytes are with their owners.
struct BoardBudget: Sendable {
    private struct Entry {
        var owner: Int32
        var sequence: Int
        var count: Int
    }

    /// Bytes of all that is kept.
    private(set) var bytes = 0
    /// Every owner's newest entry counts; one before it is stale.
    private var order: BoardRing<Entry>
    /// By owner: the number of the entry that counts; 0 for none.
    private var newest: [Int] = []

    /// For at most `owners` owners.
    init(owners: Int) {
        order = BoardRing(capacity: max(owners, 1) * 2 + 1)
    }

    /// Replaces what is kept for an owner by `count` bytes of the line `sequence`; nil for nothing.
    mutating func replace(_ owner: Int, old: Int, by count: Int?, sequence: Int) {
        while newest.count <= owner { newest.append(0) }
        bytes -= old
        newest[owner] = 0
        guard let count else { return }
        bytes += count
        newest[owner] = sequence
        if order.count == order.capacity { forgetStale() }
        order.append(Entry(owner: Int32(owner), sequence: sequence, count: count))
    }

    /// Forgets the owner whose kept bytes have the lowest number, while there are more than `limit` bytes.
    mutating func removeOldest(above limit: Int) -> Int? {
        while bytes > limit, let entry = order.removeFirst() {
            guard newest[Int(entry.owner)] == entry.sequence else { continue }
            newest[Int(entry.owner)] = 0
            bytes -= entry.count
            return Int(entry.owner)
        }
        return nil
    }

    /// There is at most one entry for each owner that is not stale.
    private mutating func forgetStale() {
        var rest = BoardRing<Entry>(capacity: order.capacity)
        for entry in order where newest[Int(entry.owner)] == entry.sequence { rest.append(entry) }
        order = rest
    }
}
