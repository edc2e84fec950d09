import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// The schedule of a poller that runs through the store into an output, in virtual time.
@Suite(.limited) struct HTTPPollerTests {
    typealias Reply = ScriptedTransport.Reply

    @Test func pollsAtOnceAndThenOnEveryTick() async throws {
        let source = try SimulatedFeed.source(every: .seconds(2), value: "/length", text: "/fact")
        let feed = try await SimulatedFeed.run(source, for: .seconds(60)) { number, _ in
            .answer(200, #"{"fact":"Fact \#(number).","length":\#(number)}"#, after: .milliseconds(30))
        }
        feed.expectWellFormed()
        #expect(feed.begun.first == .zero)
        let gaps = zip(feed.begun.dropFirst(2), feed.begun.dropFirst(3)).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 == .seconds(2) } && gaps.count >= 27)
        for place in 0...1 {
            #expect((.seconds(1) ... .seconds(2)).contains(feed.begun[place + 1] - feed.begun[place]))
        }
        #expect(feed.data.map(\.value) == (0..<feed.calls.count).map { Double($0) })
        #expect(feed.data.map(\.text) == (0..<feed.calls.count).map { "Fact \($0)." })
        #expect(feed.latencies.allSatisfy { $0.status == 200 && $0.ms == 30 && $0.late == 0 })
        #expect(feed.latencies.allSatisfy { $0.endpoint == "GET http://cats.test/fact" })
        #expect(feed.latencies.count == feed.calls.count && feed.errors.isEmpty)
        #expect(feed.windows.contains { $0.series == "fact" && $0.count == 5 })
    }

    @Test func aDayOfPollsDriftsByNothing() async throws {
        let seconds = LongRun.rounds(short: 900, long: 86_400)
        let feed = try await SimulatedFeed.run(
            try SimulatedFeed.source(), for: .seconds(seconds), decodes: LongRun.isOn
        ) { number, _ in
            .answer(after: .milliseconds(1 + number % 700))
        }
        // The first one at once, then one a second; the first two gaps are from half a period to a whole one.
        let polls = feed.begun
        #expect((seconds...seconds + 2).contains(polls.count))
        for index in 2..<polls.count - 1 where polls[index + 1] - polls[index] != .seconds(1) {
            Issue.record("poll \(index + 1) came \(polls[index + 1] - polls[index]) after the one before")
        }
        #expect(polls[polls.count - 1] - polls[2] == .seconds(polls.count - 3))
        #expect(feed.mostUnderWay == 1)
        #expect(feed.texts.count > 2 * polls.count)
        if LongRun.isOn { feed.expectWellFormed() }
    }

    @Test func aSlowServerHasOneRequestAtATimeAndSkippedTicks() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(100)) { _, _ in
            .answer(after: .milliseconds(3_300))
        }
        feed.expectWellFormed()
        #expect(feed.mostUnderWay == 1)
        let gaps = zip(feed.begun.dropFirst(), feed.begun.dropFirst(2)).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 == .seconds(4) })
        #expect(feed.latencies.allSatisfy { $0.ms == 3_300 && $0.late == 0 })
        // The one that was under way at the end was cancelled and left nothing behind.
        let complete = feed.calls.filter { $0.began.advanced(by: .milliseconds(3_300)) == $0.ended }.count
        #expect(feed.latencies.count == complete && feed.data.count == complete && complete >= 24)
    }

    @Test func oneStallSkipsItsTicksAndNothingIsMadeUpFor() async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(30)) { number, _ in
            .answer(after: number == 5 ? .milliseconds(7_500) : .milliseconds(5))
        }
        let gaps = zip(feed.begun.dropFirst(2), feed.begun.dropFirst(3)).map { $1 - $0 }
        #expect(gaps.filter { $0 != .seconds(1) } == [.seconds(8)])
        #expect(gaps.firstIndex(of: .seconds(8)) == 3)
    }

    @Test func manySourcesOfOnePeriodAreSpreadOverIt() async throws {
        let begun = try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(after: .milliseconds(1)) }
            let start = loop.clock.now
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    let source = HTTPSource(
                        SourceDescription(name: "source-\(number)", type: "fact"),
                        request: HTTPRequest(url: "http://cats.test/\(number)"), every: .seconds(10))
                    let poller = HTTPPoller(
                        source, store: store, polls: PollRequests(on: loop), transport: transport, on: loop, wall: wall)
                    group.addTask { try? await poller.run() }
                }
                try? await loop.sleep(for: .seconds(60))
                group.cancelAll()
            }
            return await transport.calls.map { start.duration(to: $0.began) }
        }
        let later = begun.filter { $0 >= .seconds(30) && $0 < .seconds(40) }
        #expect(later.count == 200)
        #expect(Set(later.map { $0 / .seconds(1) }.map { Int($0) }).count == 10)
    }

    @Test func latenessIsWhatTheLoopKeptItWaiting() async throws {
        // In virtual time nothing is ever late; a loop that another task keeps busy is, by the real clock.
        let late = try await withLoop { loop in
            let store = EventStore(on: loop, wall: SystemWallClock(), identity: SimulatedFeed.identity)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer() }
            let poller = HTTPPoller(
                try SimulatedFeed.source(every: .milliseconds(40)), store: store, polls: PollRequests(on: loop),
                transport: transport, on: loop,
                wall: SystemWallClock())
            let (reader, _) = await store.open(nil)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await poller.run() }
                group.addTask {
                    while true {
                        try await loop.sleep(for: .milliseconds(1))
                        let busyUntil = loop.clock.now.advanced(by: .milliseconds(30))
                        while loop.clock.now < busyUntil {}
                    }
                }
                defer { group.cancelAll() }
                var late = 0.0
                for _ in 0..<20 {
                    guard case .lines(let span) = try await store.next(for: reader) else { continue }
                    var splitter = LineSplitter()
                    splitter.push(span.withUnsafeBytes { Array($0) }[...])
                    while case .line(let line) = splitter.next() {
                        if case .latency(let sample) = try LineDecoder.decode(line).body {
                            late = max(late, sample.late)
                        }
                    }
                }
                return late
            }
        }
        #expect(late > 0.5)
    }

    @Test func endsAtOnceWhenCancelledWhileARequestIsUnderWay() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(after: .seconds(9)) }
            let poller = HTTPPoller(
                try SimulatedFeed.source(), store: store, polls: PollRequests(on: loop), transport: transport, on: loop,
                wall: wall)
            let start = loop.clock.now
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await poller.run() }
                }
                try? await loop.sleep(for: .seconds(4))
                group.cancelAll()
            }
            #expect(start.duration(to: loop.clock.now) == .seconds(4))
            #expect(await transport.cancelled == 1)
            #expect(await store.counts.data == 0)
            #expect(await store.endpoints.isEmpty)
            #expect(loop.timerCount == 0)
        }
    }

    @Test func endsAtOnceWhenCancelledBetweenTwoPolls() async throws {
        let feed = try await SimulatedFeed.run(
            try SimulatedFeed.source(every: .seconds(3_600)), for: .seconds(10)
        ) { _, _ in .answer() }
        #expect(feed.calls.count == 1 && feed.data.count == 1 && feed.errors.isEmpty)
    }
}
