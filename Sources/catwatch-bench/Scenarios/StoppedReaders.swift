internal import Reactor

/// A hundred readers that never read, beside ten that do: the lines that the ten lose, and the memory for the hundred.
enum StoppedReaders: Scenario {
    static let name = "stopped-readers"
    static let summary = "100 readers that stand still beside 10 live ones: 20 s, or 10 minutes with --long"
    static let defaultRuns = 1

    private static let rate = 1_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        var lost = Figure(
            name: "lines the live ones lost", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var growth = Figure(name: "growth of RSS", unit: "KiB", runs: [], statistic: .most, limit: .atMost(1_024))
        var lines = Figure(name: "lines each live one read", unit: "lines", runs: [], statistic: .least)
        for _ in 0..<setting.runs {
            let run = try Self.run(setting, .seconds(setting.isLong ? 600 : 20))
            lost.runs.append(Double(run.lost))
            growth.runs.append(run.growth / 1_024)
            lines.runs.append(Double(run.lines) / 10)
        }
        return [lines, lost, growth]
    }

    private static func run(_ setting: Setting, _ span: Duration) throws -> (lines: Int, lost: Int, growth: Double) {
        try setting.withFolder { folder in
            let path = "\(folder)/feed.sock"
            var options = FeedOptions()
            options.listen = path
            options.rate = rate
            options.count = .max / (1 << 20)
            // Small, so that it is full before the measurement and its filling does not count as growth.
            options.logBytes = 1 << 20
            options.stall = 3_600
            let feed = try setting.startFeed(options, folder: folder)
            defer { feed.end() }
            let shared = LoopBound(feed)
            let loop = try EventLoop()
            return try loop.run {
                let feed = shared.value
                try await loop.sleep(for: .seconds(8))
                let readers = SocketReaders(on: loop)
                for _ in 0..<10 { try readers.connect(to: path, isTimed: false) }
                // One after the other, so that they stop at different places in the log.
                for _ in 0..<100 {
                    try readers.connectStopped(to: path)
                    try await loop.sleep(for: .milliseconds(20))
                }
                let before = try feed.memory("VmRSS")
                try await loop.sleep(for: span)
                let tally = readers.tally
                return (tally.lines, tally.lost + tally.gaps, try feed.memory("VmRSS") - before)
            }
        }
    }
}
