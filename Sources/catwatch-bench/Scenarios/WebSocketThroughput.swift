internal import Feed
internal import Glibc
internal import Reactor

/// From writing a message in a server's process to reading its line from the agent, at 50,000 messages a second.
enum WebSocketThroughput: Scenario {
    static let name = "websocket-throughput"
    static let summary = "50,000 messages a second of one city each through a WebSocket: lost, processor time, delay"
    static let defaultRuns = 3

    private static let rate = 50_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        var lost = Figure(name: "messages lost or repeated", unit: "", runs: [], statistic: .most, limit: .atMost(0))
        var cores = Figure(name: "agent's processor time", unit: "cores", runs: [], limit: .atMost(1))
        var p50 = Figure(name: "message to line, p50", unit: "ms", runs: [])
        var p99 = Figure(name: "message to line, p99", unit: "ms", runs: [], limit: .atMost(20))
        var memory = Figure(name: "agent's memory, most", unit: "MiB", runs: [])
        for _ in 0..<setting.runs {
            let run = try setting.withFolder { try measure(setting, folder: $0) }
            lost.runs.append(run.lost)
            cores.runs.append(run.cores)
            p50.runs.append(run.delays.percentile(50))
            p99.runs.append(run.delays.percentile(99))
            memory.runs.append(run.memory / 1_048_576)
        }
        return [lost, cores, p99, p50, memory]
    }

    private static func measure(
        _ setting: Setting, folder: String
    ) throws -> (lost: Double, cores: Double, delays: [Double], memory: Double) {
        let seconds = setting.isLong ? 60 : 8
        let order = MessageServer.Order(rate: rate, count: rate * seconds)
        let server = try ChildProcess("/proc/self/exe", order.arguments, folder: folder)
        defer { server.end() }
        var port = ""
        server.read(until: .now + .seconds(5)) { bytes in
            port += String(decoding: bytes, as: UTF8.self)
            return port.hasSuffix("\n")
        }
        guard port.hasSuffix("\n") else { throw server.ended }
        let url = "ws://127.0.0.1:\(port.dropLast())/"
        let arguments = ["--url", url, "--key", "/city", "--value", "/aqi", "--output", "ndjson"]
        let agent = try ChildProcess(setting.binary, arguments, folder: folder)
        defer { agent.end() }

        var reader = LineNumbers(count: order.count)
        let before = try agent.processorTime
        let start = ContinuousClock.now
        let end = agent.read(until: .now + .seconds(seconds * 3 + 10)) { bytes in
            reader.read(bytes, at: MessageServer.now)
            return reader.isComplete
        }
        guard end == .enough else {
            throw BenchError("only \(reader.seen) of \(order.count) messages came through")
        }
        let time = try agent.processorTime - before
        let cores = time / start.duration(to: .now)
        return (Double(reader.wrong), cores, reader.delays, try agent.memory("VmHWM"))
    }
}

/// Finds the messages' numbers and times in lines by a simple search, which does not slow down the measurement.
private struct LineNumbers {
    private(set) var seen = 0
    private(set) var wrong = 0
    /// In milliseconds.
    private(set) var delays: [Double] = []
    private let count: Int
    private var next = 0
    private var rest: [UInt8] = []

    init(count: Int) {
        self.count = count
        delays.reserveCapacity(count)
    }

    var isComplete: Bool { next >= count }

    mutating func read(_ bytes: Bytes, at now: Int) {
        rest.append(contentsOf: bytes)
        var used = 0
        rest.withUnsafeBytes { all in
            guard let base = all.baseAddress else { return }
            while used < all.count, let newline = memchr(base + used, 0x0A, all.count - used) {
                // In bounds: memchr found it there.
                let end = UnsafeRawPointer(newline) - base
                read(line: UnsafeRawBufferPointer(rebasing: all[used..<end]), at: now)
                used = end + 1
            }
        }
        rest.removeFirst(used)
    }

    /// A message's line ends in `"sent":123,"n":4}}`; read from the end, no other digits come first.
    private mutating func read(line: UnsafeRawBufferPointer, at now: Int) {
        // Skips the greeting and the lines of windows.
        guard line.starts(with: "{\"seq\"".utf8), line.suffix(2).elementsEqual("}}".utf8) else { return }
        var end = line.count - 2
        let number = Self.integer(in: line, upTo: &end)
        guard end > 5 else { return }
        end -= ",\"n\":".utf8.count
        let time = Self.integer(in: line, upTo: &end)
        seen += 1
        wrong += abs(number - next)
        next = number + 1
        delays.append(Double(now - time) / 1_000)
    }

    /// The number whose digits end before `end`; moves `end` to its first digit.
    private static func integer(in line: UnsafeRawBufferPointer, upTo end: inout Int) -> Int {
        var value = 0
        var scale = 1
        while end > 0, case let digit = Int(line[end - 1]) - 0x30, (0...9).contains(digit) {
            value &+= digit &* scale
            scale &*= 10
            end -= 1
        }
        return value
    }
}
