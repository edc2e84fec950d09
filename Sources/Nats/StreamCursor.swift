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
        /// It is another one than the last one that was taken, and has its number: the stream was set back, and has grown since.
        case other
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
    /// What was here already: messages below this number, but for those of some agents, of each from a number on.
    private var below: UInt64
    private var behind: [String: UInt64]

    /// How far clocks of servers may differ, in nanoseconds: another stream is read from so long before the last message on.
    static let margin: Int64 = 120_000_000_000

    /// - Parameters:
    ///   - first: where to begin.
    ///   - below: messages below this number were here already,
    ///   - behind: but for those of these agents, from these numbers on.
    package init(from first: NatsStart, passing below: UInt64 = 0, behind: [String: UInt64] = [:]) {
        (self.first, self.below, self.behind) = (first, below, behind)
    }

    /// A consumer is made, on a stream as it is now.
    ///
    /// - Returns: where it is to begin.
    package mutating func begin(on stream: NatsStream) -> NatsStart {
        delivered = 0
        let isSame = created.map { $0 == stream.created } ?? true
        created = stream.created
        guard let place else {
            // All that it has came since the old one was looked at, whose numbers and times mean nothing there.
            if !isSame { (first, below) = (.sequence(1), 0) }
            return first
        }
        guard isSame, stream.last >= place else {
            forget()
            return first
        }
        // That one again: a stream that was set back, and has grown since, has another one there.
        return .sequence(place)
    }

    /// The stream was made anew, or set back to what a server had kept: its numbers mean nothing any more, its times do.
    private mutating func forget() {
        // Also for the next consumer, when no message comes by this one.
        if let time { first = .time(time.subtractingReportingOverflow(Self.margin).partialValue) }
        (place, below) = (nil, 0)
    }

    /// A message has come.
    package mutating func see(_ message: NatsDelivery) -> Verdict {
        guard message.number > 0, message.number - 1 == delivered else { return .hole }
        delivered = message.number
        if let place, message.sequence <= place {
            guard message.sequence < place || message.time == time else {
                forget()
                return .other
            }
            return .known
        }
        guard message.sequence < below,
            message.sequence < behind[String(NatsSubject.agent(of: message.subject)), default: .max]
        else { return .next }
        take(message)
        return .known
    }

    /// All of a message is taken.
    package mutating func take(_ message: NatsDelivery) { (place, time) = (message.sequence, message.time) }
}
