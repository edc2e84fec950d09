internal import Feed
internal import Reactor

/// 2,000 sources, each polled every 10 s: their cost, and whether any poll is late, including the first ones.
enum ManySources: Scenario {
    static let name = "many-sources"
    static let summary = "2,000 sources every 10 s, by nginx: CPU, memory, lateness; 60 s, or 10 minutes with --long"
    static let defaultRuns = 1

    private static let sources = 2_000
    private static let period = Duration.seconds(10)
    private static let mebibyte = 1_048_576.0

    static func measure(_ setting: Setting) throws -> [Figure] {
        var share = Figure(name: "CPU", unit: "% of a core", runs: [], statistic: .most, limit: .atMost(10))
        var resident = Figure(name: "resident at most", unit: "MiB", runs: [], statistic: .most, limit: .atMost(80))
        var late = Figure(name: "a poll late, most", unit: "ms", runs: [], statistic: .most, limit: .atMost(100))
        var typical = Figure(name: "a poll late, p99", unit: "ms", runs: [], statistic: .most)
        var answers = Figure(name: "answers of each source", unit: "", runs: [], statistic: .least)
        for _ in 0..<setting.runs {
            try setting.withNginx { nginx, folder in
                let catwatch = try setting.startCatwatch(
                    polling: nginx.urls(sources), every: period, folder: folder)
                defer { catwatch.end() }
                var tally = Tally()
                // For two periods, in which every source is polled at least once and the log fills up.
                catwatch.readLines(until: .now + period * 2) { tally.add($0) }
                let (startTime, start) = (try catwatch.processorTime, ContinuousClock.now)
                catwatch.readLines(until: start + .seconds(setting.isLong ? 600 : 60)) { tally.add($0) }
                share.runs.append((try catwatch.processorTime - startTime) / start.duration(to: .now) * 100)
                resident.runs.append(try catwatch.memory("VmHWM") / mebibyte)
                guard tally.errors == 0, tally.answers.count == sources else {
                    throw catwatch.failure("got answers for \(tally.answers.count) sources, and \(tally.errors) errors")
                }
                late.runs.append(tally.late.max() ?? 0)
                typical.runs.append(tally.late.percentile(99))
                answers.runs.append(Double(tally.answers.values.min() ?? 0))
            }
        }
        return [share, resident, late, typical, answers]
    }

    private struct Tally {
        var late: [Double] = []
        var answers: [String: Int] = [:]
        var errors = 0

        /// Counts a line; returns false, so that reading continues.
        mutating func add(_ line: Line) -> Bool {
            switch line.body {
            case .latency(let sample):
                late.append(sample.late)
                answers[line.source ?? "", default: 0] += 1
            case .error: errors += 1
            default: break
            }
            return false
        }
    }
}
