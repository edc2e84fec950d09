import Feed
import Reactor
import TestSupport
import Testing

/// Sources that are polled less often than the agent's windows are wide.
@Suite(.limited) struct LongWindowTests {
    @Test(
        arguments: [
            (Rhythm.stream, 10, 120, 10, 120), (.once, 10, 120, 10, 120), (.every(.seconds(10)), 10, 120, 10, 120),
            (.every(.milliseconds(1)), 1, 5, 1, 5), (.every(.microseconds(10_000_001)), 10, 120, 11, 132),
            (.every(.seconds(600)), 10, 120, 600, 7_200), (.every(.seconds(60)), 7, 20, 60, 120),
            (.every(.seconds(86_400)), 10, 10, 86_400, 86_400), (.every(.seconds(86_401)), 10, 20, 86_400, 172_800),
            (.every(.seconds(31_556_952_000)), 1, 3_600, 86_400, 10_368_000),
            (.every(.seconds(20)), 10, 1_201, 20, 2_400),
            (.every(.seconds(20)), 10, 0, 20, 20),
        ] as [(Rhythm, Int, Int, Int, Int)])
    func aWindowIsAsWideAsThePeriod(_ rhythm: Rhythm, _ interval: Int, _ history: Int, _ width: Int, _ kept: Int) {
        let span = WindowSpan(rhythm, interval: .seconds(interval), history: .seconds(history))
        #expect(span.width == .seconds(width) && span.history == .seconds(kept))
    }

    private static func late(_ store: EventStore, from start: ReaderStart = .oldest, keptAfter: Int? = 0) async
        -> Transcript
    {
        let (reader, _) = await store.open(nil, from: start, keptAfter: keptAfter)
        let transcript = await read(reader, of: store)
        await store.close(reader)
        return transcript
    }

    private static func read(_ reader: ReaderID, of store: EventStore) async -> Transcript {
        var transcript = Transcript()
        while let delivery = await store.dequeue(for: reader) {
            transcript.add(delivery, at: LoopInstant(nanoseconds: 0))
        }
        return transcript
    }

    private static func register(every seconds: Int64, in store: EventStore) async -> SourceID {
        await store.register(SourceDescription(name: "room", rhythm: .every(.seconds(seconds))))
    }

    /// The windows that a reader is given: those that have ended, and which the history shows.
    private static func ended(in twin: WindowTwin, width: Int64, now: Int64) -> [[Double]] {
        twin.snapshots.compactMap { window in
            let start = Int64(window.index) * width
            guard start + width <= now, start + width > now - 12 * width else { return nil }
            return [Double(start), window.last, window.minimum, window.maximum, Double(window.count)]
        }
    }

