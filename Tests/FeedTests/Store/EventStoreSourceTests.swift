import Reactor
import TestSupport
import Testing

@testable import Feed

/// Sources of a running store: registered again, retired, polled, at their end; and how readers hear of it.
@Suite(.limited) struct EventStoreSourceTests {
    // MARK: Greetings

    /// What the stats lines of a greeting say of sources.
    private static func sources(_ delivery: Delivery) throws -> [SourceStatus]? {
        guard case .greeting(let bytes) = delivery else { return nil }
        let lines = try bytes.split(separator: 0x0A).map { try LineDecoder.decode($0) }
        guard lines.count == 2, case .hello = lines[0].body, case .stats(let stats) = lines[1].body else { return nil }
        return stats.sources
    }

    @Test func greetsReadersThatWaitAndThoseThatAreBehind() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (waiting, _) = await harness.store.open("waiting", from: .newest)
            let (behind, _) = await harness.store.open("behind")
            await harness.publish(3)
            guard case .lines = try await harness.store.next(for: waiting) else {
                Issue.record("no lines")
                return
            }
            async let delivery = harness.store.next(for: waiting)
            try await loop.sleep(for: .seconds(1))
            let scale = FeedStateSourceTests.scale(higherIsBetter: true, 5)
            _ = await harness.store.register(SourceDescription(name: "new", unit: "m", bands: scale))
            await harness.store.greetAll()
            await harness.store.greetAll()
            for delivery in [try await delivery, try await harness.store.next(for: behind)] {
                let sources = try #require(try Self.sources(delivery))
                #expect(sources.map(\.source) == ["fact", "new"] && sources.map(\.unit) == [nil, "m"])
                #expect(sources.map(\.type) == ["fact", "new"] && sources[1].bands == scale)
            }
            await harness.store.finish("end")
            #expect(try await harness.readAll(waiting).numbers.isEmpty)
            let rest = try await harness.readAll(behind)
            #expect(rest.numbers == [1, 2, 3] && rest.fault == nil)
        }
    }

    @Test func nothingIsLostOrDoubledAroundGreetings() async throws {
        let rounds = LongRun.rounds(short: 120, long: 20_000)
        for seed in [61, 62] as [UInt64] {
            let transcripts = try await withLoop(virtual: true) { loop in
                let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
                return try await harness.store.whileRunning { try await Self.readAmongReloads(harness, rounds, seed) }
            }
            for (board, transcript, greetings) in transcripts {
                #expect(transcript.fault == nil && greetings > 0, "seed \(seed)")
                #expect(transcript.numbers.count + transcript.missed == transcript.last, "seed \(seed)")
                // The fold sees every event once: endpoints are counted from stats, or from lines, never from both.
                #expect(board.gapCount == transcript.gaps.count, "seed \(seed)")
                if transcript.gaps.isEmpty {
                    #expect(board.sources.map(\.events).reduce(0, +) == transcripts[0].board.series[0].events)
                    #expect(board.endpoints.first?.histogram.count == rounds, "seed \(seed)")
                }
            }
            #expect(transcripts.contains { !$0.transcript.gaps.isEmpty })
        }
    }

    private static func readAmongReloads(
        _ harness: StoreHarness, _ rounds: Int, _ seed: UInt64
    ) async throws -> [(board: Board, transcript: Transcript, greetings: Int)] {
        typealias Result = (number: Int, board: Board, transcript: Transcript, greetings: Int)
        return try await withThrowingTaskGroup(of: Result.self) { group in
            for number in 0..<10 {
                let (reader, greeting) = await harness.store.open(nil)
                group.addTask {
                    var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
                    var board = Board()
                    for line in greeting.split(separator: 0x0A) { board.apply(try LineDecoder.decode(line)) }
                    var transcript = Transcript(decodes: false)
                    var greetings = 0
                    while transcript.bye == nil {
                        if number > 0, random.next() % 3 == 0 {
                            let longest = UInt64(1) << UInt64(number * 2)
                            try await harness.loop.sleep(for: .milliseconds(Int64(random.next() % longest)))
                        }
                        let delivery = try await harness.store.next(for: reader)
                        switch delivery {
                        case .lines(let span):
                            let bytes = span.withUnsafeBytes { [UInt8]($0) }
                            for line in bytes.split(separator: 0x0A) { board.apply(try LineDecoder.decode(line)) }
                        case .greeting(let bytes):
                            greetings += 1
                            for line in bytes.split(separator: 0x0A) { board.apply(try LineDecoder.decode(line)) }
                            continue
                        case .gap(let line): board.apply(try LineDecoder.decode(line[...]))
                        case .ended, .kept, .interrupted, .end: break
                        }
                        transcript.add(delivery, at: harness.loop.clock.now)
                    }
                    return (number, board, transcript, greetings)
                }
            }
            var random = SeededGenerator(seed: seed)
            for round in 0..<rounds {
                await harness.publish(Int(random.next() % 4), text: Int(random.next() % 2_000))
                let sample = LatencySample(endpoint: "GET http://a/b", status: 200, ms: Double(round))
                await harness.store.publish([
                    Event(time: harness.wall.now, source: harness.source, body: .latency(sample))
                ])
                if random.next() % 10 == 0 {
                    _ = await harness.store.register(SourceDescription(name: "fact", unit: "\(round)"))
                    await harness.store.greetAll()
                }
                try await harness.loop.sleep(for: .milliseconds(Int64(random.next() % 200)))
            }
            await harness.store.finish("end")
            var results: [Result] = []
            for try await result in group { results.append(result) }
            return results.sorted { $0.number < $1.number }.map { ($0.board, $0.transcript, $0.greetings) }
        }
    }

    @Test func aMoveOrAnEndDoesNotLoseAGreeting() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (mover, _) = await harness.store.open("mover")
            let (ender, _) = await harness.store.open("ender")
            await harness.publish(2)
            await harness.store.greetAll()
            // A move is answered by a greeting that has all the news already.
            #expect(await harness.store.move(mover, to: .oldest, isFiltered: false).isEmpty == false)
            guard case .lines(let span) = try await harness.store.next(for: mover) else {
                Issue.record("another greeting")
                return
            }
            #expect(span.sequences == 1...2)
            await harness.store.greetAll()
            await harness.store.finish("end")
            let news = try Self.sources(try await harness.store.next(for: ender))
            #expect(news?.count == 1)
            #expect(try await harness.readAll(ender).numbers == [1, 2])
        }
    }

    // MARK: Retiring

    @Test func aRetiredSourceIsListedWhenItComesBack() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            await harness.store.retire(named: "fact")
            #expect(await harness.store.sourceStates.isEmpty)
            #expect(await harness.store.register(SourceDescription(name: "fact")) == harness.source)
            #expect(await harness.store.sourceStates.map(\.source) == ["fact"])
        }
    }

    // MARK: The end

    @Test func completeShowsTheLastWindowAndWaitsForOutputs() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 18 }
            let (reader, _) = await harness.store.open("stdout", holdsInputs: true)
            async let transcript = harness.readAll(reader)
            for number in 0..<2_000 {
                try await harness.store.admit()
                let datum = Datum(key: Bytes("k\(number)".utf8), value: 1)
                await harness.store.publish([
                    Event(time: harness.wall.now, source: harness.source, body: .data(datum))
                ])
            }
            try await harness.store.complete()
            await harness.store.finish("end")
            // Far more lines than the log holds, and not one is lost.
            let read = try await transcript
            #expect(read.fault == nil && read.gaps.isEmpty && read.bye?.lastSeq == 4_000)
            #expect(read.windows.count == 2_000)
            try await harness.store.complete()
        }
    }

    @Test func withoutCompleteTheOpenWindowHasNoLine() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (reader, _) = await harness.store.open("stdout")
            await harness.publish(2)
            await harness.store.finish("SIGTERM")
            let transcript = try await harness.readAll(reader)
            #expect(transcript.windows.isEmpty && transcript.numbers == [1, 2])
        }
    }

    // MARK: Passing on

    /// Statistics count the replay already, which comes after them: whoever attaches meanwhile must not count it again.
    @Test func saysUpToWhichLineTheStatisticsThatItPassesOnCount() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity, isRelay: true)
            func relay(_ bytes: [UInt8]) async throws {
                await store.relay(
                    try bytes.split(separator: 0x0A).map { RelayedLine(try LineDecoder.decode($0), bytes: $0) })
            }
            func latency(_ numbers: ClosedRange<Int>) -> [UInt8] {
                numbers.flatMap { number in
                    Array(
                        (#"{"seq":\#(number),"time":"2026-03-01T12:00:00Z","type":"latency","source":"a","#
                            + #""endpoint":"GET /a","ms":5,"status":200,"bytes":1,"phases":{}}"# + "\n").utf8)
                }
            }
            /// What it greets with: first number, next one, last one that is counted, and how many requests there were.
            func greeting() async throws -> [Int] {
                let lines = try await store.greeting(isFiltered: false).split(separator: 0x0A).map {
                    try LineDecoder.decode($0)
                }
                guard lines.count == 2, case .hello(let hello) = lines[0].body, case .stats(let stats) = lines[1].body
                else { return [] }
                return [hello.firstSeq, hello.nextSeq, stats.asOf, stats.endpoints.first?.summary.count ?? 0]
            }
            var histogram = LatencyHistogram()
            histogram.record(5, times: 200)
            try await relay(
                ControlLine.hello(
                    time: wall.now, identity: AgentIdentity(run: "theirs", version: "1", started: wall.now),
                    isFiltered: false, interval: .seconds(10), history: .seconds(120), firstSequence: 101,
                    nextSequence: 201)
                    + ControlLine.stats(
                        time: wall.now, asOf: 200,
                        endpoints: [EndpointStatistics(endpoint: "GET /a", source: "a", histogram: histogram)],
                        sources: [])
                    + latency(101...110))
            #expect(try await greeting() == [101, 201, 200, 200])
            try await relay(latency(111...200))
            #expect(try await greeting() == [101, 201, 200, 200])
            try await relay(latency(201...203))
            #expect(try await greeting() == [101, 204, 203, 203])
        }
    }

    @Test func passesOnWhatAnotherAgentSaysOfItsSources() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity, isRelay: true)
            let (reader, _) = await store.open(nil)
            func relay(_ bytes: [UInt8]) async throws {
                await store.relay(
                    try bytes.split(separator: 0x0A).map { RelayedLine(try LineDecoder.decode($0), bytes: $0) })
            }
            let hello = ControlLine.hello(
                time: wall.now, identity: AgentIdentity(run: "theirs", version: "1", started: wall.now),
                isFiltered: false, interval: .seconds(10), history: .seconds(120), firstSequence: 1, nextSequence: 1)
            func stats(_ sources: [SourceStatus]) -> [UInt8] {
                ControlLine.stats(
                    time: wall.now, asOf: 0, endpoints: [], sources: sources, moreEndpoints: 3, moreSources: 4)
            }
            let scale = FeedStateSourceTests.scale(higherIsBetter: false, 1, 2)
            let aqi = SourceStatus(
                source: "aqi", state: .ok, since: wall.now, type: "city", unit: "AQI", bands: scale,
                valuePointer: "/v", rhythm: .every(.seconds(600)))
            let old = SourceStatus(source: "old", state: .starting, since: wall.now, rhythm: .once)
            try await relay(hello + stats([aqi, old]))
            let first = try #require(try Self.sources(try await store.next(for: reader)))
            #expect(first.map(\.source) == ["aqi", "old"] && first.map(\.bands) == [scale, nil])
            #expect(first.map(\.type) == ["city", nil] && first.map(\.unit) == ["AQI", nil])
            #expect(first.map(\.valuePointer) == ["/v", nil])
            #expect(first.map(\.rhythm) == [.every(.seconds(600)), .once])
            let own = await store.greeting(isFiltered: false).split(separator: 0x0A).last ?? []
            guard case .stats(let passedOn) = try LineDecoder.decode(Bytes(own)).body else {
                Issue.record("no stats")
                return
            }
            #expect(passedOn.moreEndpoints == 3 && passedOn.moreSources == 4)

            // The same again is no news; another unit and a source less are.
            try await relay(hello + stats([aqi, old]))
            await store.interrupt(reader)
            guard case .interrupted = try await store.next(for: reader) else {
                Issue.record("told what it knew")
                return
            }
            var changed = aqi
            changed.valuePointer = "/w"
            try await relay(hello + stats([changed]))
            #expect(try #require(try Self.sources(try await store.next(for: reader))).map(\.valuePointer) == ["/w"])
            changed.unit = "µg/m³"
            try await relay(hello + stats([changed]))
            let second = try #require(try Self.sources(try await store.next(for: reader)))
            #expect(second.map(\.source) == ["aqi"] && second.map(\.unit) == ["µg/m³"])
        }
    }

    // MARK: Failures

    private static func states(_ store: EventStore) async throws -> [SourceStatus] {
        let bytes = await store.greeting(isFiltered: false).split(separator: 0x0A).last ?? []
        guard case .stats(let stats) = try LineDecoder.decode(Bytes(bytes)).body else { return [] }
        return stats.sources
    }

    @Test func aReaderThatComesLateIsToldWhyASourceFails() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (reader, _) = await harness.store.open(nil)
            func publish(_ body: Event.Body) async {
                await harness.store.publish([Event(time: harness.wall.now, source: harness.source, body: body)])
            }
            await harness.publish()
            #expect(try await Self.states(harness.store).map(\.failure) == [nil])
            let failed = harness.wall.now
            await publish(.error(Failure(.dns, "no address", attempt: 1, retryIn: .seconds(2))))
            await publish(.error(Failure(.connect, String(repeating: "\u{1}x", count: 9_000), attempt: 2)))
            let long = String(repeating: "\u{1}x", count: 499) + "\u{1}…"
            try await loop.sleep(for: .seconds(600))
            await publish(.latency(LatencySample(endpoint: "GET http://a/b", status: 503, ms: 1)))
            var states = try await Self.states(harness.store)
            #expect(states.map(\.failure) == [SourceFailure(code: "connect", message: long, attempt: 2, retryAt: nil)])
            #expect(states.map(\.since) == [failed])
            let second = harness.wall.now
            await publish(.error(Failure(.dns, "no address", attempt: 3, retryIn: .milliseconds(2_500))))
            states = try await Self.states(harness.store)
            let expected = SourceFailure(
                code: "dns", message: "no address", attempt: 3, retryAt: second + .milliseconds(2_500))
            #expect(states.map(\.failure) == [expected] && states.map(\.since) == [failed])
            await publish(.recovered(Recovery(down: .seconds(1), attempts: 3)))
            #expect(try await Self.states(harness.store).map(\.failure) == [nil])
            // Nobody was greeted again for it.
            var lines = 0
            while let delivery = await harness.store.dequeue(for: reader) {
                guard case .lines(let span) = delivery else {
                    Issue.record("\(delivery)")
                    break
                }
                lines += span.sequences.count
            }
            #expect(lines >= 6)
        }
    }

    @Test func theMessagesOfManyFailingSourcesAreBounded() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let message = String(repeating: "😾", count: 1_000)
            func fail(_ names: Range<Int>) async {
                for name in names {
                    let source = await harness.store.register(SourceDescription(name: "s\(name)"))
                    await harness.store.publish([
                        Event(time: harness.wall.now, source: source, body: .error(Failure(.dns, message)))
                    ])
                }
            }
            func said() async -> (codes: Int, messages: Int) {
                let failures = await harness.store.sourceStates.compactMap(\.failure)
                return (failures.count, failures.count { $0.message == message })
            }
            await fail(0..<1_100)
            #expect(await said() == (1_100, 4 << 20 / 4_000))
            // Those that are well again, or gone, make room.
            for name in 0..<10 {
                _ = await harness.store.register(SourceDescription(name: "s\(name)"))
                if name < 5 { await harness.store.release(named: "s\(name)") }
            }
            await fail(2_000..<2_010)
            #expect(await said() == (1_100, 4 << 20 / 4_000))
        }
    }

    /// The agent's own source keeps failing until no failure is left.
    @Test func theNewestFailureThatIsLeftIsSaidAgain() async throws {
        try await withLoop(virtual: true) { loop in
            let store = await StoreHarness(on: loop).store
            let (reader, _) = await store.open(nil)
            func own() async throws -> SourceStatus.State? {
                try await Self.states(store).first { $0.source == EventStore.ownName }?.state
            }
            for topic in ["a", "b", "c"] { await store.sayOfItself(.error(Failure(.disk, topic)), about: topic) }
            for topic in ["c", "b", "a"] {
                #expect(try await own() == .failing)
                await store.sayOfItself(.recovered(Recovery(down: .seconds(1), attempts: 1)), about: topic)
            }
            #expect(try await own() == .ok)
            var said: [String] = []
            while case .lines(let span)? = await store.dequeue(for: reader) {
                for line in span.withUnsafeBytes({ Array($0) }).split(separator: 0x0A) {
                    let line = try LineDecoder.decode(line)
                    if case .error(let failure) = line.body {
                        said.append(failure.message)
                    } else {
                        said.append(line.type)
                    }
                }
            }
            #expect(said == ["a", "b", "c", "recovered", "b", "recovered", "a", "recovered"])
        }
    }

    // MARK: Answers

    @Test func saysWhenASourceAnsweredWellLast() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (reader, _) = await harness.store.open(nil)
            func publish(_ body: Event.Body, at time: Timestamp? = nil) async throws -> Timestamp {
                try await loop.sleep(for: .seconds(300))
                let event = Event(time: time ?? harness.wall.now, source: harness.source, body: body)
                await harness.store.publish([event])
                return harness.wall.now
            }
            func latency(_ status: Int) -> Event.Body {
                .latency(LatencySample(endpoint: "GET http://a/b", status: status, ms: 1))
            }
            func answered() async throws -> [Timestamp?] { try await Self.states(harness.store).map(\.answered) }
            _ = try await publish(latency(503))
            _ = try await publish(.error(Failure(.status, "503")))
            #expect(try await answered() == [nil])
            // Its own time is an hour ago.
            let first = try await publish(.data(Datum(value: 1)), at: harness.wall.now - .seconds(3_600))
            #expect(try await answered() == [first])
            _ = try await publish(latency(200))
            _ = try await publish(.error(Failure(.notJSON, "not JSON")))
            #expect(try await answered() == [first])
            let second = try await publish(latency(304))
            #expect(try await answered() == [second])
            let third = try await publish(.progress(Progress(done: 0, total: 0, page: 1)))
            #expect(try await answered() == [third])
            while let delivery = await harness.store.dequeue(for: reader) {
                // Nobody is greeted again for it.
                if case .lines = delivery { continue }
                guard case .gap = delivery else {
                    Issue.record("\(delivery)")
                    break
                }
            }
        }
    }
}
