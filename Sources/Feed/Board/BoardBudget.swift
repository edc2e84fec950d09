/// Tracks which owners (series, sources) keep a part of their newest line, in the order in which they got it, and the
/// total number of bytes.
///
/// It only counts; the owners hold the bytes.
struct BoardBudget: Sendable {
    private struct Entry {
        var owner: Int32
        var number: Int
        var count: Int
    }

    /// The number of bytes kept in all.
    private(set) var bytes = 0
    /// Only each owner's newest entry counts; earlier ones are stale.
    private var order: BoardRing<Entry>
    /// By owner: the number of the entry that counts; 0 for none.
    private var newest: [Int] = []
    private var lastNumber = 0

    /// Creates a budget for at most `owners` owners.
    init(owners: Int) {
        order = BoardRing(capacity: max(owners, 1) * 2 + 1)
    }

    /// Replaces an owner's kept bytes by `count` new ones; nil for nothing.
    mutating func replace(_ owner: Int, old: Int, by count: Int?) {
        while newest.count <= owner { newest.append(0) }
        bytes -= old
        newest[owner] = 0
        guard let count else { return }
        bytes += count
        lastNumber += 1
        newest[owner] = lastNumber
        if order.count == order.capacity { forgetStale() }
        order.append(Entry(owner: Int32(owner), number: lastNumber, count: count))
    }

    /// Forgets the owner that has not got new bytes for the longest time, while there are more than `limit` bytes; returns
    /// it.
    mutating func removeOldest(above limit: Int) -> Int? {
        while bytes > limit, let entry = order.removeFirst() {
            guard newest[Int(entry.owner)] == entry.number else { continue }
            newest[Int(entry.owner)] = 0
            bytes -= entry.count
            return Int(entry.owner)
        }
        return nil
    }

    /// Removes stale entries, which leaves at most one entry for each owner.
    private mutating func forgetStale() {
        var rest = BoardRing<Entry>(capacity: order.capacity)
        for entry in order where newest[Int(entry.owner)] == entry.number { rest.append(entry) }
        order = rest
    }
}
