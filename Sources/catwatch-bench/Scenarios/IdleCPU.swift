internal import Reactor

/// The CPU usage of catwatch with one poll a second and one reader.
enum IdleCPU: Scenario {
    static let name = "idle"
    static let summary = "CPU of one poll a second with one reader: 60 s, or 10 minutes with --long"
    static let defaultRuns = 1

    private static let limit = 0.05

    static func measure(_ setting: Setting) throws -> [Figure] {
        let span = Duration.seconds(setting.isLong ? 600 : 60)
        var shares: [Double] = []
        for _ in 0..<setting.runs {
            try setting.withNginx { nginx, folder in
                let catwatch = try setting.startCatwatch(polling: nginx.url, every: .seconds(1), folder: folder)
                defer { catwatch.end() }
                catwatch.read(until: .now + .seconds(3))
                let startCount = nginx.requestCount
                let startTime = try catwatch.processorTime
                let start = ContinuousClock.now
                catwatch.read(until: start + span)
                let time = try catwatch.processorTime - startTime
                shares.append(time / start.duration(to: .now) * 100)
                guard Double(nginx.requestCount - startCount) > 0.9 * span.seconds else {
                    throw catwatch.failure("does not poll")
                }
            }
        }
        return [Figure(name: "one poll a second", unit: "% of a core", runs: shares, limit: .atMost(limit))]
    }
}
