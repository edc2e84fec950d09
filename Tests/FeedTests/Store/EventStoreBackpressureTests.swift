import Feed
import Reactor
import TestSupport
import Testing

/// Who waits for whom: inputs that can wait, and outputs that must get everything.
@Suite(.limited) struct EventStoreBackpressureTests {
    /// Publishes by `admit` until `count` events are through; gives how many there were when the time was up.
    private static func feed(_ harness: StoreHarness, count: Int, counter: Counter) async throws {
        for _ in 0..<count {
            try await harness.store.admit()
            await harness.publish(text: 1_000)
            counter.value += 1
        }
    }

    /// Touched on one loop only.
    private final class Counter: @unchecked Sendable {
        var value = 0
    }

    @Test func anOutputThatMustGetEverythingHoldsBulkInputs() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 18 }
            let (reader, _) = await harness.store.open("stdout", holdsInputs: true)
            let counter = Counter()
            async let fed: Void = Self.feed(harness, count: 2_000, counter: counter)
            try await loop.sleep(for: .seconds(1))
            // More than half a log, and nothing is lost of it.
            let first = counter.value
            #expect(first > 50 && first < 150)
            try await loop.sleep(for: .seconds(1_000))
            #expect(counter.value == first)
            guard case .lines(let span) = try await harness.store.next(for: reader) else {
                Issue.record("no lines")
                return
            }
            #expect(span.sequences.lowerBound == 1)
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value > first)

            var transcript = Transcript()
            while transcript.last < 2_000 {
                transcript.add(try await harness.store.next(for: reader), at: loop.clock.now)
            }
            try await fed
            #expect(transcript.fault == nil && transcript.gaps.isEmpty)
            #expect(transcript.numbers == Array((span.sequences.upperBound + 1)...transcript.last))
            // All events, and the window lines that came in between.
            #expect(counter.value == 2_000 && transcript.last >= 2_000)
        }
    }

    @Test func linesThatReserveMuchHoldInputsAsWell() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 18 }
            let (reader, _) = await harness.store.open("stdout", holdsInputs: true)
            let counter = Counter()
            let data = Bytes("\"".utf8) + Bytes(repeating: 0x61, count: 6_000) + Bytes("\"".utf8)
            let text = Bytes(repeating: 0x62, count: 4_096)
            let event = Event(
                time: harness.wall.now, source: harness.source, body: .data(Datum(text: text, data: data)))
            async let fed: Void = {
                for _ in 0..<100 {
                    try await harness.store.admit()
                    await harness.store.publish([event])
                    counter.value += 1
                }
                await harness.store.finish("end")
            }()
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value < 50)
            let transcript = try await harness.readAll(reader)
            try await fed
            #expect(transcript.fault == nil && transcript.gaps.isEmpty && transcript.numbers == Array(1...100))
        }
    }

    @Test func nothingIsTooOldForAnOutputThatStandsStill() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 18 }
            try await harness.store.whileRunning {
                let (stdout, _) = await harness.store.open("stdout", holdsInputs: true)
                await harness.publish(5)
                try await loop.sleep(for: .seconds(3_600))
                // A window line has come meanwhile.
                guard case .lines(let span) = try await harness.store.next(for: stdout) else {
                    Issue.record("what it had not seen is gone")
                    return
                }
                #expect(span.sequences == 1...6)
                // Now nobody holds them, and they are old.
                try await loop.sleep(for: .seconds(300))
                await harness.store.finish("end")
                let late = try await harness.readAll(await harness.store.open(nil, from: .after(2)).0)
                #expect(late.gaps == [3...6] && late.numbers.isEmpty)
            }
        }
    }

    @Test func otherReadersHoldNothingBack() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (socket, _) = await harness.store.open("unix:x")
            let counter = Counter()
            try await Self.feed(harness, count: 500, counter: counter)
            #expect(counter.value == 500)
            await harness.store.finish("end")
            let transcript = try await harness.readAll(socket)
            #expect(transcript.fault == nil && transcript.gaps.count == 1 && transcript.last == 500)
        }
    }

    @Test func pollsDoNotWait() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (stdout, _) = await harness.store.open("stdout", holdsInputs: true)
            let counter = Counter()
            async let fed: Void = Self.feed(harness, count: 200, counter: counter)
            try await loop.sleep(for: .seconds(1))
            let held = counter.value
            #expect(held < 200)
            for _ in 0..<500 { await harness.publish(text: 1_000) }
            #expect(counter.value == held)
            // It is overtaken, told so, and bulk inputs go on once it has caught up.
            var transcript = Transcript()
            while transcript.last < 700 {
                transcript.add(try await harness.store.next(for: stdout), at: loop.clock.now)
            }
            try await fed
            #expect(transcript.fault == nil && transcript.gaps.count == 1)
        }
    }

    /// A long line of another agent is more than half a log, until its reader is behind the numbers that follow it.
    @Test func anOutputThatIsToldWhatIsMissingLetsInputsGo() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            var limits = FeedState.Limits()
            limits.logCapacity = 1 << 16
            let store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isRelay: true)
            let (reader, _) = await store.open("stdout", holdsInputs: true)
            let time = #""time":"2001-09-09T01:46:40.000000Z""#
            let text = String(repeating: "x", count: 40_000)
            let lines = [
                #"{"type":"hello",\#(time),"format":1,"run":"r1","first_seq":1,"next_seq":2}"#,
                #"{"seq":1,\#(time),"type":"fact","source":"s","series":"s","data":"\#(text)"}"#,
                #"{"type":"gap",\#(time),"from":2,"to":2,"reason":"slow_reader"}"#,
            ]
            await store.relay(
                try lines.map { RelayedLine(try LineDecoder.decode(Bytes($0.utf8)), bytes: Bytes($0.utf8)) })
            let counter = Counter()
            async let admitted: Void = {
                try await store.admit()
                counter.value += 1
            }()
            var deliveries: [String] = []
            for _ in 0..<3 {
                try await loop.sleep(for: .seconds(1))
                #expect(counter.value == 0)
                switch await store.dequeue(for: reader) {
                case .greeting: deliveries.append("greeting")
                case .lines: deliveries.append("lines")
                case .gap: deliveries.append("gap")
                default: break
                }
            }
            #expect(deliveries == ["greeting", "lines", "gap"])
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value == 1)
            await store.close(reader)
            try await admitted
        }
    }

    /// What a journal knows of the end of a run: with another one's it would be gone.
    @Test func anotherRunWaitsForTheByeOfTheOneBefore() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity, isRelay: true)
            let (reader, _) = await store.open("journal", holdsInputs: true)
            await store.acknowledge(store.progress(of: reader), of: reader, first: nil)
            let time = #""time":"2001-09-09T01:46:40.000000Z""#
            let lines = [
                #"{"type":"hello",\#(time),"format":1,"run":"r1","first_seq":1,"next_seq":2}"#,
                #"{"seq":1,\#(time),"type":"fact","source":"s","series":"s"}"#,
                #"{"type":"bye",\#(time),"run":"r1","last_seq":1,"reason":"count"}"#,
            ]
            await store.relay(
                try lines.map { RelayedLine(try LineDecoder.decode(Bytes($0.utf8)), bytes: Bytes($0.utf8)) })
            await store.acknowledge(LineID("r1", 1), of: reader, first: 1)
            let counter = Counter()
            async let admitted: Void = {
                try await store.waitForReaders()
                counter.value += 1
            }()
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value == 0)
            #expect(await store.dequeueFarewell(for: reader) == Array(lines[2].utf8))
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value == 1)
            await store.close(reader)
            try await admitted
        }
    }

    /// What is durable of a run says nothing of the lines of the next.
    @Test func theLinesOfAnotherRunAreWaitedForAsWell() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity, isRelay: true)
            let (reader, _) = await store.open("journal", holdsInputs: true)
            await store.acknowledge(store.progress(of: reader), of: reader, first: nil)
            let time = #""time":"2001-09-09T01:46:40.000000Z""#
            func relay(_ run: String, _ lines: ClosedRange<Int>) async throws {
                let texts =
                    [#"{"type":"hello",\#(time),"format":1,"run":"\#(run)","first_seq":1,"next_seq":1}"#]
                    + lines.map { #"{"seq":\#($0),\#(time),"type":"fact","source":"s","series":"s"}"# }
                await store.relay(
                    try texts.map { RelayedLine(try LineDecoder.decode(Bytes($0.utf8)), bytes: Bytes($0.utf8)) })
            }
            try await relay("r1", 1...3)
            await store.acknowledge(LineID("r1", 3), of: reader, first: 1)
            try await relay("r2", 1...2)
            let counter = Counter()
            async let admitted: Void = {
                try await store.waitForReaders()
                counter.value += 1
            }()
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value == 0)
            await store.acknowledge(LineID("r2", 2), of: reader, first: 1)
            try await loop.sleep(for: .seconds(1))
            #expect(counter.value == 1)
            await store.close(reader)
            try await admitted
        }
    }

    @Test(arguments: ["close", "finish", "cancel"])
    func lettingGoOfTheOutputLetsInputsGo(way: String) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (stdout, _) = await harness.store.open("stdout", holdsInputs: true)
            for _ in 0..<60 { await harness.publish(text: 1_000) }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        do {
                            try await harness.store.admit()
                            return true
                        } catch { return false }
                    }
                }
                try await loop.sleep(for: .seconds(1))
                switch way {
                case "close": await harness.store.close(stdout)
                case "finish": await harness.store.finish("end")
                default: group.cancelAll()
                }
                while let admitted = try await group.next() { #expect(admitted == (way != "cancel")) }
            }
        }
    }
}
