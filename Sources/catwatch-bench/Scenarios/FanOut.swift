internal import Reactor

/// A thousand readers of one socket, a thousand events a second: lost lines, delays, and cost.
enum FanOut: Scenario {
    static let name = "fan-out"
    static let summary = "1,000 readers of a Unix socket, 1,000 events a second: 10 s, or 60 s with --long"
    static let defaultRuns = 1

    static let readers = 1_000
    static let rate = 1_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        DescriptorLimit.raise(for: readers)
        let seconds = setting.isLong ? 60 : 10
        var lost = Figure(name: "lines lost", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var repeated = Figure(name: "lines repeated", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var torn = Figure(name: "lines torn", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var cores = Figure(name: "CPU of the feed", unit: "cores", runs: [], limit: .atMost(1))
        var share = Figure(
            name: "user time of the feed to kernel time", unit: "", runs: [], limit: .atMost(1.0 / 3))
        var delay = Figure(name: "publish to read, p99", unit: "ms", runs: [], limit: .atMost(50))
        var middle = Figure(name: "publish to read, p50", unit: "ms", runs: [])
        var lines = Figure(name: "lines delivered", unit: "lines", runs: [], statistic: .least)
        for _ in 0..<setting.runs {
            let run = try Self.run(setting, seconds: seconds)
            lost.runs.append(Double(run.lost))
            repeated.runs.append(Double(run.tally.repeated))
            torn.runs.append(Double(run.tally.torn))
            cores.runs.append(run.cores)
            share.runs.append(run.share)
            delay.runs.append(run.p99)
            middle.runs.append(run.p50)
            lines.runs.append(Double(run.tally.lines))
        }
        return [lines, lost, repeated, torn, cores, share, delay, middle]
    }

    private struct Run: Sendable {
        var tally: LineChecker.Tally
        var lost: Int
        var cores: Double
        /// User time divided by kernel time.
        var share: Double
        var p50: Double
        var p99: Double
    }

    private static func run(_ setting: Setting, seconds: Int) throws -> Run {
        try setting.withFolder { folder in
            var options = FeedOptions()
            options.listen = "\(folder)/feed.sock"
            options.rate = rate
            options.count = rate * seconds
            options.readers = readers
            let feed = try setting.startFeed(options, folder: folder)
            defer { feed.end() }
            let path = "\(folder)/feed.sock"
            let begin = try feed.processorTime
            let beginTimes = try feed.processorTimes
            let start = ContinuousClock.now
            let loop = try EventLoop()
            let (tally, lost, p50, p99) = try loop.run {
                let readers = SocketReaders(on: loop)
                for _ in 0..<Self.readers { try readers.connect(to: path, first: 1) }
                try await readers.waitForEnd(until: loop.clock.now.advanced(by: .seconds(2 * seconds + 10)))
                let reference = readers.reference
                return (readers.tally, readers.lost, reference.delay(percent: 50), reference.delay(percent: 99))
            }
            let cores = (try feed.processorTime - begin) / start.duration(to: .now)
            let times = try feed.processorTimes
            let share = (times.user - beginTimes.user) / (times.kernel - beginTimes.kernel)
            guard tally.lines > 0 else { throw feed.failure("sent nothing") }
            return Run(tally: tally, lost: lost, cores: cores, share: share, p50: p50, p99: p99)
        }
    }
}
