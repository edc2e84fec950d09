internal import Glibc
internal import Reactor

/// Readers that connect, read the greeting and leave, fifty at a time: the resources that each leaves behind.
enum ReaderChurn: Scenario {
    static let name = "churn"
    static let summary = "10,000 readers of a Unix socket come and go, 50 at a time; 100,000 with --long"
    static let defaultRuns = 1

    private static let atOnce = 50

    static func measure(_ setting: Setting) throws -> [Figure] {
        let count = setting.isLong ? 100_000 : 10_000
        var descriptors = Figure(
            name: "growth of descriptors", unit: "", runs: [], statistic: .most, limit: .atMost(0))
        // Malloc's arenas settle within some pages; a leak of 16 bytes per reader would exceed this with --long.
        var memory = Figure(name: "growth of RSS", unit: "KiB", runs: [], statistic: .most, limit: .atMost(256))
        var rate = Figure(name: "readers", unit: "1/s", runs: [])
        for _ in 0..<setting.runs {
            try setting.withFolder { folder in
                let path = "\(folder)/feed.sock"
                let catwatch = try ChildProcess(
                    setting.binary, ["--demo", "--listen=\(path)", "--output", "none"], folder: folder)
                defer { catwatch.end() }
                try waitForSocket(path)
                try churn(count / 5, at: path)  // warms up pools and arenas
                let before = (Self.descriptors(of: catwatch.pid), try catwatch.memory("VmRSS"))
                let start = ContinuousClock.now
                try churn(count, at: path)
                rate.runs.append(Double(count) / start.duration(to: .now).seconds)
                descriptors.runs.append(Double(Self.descriptors(of: catwatch.pid) - before.0))
                memory.runs.append((try catwatch.memory("VmRSS") - before.1) / 1_024)
            }
        }
        return [descriptors, memory, rate]
    }

    private static func waitForSocket(_ path: String) throws {
        for _ in 0..<500 {
            if (try? StreamSocket.connected(to: path)) != nil { return }
            usleep(10_000)
        }
        throw BenchError("catwatch does not listen")
    }

    /// Lets `count` readers connect, read to the end of `stats`, and leave.
    private static func churn(_ count: Int, at path: String) throws {
        var begun = 0
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while begun < count {
            var numbers: [Int32] = []
            defer { for number in numbers { close(number) } }
            for _ in 0..<min(atOnce, count - begun) { numbers.append(try StreamSocket.connected(to: path).release()) }
            begun += numbers.count
            for number in numbers {
                var newlines = 0
                while newlines < 2 {
                    var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                    guard poll(&entry, 1, 5_000) > 0 else { throw BenchError("a reader got no greeting") }
                    let read = recv(number, &buffer, buffer.count, 0)
                    guard read > 0 else { throw BenchError("a reader was turned away") }
                    newlines += buffer[..<read].count { $0 == 0x0A }
                }
            }
        }
        usleep(200_000)  // until the last ones are noticed
    }

    private static func descriptors(of process: pid_t) -> Int {
        guard let folder = opendir("/proc/\(process)/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }
}
