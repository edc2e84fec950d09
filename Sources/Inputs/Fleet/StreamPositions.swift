internal import Feed
internal import Nats

/// The journal's positions of agents, where a stream may have their messages: they say what has been read already.
///
/// A position holds a message number, but not the stream it belongs to, which may have been recreated, set back, or
/// replaced by one of other servers. So a position counts only if the stream has that very line in that very message.
struct StreamPositions {
    /// For each agent, the message that brought its newest stored line; the greatest number first.
    let newest: [(position: AgentPosition, number: UInt64)]
    private let last: [String: UInt64]

    /// - Parameters:
    ///   - positions: the journal's positions, the newest run of each agent last.
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

    /// Whether a message brought a position's line, or showed that it was lost just before the message.
    static func isMessage(_ message: NatsDelivery, of position: AgentPosition) -> Bool {
        guard NatsSubject.agent(of: message.subject) == position.agent, message.run == position.line.run,
            let first = message.first.flatMap({ Int($0) }), let last = message.last.flatMap({ Int($0) })
        else { return false }
        return first.subtractingReportingOverflow(1).partialValue <= position.line.sequence
            && position.line.sequence <= last
    }

    /// Returns the positions to read again from, when all messages up to `number` have been read; the least number
    /// first.
    ///
    /// Windows are not stored in a journal: to miss nothing before an agent's new messages, its messages are read again
    /// from the last one that brought a stored line.
    func behind(_ number: UInt64) -> [(position: AgentPosition, number: UInt64)] {
        newest.reversed().filter { $0.number < number && last[$0.position.agent, default: 0] > number }
    }
}
