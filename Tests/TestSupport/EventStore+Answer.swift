package import Feed
internal import Reactor

extension EventStore {
    /// Publishes a complete answer of a source.
    ///
    /// - Parameter items: their number, where it is counted.
    package func answer(_ events: [Event], of source: SourceID, items: Int? = nil) {
        let progress = Progress(done: events.count, total: events.count, page: 1, items: items)
        let answer = CompleteAnswer(progress, from: nextSequence, isReported: items != nil || events.isEmpty)
        publish(events + [Event(time: wallTime, source: source, body: .answer(answer))])
    }
}
