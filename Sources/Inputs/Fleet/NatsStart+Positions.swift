internal import Feed
internal import Nats

extension NatsStart {
    /// Where to begin, so that everything comes which a journal does not have.
    ///
    /// All messages of a stream come in one order, so it has those before the newest one of which it has a line. Windows are no
    /// lines of it: to know that nothing is missing before what is new of an agent, its last message that is known is read again.
    /// An agent that the stream has no message of is none of its, and one whose last message there is older than what the
    /// journal has was in another stream of that name, of which no number means anything in this one.
    ///
    /// - Parameters:
    ///   - positions: what the journal has, the newest run of each agent last.
    ///   - last: the number of each agent's last message in the stream.
    ///   - time: where to begin if nothing is known.
    init(behind positions: [FeedPosition], last: [String: UInt64], else time: NatsStart) {
        let places = Dictionary(positions.map { ($0.agent, $0) }, uniquingKeysWith: { $1 })
        let known = places.values.compactMap { position -> (place: UInt64, last: UInt64)? in
            guard let place = position.stream.flatMap({ UInt64(exactly: $0) }) else { return nil }
            return last[position.agent].map { (place, $0) }
        }
        guard let newest = known.map(\.place).max() else {
            self = time
            return
        }
        let isOther = known.contains { $0.last < $0.place }
        self = .sequence(isOther ? 1 : known.filter { $0.last > newest }.map(\.place).min() ?? newest)
    }
}
