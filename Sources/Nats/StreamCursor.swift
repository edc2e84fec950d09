/// A reader's position in a stream: finds the next message, even across new consumers and a recreated stream.
///
/// Each consumer numbers the messages that it delivers. A hole in these numbers means that a message got lost, which no
/// server reports: then another consumer continues after the last message.
package struct StreamCursor: Sendable, Equatable {
    /// The verdict on a message that has come.
    package enum Verdict: Sendable, Equatable {
        case next
        /// The message was read before.
        case known
        /// Messages before it got lost.
        case hole
        /// It has the last read message's sequence but is another one: the stream was set back and has grown since.
        case other
    }

    /// Where to begin before the first message.
    private var first: NatsStart
    /// The sequence of the last read message; nil before the first.
    package private(set) var position: UInt64?
    /// When that message was stored.
    private var time: Int64?
    /// The creation time of the stream, which identifies it.
    private var created: Int64?
    /// How many messages the consumer has delivered.
    private var delivered: UInt64 = 0
    /// Messages below this sequence were read before, except those of some agents, each from its own sequence on.
    private var below: UInt64
    private var behind: [String: UInt64]

    /// How far servers' clocks may differ, in nanoseconds: a recreated stream is read from that much earlier.
    static let margin: Int64 = 120_000_000_000

    /// - Parameters:
    ///   - first: where to begin.
    ///   - below: messages below this sequence were read before,
    ///   - behind: except those of these agents, from these sequences on.
    package init(from first: NatsStart, passing below: UInt64 = 0, behind: [String: UInt64] = [:]) {
        (self.first, self.below, self.behind) = (first, below, behind)
    }

    /// Begins with a new consumer on the stream's present state.
    ///
    /// - Returns: where the consumer has to begin.
    package mutating func begin(on stream: NatsStream) -> NatsStart {
        delivered = 0
        let isSame = created.map { $0 == stream.created } ?? true
        created = stream.created
        guard let position else {
            // All messages of the recreated stream are new, and the old sequences and times mean nothing there.
            if !isSame { (first, below) = (.sequence(1), 0) }
            return first
        }
        guard isSame, stream.last >= position else {
            forget()
            return first
        }
        // Read that message again: if the stream was restored and has grown since, another one has its sequence.
        return .sequence(position)
    }

    /// Forgets the sequences of a stream that was recreated or restored to an earlier state; its times still count.
    private mutating func forget() {
        // Also for the next consumer, in case this one delivers no message.
        if let time { first = .time(time.subtractingReportingOverflow(Self.margin).partialValue) }
        (position, below) = (nil, 0)
    }

    /// Judges a message that has come.
    package mutating func see(_ message: NatsDelivery) -> Verdict {
        guard message.number > 0, message.number - 1 == delivered else { return .hole }
        delivered = message.number
        if let position, message.sequence <= position {
            guard message.sequence < position || message.time == time else {
                forget()
                return .other
            }
            return .known
        }
        guard message.sequence < below,
            message.sequence < behind[String(NatsSubject.agent(of: message.subject)), default: .max]
        else { return .next }
        advance(past: message)
        return .known
    }

    /// Records that a message was read completely.
    package mutating func advance(past message: NatsDelivery) { (position, time) = (message.sequence, message.time) }
}
