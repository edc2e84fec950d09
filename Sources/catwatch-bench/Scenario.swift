/// A measurement with a name.
protocol Scenario {
    static var name: String { get }
    /// One line for `catwatch-bench list`.
    static var summary: String { get }
    /// The number of runs without `--runs`.
    static var defaultRuns: Int { get }

    /// Makes all runs.
    ///
    /// - Throws: the reason why there are no figures.
    static func measure(_ setting: Setting) throws -> [Figure]
}

extension Scenario {
    static var defaultRuns: Int { 5 }
}

/// All scenarios, in the order in which they run.
enum Catalogue {
    static var all: [any Scenario.Type] {
        [
            StoreThroughput.self, StdinThroughput.self, PollCPU.self, ResidentMemory.self, StartTime.self, FanOut.self,
            JournalThroughput.self, ScrapeTime.self, TerminalFrame.self, EventStreams.self, NatsThroughput.self,
            AlertCost.self,
        ]
    }
}

/// The settings for running a scenario.
struct Setting {
    let runs: Int
    /// Whether to measure for as long as for the documented figures.
    let isLong: Bool
    /// The path of the catwatch to measure: the static release build.
    let binary: String

    /// Calls `body` with nginx running in its own folder; removes both afterwards.
    func withNginx<Value>(_ body: (Nginx, String) throws -> Value) throws -> Value {
        guard Nginx.isInstalled else { throw BenchError("nginx is not installed: examples/setup.sh bench") }
        return try withFolder { folder in
            let nginx = try Nginx(folder: folder)
            defer { nginx.end() }
            return try body(nginx, folder)
        }
    }

    /// Calls `body` with a temporary folder; removes it afterwards.
    func withFolder<Value>(_ body: (String) throws -> Value) throws -> Value {
        let folder = try Leftovers.makeFolder()
        defer { Leftovers.remove(folder: folder) }
        return try body(folder)
    }

    /// Starts catwatch with one URL and its lines going into a pipe.
    func startCatwatch(
        polling url: String, every period: Duration, folder: String, options: [String] = []
    ) throws -> ChildProcess {
        try startCatwatch(polling: [url], every: period, folder: folder, options: options)
    }

    /// Starts catwatch with many URLs.
    func startCatwatch(
        polling urls: [String], every period: Duration, folder: String, options: [String] = []
    ) throws -> ChildProcess {
        let milliseconds = Int(period / .milliseconds(1))
        return try ChildProcess(
            binary, urls.flatMap { ["--url", $0] } + ["--every", "\(milliseconds)ms", "--output", "ndjson"] + options,
            folder: folder)
    }
}
