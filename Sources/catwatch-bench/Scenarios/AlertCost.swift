internal import Conditions
internal import Feed
internal import Inputs
internal import Reactor

/// What alerts cost: processor time for each event through `EventStore`, against the same events without them in the same run; the
/// time and memory of many.
enum AlertCost: Scenario {
    static let name = "alerts"
    static let summary = "what conditions cost an event, a reload, and in memory"

    private static let batchSize = 256
    private static let batches = 8_000
    private static let many = 10_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        let lines: [(name: String, lines: [String], Figure.Limit?)] = [
            ("one threshold, value on one side", ["fact > 5000"], .atMost(100)),
            ("ten thresholds", (1...10).map { "\($0): fact > \($0)000" }, .atMost(1_000)),
            ("a threshold of another source", ["other > 5000"], .atMost(5)),
            ("one threshold, crossed by each hundredth event", ["fact >= 999"], nil),
        ]
        var runs = Array(repeating: [Double](), count: lines.count)
        for _ in 0..<setting.runs {
            for (index, each) in lines.enumerated() {
                let without = try nanoseconds(under: [])
                runs[index].append(try nanoseconds(under: each.lines) - without)
            }
        }
        let costs = zip(lines, runs).map { each, runs in
            Figure(name: each.name, unit: "ns an event", runs: runs, limit: each.2)
        }
        let (reload, bytes) = try manyConditions(setting.runs)
        return costs + [
            Figure(name: "reload of \(many) conditions", unit: "ms", runs: reload, limit: .atMost(200)),
            Figure(name: "memory of a condition for a series", unit: "B", runs: bytes, limit: .atMost(512)),
        ]
    }

    private static func rules(_ lines: [String]) throws -> [AlertRule] {
        try lines.map { line in
            let condition = try Condition(line)
            return AlertRule(name: condition.name, conditions: [condition])
        }
    }

    private static func nanoseconds(under lines: [String]) throws -> Double {
        let loop = try EventLoop()
        let milliseconds = try loop.run {
            let wall = SystemWallClock()
            let identity = AgentIdentity(run: "bench", version: "0", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity)
            let source = await store.register(SourceDescription(name: "fact"))
            _ = await store.register(SourceDescription(name: "other"))
            if !lines.isEmpty {
                let engine = AlertEngine(
                    try rules(lines), run: "bench", window: .seconds(10), at: await store.moment)
                await store.setObserver(engine)
            }
            let start = ThreadTime.now
            var batch = EventBatch()
            var number = 0
            for _ in 0..<batches {
                let now = wall.now
                batch.removeAll()
                for _ in 0..<batchSize {
                    number += 1
                    batch.add(time: now, source: source, value: number % 100 == 0 ? 999 : Double(number % 500))
                }
                await store.publish(batch)
            }
            return ThreadTime.now - start
        }
        return milliseconds * 1e6 / Double(batches * batchSize)
    }

    /// The milliseconds of a reload that changes one of many conditions, and the bytes of one of them.
    private static func manyConditions(_ runs: Int) throws -> (milliseconds: [Double], bytes: [Double]) {
        var (times, bytes): ([Double], [Double]) = ([], [])
        let old = try rules((0..<many).map { "c\($0): rooms/k\($0) > 5" })
        let new = try rules((0..<many).map { "c\($0): rooms/k\($0) > \($0 == 7 ? 6 : 5)" })
        let moment = Moment(wall: Timestamp(seconds: 1_780_000_000), now: LoopInstant(nanoseconds: 1_000_000_000))
        let lines = try (0..<many).map { number in
            try LineDecoder.decode(
                Array(
                    #"{"seq":\#(number + 1),"time":"2026-05-28T20:26:40.000000Z","type":"rooms","source":"rooms","series":"rooms/k\#(number)","value":3}"#
                        .utf8)[...])
        }
        for _ in 0..<runs {
            let before = ProcessSampler.memory()?.privateBytes ?? 0
            var one = AlertEngine(try rules(["rooms > 5"]), run: "bench", window: .seconds(10), at: moment)
            for line in lines { one.apply(line, at: moment) }
            let after = ProcessSampler.memory()?.privateBytes ?? 0
            // Later books get memory that earlier ones gave back.
            if bytes.isEmpty { bytes.append(Double(after - before) / Double(many)) }
            var engine = AlertEngine(old, run: "bench", window: .seconds(10), at: moment)
            for line in lines { engine.apply(line, at: moment) }
            let start = ThreadTime.now
            var next = AlertEngine(new, run: "bench", window: .seconds(10), at: moment)
            next.replace(engine, at: moment)
            times.append(ThreadTime.now - start)
        }
        return (times, bytes)
    }
}
