package import Reactor

/// One value of one series as a board keeps it.
package struct BoardPoint: BoardMoment, Equatable {
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

/// One error of one source, to be marked where its values are drawn.
package struct BoardError: BoardMoment, Equatable {
    /// The line's time, in microseconds since the epoch.
    package var microseconds: Int64
    package var sequence: Int
    /// At most 64 code points.
    package var code: String
}

/// The newest data line of one series, with a value or without.
package struct BoardEvent: Sendable, Equatable {
    package var time: Timestamp
    package var sequence: Int
    package var value: Double?
    /// At most 1,000 code points.
    package internal(set) var text: String?
    /// The upstream's JSON as it stood in the line; nil when there was none, or it is not kept.
    package internal(set) var data: [UInt8]?
    /// Whether there was more than is here: the line itself left something out, or `data` is not kept for its length, or no
    /// longer for the room that others needed.
    package internal(set) var isCut = false
}
