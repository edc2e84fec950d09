internal import Glibc
internal import Reactor

/// A thousand clients of catwatch's `/events`, a hundred events a second through its standard input: lost lines,
/// delays, and cost.
enum EventStreams: Scenario {
    static let name = "sse-readers"
    static let summary = "1,000 clients of /events, 100 events a second: 10 s, or 60 s with --long"
    static let defaultRuns = 1

    private static let clients = 1_000
    private static let rate = 100
    private static let mebibyte = 1_048_576.0

    static func measure(_ setting: Setting) throws -> [Figure] {
        DescriptorLimit.raise(for: clients)
        signal(SIGPIPE, SIG_IGN)  // in case the program ends too early
        var lines = Figure(name: "lines delivered", unit: "lines", runs: [], statistic: .least)
        var lost = Figure(name: "lines lost", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var repeated = Figure(name: "lines repeated", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var torn = Figure(name: "lines torn", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var cores = Figure(name: "CPU of the agent", unit: "cores", runs: [], limit: .atMost(0.5))
        var resident = Figure(
            name: "resident at most", unit: "MiB", runs: [], statistic: .most,
            limit: .atMost(20 + Double(clients) * 28 / 1_024))
        var late = Figure(name: "write to read, p99", unit: "ms", runs: [], limit: .atMost(50))
        var middle = Figure(name: "write to read, p50", unit: "ms", runs: [])
        for _ in 0..<setting.runs {
            let run = try setting.withFolder { try Self.run(setting, seconds: setting.isLong ? 60 : 10, folder: $0) }
            lines.runs.append(Double(run.tally.lines))
            lost.runs.append(Double(run.lost))
            repeated.runs.append(Double(run.tally.repeated))
            torn.runs.append(Double(run.tally.torn))
            cores.runs.append(run.cores)
            resident.runs.append(run.resident / mebibyte)
            late.runs.append(run.p99)
            middle.runs.append(run.p50)
        }
        return [lines, lost, repeated, torn, cores, resident, late, middle]
    }

    private struct Run: Sendable {
        var tally: LineChecker.Tally
        var lost: Int
        var cores: Double
        /// The peak resident memory, in bytes.
        var resident: Double
        var p50: Double
        var p99: Double
    }

    private static func run(_ setting: Setting, seconds: Int, folder: String) throws -> Run {
        let pipe = try Descriptor.pipe(nonblocking: false)
        let started = try WebAgent(setting, ["-", "-o", "none"], folder: folder, input: pipe.read.number)
        defer { started.process.end() }
        let input = try pipe.write.duplicate().release()
        _ = consume pipe  // only the program keeps the read end
        let agent = LoopBound(started)
        let loop = try EventLoop()
        return try loop.run {
            var isOpen = true
            defer { if isOpen { close(input) } }
            let readers = SocketReaders(on: loop)
            for number in 1...clients {
                try readers.connectEvents(to: agent.value, first: 1)
                if number % 100 == 0 { try await loop.sleep(for: .milliseconds(20)) }
            }
            try await loop.sleep(for: .milliseconds(500))
            let before = try agent.value.process.processorTime
            let start = loop.clock.now
            try await write(seconds * rate, to: input, on: loop)
            let cores = (try agent.value.process.processorTime - before) / start.duration(to: loop.clock.now)
            let resident = try agent.value.process.memory("VmHWM")
            close(input)
            isOpen = false
            try await readers.waitForEnd(until: loop.clock.now.advanced(by: .seconds(10)))
            guard readers.tally.lines > seconds * rate, readers.tally.gaps == 0 else {
                throw agent.value.process.failure("sent \(readers.tally.lines) lines, \(readers.tally.gaps) gaps")
            }
            let reference = readers.reference
            return Run(
                tally: readers.tally, lost: readers.lost, cores: cores, resident: resident,
                p50: reference.delay(percent: 50), p99: reference.delay(percent: 99))
        }
    }

    /// Writes lines at absolute times: delays are made up for. Each line holds its time in sixteen digits, by the clock
    /// that its readers use.
    private static func write(_ count: Int, to input: Int32, on loop: EventLoop) async throws {
        let padding = String(repeating: "x", count: 60)
        let start = loop.clock.now
        for number in 1...count {
            let now = Text.padded(loop.clock.now.nanoseconds / 1_000, 16)
            Text.write("{\"text\":\"\(now)\(padding)\",\"value\":\(number)}\n", to: input)
            try await loop.sleep(until: start.advanced(by: .nanoseconds(number * 1_000_000_000 / rate)))
        }
    }
}
