import Feed
import Inputs
import Outputs
import Reactor
import TestSupport
import Testing

/// A Fibonacci source from its schedule to the lines at the other end of the output, in virtual time. The computing
/// itself is done by a real thread, which virtual time waits for.
struct FibonacciFeed: Sendable {
    var lines: [Line] = []
    /// When the input started, by the wall clock.
    var start = SimulatedFeed.wallStart

    static func source(
        _ n: Int, every: Duration? = nil, emission: FibonacciSource.Emission = .summary
    ) -> FibonacciSource {
        var source = FibonacciSource(SourceDescription(name: "fib", type: "fibonacci", unit: "ms"), n: n, every: every)
        source.emission = emission
        return source
    }

    /// Runs the source beside `script`, which is given the input, the store and the polls, until that returns; reads all lines.
    static func run(
        _ source: FibonacciSource,
        script: @escaping @Sendable (EventLoop, FibonacciInput, EventStore, PollRequests) async throws -> Void
    ) async throws -> FibonacciFeed {
        let worker = try LoopThread(name: "numbers")
        defer { worker.stop() }
        return try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let polls = PollRequests(on: loop)
            let input = FibonacciInput(source, store: store, polls: polls, on: loop, worker: worker.loop, wall: wall)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let sink = LineSink(on: loop)
            let failure = await withTaskGroup(of: (any Error)?.self) { group in
                group.addTask {
                    _ = try? await output.run { _ in sink.open() }
                    return nil
                }
                group.addTask {
                    await sink.run()
                    return nil
                }
                let failure = await withTaskGroup(of: Void.self) { inputs in
                    inputs.addTask { try? await store.run() }
                    inputs.addTask { try? await input.run() }
                    var failure: (any Error)?
                    do { try await script(loop, input, store, polls) } catch { failure = error }
                    inputs.cancelAll()
                    return failure
                }
                await store.finish("test")
                for await _ in group {}
                return failure
            }
            if let failure { throw failure }
            #expect(loop.timerCount == 0)
            var feed = FibonacciFeed()
            feed.lines = try sink.texts.map { try LineDecoder.decode(Array($0.utf8)[...]) }
            return feed
        }
    }

    var data: [(line: Line, data: Line.Data)] {
        lines.compactMap { line in if case .data(let data) = line.body { (line, data) } else { nil } }
    }

    /// The runs' summaries: up to which number they went, and when they were over, from the start.
    var runs: [(n: Int, time: Duration)] {
        data.compactMap { line, data in
            guard let value = data.value else { return nil }
            let json = Self.json(data)
            let number = json.dropFirst(#"{"n":"#.count).prefix { $0.isNumber }
            guard let n = Int(number), json == #"{"n":\#(n),"ms":\#(value)}"#, value >= 0, data.series == "fib",
                line.type == "fibonacci", let text = data.text, text.hasPrefix("F(0)…F(\(n)) in "),
                text.hasSuffix(" ms")
            else {
                Issue.record("no summary: \(json), \(value), \(data.text ?? "no text")")
                return nil
            }
            return (n, line.time - start)
        }
    }

    /// The items of the numbers, each as it came.
    var pairs: [String] {
        data.filter { $0.data.value == nil }.map { "\($0.data.series) \($0.data.text ?? "") \(Self.json($0.data))" }
    }

    private static func json(_ data: Line.Data) -> String { String(decoding: data.data ?? [], as: UTF8.self) }

    /// What `pairs` must be for one run.
    static func expectedPairs(through last: Int) -> [String] {
        var numbers = FibonacciNumbers(through: last)
        return (0...last).map { n in
            defer { if n < last { numbers.advance() } }
            let f = FibonacciNumbersTests.decimals(numbers)
            return #"fib/\#(n) \#(f) {"n":\#(n),"f":"\#(f)"}"#
        }
    }
}
