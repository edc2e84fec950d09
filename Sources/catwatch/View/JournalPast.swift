internal import Feed
internal import Journal
internal import Outputs
internal import Reactor
internal import Terminal

/// Reads columns from this process's own journal.
struct JournalPast: PastFeed {
    let history: JournalQueue

    func read(_ request: PastRequest, receive: @escaping @Sendable ([UInt8]) async -> Bool) async throws {
        let query = ColumnQuery(
            of: request.series, source: request.source, width: Int64(request.width) * 1_000_000, from: request.from,
            until: request.until)
        let filter = LineFilter(types: nil, sources: [request.source], from: request.from, until: request.until)
        var reading = PastReading(from: .columns(query), filter, as: .lines)
        while true {
            switch try await history.step(&reading) {
            case .bytes(let bytes): guard await receive(bytes) else { return }
            case .last(let bytes):
                _ = await receive(bytes)
                return
            case .end(let fault): throw PastFailure(fault?.reason ?? "it has no end")
            }
        }
    }
}
