internal import Reactor

/// The time from an event's publication in one process to the return of a reader's read in another.
enum DeliveryLatency: Scenario {
    static let name = "socket-latency"
    static let summary = "from publish to the read of one reader of a Unix socket, 500 events a second"
    static let defaultRuns = 3

    private static let rate = 500

    static func measure(_ setting: Setting) throws -> [Figure] {
        var p50 = Figure(name: "publish to read, p50", unit: "ms", runs: [])
        var p99 = Figure(name: "publish to read, p99", unit: "ms", runs: [], limit: .atMost(0.5))
        for _ in 0..<setting.runs {
            let (middle, tail) = try setting.withFolder { folder in
                let path = "\(folder)/feed.sock"
                var options = FeedOptions()
                options.listen = path
                options.rate = rate
                options.count = rate * 5
                options.readers = 1
                let feed = try setting.startFeed(options, folder: folder)
                defer { feed.end() }
                let loop = try EventLoop()
                return try loop.run {
                    let readers = SocketReaders(on: loop)
                    try readers.connect(to: path, first: 1)
                    try await readers.waitForEnd(until: loop.clock.now.advanced(by: .seconds(20)))
                    guard readers.lost == 0, readers.tally.lines > 0 else { throw BenchError("the reader lost lines") }
                    return (readers.reference.delay(percent: 50), readers.reference.delay(percent: 99))
                }
            }
            p50.runs.append(middle)
            p99.runs.append(tail)
        }
        return [p99, p50]
    }
}
