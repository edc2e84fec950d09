internal import Reactor

/// The processor time of a poll by catwatch and by collectd, on the same endpoint with the same period, one after the
/// other in each run, so that other load on the machine changes the ratio least.
enum PollCPU: Scenario {
    static let name = "poll-cpu"
    static let summary = "CPU of a poll against collectd's curl_json + write_log, same nginx, same period"

    /// 50 polls a second: both programs keep up, and still sleep between polls.
    private static let period = Duration.milliseconds(20)
    private static let limit = Figure.Limit.atMost(0.6)

    static func measure(_ setting: Setting) throws -> [Figure] {
        let span = Duration.seconds(setting.isLong ? 30 : 10)
        var ours: [Double] = []
        var theirs: [Double] = []
        for _ in 0..<setting.runs {
            try setting.withNginx { nginx, folder in
                let catwatch = try setting.startCatwatch(polling: nginx.url, every: period, folder: folder)
                ours.append(try microsecondsPerPoll(catwatch, nginx, span))
                catwatch.end()
                guard Collectd.isInstalled else { return }
                let collectd = try Collectd.start(polling: nginx.url, every: period, folder: folder)
                theirs.append(try microsecondsPerPoll(collectd, nginx, span))
                collectd.end()
            }
        }
        let own = Figure(name: "catwatch, a poll", unit: "µs CPU", runs: ours)
        guard Collectd.isInstalled else {
            return [own, .noPeer("ratio to collectd")]
        }
        return [
            own, Figure(name: "collectd, a poll", unit: "µs CPU", runs: theirs),
            Figure(name: "ratio to collectd", unit: "", runs: zip(ours, theirs).map(/), limit: limit),
        ]
    }

    /// Measures during steady polling; nginx counts the polls.
    private static func microsecondsPerPoll(
        _ process: ChildProcess, _ nginx: Nginx, _ span: Duration
    ) throws -> Double {
        let before = nginx.requestCount
        process.read(until: .now + .seconds(2))
        guard nginx.requestCount > before else { throw process.failure("does not poll") }
        let (startTime, startCount) = (try process.processorTime, nginx.requestCount)
        process.read(until: .now + span)
        let (time, count) = (try process.processorTime - startTime, nginx.requestCount - startCount)
        let expected = span / period
        // On a busy machine both may miss ticks; but with too few polls, the figure would mean something else.
        guard Double(count) > 0.5 * expected, Double(count) < 1.1 * expected else {
            throw process.failure("polled \(count) times and not about \(Int(expected)) times")
        }
        return time.seconds * 1_000_000 / Double(count)
    }
}
