internal import Reactor

/// The memory for a thousand readers that got their greeting, while nothing happens.
enum IdleReaders: Scenario {
    static let name = "idle-readers"
    static let summary = "memory for 1,000 greeted readers of a Unix socket, while nothing happens"

    static func measure(_ setting: Setting) throws -> [Figure] {
        DescriptorLimit.raise(for: FanOut.readers)
        var growth = Figure(name: "RSS for 1,000 idle readers", unit: "MiB", runs: [], limit: .atMost(4))
        for _ in 0..<setting.runs {
            growth.runs.append(
                try setting.withFolder { folder in
                    let path = "\(folder)/feed.sock"
                    var options = FeedOptions()
                    options.listen = path
                    options.readers = FanOut.readers + 1  // the feed keeps waiting for one more
                    let feed = try setting.startFeed(options, folder: folder)
                    defer { feed.end() }
                    let before = try feed.memory("VmRSS")
                    let shared = LoopBound(feed)
                    let loop = try EventLoop()
                    return try loop.run {
                        let readers = SocketReaders(on: loop)
                        for _ in 0..<FanOut.readers { try readers.connect(to: path, isTimed: false) }
                        try await loop.sleep(for: .seconds(2))
                        guard readers.open == FanOut.readers else { throw BenchError("readers were turned away") }
                        return (try shared.value.memory("VmRSS") - before) / 1_048_576
                    }
                })
        }
        return [growth]
    }
}
