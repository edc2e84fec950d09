/// A reader's position in a stream, across consumers.
///
/// Each consumer numbers the messages that it delivers. A hole in these numbers means that a message got lost, which no
/// server reports: then another consumer continues after the last message.
package struct StreamCursor: Sendable, Equatable {
    /// When messages were stored that are read first, in nanoseconds since 1970, as long as there is no position.
    private var from: Int64
    /// The creation time of the stream, which identifies it.
    package private(set) var created: Int64?
    /// The sequence of the newest message that was read; nil before the first.
    package private(set) var position: UInt64?
    /// Whether the stream was another one when reading began last, or had been set back.
    package private(set) var isOther = false
    /// How many messages the consumer has delivered.
    private var delivered: UInt64 = 0
    /// The stream's last message when reading began at a time: up to there, messages may have been read before.
    private var reread: UInt64 = 0

    /// - Parameters:
    ///   - from: where to begin in a stream without a position.
    ///   - position: the newest message that was read, and the creation time of its stream.
    package init(from: Int64, after position: (created: Int64, sequence: UInt64)? = nil) {
        (self.from, created, self.position) = (from, position?.created, position?.sequence)
    }

    /// Begins with a new consumer.
    ///
    /// - Parameter from: where to begin if it is another stream, or one that was set back.
    /// - Returns: where the consumer has to begin.
    package mutating func begin(on stream: NatsStream, from: Int64) -> NatsStart {
        delivered = 0
        isOther = position.map { created != stream.created || stream.last < $0 } ?? false
        if isOther { (position, self.from) = (nil, from) }
        created = stream.created
        if let position { return .sequence(position &+ 1) }
        reread = stream.last
        return .time(self.from)
    }

    /// Whether a message that has come is the next one.
    package mutating func isNext(_ message: NatsDelivery) -> Bool {
        delivered &+= 1
        return message.number == delivered && message.sequence > position ?? 0
    }

    /// Whether a message may have been read before, perhaps from another stream.
    package func mayBeRepeated(_ message: NatsDelivery) -> Bool { message.sequence <= reread }

    /// Records that a message was read completely.
    package mutating func advance(past message: NatsDelivery) { position = message.sequence }
}
