import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct EventStoreTests {
    // MARK: Readers

    @Test func dropsNothingWhenTheReaderKeepsUp() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (reader, _) = await harness.store.open("stdout")
            async let transcript = harness.readAll(reader)
            for round in 0..<2_000 {
                await harness.publish(1 + round % 5, text: 100)
                if round % 3 == 0 { try await loop.sleep(for: .microseconds(Int64(round % 50))) }
            }
            await harness.store.finish("count")
            return try await transcript
        }
        #expect(transcript.fault == nil && transcript.gaps.isEmpty)
        #expect(transcript.numbers == Array(1...6_000))
        #expect(transcript.bye?.lastSeq == 6_000 && transcript.bye?.reason == "count" && transcript.bye?.run == "r1")
    }

    @Test func tellsASlowReaderExactlyWhatItMissed() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (reader, _) = await harness.store.open("socket")
            var transcript = Transcript()
            await harness.publish(3)
            transcript.add(try await harness.store.next(for: reader), at: loop.clock.now)
            #expect(transcript.numbers == [1, 2, 3])
            for _ in 0..<1_000 { await harness.publish(text: 1_000) }
            await harness.store.finish("count")
            while transcript.bye == nil {
                transcript.add(try await harness.store.next(for: reader), at: loop.clock.now)
            }
            #expect(transcript.fault == nil && transcript.gaps.count == 1 && transcript.last == 1_003)
            #expect(transcript.gaps[0].lowerBound == 4 && transcript.numbers.count + transcript.missed == 1_003)
            // The log was full of what came last.
            #expect(transcript.numbers.count > 10)
            #expect(await harness.store.counts.gaps == 1)
        }
    }

    @Test func everyReaderSeesEveryNumberOnceInALineOrInAGap() async throws {
        let count = LongRun.rounds(short: 700, long: 20_000)
        for seed in [51, 52] as [UInt64] {
            let transcripts = try await withLoop(virtual: true) { loop in
                let harness = await StoreHarness(on: loop) {
                    $0.logCapacity = 1 << 16
                    $0.history = .seconds(30)
                }
                return try await harness.store.whileRunning { try await Self.readByFifty(harness, count, seed) }
            }
            let last = transcripts[0].last
            for transcript in transcripts {
                #expect(transcript.fault == nil, "seed \(seed)")
                #expect(transcript.last == last && transcript.bye?.lastSeq == last, "seed \(seed)")
                #expect(transcript.numbers.count + transcript.missed == last, "seed \(seed)")
            }
            let slow = transcripts.count { !$0.gaps.isEmpty }
            #expect(slow > 5 && slow < 50, "seed \(seed)")
        }
    }

    /// Fifty readers that pause, each in its own way, while events come.
    private static func readByFifty(_ harness: StoreHarness, _ count: Int, _ seed: UInt64) async throws -> [Transcript]
    {
        try await withThrowingTaskGroup(of: Transcript.self) { group in
            for number in 0..<50 {
                let (reader, _) = await harness.store.open(nil)
                group.addTask {
                    var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
                    let longest = UInt64(1) << UInt64(number / 3)  // up to a minute, in milliseconds
                    return try await harness.readAll(reader, decodes: false) {
                        random.next() % 3 == 0 ? .milliseconds(Int64(random.next() % longest)) : nil
                    }
                }
            }
            var random = SeededGenerator(seed: seed)
            for _ in 0..<count / 10 {
                await harness.publish(Int(random.next() % 20), text: Int(random.next() % 500))
                try await harness.loop.sleep(for: .milliseconds(Int64(random.next() % 1_000)))
            }
            await harness.store.finish("count")
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(
        arguments: [
            (.oldest, 1), (.newest, 11), (.after(0), 1), (.after(3), 4), (.after(9), 10), (.after(10), 11),
            (.after(11), 11),
            (.after(-1), 1), (.after(.max), 11), (.after(.min), 1),
        ] as [(ReaderStart, Int)])
    func startsWhereItIsToldTo(start: ReaderStart, first: Int) async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            await harness.publish(10)
            let (reader, _) = await harness.store.open(nil, from: start)
            await harness.publish(2)
            await harness.store.finish("end")
            return try await harness.readAll(reader)
        }
        #expect(transcript.numbers == Array(first...12) && transcript.gaps.isEmpty && transcript.fault == nil)
    }

    @Test func tellsAReaderThatResumesWhatIsGone() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            for _ in 0..<200 { await harness.publish(text: 1_000) }
            let (reader, _) = await harness.store.open(nil, from: .after(5))
            await harness.store.finish("end")
            return try await harness.readAll(reader)
        }
        #expect(transcript.fault == nil && transcript.gaps.first?.lowerBound == 6 && transcript.last == 200)
    }

    /// A reader by HTTP gets a limited number of bytes of older lines.
    @Test func aReaderIsToldExactlyWhatIsNotReplayed() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            await harness.publish(10)
            let (reader, _) = await harness.store.open(nil)
            _ = await harness.store.move(reader, to: .after(3), isFiltered: false, replaying: 0)
            await harness.publish(2)
            await harness.store.finish("end")
            return try await harness.readAll(reader)
        }
        #expect(transcript.gaps == [4...10] && transcript.numbers == [11, 12] && transcript.fault == nil)
    }

    /// It has got them from a journal instead.
    @Test func aReaderThatComesBackIsNotToldOfWhatItHasReadElsewhere() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            await harness.publish(10)
            let (reader, _) = await harness.store.open(nil)
            _ = await harness.store.move(reader, to: .after(0), isFiltered: false, replaying: 0)
            await harness.store.sendAway(reader)
            _ = await harness.store.move(reader, to: .at(LineID("r1", 11)), isFiltered: false)
            #expect(await harness.store.dequeue(for: reader) == nil)
        }
    }

    @Test func closingAReaderEndsItsWait() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (reader, _) = await harness.store.open("socket")
            let (other, _) = await harness.store.open("other")
            async let wasEnded = (try? await harness.store.next(for: reader)) == nil
            try await loop.sleep(for: .seconds(1))
            #expect(await harness.store.counts.readers == 2)
            await harness.store.close(reader)
            #expect(await wasEnded)
            #expect(await harness.store.counts.readers == 1)
            await harness.store.close(reader)
            await harness.publish()
            await #expect(throws: CancellationError.self) { _ = try await harness.store.next(for: reader) }
            guard case .lines = try await harness.store.next(for: other) else {
                Issue.record("the other reader is gone too")
                return
            }
        }
    }

    @Test func aCancelledReaderCanGoOn() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (reader, _) = await harness.store.open("socket")
            for round in 1...5 {
                await withTaskGroup(of: Bool.self) { group in
                    group.addTask { (try? await harness.store.next(for: reader)) == nil }
                    group.addTask {
                        try? await loop.sleep(for: .seconds(1))
                        return true
                    }
                    #expect(await group.next() == true)
                    group.cancelAll()
                    // Lines that come while it is on its way out are neither lost nor told twice.
                    await harness.publish()
                    _ = await group.next()
                }
                if case .lines(let span) = try await harness.store.next(for: reader) {
                    #expect(span.sequences == round...round)
                } else {
                    Issue.record("no lines")
                }
            }
            #expect(loop.timerCount == 0)
        }
    }

    // MARK: The end

    @Test func drainsAndThenEnds() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (early, _) = await harness.store.open("stdout")
            async let waiting = harness.readAll(early)
            try await loop.sleep(for: .seconds(1))
            await harness.publish(3)
            await harness.store.finish("SIGTERM")
            await harness.store.finish("again")
            await harness.publish(5)
            let transcripts = [
                try await waiting, try await harness.readAll(await harness.store.open("late").0),
                try await harness.readAll(early),
            ]
            #expect(transcripts.map(\.numbers) == [[1, 2, 3], [1, 2, 3], []])
            #expect(transcripts.allSatisfy { $0.bye?.reason == "SIGTERM" && $0.bye?.lastSeq == 3 })
        }
    }

    @Test func closesNoWindowsAfterTheEnd() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            try await harness.store.whileRunning {
                await harness.publish()
                await harness.store.finish("count")
                try await loop.sleep(for: .seconds(300))
                let transcript = try await harness.readAll(await harness.store.open(nil).0)
                #expect(transcript.numbers == [1] && transcript.bye?.lastSeq == 1)
            }
        }
    }

    @Test func takesExactlyTheDataThatIsAskedFor() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.data = 10 }
            let (reader, _) = await harness.store.open("stdout")
            async let reached: Void = harness.store.waitForLimit()
            for _ in 0..<4 {
                await harness.publish(3)
                try await loop.sleep(for: .milliseconds(1))
            }
            try await reached
            #expect(await harness.store.counts.data == 10)
            await harness.store.finish("count")
            #expect(try await harness.readAll(reader).numbers == Array(1...10))
        }
    }

    @Test func theEndIsALimitToo() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            async let reached: Void = harness.store.waitForLimit()
            try await loop.sleep(for: .seconds(1))
            await harness.store.finish("end")
            try await reached
            try await harness.store.admit()
        }
    }

    // MARK: What it says of itself

    @Test func greetsWithWhatThereIs() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) {
                $0.interval = .seconds(5)
                $0.history = .seconds(60)
            }
            await harness.publish(4)
            let sample = LatencySample(endpoint: "GET http://a/b", status: 200, ms: 7)
            await harness.store.publish([
                Event(time: harness.wall.now, source: harness.source, body: .latency(sample))
            ])
            let lines = await harness.store.greeting(isFiltered: true).split(separator: 0x0A)
            #expect(lines.count == 2)
            guard case .hello(let hello) = try LineDecoder.decode(lines[0]).body,
                case .stats(let stats) = try LineDecoder.decode(lines[1]).body
            else {
                Issue.record("no greeting")
                return
            }
            #expect(hello.run == "r1" && hello.filtered && hello.firstSeq == 1 && hello.nextSeq == 6)
            #expect(hello.interval == .seconds(5) && hello.history == .seconds(60))
            #expect(
                stats.asOf == 5 && stats.endpoints.map(\.summary.count) == [1] && stats.sources.map(\.state) == [.ok])
        }
    }

    @Test func namesItsOutputsInTheAgentsLine() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (stdout, _) = await harness.store.open("stdout")
            _ = await harness.store.open(nil)
            let (file, _) = await harness.store.open("file")
            await harness.publish(3)
            _ = try await harness.store.next(for: stdout)
            await harness.store.setState("disk full" + String(repeating: "!", count: 1 << 20), of: file)
            let sample = Event(
                time: harness.wall.now, source: harness.source, body: .agent(AgentSample(loopLag: 1, cpu: 2)))
            await harness.store.publish([sample])
            // Another output that goes on where one has ended begins well.
            await harness.store.hand(file, to: "other")
            await harness.store.publish([sample])
            await harness.store.finish("end")
            let agents = try await harness.readAll(stdout).lines.compactMap { line -> Line.Agent? in
                if case .agent(let agent) = line.body { agent } else { nil }
            }
            let agent = try #require(agents.first)
            #expect(agent.events == 3 && agent.readers == 3 && agent.series == 1)
            #expect(agent.outputs.map(\.output) == ["stdout", "file"])
            // What is wrong may be others' words, and a line has an end.
            let full = "disk full" + String(repeating: "!", count: 1_015)
            #expect(agent.outputs.map(\.state) == ["ok", full] && agent.outputs.map(\.behind) == [0, 3])
            #expect(agents.last?.outputs.map(\.output) == ["stdout", "other"])
            #expect(agents.last?.outputs.map(\.state) == ["ok", "ok"])
        }
    }
}
