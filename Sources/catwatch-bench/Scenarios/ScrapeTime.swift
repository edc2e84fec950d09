internal import Feed
internal import Glibc
internal import Reactor

/// `/metrics` with the maximum number of series: the time and CPU of a scrape, and how much later polls are beside
/// scrapes than without, in turns.
enum ScrapeTime: Scenario {
    static let name = "metrics-scrape"
    static let summary = "/metrics of 10,000 series: time and CPU of a scrape, lateness of polls beside it and without"
    static let defaultRuns = 1

    private static let series = 10_000
    /// The pause between two scrapes.
    private static let pause = Duration.milliseconds(150)
    private static let turn = Duration.seconds(3)

    static func measure(_ setting: Setting) throws -> [Figure] {
        signal(SIGPIPE, SIG_IGN)  // in case the program ends too early
        var p50 = Figure(name: "connect to last byte, p50", unit: "ms", runs: [], limit: .atMost(20))
        var p99 = Figure(name: "connect to last byte, p99", unit: "ms", runs: [], limit: .atMost(20))
        var cost = Figure(name: "CPU of the agent for it", unit: "ms", runs: [])
        var more = Figure(
            name: "late_ms of polls beside it over without, p99", unit: "ms", runs: [], limit: .atMost(20))
        var beside = Figure(name: "late_ms beside it, p99", unit: "ms", runs: [])
        var without = Figure(name: "late_ms without, p99", unit: "ms", runs: [])
        for _ in 0..<setting.runs {
            let run = try setting.withNginx { try Self.run($0, setting, folder: $1) }
            p50.runs.append(run.times.percentile(50))
            p99.runs.append(run.times.percentile(99))
            cost.runs.append(run.cost)
            beside.runs.append(run.beside.percentile(99))
            without.runs.append(run.without.percentile(99))
            more.runs.append(run.beside.percentile(99) - run.without.percentile(99))
        }
        return [p50, p99, cost, more, beside, without]
    }

    private struct Run {
        /// All in milliseconds.
        var times: [Double] = []
        var beside: [Double] = []
        var without: [Double] = []
        var cost = 0.0
    }

    private static func run(_ nginx: Nginx, _ setting: Setting, folder: String) throws -> Run {
        let sources = [
            #"{"name":"polled","url":"\#(nginx.url)","every":"20ms"}"#,
            #"{"name":"stdin","kind":"stdin","key":"/key","value":"/value"}"#,
        ]
        let configuration = "\(folder)/catwatch.json"
        try TextFile.write("{\"sources\":[\(sources.joined(separator: ","))]}", to: configuration)
        let pipe = try Descriptor.pipe(nonblocking: false)
        let agent = try WebAgent(
            setting, ["-c", configuration, "-o", "ndjson", "--metrics-series", "\(series)"], folder: folder,
            input: pipe.read.number)
        defer { agent.process.end() }
        let input = try pipe.write.duplicate()
        _ = consume pipe  // only the program keeps the read end

        var run = Run()
        var spent = (beside: Duration.zero, without: Duration.zero)
        for _ in 0..<(setting.isLong ? 10 : 3) {
            feed(input.number)
            read(agent.process, for: .seconds(1))
            let start = try agent.process.processorTime
            run.without += read(agent.process, for: turn)
            let middle = try agent.process.processorTime
            let end = ContinuousClock.now + turn
            while ContinuousClock.now < end {
                let (bytes, time) = try agent.get("/metrics")
                let told = bytes.split(separator: 0x0A).count { $0.starts(with: "catwatch_series_value{".utf8) }
                // The latency series of the polled source have another metric's name.
                guard told >= series - 10 else { throw agent.process.failure("told of \(told) series") }
                run.times.append(time.milliseconds)
                run.beside += read(agent.process, for: pause)
            }
            spent.without += middle - start
            spent.beside += try agent.process.processorTime - middle
        }
        guard run.beside.count > 100, run.without.count > 100 else { throw agent.process.failure("polled too little") }
        run.cost = (spent.beside - spent.without).milliseconds / Double(run.times.count)
        return run
    }

    private static func feed(_ input: Int32) {
        let lines = (0..<series).lazy.map { "{\"key\":\"cat-\($0)\",\"value\":\($0 * 37 % 1_000).25}\n" }
        Text.write(lines.joined(), to: input)
    }

    /// Reads catwatch's lines for a while; returns how late its polls were, in milliseconds.
    @discardableResult
    private static func read(_ process: ChildProcess, for time: Duration) -> [Double] {
        var late: [Double] = []
        process.readLines(until: .now + time) { line in
            if case .latency(let sample) = line.body { late.append(sample.late) }
            return false
        }
        return late
    }
}
