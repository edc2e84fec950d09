internal import CatAPI
internal import Feed
internal import Glibc
internal import Reactor

/// `ms` of polls while catwatch reads standard input at full speed: a busy event loop must not look like a slow server.
///
/// The server runs in this process, on its own event loop and thread, and reports how long it really took.
enum LatencyBesideStdin: Scenario {
    static let name = "latency-beside-stdin"
    static let summary = "ms of 500 polls beside standard input at full speed, against what the server took"
    static let defaultRuns = 3

    private static let requests = 500
    private static let patience = Duration.seconds(60)
    private static let line = #"{"city":"Delhi","aqi":412,"station":{"name":"S-7"},"note":"xxxxxxxxxxxxxxxxxxxx"}"#

    static func measure(_ setting: Setting) throws -> [Figure] {
        signal(SIGPIPE, SIG_IGN)  // the program's stdin is closed at the end
        var p50 = Figure(name: "ms over the server's, p50", unit: "ms", runs: [])
        var p99 = Figure(name: "ms over the server's, p99", unit: "ms", runs: [], limit: .atMost(1))
        var rate = Figure(name: "events meanwhile", unit: "million/s", runs: [])
        for run in 0..<setting.runs {
            let loop = try EventLoop()
            let thread = try LoopThread(name: "server")
            defer { thread.stop() }
            let server = try loop.run {
                try await loop.offload(to: thread.loop) {
                    try CatAPIServer(loop: thread.loop, faults: true, seed: UInt64(run))
                }
            }
            defer { try? loop.run { await server.stop() } }
            let url = "\(server.origin)/fault/delay/fact?delay=2"
            let (polls, events, time) = try setting.withFolder { try beside(url, setting, folder: $0) }
            let delay = try loop.run { await server.servedDelays }.map(\.milliseconds).median
            p50.runs.append(polls.p50 - delay)
            p99.runs.append(polls.p99 - delay)
            rate.runs.append(Double(events) / time.seconds / 1_000_000)
        }
        return [p99, p50, rate]
    }

    /// Polls while standard input is read; returns the summary of all polls, the number of events, and the time.
    private static func beside(
        _ url: String, _ setting: Setting, folder: String
    ) throws -> (polls: LatencySummary, events: Int, time: Duration) {
        let path = "\(folder)/feed.sock"
        let pipe = try Descriptor.pipe(nonblocking: false)
        let writer = try LoopThread(name: "writer")
        let start = ContinuousClock.now
        let catwatch = try ChildProcess(
            setting.binary, ["-", "--url", url, "--every", "10ms", "--output", "none", "--listen=\(path)"],
            folder: folder, input: pipe.read.number)
        defer {
            catwatch.end()
            writer.stop()
        }
        let number = try pipe.write.duplicate().release()
        _ = consume pipe  // only the program keeps the read end
        writer.loop.post {
            let block = Array(String(repeating: line + "\n", count: 700).utf8)
            // Writes whole blocks: a short write is the last one.
            while write(number, block, block.count) == block.count {}
            close(number)
        }
        while start.duration(to: .now) < patience {
            if let (hello, stats) = try? greeting(at: path), let polls = stats.endpoints.first?.summary,
                polls.count >= requests
            {
                return (polls, hello.nextSeq, start.duration(to: .now))
            }
            usleep(100_000)
        }
        throw catwatch.failure("did not make \(requests) polls")
    }

    /// Returns the `hello` and `stats` lines of a new reader.
    private static func greeting(at path: String) throws -> (Line.Hello, Line.Stats)? {
        let socket = try StreamSocket.connected(to: path)
        var splitter = LineSplitter()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var hello: Line.Hello?
        while true {
            var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 5_000) > 0 else { return nil }
            let count = recv(socket.number, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            splitter.push(buffer[..<count])
            while case .line(let bytes)? = splitter.next() {
                switch try LineDecoder.decode(bytes).body {
                case .hello(let body): hello = body
                case .stats(let stats): return hello.map { ($0, stats) }
                default: return nil
                }
            }
        }
    }
}
