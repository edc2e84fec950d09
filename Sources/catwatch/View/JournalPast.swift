internal import Feed
internal import Journal
internal import Outputs
internal import Reactor
internal import Terminal

/// Reads older lines from this process's own journal.
struct JournalPast: PastFeed {
    let history: JournalQueue
    let store: EventStore
    let wall: any WallClock

    func read(_ request: PastRequest, receive: @escaping @Sendable ([UInt8]) async -> Bool) async throws {
        let filter = LineFilter(
            types: nil, sources: request.source.map { [$0] }, from: request.from, until: request.until)
        var reading = PastReading(
            from: .time(request.from, until: request.until), filter, as: .lines, atMost: FeedReaders.mostReplayed)
        while true {
            switch try await history.step(&reading) {
            case .bytes(let bytes): guard await receive(bytes) else { return }
            case .last(let bytes):
                _ = await receive(bytes)
                return
            case .end(let fault?): throw PastFailure(fault.reason)
            case .end:
                let run = await store.run
                _ = await receive(
                    ControlLine.bye(time: wall.now, run: run, lastSequence: reading.end ?? 0, reason: "until"))
                return
            }
        }
    }
}