    @Test(arguments: [1] as [UInt64]) func lateReadersGetTheWindowsOfADay(seed: UInt64) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 18 }
            let store = harness.store
            try await store.whileRunning {
                var random = SeededGenerator(seed: seed)
                var period: Int64 = 600
                var room = await Self.register(every: period, in: store)
                var twin = Self.twin(period)
                var (looks, number) = (0, 0)
                while loop.clock.now.nanoseconds < 86_400_000_000_000 {
                    try await loop.sleep(for: .milliseconds(Int64.random(in: 1...period * 1_300, using: &random)))
                    if random.next() % 10 == 0 {
                        // The store has dropped by now what the history shows no more.
                        try await loop.sleep(for: .seconds(10))
                        _ = twin.flush(now: harness.wall.now)
                        harness.wall.step(by: .seconds(Int64.random(in: -14...14, using: &random) * period / 4))
                    }
                    let now = harness.wall.now
                    _ = twin.flush(now: now)
                    let lag = random.next() % 4 == 0 ? Int64.random(in: 0...period * 14, using: &random) : 0
                    let (time, value) = (now - .seconds(lag), Double(Int.random(in: -9...9, using: &random)))
                    number += 1
                    _ = twin.record(value, time: time, sequence: number, now: now)
                    await store.publish([
                        Event(time: time, source: room, body: .data(Datum(key: Bytes("a".utf8), value: value))),
                        Event(
                            time: now, source: room, body: .latency(LatencySample(endpoint: "e", status: 200, ms: 1))),
                    ])
                    if random.next() % 40 == 0 {
                        let old = period
                        period = [90, 600, 599, 1_800].randomElement(using: &random) ?? 600
                        room = await Self.register(every: period, in: store)
                        if period != old { twin = Self.twin(period) }
                    }
                    if random.next() % 3 == 0 {
                        // All windows that have ended are told by now.
                        try await loop.sleep(for: .seconds(10))
                        looks += 1
                        let late = await Self.late(store)
                        let shown = (late.keptWindows["room/a"] ?? []).map {
                            [Double($0.start.microseconds), $0.last, $0.min, $0.max, Double($0.count)]
                        }
                        let expected = Self.ended(
                            in: twin, width: period * 1_000_000, now: harness.wall.now.microseconds)
                        #expect(
                            late.fault == nil && shown == expected,
                            "seed \(seed), look \(looks): \(shown), not \(expected)")
                        #expect(late.keptWindows["room/a"]?.allSatisfy { $0.width == .seconds(period) } ?? true)
                        #expect(late.keptWindows["fact"] == nil)
                    }
                }
                #expect(looks > 20)
            }
        }
    }

    private static func twin(_ period: Int64) -> WindowTwin {
        WindowTwin(width: .seconds(period), history: .seconds(12 * period))
    }

    @Test func aSourceWithAnotherPeriodBeginsAnew() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let store = harness.store
            let room = await Self.register(every: 600, in: store)
            let (reader, _) = await store.open(nil)
            try await store.whileRunning {
                await store.publish([Event(time: harness.wall.now, source: room, body: .data(Datum(value: 7)))])
                _ = await Self.register(every: 5, in: store)
                // The open window has its line, the newest value is still known.
                let widths = await Self.read(reader, of: store).lines.compactMap { line in
                    if case .window(let window) = line.body { window.width } else { nil }
                }
                #expect(widths == [.seconds(600)])
                #expect(await store.series.first?.value == 7)
                try await loop.sleep(for: .seconds(1_200))
                #expect(await Self.late(store).keptWindows.isEmpty)
            }
        }
    }

    // MARK: Relayed feeds

    private static let time = "2026-03-01T12:00:00.000000Z"
    private static let noon: Int64 = 1_772_366_400

    private static func relayed(_ text: String) throws -> RelayedLine {
        let bytes = Bytes(text.utf8)
        return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
    }

    private static func greeting(room seconds: String = "600") throws -> [RelayedLine] {
        [
            try relayed(
                #"{"type":"hello","time":"\#(time)","format":1,"run":"r","filtered":false,"interval_s":10,"#
                    + #""history_s":120,"first_seq":100,"next_seq":100}"#),
            try relayed(
                #"{"type":"stats","time":"\#(time)","as_of":0,"endpoints":[],"sources":["#
                    + #"{"source":"room","state":"ok","every_s":\#(seconds)},{"source":"fast","state":"ok"}]}"#),
        ]
    }

    private static func windows(
        _ source: String, _ series: String, seconds: Int64 = 600, _ backs: [Int64], run: String = "r"
    ) throws -> RelayedLine {
        let rows = backs.map { "[\(noon / seconds * seconds - $0 * seconds),\($0),\($0),\($0),1,\($0)]" }
        return try relayed(
            #"{"type":"kept","time":"\#(time)","run":"\#(run)","line":{"seq":50,"time":"\#(time)","type":"window","#
                + #""source":"\#(source)","series":"\#(series)","seconds":\#(seconds),"rows":["#
                + rows.joined(separator: ",") + "]}}")
    }

    private static func relay(on loop: EventLoop) -> EventStore {
        EventStore(
            on: loop, wall: SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start),
            identity: AgentIdentity(run: "here", version: "1", started: StoreHarness.start),
            limits: FeedState.Limits(), isRelay: true)
    }

    /// Values of a window with as many values as can be; another interval and no history in mid-stream.
    @Test func noNumbersOfAnAgentOverflow() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.relay(on: loop)
            await store.relay(try Self.greeting())
            let rows = "[[\(Self.noon - 600),1,1,1,9007199254740991,1],[\(Self.noon),1,1,1,9007199254740991,1]]"
            await store.relay([
                try Self.relayed(
                    #"{"type":"kept","time":"\#(Self.time)","run":"r","line":{"seq":50,"time":"\#(Self.time)","#
                        + #""type":"window","source":"room","series":"room","seconds":600,"rows":\#(rows)}}"#)
            ])
            for sequence in 100..<110 {
                await store.relay([
                    try Self.relayed(
                        #"{"seq":\#(sequence),"time":"\#(Self.time)","type":"room","source":"room","series":"room","value":1}"#
                    )
                ])
            }
            #expect(await Self.late(store).keptWindows["room"]?.count == 1)
            for (interval, history) in [(1, 0), (10, 0), (10, 120), (3_600, 0)] {
                await store.relay([
                    try Self.relayed(
                        #"{"type":"hello","time":"\#(Self.time)","format":1,"run":"r","filtered":false,"interval_s":"#
                            + #"\#(interval),"history_s":\#(history),"first_seq":100,"next_seq":111}"#)
                ])
                _ = await Self.late(store)
            }
        }
    }

    @Test func windowsThatCannotBeAreNotPassedOn() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.relay(on: loop)
            await store.relay(try Self.greeting())
            await store.relay([
                try Self.windows("nobody", "nobody", [1]), try Self.windows("fast", "fast", [1]),
                try Self.windows("room", "other/a", [1]), try Self.windows("room", "room/a", seconds: 300, [1]),
                try Self.windows("room", "room/a", [1], run: "other"),
            ])
            #expect(await Self.late(store).keptWindows.isEmpty)
            #expect(await store.series.isEmpty)
            // More than there can be, twice, of the future and of long ago.
            let many = Array((-60...59) as ClosedRange<Int64>)
            for _ in 0..<50 { await store.relay([try Self.windows("room", "room/a", many)]) }
            let windows = await Self.late(store).keptWindows["room/a"] ?? []
            #expect(windows.count <= 20 && windows.allSatisfy { $0.start.microseconds < Self.noon * 1_000_000 })
        }
    }

    @Test(arguments: ["0", "-1", "1e308", "1e400", "0.001", "\"600\""]) func periodsThatCannotBeMakeNoWindows(
        _ period: String
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.relay(on: loop)
            await store.relay(try Self.greeting(room: period))
            await store.relay([try Self.windows("room", "room/a", [1])])
            #expect(await Self.late(store).keptWindows.isEmpty)
        }
    }
}
