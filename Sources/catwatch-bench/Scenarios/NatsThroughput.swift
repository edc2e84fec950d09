internal import Glibc
internal import Reactor

/// A file of NDJSON through catwatch into a stream with three replicas, and into /dev/null: the lines per second, and
/// the processor time per line above that of stdout. The log has room for all lines, so none is lost.
enum NatsThroughput: Scenario {
    static let name = "nats"
    static let summary = "1 million lines of stdin into a stream of three replicas, beside stdout"
    static let defaultRuns = 3

    private static let lines = 1_000_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        guard NatsCluster.isInstalled else { return [.noPeer("lines a second")] }
        return try setting.withFolder { folder in
            let cluster = try NatsCluster(folder: folder)
            defer { cluster.end() }
            let input = "\(folder)/in.ndjson"
            try StdinThroughput.writeInput(to: input)
            let common = ["-", "--key", "/city", "--value", "/aqi", "--log-bytes", "1GiB", "--quiet"]
            var rate = Figure(
                name: "lines a second, three replicas", unit: "lines/s", runs: [], limit: .atLeast(100_000))
            var more = Figure(name: "CPU a line above stdout's", unit: "µs", runs: [], limit: .atMost(0.5))
            var plain = Figure(name: "CPU a line of stdout", unit: "µs", runs: [])
            for number in 0..<setting.runs {
                let stdout = try TimedRun(setting.binary, common + ["-o", "ndjson"], input: input, output: "/dev/null")
                let begin = ContinuousClock.now
                let published = try TimedRun(
                    setting.binary, common + ["-o", "none", "--nats", cluster.urls, "--agent-name", "bench\(number)"],
                    input: input, output: "/dev/null")
                guard stdout.status == 0, published.status == 0 else { throw BenchError("catwatch did not end well") }
                rate.runs.append(Double(lines) / (begin.duration(to: .now) / .seconds(1)))
                plain.runs.append(stdout.processorTime / .microseconds(lines))
                more.runs.append((published.processorTime - stdout.processorTime) / .microseconds(lines))
            }
            return [rate, more, plain]
        }
    }
}
