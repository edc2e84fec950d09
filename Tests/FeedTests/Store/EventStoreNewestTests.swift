import Reactor
import TestSupport
import Testing

@testable import Feed

/// The newest lines at one moment, without a reader.
@Suite(.limited) struct EventStoreNewestTests {
    private static func lines(_ deliveries: [Delivery]) throws -> (greeting: [Line], lines: [Line], bytes: Int) {
        var greeting: [Line] = []
        var lines: [Line] = []
        var count = 0
        for delivery in deliveries {
            switch delivery {
            case .greeting(let bytes): greeting += try bytes.split(separator: 0x0A).map { try LineDecoder.decode($0) }
            case .gap(let bytes): lines += try bytes.split(separator: 0x0A).map { try LineDecoder.decode($0) }
            case .lines(let span):
                count += span.count
                let bytes = span.withUnsafeBytes { Bytes($0) }
                lines += try bytes.split(separator: 0x0A).map { try LineDecoder.decode($0) }
            case .kept: break
            case .ended, .interrupted, .end: Issue.record("\(delivery)")
            }
        }
        return (greeting, lines, count)
    }

    @Test func givesWholeLinesOfSoManyBytesAtTheMost() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let empty = try Self.lines(try #require(await harness.store.newest(bytes: 1_000)))
            #expect(empty.greeting.count == 2 && empty.lines.isEmpty)
            await harness.publish(3_000)
            let all = try Self.lines(try #require(await harness.store.newest(bytes: 1 << 30)))
            #expect(all.lines.compactMap(\.seq) == Array(1...3_000))
            for most in [1, 100, 1_000, 65_536, 100_000, all.bytes - 1, all.bytes, all.bytes + 1] {
                let (greeting, lines, bytes) = try Self.lines(try #require(await harness.store.newest(bytes: most)))
                guard case .hello(let hello)? = greeting.first?.body, case .stats = greeting.last?.body else {
                    Issue.record("\(greeting)")
                    return
                }
                #expect(bytes <= most && bytes > most - 600 || bytes == all.bytes, "\(most): \(bytes)")
                #expect(lines.compactMap(\.seq) == Array((3_001 - lines.count)..<3_001))
                #expect(hello.firstSeq == 3_001 - lines.count && hello.nextSeq == 3_001)
            }
            // Nobody reads, and nobody has missed anything.
            let counts = await harness.store.counts
            #expect(counts.readers == 0 && counts.gaps == 0)
        }
    }

    /// As lines for a script: of the log and of those that it has let go of.
    @Test func givesTheNewestLineOfEachSeriesWithoutEvents() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let seldom = await harness.store.register(SourceDescription(name: "seldom"))
            await harness.store.publish([
                Event(time: harness.wall.now, source: seldom, body: .data(Datum(value: nil, text: Bytes("t".utf8))))
            ])
            await harness.publish(500, text: 1_000)
            let pieces = try #require(await harness.store.newestOfEach())
            let lines = try pieces.flatMap { try $0.split(separator: 0x0A).map { try LineDecoder.decode($0) } }
            #expect(lines.map(\.type) == ["hello", "stats", "kept", "kept"])
            guard case .hello(let hello) = lines[0].body else { return }
            #expect(hello.firstSeq == 502 && hello.nextSeq == 502)
            let kept = lines.compactMap { if case .kept(let kept) = $0.body { kept.line } else { nil } }
            #expect(kept.map(\.seq) == [1, 501] && kept.map(\.source) == ["seldom", "fact"])
            let relay = EventStore(
                on: loop, wall: harness.wall,
                identity: AgentIdentity(run: "own", version: "1", started: StoreHarness.start), isRelay: true)
            #expect(await relay.newestOfEach() == nil)
        }
    }

    /// The windows of many series would leave nothing for other lines.
    @Test func windowsTakeHalfOfTheRoomForKeptLines() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            let room = await harness.store.register(SourceDescription(name: "room", rhythm: .every(.seconds(60))))
            let seldom = await harness.store.register(SourceDescription(name: "seldom"))
            await harness.store.publish([
                Event(time: harness.wall.now, source: seldom, body: .data(Datum(value: nil, text: Bytes("t".utf8))))
            ])
            try await harness.store.whileRunning {
                for _ in 0..<12 {
                    let time = harness.wall.now
                    await harness.store.publish(
                        (0..<400).map { key in
                            Event(time: time, source: room, body: .data(Datum(key: Bytes("\(key)".utf8), value: 1)))
                        })
                    try await loop.sleep(for: .seconds(60))
                }
            }
            let deliveries = try #require(await harness.store.newest(bytes: 80_000))
            let kept = try deliveries.flatMap { delivery -> [Line.Kept] in
                guard case .kept(let lines) = delivery else { return [] }
                return try lines.split(separator: 0x0A).compactMap {
                    if case .kept(let kept) = try LineDecoder.decode($0).body { kept } else { nil }
                }
            }
            #expect((100..<400).contains(kept.count { !$0.windows.isEmpty }))
            #expect(kept.first { $0.windows.isEmpty }?.line.source == "seldom")
        }
    }

    @Test func tellsNumbersThatNeverCameAndWaitsForAFeedToBeKnown() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_700_000_000))
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity, isRelay: true)
            #expect(await store.newest(bytes: 1_000) == nil)
            let hello = ControlLine.hello(
                time: wall.now, identity: AgentIdentity(run: "other", version: "1", started: wall.now),
                isFiltered: false, interval: .seconds(10), history: .seconds(120), firstSequence: 1, nextSequence: 9)
            let texts =
                [String(decoding: hello.dropLast(), as: UTF8.self)]
                + [1, 2, 5].map {
                    #"{"seq":\#($0),"time":"2026-03-01T12:00:00Z","type":"a","source":"a","series":"a","value":1}"#
                }
            await store.relay(
                try texts.map { RelayedLine(try LineDecoder.decode(Bytes($0.utf8)), bytes: Bytes($0.utf8)) })
            let (greeting, lines, _) = try Self.lines(try #require(await store.newest(bytes: 1_000)))
            guard case .hello(let said)? = greeting.first?.body, lines.count == 4, case .gap(let gap) = lines[2].body
            else {
                Issue.record("\(greeting) \(lines)")
                return
            }
            #expect(said.run == "other" && gap.from == 3 && gap.to == 4)
            #expect(lines.map(\.seq) == [1, 2, nil, 5])
        }
    }
}
