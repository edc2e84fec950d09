import Feed
import Reactor
import TestSupport
import Testing

/// Readers that come late get the newest line of every series.
@Suite(.limited) struct KeptLinesTests {
    private static func event(
        _ source: SourceID, _ key: String?, value: Double? = nil, text: String? = nil, data: String? = nil,
        at time: Timestamp
    ) -> Event {
        let datum = Datum(
            key: key.map { Bytes($0.utf8) }, value: value, text: text.map { Bytes($0.utf8) },
            data: data.map { Bytes($0.utf8) })
        return Event(time: time, source: source, body: .data(datum))
    }

    /// Everything that a reader gets that comes now; if it asks for everything, `hello` says which kept line is the last.
    private static func late(_ harness: StoreHarness, keptAfter: Int? = 0) async -> Transcript {
        let (reader, greeting) = await harness.store.open(nil, keptAfter: keptAfter)
        var transcript = Transcript()
        while let delivery = await harness.store.dequeue(for: reader) {
            transcript.add(delivery, at: harness.loop.clock.now)
        }
        await harness.store.close(reader)
        if keptAfter == 0, let hello = try? LineDecoder.decode(Bytes(greeting.prefix { $0 != 0x0A })) {
            guard case .hello(let hello) = hello.body else { return transcript }
            #expect(hello.keptSeq == transcript.kept.last { $0.seq != 0 }?.seq)
        }
        return transcript
    }

    /// The newest line of each series, apart for lines with and without a value.
    private static func newest(_ lines: [Line]) -> [String: Int] {
        var newest: [String: Int] = [:]
        for line in lines {
            guard let sequence = line.seq, let source = line.source else { continue }
            switch line.body {
            case .data(let data): newest["\(data.series) \(data.value == nil)"] = sequence
            case .latency: newest["latency:\(source)"] = sequence
            case .memory: newest["memory:\(source)"] = sequence
            default: break
            }
        }
        return newest
    }

