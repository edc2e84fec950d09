/// Something that happened at a time and is kept for the length of the history.
package protocol BoardMoment: Sendable {
    /// When, in microseconds since the epoch.
    var microseconds: Int64 { get }
}

/// The newest moments of every owner (a series, a source) in the order they arrived, bounded for each and for all together.
///
/// Over an owner's bound its own oldest moment goes; over the bound of all, the one that arrived first of all. Both are
/// remembered in `isTrimmed`. A moment that is past the history goes when a newer one of its owner arrives, without
/// being remembered.
package struct BoardHistories<Moment: BoardMoment>: Sendable {
    /// How many moments an owner has at the most.
    package let limitPerOwner: Int
    /// How many moments all owners have together at the most.
    package let limit: Int
    /// How many there are.
    package private(set) var count = 0

    private var rings: [BoardRing<Moment>] = []
    private var trimmed: [Bool] = []
    /// The owner of every moment by arrival, and of moments that are gone already: as many of an owner's first entries
    /// as `gone` says.
    private var order: BoardRing<Int32>
    private var gone: [Int32] = []
    /// How many entries of moments that are gone may be there, besides as many as there are moments.
    private static var slack: Int { 64 }

    package init(limitPerOwner: Int, limit: Int) {
        self.limitPerOwner = limitPerOwner
        self.limit = limit
        order = BoardRing(capacity: 2 * (limit + 1) + Self.slack + 1)
    }

    /// The moments of an owner, the oldest first; none for one that has none.
    package subscript(owner: Int) -> BoardRing<Moment> {
        owner < rings.count ? rings[owner] : BoardRing(capacity: limitPerOwner)
    }

    /// Whether moments of the owner were given up that were not past the history.
    package func isTrimmed(_ owner: Int) -> Bool { owner < trimmed.count && trimmed[owner] }

    /// Adds a moment, after letting go of the owner's up to `expiry`, in microseconds.
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

    /// Takes the entries of moments that are gone out of `order`; there are `count` others.
    private mutating func forgetGone() {
        var rest = BoardRing<Int32>(capacity: order.capacity)
        for owner in order {
            if gone[Int(owner)] > 0 { gone[Int(owner)] -= 1 } else { rest.append(owner) }
        }
        order = rest
    }
}
