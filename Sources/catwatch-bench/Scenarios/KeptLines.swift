internal import Feed
internal import Glibc
internal import Reactor

/// 10,000 series whose newest lines have left the log: their memory, the time until a new reader has them all, and how
/// much later the polls of another source are while such readers come one after the other, in turns.
enum KeptLines: Scenario {
    static let name = "kept-lines"
    static let summary = "10,000 kept lines: memory, time until a reader has them, lateness of polls beside it"
    static let defaultRuns = 1

    private static let series = 10_000
    private static let turn = Duration.seconds(3)
    private static let mebibyte = 1_048_576.0

    static func measure(_ setting: Setting) throws -> [Figure] {
        var memory = Figure(name: "resident for them", unit: "MiB", runs: [], statistic: .most, limit: .atMost(8))
        var bytes = Figure(name: "bytes that a reader gets", unit: "MiB", runs: [])
        var p50 = Figure(name: "connect to the last of them, p50", unit: "ms", runs: [])
        var p99 = Figure(name: "connect to the last of them, p99", unit: "ms", runs: [], limit: .atMost(50))
        var more = Figure(name: "late_ms of polls beside over without, p99", unit: "ms", runs: [], limit: .atMost(5))
        var beside = Figure(name: "late_ms beside, p99", unit: "ms", runs: [])
        var without = Figure(name: "late_ms without, p99", unit: "ms", runs: [])
        for _ in 0..<setting.runs {
            let run = try setting.withNginx { try Self.run($0, setting, folder: $1) }
            memory.runs.append(run.memory / mebibyte)
            bytes.runs.append(run.bytes.median / mebibyte)
            p50.runs.append(run.times.percentile(50))
            p99.runs.append(run.times.percentile(99))
            beside.runs.append(run.beside.percentile(99))
            without.runs.append(run.without.percentile(99))
            more.runs.append(run.beside.percentile(99) - run.without.percentile(99))
        }
        return [memory, bytes, p50, p99, more, beside, without]
    }

    private struct Run {
        var memory = 0.0
        var bytes: [Double] = []
        /// In milliseconds, as the others.
        var times: [Double] = []
        var beside: [Double] = []
        var without: [Double] = []
    }

    private static func run(_ nginx: Nginx, _ setting: Setting, folder: String) throws -> Run {
        // With what is kept beside each, these take nearly the 8 MiB that there are.
        let padding = String(repeating: "x", count: 530)
        let items = (0..<series).map { index in
            #"{"name":"cat-\#(index)","value":\#(index * 37 % 1_000).25,"fact":"\#(padding)"}"#
        }
        let list = try nginx.serve("[\(items.joined(separator: ","))]", as: "list.json")
        let configuration = "\(folder)/catwatch.json"
        try TextFile.write(
            """
            {"interval": 10, "history": 10, "max_series": 20000, "max_body": "16MiB", "sources": [
              {"name": "polled", "url": "\(nginx.url)", "every": "20ms"},
              {"name": "list", "url": "\(list)", "every": "1h", "items": "", "key": "/name", "value": "/value"}]}
            """, to: configuration)
        // Both for as long, one after the other: the resident memory of one grows with its lines at first.
        var run = Run()
        var resident: [Double] = []
        for room in ["64KiB", "8MiB"] {
            let socket = "\(folder)/s"
            let agent = try ChildProcess(
                setting.binary,
                ["-c", configuration, "-o", "ndjson", "--kept-bytes", room, "--listen=\(socket)"], folder: folder)
            defer { agent.end() }
            // The history, and the time in which the chunk with the list's last lines fills up.
            read(agent, for: .seconds(30))
            resident.append(try agent.memory("VmRSS"))
            guard room != "64KiB" else { continue }
            for _ in 0..<(setting.isLong ? 10 : 3) {
                run.without += read(agent, for: turn)
                let end = ContinuousClock.now + turn
                while ContinuousClock.now < end {
                    let (kept, bytes, time) = try lines(of: socket)
                    guard kept >= series else { throw agent.failure("gave \(kept) kept lines") }
                    run.times.append(time.milliseconds)
                    run.bytes.append(Double(bytes))
                    run.beside += read(agent, for: .milliseconds(2))
                }
            }
        }
        run.memory = resident[1] - resident[0]
        guard run.beside.count > 100, run.without.count > 100 else { throw BenchError("it polled too little") }
        return run
    }

    /// Reads what a new reader gets before the first numbered line.
    private static func lines(of path: String) throws -> (kept: Int, bytes: Int, time: Duration) {
        let start = ContinuousClock.now
        let socket = try StreamSocket.connected(to: path)
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var splitter = LineSplitter()
        var (kept, bytes) = (0, 0)
        while true {
            var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 10_000) > 0 else { throw BenchError("a reader got nothing") }
            let count = Glibc.read(socket.number, &buffer, buffer.count)
            guard count > 0 else { throw BenchError("a reader was sent away") }
            splitter.push(buffer[..<count])
            while case .line(let line)? = splitter.next() {
                if line.starts(with: #"{"seq":"#.utf8) { return (kept, bytes, start.duration(to: .now)) }
                if line.starts(with: #"{"type":"kept","#.utf8) { kept += 1 }
                bytes += line.count + 1
            }
        }
    }

    /// Reads catwatch's lines for a while; returns how late its polls were, in milliseconds.
    @discardableResult
    private static func read(_ process: ChildProcess, for time: Duration) -> [Double] {
        var late: [Double] = []
        process.readLines(until: .now + time) { line in
            if case .latency(let sample) = line.body, line.source == "polled" { late.append(sample.late) }
            return false
        }
        return late
    }
}
