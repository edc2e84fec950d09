internal import Reactor

/// The same lines to the same number of readers at the same pace, by redis-server's PUBLISH and by catwatch's socket:
/// the lines that each delivers in a second of its processor time.
enum RedisComparison: Scenario {
    static let name = "fan-out-redis"
    static let summary = "lines a CPU second to 1,000 readers, compared with redis-server's PUBLISH, 16 at a time"
    static let defaultRuns = 3

    private static let readers = 1_000
    private static let batch = 16
    /// The number of lines, in whole batches.
    private static let count = 400 * batch

    /// The pace of the publishers.
    private enum Pace: CaseIterable {
        /// redis-server: one pipeline after the other, as fast as it answers; catwatch: at the pace that this reached.
        case flatOut
        /// Both at a thousand lines a second, which leaves catwatch hardly anything to combine into one write.
        case steady

        var words: String { self == .flatOut ? "as fast as redis-server can" : "1,000 lines/s" }
    }

    static func measure(_ setting: Setting) throws -> [Figure] {
        guard Redis.isInstalled else { return [.noPeer("ratio to redis-server")] }
        DescriptorLimit.raise(for: readers)
        return try Pace.allCases.flatMap { try measure($0, setting) }
    }

    private static func measure(_ pace: Pace, _ setting: Setting) throws -> [Figure] {
        var ours = Figure(name: "catwatch, \(pace.words)", unit: "million lines/CPU s", runs: [])
        var theirs = Figure(name: "redis-server, \(pace.words)", unit: "million lines/CPU s", runs: [])
        var ratio = Figure(name: "ratio, \(pace.words)", unit: "", runs: [], limit: .atLeast(1.5))
        var rate = Figure(name: "pace", unit: "lines/s", runs: [])
        var length = FeedProgram.lineLength
        for _ in 0..<setting.runs {
            let (other, reached) = try setting.withFolder { try redis(pace, bytesOfLine: length, folder: $0) }
            let own = try setting.withFolder { folder in
                let (lines, bytes) = try catwatch(setting, rate: reached, folder: folder)
                length = bytes
                return lines
            }
            ours.runs.append(own / 1_000_000)
            theirs.runs.append(other / 1_000_000)
            ratio.runs.append(own / other)
            rate.runs.append(Double(reached))
        }
        return [ratio, ours, theirs, rate]
    }

    /// Returns the lines per CPU second, including the making of the lines, and their mean length in bytes.
    private static func catwatch(_ setting: Setting, rate: Int, folder: String) throws -> (Double, Int) {
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

    /// Returns the lines per CPU second of redis-server, and the lines per second; connecting counts on both sides.
    private static func redis(_ pace: Pace, bytesOfLine: Int, folder: String) throws -> (Double, rate: Int) {
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
        let (duration, rate) = try loop.run {
            let clients = try RedisClients(path, on: loop)
            for number in 1...readers {
                try clients.subscribe(to: "feed", path)
                guard number % 100 == 0 else { continue }  // fewer than the accept queue holds
                while clients.received < number * answer { try await loop.sleep(for: .milliseconds(5)) }
            }
            let start = loop.clock.now
            var published = 0
            while published < count {
                try clients.publish(pipeline)
                published += batch
                switch pace {
                case .flatOut: try await clients.waitForAnswers(published)
                case .steady:
                    try await loop.sleep(until: start.advanced(by: .milliseconds(published)))
                }
            }
            let rate = Double(count) / start.duration(to: loop.clock.now).seconds
            let deadline = loop.clock.now.advanced(by: .seconds(20))
            while clients.received < readers * (answer + count * frame) {
                guard loop.clock.now < deadline else { throw BenchError("subscribers lost messages") }
                try await loop.sleep(for: .milliseconds(5))
            }
            return (try shared.value.processorTime - begin, Int(rate))
        }
        return (Double(readers * count) / duration.seconds, rate)
    }
}
