package import Reactor

/// One value of a series on a board.
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

    /// Whether it counts as later than `other`: by time, then by sequence number.
    package func isLater(than other: BoardPoint) -> Bool {
        (microseconds, sequence) > (other.microseconds, other.sequence)
    }
}

/// One error of a source, to mark where its values are drawn.
package struct BoardError: Sendable, Equatable {
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
    /// The word that the value stands for, 1 to 64 bytes of UTF-8, and the time from which on the series has it; both or
    /// neither.
    package var word: String?
    package var since: Timestamp?
    /// At most 1,000 code points.
    package internal(set) var text: String?
    /// The upstream's JSON as it was in the line; nil when there was none, or it is not kept.
    package internal(set) var data: [UInt8]?
    /// Whether a part is missing: the line itself left it out, `data` was too long to keep, or others needed the room.
    package internal(set) var isCut = false
}
