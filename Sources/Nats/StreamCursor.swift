/// Where a reader is in a stream: which message comes next, whatever becomes of consumers and of the stream.
///
/// Each consumer numbers what it delivers. A hole there means that something was sent and did not arrive, which no server says:
/// then another consumer goes on behind the last message.
package struct StreamCursor: Sendable, Equatable {
    /// What a message that has come is.
    package enum Verdict: Sendable, Equatable {
        case next
        /// It was here already.
        case known
        /// Others before it never came.
        case hole
    }

    /// Where to begin while no message has come.
    private var first: NatsStart
    /// The number of the last message that was taken; nil before there was one.
    package private(set) var place: UInt64?
    /// When that was stored.
    private var time: Int64?
    /// Which stream of that name it is.
    private var created: Int64?
    /// How many messages the consumer has delivered.
    private var delivered: UInt64 = 0

    /// How far clocks of servers may differ, in nanoseconds: another stream is read from so long before the last message on.
    static let margin: Int64 = 120_000_000_000

    /// - Parameter first: where to begin.
    package init(from first: NatsStart) { self.first = first }

    /// A consumer is made, on a stream as it is now.
    ///
    /// - Returns: where it is to begin.
    package mutating func begin(on stream: NatsStream) -> NatsStart {
        delivered = 0
        let isSame = created.map { $0 == stream.created } ?? true
        created = stream.created
        guard let place else {
            // All that it has came since the old one was looked at, whose numbers and times mean nothing there.
            if !isSame { first = .sequence(1) }
            return first
        }
        // Made anew, or set back to what a server had kept: its numbers mean nothing any more.
        guard isSame, stream.last >= place else {
            self.place = nil
            // Also for the next consumer, when no message comes by this one.
            if let time { first = .time(time.subtractingReportingOverflow(Self.margin).partialValue) }
            return first
        }
        return .sequence(place.addingReportingOverflow(1).partialValue)
    }

    /// A message has come.
    package mutating func see(_ message: NatsDelivery) -> Verdict {
        guard message.number > 0, message.number - 1 == delivered else { return .hole }
        delivered = message.number
        if let place, message.sequence <= place { return .known }
        return .next
    }

    /// All of a message is taken.
    package mutating func take(_ message: NatsDelivery) { (place, time) = (message.sequence, message.time) }
}
