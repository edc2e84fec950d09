package import Reactor

/// One value of one series as a board keeps it.
package struct BoardPoint: Sendable, Equatable {
    /// The event's time, in microseconds since the epoch.
    package var microseconds: Int64
    package var value: Double
    package var sequence: Int

    package init(time: Timestamp, value: Double, sequence: Int) {
        microseconds = time.microseconds
        self.value = value
        self.sequence = sequence
    }

    package var time: Timestamp { Timestamp(microseconds: microseconds) }

    /// Whether it counts as later than `other`: by time, and by sequence at the same time.
    package func isLater(than other: BoardPoint) -> Bool {
        (microseconds, sequence) > (other.microseconds, other.sequence)
    }
}

/// The newest points of every series in the order they arrived, bounded for each series and for all together.
///
/// Over a series' bound its own oldest point goes; over the bound of all, the one that arrived first of all. Both are
/// remembered in `isTrimmed`. A point that is past the history goes when a newer one of its series arrives, without
/// being remembered.
package struct BoardPoints: Sendable {
    /// How many points a series has at the most.
    package let limitPerSeries: Int
    /// How many points all series have together at the most.
    package let limit: Int
    /// How many there are.
    package private(set) var count = 0

    private var rings: [BoardRing<BoardPoint>] = []
    private var trimmed: [Bool] = []
    /// The series of every point by arrival, and of points that are gone already: as many of a series' first entries
    /// as `gone` says.
    private var order: BoardRing<Int32>
    private var gone: [Int32] = []

    package init(limitPerSeries: Int, limit: Int) {
        self.limitPerSeries = limitPerSeries
        self.limit = limit
        order = BoardRing(capacity: limit * 2 + 1)
    }

    /// The points of a series, the oldest first; none for a series that has none.
    package subscript(series: Int) -> BoardRing<BoardPoint> {
        series < rings.count ? rings[series] : BoardRing(capacity: limitPerSeries)
    }

    /// Whether points of the series were given up that were not past the history.
    package func isTrimmed(_ series: Int) -> Bool { series < trimmed.count && trimmed[series] }

    /// Adds a point, after letting go of the series' points up to `expiry`, in microseconds.
    package mutating func append(_ point: BoardPoint, to series: Int, expiry: Int64) {
        while rings.count <= series {
            rings.append(BoardRing(capacity: limitPerSeries))
            trimmed.append(false)
            gone.append(0)
        }
        while let first = rings[series].first, first.microseconds <= expiry { removeFirst(of: series) }
        if rings[series].count == limitPerSeries {
            removeFirst(of: series)
            trimmed[series] = true
        }
        rings[series].append(point)
        count += 1
        if order.count == order.capacity { forgetGone() }
        order.append(Int32(series))
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

    private mutating func removeFirst(of series: Int) {
        rings[series].removeFirst()
        gone[series] += 1
        count -= 1
    }

    /// Takes the entries of points that are gone out of `order`; there are never more than `limit` others.
    private mutating func forgetGone() {
        var rest = BoardRing<Int32>(capacity: order.capacity)
        for series in order {
            if gone[Int(series)] > 0 { gone[Int(series)] -= 1 } else { rest.append(series) }
        }
        order = rest
    }
}
