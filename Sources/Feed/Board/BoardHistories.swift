/// Something that happened at one time and is kept for the length of the history.
package protocol BoardMoment: Sendable {
    /// The time, in microseconds since the epoch.
    var microseconds: Int64 { get }
}

/// The newest moments of every owner (a series, a source) in the order they arrived, bounded per owner and in total.
///
/// Beyond an owner's bound it drops that owner's oldest moment; beyond the total, the one that arrived first of all.
/// `isTrimmed` records both. A moment older than the history is dropped when a newer one of its owner arrives, which is
/// not recorded.
package struct BoardHistories<Moment: BoardMoment>: Sendable {
    /// The most moments of an owner.
    package let limitPerOwner: Int
    /// The most moments of all owners together.
    package let limit: Int
    /// The number of moments.
    package private(set) var count = 0

    private var rings: [BoardRing<Moment>] = []
    private var trimmed: [Bool] = []
    /// The owner of every moment, by arrival, including dropped moments: each owner's first `gone` entries are stale.
    private var order: BoardRing<Int32>
    private var gone: [Int32] = []
    /// The number of stale entries allowed, beyond one per moment.
    private static var slack: Int { 64 }

    package init(limitPerOwner: Int, limit: Int) {
        self.limitPerOwner = limitPerOwner
        self.limit = limit
        order = BoardRing(capacity: 2 * (limit + 1) + Self.slack + 1)
    }

    /// The owner's moments, the oldest first; empty if it has none.
    package subscript(owner: Int) -> BoardRing<Moment> {
        owner < rings.count ? rings[owner] : BoardRing(capacity: limitPerOwner)
    }

    /// Whether moments of the owner within the history were dropped.
    package func isTrimmed(_ owner: Int) -> Bool { owner < trimmed.count && trimmed[owner] }

    /// Adds a moment, after dropping the owner's moments up to `expiry`, in microseconds.
    package mutating func append(_ moment: Moment, to owner: Int, expiry: Int64) {
        while rings.count <= owner {
            rings.append(BoardRing(capacity: limitPerOwner))
            trimmed.append(false)
            gone.append(0)
        }
        while let first = rings[owner].first, first.microseconds <= expiry { removeFirst(of: owner) }
        if rings[owner].count == limitPerOwner {
            removeFirst(of: owner)
            trimmed[owner] = true
        }
        rings[owner].append(moment)
        count += 1
        if order.count > 2 * count + Self.slack { forgetGone() }
        order.append(Int32(owner))
        while count > limit, let oldest = order.removeFirst() {
            if gone[Int(oldest)] > 0 {
                gone[Int(oldest)] -= 1
            } else {
                rings[Int(oldest)].removeFirst()
                trimmed[Int(oldest)] = true
                count -= 1
            }
        }
    }

    private mutating func removeFirst(of owner: Int) {
        rings[owner].removeFirst()
        gone[owner] += 1
        count -= 1
    }

    /// Removes the stale entries from `order`; `count` entries remain.
    private mutating func forgetGone() {
        var rest = BoardRing<Int32>(capacity: order.capacity)
        for owner in order {
            if gone[Int(owner)] > 0 { gone[Int(owner)] -= 1 } else { rest.append(owner) }
        }
        order = rest
    }
}