    @Test(arguments: [1, 2] as [UInt64]) func aLateReaderKnowsTheNewestLineOfEverySeries(seed: UInt64)
        async throws
    {
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            let harness = await StoreHarness.withSmallLog(on: loop)
            let (first, _) = await harness.store.open(nil, keptAfter: 0)
            var all = Transcript()
            var sources = [harness.source]
            for number in 0..<5 { sources.append(await harness.store.register(SourceDescription(name: "s\(number)"))) }
            for round in 0..<400 {
                let source = sources[Int.random(in: 0..<sources.count, using: &random)]
                // Some series have one event only, others many.
                let key = Bool.random(using: &random) ? nil : "k\"\(Int.random(in: 0..<(1 + round), using: &random))"
                let value: Double? = Bool.random(using: &random) ? 1 : nil
                let text = String(repeating: "a", count: Int.random(in: 0..<2_000, using: &random))
                var events = [Self.event(source, key, value: value, text: text, at: harness.wall.now)]
                if round % 7 == 0 {
                    events.append(
                        Event(
                            time: harness.wall.now, source: source,
                            body: .latency(LatencySample(endpoint: "e", status: 200, ms: 1))))
                }
                await harness.store.publish(events)
                while let delivery = await harness.store.dequeue(for: first) { all.add(delivery, at: loop.clock.now) }
                if round % 20 == 0 { try await loop.sleep(for: .seconds(Int64.random(in: 0..<100, using: &random))) }
                if round % 37 == 36 {
                    let late = await Self.late(harness)
                    #expect(late.fault == nil, "seed \(seed), round \(round)")
                    let numbers = late.kept.compactMap(\.seq)
                    #expect(numbers == numbers.sorted(), "seed \(seed), round \(round)")
                    #expect(
                        Self.newest(late.kept + late.lines) == Self.newest(all.lines), "seed \(seed), round \(round)")
                    #expect(Set(numbers).isDisjoint(with: late.numbers), "seed \(seed), round \(round)")
                    #expect(late.kept.allSatisfy { kept in all.lines.contains(kept) }, "seed \(seed), round \(round)")
                }
            }
            #expect(all.fault == nil && all.kept.isEmpty, "seed \(seed)")
            let uninterested = await Self.late(harness, keptAfter: nil)
            #expect(uninterested.kept.isEmpty)
            // Who resumes gets those that it has missed.
            let numbers = await Self.late(harness).kept.compactMap(\.seq)
            for after in [numbers[numbers.count / 2], numbers[0] - 1, numbers[numbers.count - 1]] {
                let resumed = await Self.late(harness, keptAfter: after)
                #expect(resumed.kept.compactMap(\.seq) == numbers.filter { $0 > after }, "seed \(seed)")
            }
        }
    }

    @Test func theOldestGoFirstWhenThereIsNoRoom() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop) { $0.keptCapacity = 10_000 }
            let (first, _) = await harness.store.open(nil)
            var all = Transcript()
            for number in 0..<100 {
                await harness.store.publish([
                    Self.event(
                        harness.source, "k\(number)", value: 1, text: String(repeating: "t", count: 300),
                        at: harness.wall.now)
                ])
            }
            for _ in 0..<40 {
                while let delivery = await harness.store.dequeue(for: first) { all.add(delivery, at: loop.clock.now) }
                await harness.publish(50, text: 300)
            }
            let kept = await Self.late(harness).kept
            #expect((10...25).contains(kept.count))
            #expect(kept.compactMap(\.seq) == Array((101 - kept.count)...100))
            #expect(await harness.store.counts.keptDropped == 100 - kept.count)
            while let delivery = await harness.store.dequeue(for: first) { all.add(delivery, at: loop.clock.now) }
            let reports = all.lines.compactMap {
                if case .error(let failure) = $0.body { failure.message } else { nil }
            }
            #expect(reports.count == 1 && reports[0].contains("10000 bytes (--kept-bytes)"), "\(reports)")
        }
    }

    @Test func aLineGoesWhenACompleteAnswerDoesNotHaveIt() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            func answer(_ keys: String...) async throws {
                await harness.store.answer(
                    keys.map { Self.event(harness.source, $0, text: "t", at: harness.wall.now) }, of: harness.source)
                try await loop.sleep(for: .seconds(600))
            }
            func keys() async -> [String] {
                let late = await Self.late(harness)
                return (late.kept + late.lines).compactMap {
                    if case .data(let data) = $0.body { data.series } else { nil }
                }
            }
            try await answer("b", "a")
            #expect(await keys() == ["fact/b", "fact/a"])
            // "The same again" is no answer with other items.
            try await loop.sleep(for: .seconds(90_000))
            #expect(await keys() == ["fact/b", "fact/a"])
            // A reload that describes the source anew.
            _ = await harness.store.register(SourceDescription(name: "fact", type: "fact", unit: "m"))
            #expect(await keys() == ["fact/b", "fact/a"])
            try await answer("a")
            #expect(await keys() == ["fact/a"])
            try await answer("a", "b")
            #expect(await keys() == ["fact/a", "fact/b"])
        }
    }

    @Test func aLineGoesWithItsSource() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            let other = await harness.store.register(SourceDescription(name: "other"))
            await harness.store.publish([Self.event(other, nil, value: 1, at: harness.wall.now)])
            try await harness.store.whileRunning {
                try await loop.sleep(for: .seconds(200))
                #expect(await Self.late(harness).kept.count == 1)
                await harness.store.release(named: "other")
                try await loop.sleep(for: .seconds(200))
                #expect(await Self.late(harness).kept.isEmpty)
            }
        }
    }

    // MARK: Lines of earlier runs

    /// A `kept` line of this run with a line of an earlier one in it.
    private static func earlier(_ members: String, seq: Int = 0, run: String = "r1", at time: Timestamp) throws
        -> RelayedLine
    {
        let line = #"{"seq":\#(seq),"time":\#(PeerScript.time(time)),\#(members),"origin_run":"r0","origin_seq":9}"#
        let bytes = Bytes(#"{"type":"kept","time":\#(PeerScript.time(time)),"run":"\#(run)","line":\#(line)}"#.utf8)
        return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
    }

    private static func text(_ key: String, _ source: String = "fact") -> String {
        #""type":"fact","source":"\#(source)","series":"\#(source)/\#(key)","text":"old""#
    }

    @Test func linesOfAnEarlierRunAreKeptUntilAnAnswerDoesNotHaveThem() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            _ = await harness.store.register(SourceDescription(name: "fact", rhythm: .every(.seconds(600))))
            let old = harness.wall.now - .seconds(1_700)
            let value = #""type":"fact","source":"fact","series":"fact/v","value":5"#
            _ = await harness.store.register(SourceDescription(name: "gone"))
            await harness.store.retire(named: "gone")
            await harness.store.restore([
                try Self.earlier(Self.text("a"), at: old), try Self.earlier(Self.text("b"), at: old),
                try Self.earlier(value, at: harness.wall.now),
                // None of these is restored: of this run, of another, of a source that is unknown or not listed any more.
                try Self.earlier(Self.text("c"), seq: 3, at: old), try Self.earlier(Self.text("d"), run: "r2", at: old),
                try Self.earlier(Self.text("e", "other"), at: old),
                try Self.earlier(Self.text("f", "gone"), at: harness.wall.now),
                // Older than three periods.
                try Self.earlier(Self.text("g"), at: harness.wall.now - .seconds(1_800)),
                // Of a clock that was ahead.
                try Self.earlier(Self.text("h"), at: harness.wall.now + .seconds(20)),
            ])
            func keys() async -> [String] {
                let late = await Self.late(harness)
                #expect(late.fault == nil)
                return (late.kept + late.lines).compactMap {
                    if case .data(let data) = $0.body { data.series } else { nil }
                }.sorted()
            }
            func answer(_ keys: String...) async throws {
                await harness.store.answer(
                    keys.map { Self.event(harness.source, $0, text: "new", at: harness.wall.now) }, of: harness.source)
                try await loop.sleep(for: .seconds(600))
            }
            #expect(await keys() == ["fact/a", "fact/b", "fact/v"])
            #expect(await !harness.store.hasEvents)
            #expect(await harness.store.series.first?.value == 5)
            try await answer("a", "v")
            #expect(await keys() == ["fact/a", "fact/v", "fact/v"])
            // What comes late of an earlier run is no newer than a complete answer without it.
            await harness.store.restore([
                try Self.earlier(Self.text("b"), at: harness.wall.now - .seconds(700)),
                try Self.earlier(Self.text("late"), at: harness.wall.now - .seconds(700)),
            ])
            #expect(await keys() == ["fact/a", "fact/v", "fact/v"])
            let (reader, _) = await harness.store.open(nil, from: .newest)
            try await answer("a", "v")
            var said = Transcript()
            while let delivery = await harness.store.dequeue(for: reader) { said.add(delivery, at: loop.clock.now) }
            #expect(said.gone == [["late"]])
        }
    }

    /// The windows of a run are those of its own lines.
    @Test func aValueOfAnEarlierRunIsInNoWindowOfThisRun() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            let value = #""type":"fact","source":"fact","series":"fact","value":5"#
            await harness.store.restore([try Self.earlier(value, at: harness.wall.now)])
            await harness.publish(value: 7)
            try await harness.store.whileRunning { try await loop.sleep(for: .seconds(20)) }
            #expect(await Self.late(harness).windows.map(\.count) == [1])
        }
    }

    @Test func windowsOfAnEarlierRunComeToReaders() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            _ = await harness.store.register(SourceDescription(name: "fact", rhythm: .every(.seconds(600))))
            let calls = Locked(0)
            let (live, _) = await harness.store.open(nil, keptAfter: 0) { calls.withLock { $0 += 1 } }
            #expect(await harness.store.dequeue(for: live) == nil)
            let end = Int(harness.wall.now.microseconds / 600_000_000) * 600
            let line =
                #"{"seq":1,"time":\#(PeerScript.time(harness.wall.now)),"type":"window","source":"fact","series":"fact","seconds":600,"rows":[[\#(end - 1_200),1,1,1,1,1],[\#(end - 600),2,2,2,1,2]]}"#
            let bytes = Bytes(
                #"{"type":"kept","time":\#(PeerScript.time(harness.wall.now)),"run":"r1","line":\#(line)}"#.utf8)
            await harness.store.restore([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
            try await loop.sleep(for: .milliseconds(1))
            #expect(calls.withLock { $0 } == 1)
            #expect(await Self.late(harness).keptWindows["fact"]?.map(\.last) == [1, 2])
            // The newest value is none of theirs; it is the same whatever comes first.
            let value = #""type":"fact","source":"fact","series":"fact","value":9"#
            await harness.store.restore([try Self.earlier(value, at: harness.wall.now)])
            #expect(await harness.store.series.first?.value == 9)
            var transcript = Transcript()
            while let delivery = await harness.store.dequeue(for: live) { transcript.add(delivery, at: loop.clock.now) }
            #expect(transcript.keptWindows["fact"]?.map(\.last) == [1, 2])
        }
    }

    @Test func aSourceWhoseItemsAllChangeNamesDoesNotGrow() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop) { $0.series = 1_000 }
            for round in 0..<20 {
                let events = (0..<1_000).map {
                    Self.event(harness.source, "\(round)/\($0)", text: "t", at: harness.wall.now)
                }
                await harness.store.answer(events, of: harness.source)
                try await loop.sleep(for: .seconds(60))
            }
            let late = await Self.late(harness)
            #expect(late.kept.count <= 1_000 && late.kept.count + late.lines.count >= 1_000)
            #expect(await harness.store.counts.refusedSeries == 0)
            // Series with values have their own limit.
            await harness.publish()
            #expect(await harness.store.counts.series == 1)
        }
    }

    private static func relayed(_ text: String) throws -> RelayedLine {
        let bytes = Bytes(text.utf8)
        return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
    }

    private static let time = "2026-03-01T12:00:00.000000Z"

    private static func hello(_ run: String, _ first: Int, kept: Int? = nil) throws -> RelayedLine {
        try relayed(
            #"{"type":"hello","time":"\#(time)","format":1,"run":"\#(run)","filtered":false,"interval_s":10,"#
                + #""history_s":120,"first_seq":\#(first),"next_seq":\#(first)"#
                + (kept.map { #","kept_seq":\#($0)}"# } ?? "}"))
    }

    private static func stats() throws -> RelayedLine {
        try relayed(
            #"{"type":"stats","time":"\#(time)","as_of":0,"endpoints":[],"sources":[{"source":"s","state":"ok"},"#
                + #"{"source":"catwatch","state":"ok"}]}"#)
    }

    /// A line; in a `kept` line of a run it is a month old.
    private static func text(_ sequence: Int, _ key: String, run: String? = nil) throws -> RelayedLine {
        try framed(
            sequence, #""type":"s","source":"s","series":"s/\#(key)","text":"t""#, run: run)
    }

    private static func memory(_ sequence: Int, run: String? = nil) throws -> RelayedLine {
        try framed(
            sequence, #""type":"memory","source":"catwatch","rss_bytes":1,"peak_bytes":1,"private_bytes":1"#, run: run)
    }

    private static func framed(_ sequence: Int, _ members: String, run: String?) throws -> RelayedLine {
        let lineTime = run == nil ? time : "2026-02-01T12:00:00.000000Z"
        let line = #"{"seq":\#(sequence),"time":"\#(lineTime)",\#(members)}"#
        return try relayed(run.map { #"{"type":"kept","time":"\#(time)","run":"\#($0)","line":\#(line)}"# } ?? line)
    }

    private static func relay(on loop: EventLoop, _ adjust: (inout FeedState.Limits) -> Void = { _ in }) -> EventStore {
        var limits = FeedState.Limits()
        limits.logCapacity = 1 << 16
        adjust(&limits)
        return EventStore(
            on: loop, wall: SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start),
            identity: AgentIdentity(run: "here", version: "1", started: StoreHarness.start), limits: limits,
            isRelay: true)
    }

    private static func kept(_ store: EventStore, after: Int? = 0) async -> [Int] {
        let (reader, _) = await store.open(nil, keptAfter: after)
        var kept: [Int] = []
        while let delivery = await store.dequeue(for: reader) {
            guard case .kept(let lines) = delivery else { continue }
            for line in lines.split(separator: 0x0A) {
                guard case .kept(let one)? = try? LineDecoder.decode(line).body else { continue }
                kept.append(one.line.seq ?? 0)
            }
        }
        await store.close(reader)
        return kept
    }

    /// Of another run, repeated, out of order, of the future, of a source that is not listed, in mid-stream.
    @Test func whoResumesGetsNoKeptLineAgain() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.relay(on: loop)
            await store.relay([try Self.hello("r1", 10), try Self.stats()])
            let (reader, _) = await store.open(nil, keptAfter: 5)
            await store.relay([try Self.text(3, "a", run: "r1"), try Self.text(7, "b", run: "r1")])
            var got: [Int] = []
            while let delivery = await store.dequeue(for: reader) {
                guard case .kept(let lines) = delivery else { continue }
                for line in lines.split(separator: 0x0A) {
                    if case .kept(let kept) = try LineDecoder.decode(line).body { got.append(kept.line.seq ?? 0) }
                }
            }
            #expect(got == [7])
        }
    }

    @Test func aRelayTakesOnlyWhatMayBeKept() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.relay(on: loop)
            let unlisted = try Self.relayed(
                #"{"type":"kept","time":"\#(Self.time)","run":"r","line":{"seq":45,"time":"\#(Self.time)","type":"x","#
                    + #""source":"x","series":"x"}}"#)
            await store.relay([
                try Self.hello("r", 100), try Self.stats(), try Self.text(10, "a", run: "r"),
                try Self.text(10, "b", run: "r"), try Self.text(9, "c", run: "r"), try Self.text(20, "a", run: "r"),
                try Self.text(30, "d", run: "other"), unlisted, try Self.text(40, "e", run: "r"),
            ])
            // Old as they are: the agent has chosen them.
            #expect(await Self.kept(store) == [20, 40])
            #expect(await Self.kept(store, after: 20) == [40])
            await store.relay([try Self.text(100, "a"), try Self.text(101, "f"), try Self.text(50, "g", run: "r")])
            #expect(await Self.kept(store) == [40])
            // Missed while the connection was away: a line of the log here. Others would be in the place of lines to come.
            await store.relay([
                try Self.text(115, "h", run: "r"), try Self.hello("r", 130), try Self.stats(),
                try Self.text(120, "h", run: "r"),
                try Self.text(125, "i", run: "r"), try Self.text(130, "j", run: "r"), try Self.text(900, "k", run: "r"),
                try Self.text(101, "m", run: "r"),
                try Self.text(130, "a"), try Self.text(200, "l", run: "r"), try Self.text(131, "a"),
            ])
            #expect(await Self.kept(store) == [40])
            #expect(await store.nextSequence == 132)
            let (reader, _) = await store.open(nil)
            var transcript = Transcript()
            while let delivery = await store.dequeue(for: reader) { transcript.add(delivery, at: loop.clock.now) }
            #expect(transcript.fault == nil && transcript.numbers == [100, 101, 120, 125, 130, 131])
            #expect(transcript.gaps == [102...119, 121...124, 126...129])
            await store.relay([try Self.hello("next", 1), try Self.stats()])
            #expect(await Self.kept(store).isEmpty)
        }
    }

    @Test func aMillionKeptLinesOfAnAgentTakeNoMoreThanTheirRoom() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.relay(on: loop) { ($0.series, $0.keptCapacity) = (1_000, 100_000) }
            await store.relay([try Self.hello("r", 1 << 40), try Self.stats()])
            for round in 0..<LongRun.rounds(short: 4, long: 1_000) {
                await store.relay(try (1...1_000).map { try Self.text(round * 1_000 + $0, "\(round)/\($0)", run: "r") })
            }
            let kept = await Self.kept(store)
            #expect(kept == kept.sorted() && (100...1_000).contains(kept.count))
        }
    }
}
