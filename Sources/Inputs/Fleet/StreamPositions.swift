internal import Feed
internal import Nats

/// Where agents were, as far as a stream has something of them: how much of it has been taken already.
///
/// A journal's positions are numbers of messages, and do not say of which stream: one may have been made anew, set back, or be
/// another one of other servers. So none is believed before the stream was seen to have that very line in that very message.
struct StreamPositions {
    /// By which message the newest line of an agent came that was kept; the greatest number first.
    let newest: [(position: AgentPosition, number: UInt64)]
    private let last: [String: UInt64]

    /// - Parameters:
    ///   - positions: what was taken, the newest run of each agent last.
    ///   - last: the number of each agent's last message in the stream.
    init(_ positions: [AgentPosition], last: [String: UInt64]) {
        self.last = last
        newest = Dictionary(positions.map { ($0.agent, $0) }, uniquingKeysWith: { $1 }).values
            .compactMap { position in
                guard last[position.agent] != nil, let number = position.stream.flatMap({ UInt64(exactly: $0) }) else {
                    return nil
                }
                return (position, number)
            }
            .sorted { $0.number > $1.number }
    }

    /// Whether a message is the one that a position's line came by; or behind which that line was found to be lost.
    static func isMessage(_ message: NatsDelivery, of position: AgentPosition) -> Bool {
        guard NatsSubject.agent(of: message.subject) == position.agent, message.run == position.line.run,
            let first = message.first.flatMap({ Int($0) }), let last = message.last.flatMap({ Int($0) })
        else { return false }
        return first.subtractingReportingOverflow(1).partialValue <= position.line.sequence
            && position.line.sequence <= last
    }

    /// Those that something is read of again when a line of the message of this number was taken, and all messages before that; the
    /// least number first.
    ///
    /// Windows are no lines of a journal: to know that nothing is missing before what is new of an agent, its messages are read
    /// again from the last one on of which there is a line.
    func behind(_ number: UInt64) -> [(position: AgentPosition, number: UInt64)] {
        newest.reversed().filter { $0.number < number && last[$0.position.agent, default: 0] > number }
    }
}
