internal import Feed
internal import Nats

extension NatsStart {
    /// Where to begin, so that everything comes which a journal does not have.
    ///
    /// All messages of a stream come in one order, so it has those before the newest one of which it has a line. An agent that the
    /// stream has no message of is none of its, and one whose last message there is older than what the journal has was in
    /// another stream of that name.
    ///
    /// - Parameters:
    ///   - positions: what the journal has, the newest run of each agent last.
    ///   - last: the number of each agent's last message in the stream.
    ///   - time: where to begin if nothing is known.
    init(behind positions: [FeedPosition], last: [String: UInt64], else time: NatsStart) {
        let newest = Dictionary(positions.map { ($0.agent, $0) }, uniquingKeysWith: { $1 })
        let known = newest.compactMap { agent, position in
            if let place = position.stream.flatMap({ UInt64(exactly: $0) }), let last = last[agent] {
                return (place: place, isHere: last >= place)
            }
            return nil
        }
        if let place = known.filter(\.isHere).map(\.place).max() {
            self = .sequence(place)
        } else {
            self = known.isEmpty ? time : .sequence(1)
        }
    }
}
