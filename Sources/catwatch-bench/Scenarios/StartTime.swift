internal import Feed
internal import Reactor

/// The time from the start of catwatch to its first data line.
enum StartTime: Scenario {
    static let name = "start"
    static let summary = "wall time from the start to the first data line, from nginx on loopback"
    static let defaultRuns = 30

    private static let limit = Figure.Limit.atMost(50)

    static func measure(_ setting: Setting) throws -> [Figure] {
        let times = try setting.withNginx { nginx, folder in
            try (0..<setting.runs).map { _ in try firstLine(setting, nginx, folder: folder) }
        }
        return [
            Figure(name: "first data line, median", unit: "ms", runs: times, limit: limit),
            Figure(name: "first data line, p90", unit: "ms", runs: times, statistic: .p90, limit: limit),
        ]
    }

    /// Starts catwatch and ends it again.
    ///
    /// - Returns: the time to the first data line, in milliseconds.
    static func firstLine(
        _ setting: Setting, _ nginx: Nginx, folder: String, options: [String] = []
    ) throws -> Double {
        let start = ContinuousClock.now
        let catwatch = try setting.startCatwatch(
            polling: nginx.url, every: .seconds(1), folder: folder, options: options)
        defer { catwatch.end() }
        var end = start
        let reading = catwatch.readLines(until: start + .seconds(5)) { line in
            guard case .data = line.body else { return false }
            end = .now
            return true
        }
        guard reading == .enough else { throw catwatch.failure("wrote no data line within 5 s") }
        return start.duration(to: end).milliseconds
    }
}
