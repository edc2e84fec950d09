import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// When a source runs, what it publishes, and what it waits for.
@Suite(.limited) struct FibonacciInputTests {
    @Test func runsAtOnceAndThenOnEveryTick() async throws {
        let feed = try await FibonacciFeed.run(FibonacciFeed.source(90, every: .seconds(2))) { loop, _, _, _ in
            try await loop.sleep(for: .seconds(60))
        }
        let times = feed.runs.map(\.time)
        #expect(times.first == .zero && feed.runs.allSatisfy { $0.n == 90 } && feed.pairs.isEmpty)
        let gaps = zip(times.dropFirst(2), times.dropFirst(3)).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 == .seconds(2) } && gaps.count >= 27)
        #expect(times[1] >= .seconds(1) && times[1] <= .seconds(2))
    }

    @Test(arguments: [0, 1, 1_500]) func publishesEveryNumberAsAnItemAndThenTheTime(n: Int) async throws {
        let source = FibonacciFeed.source(n, emission: .pairs)
        let feed = try await FibonacciFeed.run(source) { loop, _, _, _ in try await loop.sleep(for: .seconds(1)) }
        #expect(feed.pairs == FibonacciFeed.expectedPairs(through: n))
        #expect(feed.runs.map(\.n) == [n] && feed.data.last?.data.value != nil)
    }

    @Test func withoutAPeriodRunsOnceAndThenOnRequest() async throws {
        let feed = try await FibonacciFeed.run(FibonacciFeed.source(50)) { loop, input, store, polls in
            try await loop.sleep(for: .seconds(3_600))
            #expect(await polls.isOnTime, "nothing is expected of a source that waits to be asked")
            #expect(await store.counts.data == 1)
            #expect(await polls.requestPoll(of: "fib") == nil)
            try await loop.sleep(for: .seconds(100))
            #expect(input.requestRun(n: 500))
            try await loop.sleep(for: .seconds(100))
            #expect(await polls.isOnTime)
        }
        #expect(feed.runs.map(\.n) == [50, 50, 500])
        #expect(feed.runs.map(\.time) == [.zero, .seconds(3_600), .seconds(3_700)])
        // Who names a number wants to see the numbers.
        #expect(feed.pairs == FibonacciFeed.expectedPairs(through: 500))
    }

    @Test func whatIsAskedForAtOnceIsRunOnceEachASecondApart() async throws {
        let feed = try await FibonacciFeed.run(FibonacciFeed.source(50)) { loop, input, _, _ in
            try await loop.sleep(for: .seconds(10))
            for n in [7, 8, 7, 50, 8] { #expect(input.requestRun(n: n)) }
            #expect(input.requestRun())
            for n in [-1, 100_001] { #expect(!input.requestRun(n: n)) }
            for n in 100..<113 { #expect(input.requestRun(n: n)) }
            for n in 200..<300 { #expect(!input.requestRun(n: n)) }
            try await loop.sleep(for: .seconds(100))
        }
        #expect(feed.runs.map(\.n) == [50, 7, 8, 50] + Array(100..<113))
        let times = feed.runs.dropFirst().map(\.time)
        #expect(times.first == .seconds(10) && zip(times, times.dropFirst()).allSatisfy { $1 - $0 == .seconds(1) })
    }

    @Test func requestsLeaveTheScheduleAsItIs() async throws {
        let quiet = try await FibonacciFeed.run(FibonacciFeed.source(20, every: .seconds(10))) { loop, _, _, _ in
            try await loop.sleep(for: .seconds(95))
        }
        let busy = try await FibonacciFeed.run(FibonacciFeed.source(20, every: .seconds(10))) { loop, input, _, _ in
            for second in 0..<95 {
                input.requestRun(n: 100 + second)
                try await loop.sleep(for: .seconds(1))
            }
        }
        #expect(busy.runs.filter { $0.n == 20 }.map(\.time) == quiet.runs.map(\.time))
        #expect(busy.runs.count { $0.n >= 100 } >= 80)
    }

    @Test func numbersWaitForAnOutputThatStandsStill() async throws {
        let worker = try LoopThread(name: "numbers")
        defer { worker.stop() }
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            var limits = FeedState.Limits()
            limits.logCapacity = 1 << 20
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity, limits: limits)
            let polls = PollRequests(on: loop)
            let source = FibonacciFeed.source(4_000, emission: .pairs)
            let input = FibonacciInput(source, store: store, polls: polls, on: loop, worker: worker.loop, wall: wall)
            let (reader, _) = await store.open("stdout", holdsInputs: true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await input.run() }
                try await loop.sleep(for: .seconds(10))
                let held = await store.counts.data
                #expect(held > 1_000 && held < 3_500)
                try await loop.sleep(for: .seconds(3_600))
                #expect(await store.counts.data == held)
                #expect(await polls.isOnTime, "that nobody reads is not the source's fault")
                // All numbers and the summary, without a hole.
                var next = 1
                while next <= 4_002 {
                    guard case .lines(let span) = try await store.next(for: reader) else {
                        Issue.record("lines are missing from number \(next) on")
                        break
                    }
                    #expect(span.sequences.lowerBound == next)
                    next = span.sequences.upperBound + 1
                }
                #expect(await store.counts.data == 4_002)
                group.cancelAll()
            }
        }
    }

    @Test func endsInTheMiddleOfARunWhenCancelled() async throws {
        let worker = try LoopThread(name: "numbers")
        defer { worker.stop() }
        for emission in FibonacciSource.Emission.allCases {
            // By a real clock: virtual time stands still while there is work. The whole run is a gigabyte of decimals.
            let events = try await withLoop { loop in
                let store = EventStore(on: loop, wall: SystemWallClock(), identity: SimulatedFeed.identity)
                let source = FibonacciFeed.source(PollRequest.mostN, emission: emission)
                let input = FibonacciInput(
                    source, store: store, polls: PollRequests(on: loop), on: loop, worker: worker.loop,
                    wall: SystemWallClock())
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) { try await input.run() }
                    }
                    try? await loop.sleep(for: .milliseconds(20))
                    group.cancelAll()
                }
                #expect(loop.timerCount == 0)
                return await store.counts.data
            }
            #expect(events < PollRequest.mostN)
        }
    }

    /// In a process of its own, as memory is the process's.
    @Test(.disabled(if: ThreadSanitizer.isOn)) func memoryStaysAtASliceHoweverMuchThereIs() async {
        await #expect(processExitsWith: .success) {
            let last = LongRun.rounds(short: 4_000, long: PollRequest.mostN)
            let worker = try LoopThread(name: "numbers")
            defer { worker.stop() }
            try await withLoop { loop in
                var limits = FeedState.Limits()
                (limits.logCapacity, limits.keptCapacity, limits.series) = (1 << 20, 1 << 18, 100)
                let store = EventStore(
                    on: loop, wall: SystemWallClock(), identity: SimulatedFeed.identity, limits: limits)
                let source = FibonacciFeed.source(last, emission: .pairs)
                let input = FibonacciInput(
                    source, store: store, polls: PollRequests(on: loop), on: loop, worker: worker.loop,
                    wall: SystemWallClock())
                let (reader, _) = await store.open("stdout", holdsInputs: true)
                let before = try #require(ProcessSampler.memory()).peak
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try? await input.run() }
                    var lines = 0
                    var bytes = 0
                    while lines < last + 2 {
                        guard case .lines(let span) = try await store.next(for: reader) else { break }
                        lines += span.sequences.count
                        bytes += span.count
                    }
                    group.cancelAll()
                    // A decimal digit is a byte, and on the average a number has half the digits of the last one.
                    // One line says that not all pairs are kept for later readers.
                    #expect(lines >= last + 2 && bytes > last * FibonacciNumbers.digits(of: last) / 2)
                }
                let grown = try #require(ProcessSampler.memory()).peak - before
                #expect(grown < 6 << 20, "\(grown) bytes")
            }
        }
    }
}
