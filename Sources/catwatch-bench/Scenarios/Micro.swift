internal import Feed
internal import Reactor

/// Single steps on the way from an answer to a line, for people who work on them; without limits.
enum Micro: Scenario {
    static let name = "micro"
    static let summary = "single steps: reading a fact, decoding a line, a histogram, timers, calls between actors"

    static func measure(_ setting: Setting) throws -> [Figure] {
        try [
            figure(setting, "read a fact: validate, minify, number, text", readFact),
            figure(setting, "decode the line of a fact", decodeLine),
            figure(setting, "record a latency in a histogram", recordLatency),
            figure(setting, "set and cancel a timer among 1,000", timers),
            figure(setting, "call an actor on the same loop", callHere),
            figure(setting, "call an actor on another loop, there and back", callThere),
        ]
    }

    private static func figure(_ setting: Setting, _ name: String, _ step: () throws -> Double) throws -> Figure {
        Figure(name: name, unit: "ns", runs: try (0..<setting.runs).map { _ in try step() })
    }

    /// The nanoseconds of one of `count` rounds.
    private static func nanoseconds(_ count: Int, _ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return Double(start.duration(to: .now).nanoseconds) / Double(count)
    }

    private static let fact =
        #"{"fact":"Cats sleep for about two thirds of the day, most of it lightly, with an ear that listens.","length":89}"#

    private static func readFact() throws -> Double {
        let selection = JSONSelection([], firsts: [.number, .string])
        let found = JSONSelection.Found()
        let body = Array(fact.utf8)[...]
        let count = 200_000
        var sum = 0
        let time = try nanoseconds(count) {
            for _ in 0..<count {
                _ = try JSONDocument(body, selection, found)
                sum += Int(found.firstNumber ?? 0) + (found.firstString?.count ?? 0)
            }
        }
        guard sum == count * 178 else { throw BenchError("the fact was not read: \(sum / count)") }
        return time
    }

    private static func decodeLine() throws -> Double {
        let text =
            #"{"seq":7,"time":"2026-01-02T03:04:05.678901Z","type":"fact","source":"fact","series":"fact","value":89,"#
            + #""text":"Cats sleep for about two thirds of the day, most of it lightly, with an ear that listens.","data":"#
            + fact + "}"
        let line = Array(text.utf8)[...]
        let count = 100_000
        var sum = 0
        let time = try nanoseconds(count) {
            for _ in 0..<count { sum += try LineDecoder.decode(line).seq ?? 0 }
        }
        guard sum == count * 7 else { throw BenchError("the line was not decoded") }
        return time
    }

    private static func recordLatency() throws -> Double {
        var histogram = LatencyHistogram()
        let count = 5_000_000
        let time = nanoseconds(count) {
            for index in 0..<count { histogram.record(Double(index & 1_023) * 0.37 + 1) }
        }
        guard histogram.count == count else { throw BenchError("latencies were not recorded") }
        return time
    }

    private static func timers() throws -> Double {
        let loop = try EventLoop()
        return try loop.run {
            let standing = (1...1_000).map { loop.schedule(after: .seconds(100 + $0)) {} }
            defer { for timer in standing { loop.cancel(timer) } }
            let count = 1_000_000
            return nanoseconds(count) {
                for index in 0..<count { loop.cancel(loop.schedule(after: .milliseconds(index & 127)) {}) }
            }
        }
    }

    private actor Counter {
        private let loop: EventLoop
        private var count = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(on loop: EventLoop) { self.loop = loop }

        func next() -> Int {
            count += 1
            return count
        }
    }

    private static func callHere() throws -> Double {
        let loop = try EventLoop()
        return try loop.run { try await calls(2_000_000, of: Counter(on: loop)) }
    }

    private static func callThere() throws -> Double {
        let loop = try EventLoop()
        let thread = try LoopThread(name: "there")
        defer { thread.stop() }
        return try loop.run { try await calls(20_000, of: Counter(on: thread.loop)) }
    }

    private static func calls(_ count: Int, of counter: Counter) async throws -> Double {
        let start = ContinuousClock.now
        var last = 0
        for _ in 0..<count { last = await counter.next() }
        guard last == count else { throw BenchError("the actor was not called") }
        return Double(start.duration(to: .now).nanoseconds) / Double(count)
    }
}
