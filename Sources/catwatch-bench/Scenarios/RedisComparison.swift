internal import Reactor

/// The same lines to the same number of readers, by redis-server's PUBLISH and by catwatch's socket, at the same pace: how
/// many lines each delivers in a second of its processor time.
enum RedisComparison: Scenario {
    static let name = "fan-out-redis"
    static let summary = "lines a CPU second to 1,000 readers, compared with redis-server's PUBLISH, 16 at a time"
    static let defaultRuns = 3

    private static let readers = 1_000
    private static let rate = 1_000
    private static let batch = 16
    /// About five seconds of lines, in whole batches.
    private static let count = 313 * batch

    static func measure(_ setting: Setting) throws -> [Figure] {
        guard Redis.isInstalled else { return [.noPeer("ratio to redis-server")] }
        DescriptorLimit.raise(for: readers)
        var ours = Figure(name: "catwatch", unit: "million lines/CPU s", runs: [])
        var theirs = Figure(name: "redis-server", unit: "million lines/CPU s", runs: [])
        var ratio = Figure(name: "ratio to redis-server", unit: "", runs: [], limit: .atLeast(1.5))
        for _ in 0..<setting.runs {
            let (own, bytes) = try setting.withFolder { try catwatch(setting, folder: $0) }
            let other = try setting.withFolder { try redis(bytesOfLine: bytes, folder: $0) }
            ours.runs.append(own / 1_000_000)
            theirs.runs.append(other / 1_000_000)
            ratio.runs.append(own / other)
        }
        return [ratio, ours, theirs]
    }

    /// Lines a CPU second, its making of the lines included, and how long they are on average.
    private static func catwatch(_ setting: Setting, folder: String) throws -> (Double, Int) {
        let path = "\(folder)/feed.sock"
        var options = FeedOptions()
        options.listen = path
        options.rate = rate
        options.batch = batch
        options.count = count
        options.readers = readers
        let feed = try setting.startFeed(options, folder: folder)
        defer { feed.end() }
        let begin = try feed.processorTime
        let loop = try EventLoop()
        let (lines, bytes) = try loop.run {
            let readers = SocketReaders(on: loop)
            for _ in 0..<Self.readers { try readers.connect(to: path, first: 1) }
            try await readers.waitForEnd(until: loop.clock.now.advanced(by: .seconds(30)))
            guard readers.lost == 0, readers.tally.lines >= count * Self.readers else {
                throw BenchError("readers lost lines")
            }
            return (readers.tally.lines, readers.reference.meanLength)
        }
        return (Double(lines) / (try feed.processorTime - begin).seconds, bytes)
    }

    /// The same of redis-server; its subscribers' connecting counts, as the readers' does.
    private static func redis(bytesOfLine: Int, folder: String) throws -> Double {
        let path = "\(folder)/redis.sock"
        let server = try Redis.start(on: path, folder: folder)
        defer { server.end() }
        let shared = LoopBound(server)
        let begin = try server.processorTime
        let message = String(repeating: "x", count: bytesOfLine)
        let command = "*3\r\n$7\r\nPUBLISH\r\n$4\r\nfeed\r\n$\(bytesOfLine)\r\n\(message)\r\n"
        let answer = "*3\r\n$9\r\nsubscribe\r\n$4\r\nfeed\r\n:1\r\n".utf8.count
        let frame = "*3\r\n$7\r\nmessage\r\n$4\r\nfeed\r\n$\(bytesOfLine)\r\n\(message)\r\n".utf8.count
        let pipeline = Array(String(repeating: command, count: batch).utf8)
        let loop = try EventLoop()
        let duration = try loop.run {
            let clients = try RedisClients(path, on: loop)
            for number in 1...readers {
                try clients.subscribe(to: "feed", path)
                guard number % 100 == 0 else { continue }  // fewer than wait to be accepted
                while clients.received < number * answer { try await loop.sleep(for: .milliseconds(5)) }
            }
            let start = loop.clock.now
            var published = 0
            while published < count {
                try clients.publish(pipeline)
                published += batch
                try await loop.sleep(until: start.advanced(by: .nanoseconds(published * 1_000_000_000 / rate)))
            }
            let deadline = loop.clock.now.advanced(by: .seconds(20))
            while clients.received < readers * (answer + count * frame) {
                guard loop.clock.now < deadline else { throw BenchError("subscribers lost messages") }
                try await loop.sleep(for: .milliseconds(5))
            }
            return try shared.value.processorTime - begin
        }
        return Double(readers * count) / duration.seconds
    }
}
