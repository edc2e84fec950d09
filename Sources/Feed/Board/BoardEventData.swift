/// Which series' newest events have their `data` kept, in the order of their numbers, and how much that is in all.
///
/// It only does the counting; the bytes are in the events.
struct BoardEventData: Sendable {
    private struct Entry {
        var series: Int32
        var sequence: Int
        var count: Int
    }

    /// Bytes of all data kept.
    private(set) var bytes = 0
    /// Every series' newest entry counts; one before it is stale.
    private var order: BoardRing<Entry>
    /// By series: the number of the entry that counts; 0 for none.
    private var newest: [Int] = []

    /// For at most `series` series.
    init(series: Int) {
        order = BoardRing(capacity: max(series, 1) * 2 + 1)
    }

    /// Replaces what is kept for a series by `count` bytes of the line `sequence`; nil for nothing.
    mutating func replace(_ series: Int, old: Int, by count: Int?, sequence: Int) {
        while newest.count <= series { newest.append(0) }
        bytes -= old
        newest[series] = 0
        guard let count else { return }
        bytes += count
        newest[series] = sequence
        if order.count == order.capacity { forgetStale() }
        order.append(Entry(series: Int32(series), sequence: sequence, count: count))
    }

    /// Forgets the series whose kept data has the lowest number, while there are more than `limit` bytes.
    mutating func removeOldest(above limit: Int) -> Int? {
        while bytes > limit, let entry = order.removeFirst() {
            guard newest[Int(entry.series)] == entry.sequence else { continue }
            newest[Int(entry.series)] = 0
            bytes -= entry.count
            return Int(entry.series)
        }
        return nil
    }

    /// There is at most one entry for each series that is not stale.
    private mutating func forgetStale() {
        var rest = BoardRing<Entry>(capacity: order.capacity)
        for entry in order where newest[Int(entry.series)] == entry.sequence { rest.append(entry) }
        order = rest
    }
}
