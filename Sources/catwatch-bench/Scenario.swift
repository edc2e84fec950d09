/// One thing to measure, by name.
protocol Scenario {
    static var name: String { get }
    /// One line for `catwatch-bench list`.
    static var summary: String { get }
    /// How many runs are made when `--runs` does not say.
    static var defaultRuns: Int { get }

    /// Makes all runs.
    ///
    /// - Throws: the reason why there are no figures.
    static func measure(_ setting: Setting) throws -> [Figure]
}

extension Scenario {
    static var defaultRuns: Int { 5 }
}

/// All scenarios, in the order in which they are run.
enum Catalogue {
    static var all: [any Scenario.Type] {
        [
            PollCPU.self,
            ResidentMemory.self,
            StoreThroughput.self,
            StartTime.self,
            IdleCPU.self,
            JournalIdle.self,
            JournalStart.self,
            LatencyAccuracy.self,
            LatencyBesideStdin.self,
            LargeDocuments.self,
            Micro.self,
            JournalThroughput.self,
            FanOut.self,
            IdleReaders.self,
            DeliveryLatency.self,
            StoppedReaders.self,
            ReaderChurn.self,
            PushConservation.self,
            RedisComparison.self,
            EventStreams.self,
            HealthRequests.self,
            ScrapeTime.self,
            FibonacciComparison.self,
            StdinThroughput.self,
            NatsThroughput.self,
            Replay.self,
            ManySources.self,
            BreedsPages.self,
            WebSocketThroughput.self,
            TerminalFrame.self,
            TerminalKeys.self,
            HostileView.self,
        ]
    }
}

/// How a scenario is to be run.
struct Setting {
    let runs: Int
    /// Whether to measure for as long as the documented figures are.
    let isLong: Bool
    /// The catwatch that is measured: the static release build.
    let binary: String

    /// Does `body` with nginx running, in a folder of its own; both are gone afterwards.
    func withNginx<Value>(_ body: (Nginx, String) throws -> Value) throws -> Value {
        guard Nginx.isInstalled else { throw BenchError("nginx is not installed: examples/setup.sh bench") }
        return try withFolder { folder in
            let nginx = try Nginx(folder: folder)
            defer { nginx.end() }
            return try body(nginx, folder)
        }
    }

    /// Does `body` with a folder that is gone afterwards.
    func withFolder<Value>(_ body: (String) throws -> Value) throws -> Value {
        let folder = try Leftovers.makeFolder()
        defer { Leftovers.remove(folder: folder) }
        return try body(folder)
    }

    /// Starts catwatch on one URL, its lines going into a pipe.
    func startCatwatch(
        polling url: String, every period: Duration, folder: String, options: [String] = []
    ) throws -> ChildProcess {
        try startCatwatch(polling: [url], every: period, folder: folder, options: options)
    }

    /// The same on many.
    func startCatwatch(
        polling urls: [String], every period: Duration, folder: String, options: [String] = []
    ) throws -> ChildProcess {
        let milliseconds = Int(period / .milliseconds(1))
        return try ChildProcess(
            binary, urls.flatMap { ["--url", $0] } + ["--every", "\(milliseconds)ms", "--output", "ndjson"] + options,
            folder: folder)
    }
}
