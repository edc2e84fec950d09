import Feed
import Reactor
import TestSupport
import Testing

/// Batches that are larger than the log, and readers that must get everything.
@Suite(.limited) struct EventStoreSliceTests {
    private static func batch(_ count: Int, in harness: StoreHarness) -> EventBatch {
        var batch = EventBatch()
        for number in 0..<count { batch.add(time: harness.wall.now, source: harness.source, value: Double(number)) }
        return batch
    }

    @Test(arguments: [1, 5])
    func nothingIsLostOfBatchesThatAreLargerThanTheLog(inputs: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 18 }
            let (quick, _) = await harness.store.open("file", holdsInputs: true)
            let (slow, _) = await harness.store.open("stdout", holdsInputs: true)
            let count = 10_000
            async let fed: Void = withTaskGroup(of: Void.self) { group in
                // All of them wait for the same room; only one may have it.
                for _ in 0..<inputs {
                    group.addTask { _ = await harness.store.publish(Self.batch(count, in: harness), waitingUntil: nil) }
                }
                await group.waitForAll()
                await harness.store.finish("end")
            }
            async let first = harness.readAll(quick, decodes: false)
            let second = try await harness.readAll(slow, decodes: false) { .milliseconds(1) }
            await fed
            for transcript in [try await first, second] {
                #expect(transcript.fault == nil && transcript.gaps.isEmpty)
                #expect(transcript.numbers.count >= count * inputs)
            }
            #expect(await harness.store.counts.data == count * inputs)
        }
    }

    @Test func whoWaitsNoLongerGoesOnAndTheReaderGetsItsGap() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (stdout, _) = await harness.store.open("stdout", holdsInputs: true)
            let deadline = loop.clock.now.advanced(by: .seconds(5))
            async let fed = harness.store.publish(Self.batch(5_000, in: harness), waitingUntil: deadline)
            try await loop.sleep(for: .milliseconds(4_999))
            let held = await harness.store.counts.data
            #expect(held > 0 && held < 1_000)
            #expect(await !fed)
            #expect(loop.clock.now == deadline)
            #expect(await harness.store.counts.data == 5_000)
            await harness.store.finish("end")
            let transcript = try await harness.readAll(stdout)
            #expect(transcript.fault == nil && transcript.gaps.count == 1 && transcript.last == 5_000)
        }
    }

    @Test(arguments: ["cancel", "finish"])
    func theEndIsNotWaitedFor(way: String) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 16 }
            let (stdout, _) = await harness.store.open("stdout", holdsInputs: true)
            let start = loop.clock.now
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await harness.store.publish(Self.batch(5_000, in: harness), waitingUntil: nil) }
                try? await loop.sleep(for: .seconds(1))
                if way == "cancel" { group.cancelAll() } else { await harness.store.finish("end") }
            }
            #expect(start.duration(to: loop.clock.now) == .seconds(1))
            // What was read is not lost by a cancellation; behind the end comes nothing.
            let count = await harness.store.counts.data
            #expect(way == "cancel" ? count == 5_000 : count < 1_000)
            await harness.store.close(stdout)
        }
    }

    private static func keyed(_ count: Int, from source: SourceID, at time: Timestamp) -> EventBatch {
        EventBatch(
            (0..<count).map { number in
                Event(time: time, source: source, body: .data(Datum(key: Bytes("\(number)".utf8), value: 1)))
            })
    }

    /// A source that a reload took out gives way to a new one, with windows that are larger than the log, all in one window's time.
    @Test func theWindowsOfASourceThatGivesWayWaitForOutputs() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop) { limits in
                limits.logCapacity = 1 << 18
                limits.series = 4_000
            }
            let (stdout, _) = await harness.store.open("stdout", holdsInputs: true)
            async let transcript = harness.readAll(stdout) { .milliseconds(1) }
            await harness.store.publish(
                Self.keyed(4_000, from: harness.source, at: harness.wall.now), waitingUntil: nil)
            await harness.store.release(named: "fact")
            let new = await harness.store.register(SourceDescription(name: "new"))
            await harness.store.publish(Self.keyed(20, from: new, at: harness.wall.now))
            #expect(await harness.store.counts.series == 20)
            await harness.store.finish("end")
            let result = try await transcript
            #expect(result.fault == nil && result.gaps.isEmpty && result.windows.count == 4_000)
            #expect(result.last == 8_020)
        }
    }

    /// 6,000 windows of some 250 bytes close at once, which is more than the log.
    @Test(arguments: [Duration.milliseconds(1), .seconds(3_600)])
    func windowsOfManySeriesWaitForOutputsUntilTheNextOnes(pause: Duration) async throws {
        try await withLoop(virtual: true) { loop in
            let count = 6_000
            let harness = await StoreHarness(on: loop) { $0.logCapacity = 1 << 20 }
            try await harness.store.whileRunning {
                var batch = EventBatch()
                for number in 0..<count {
                    let datum = Datum(key: Bytes("\(number)".utf8), value: 1)
                    batch.add(Event(time: harness.wall.now, source: harness.source, body: .data(datum)))
                }
                await harness.store.publish(batch)
                let (stdout, _) = await harness.store.open("stdout", from: .newest, holdsInputs: true)
                async let transcript = harness.readAll(stdout, decodes: false) { pause }
                let boundary = 10 - Double(StoreHarness.start.microseconds % 10_000_000) / 1_000_000
                try await loop.sleep(for: .seconds(boundary) + .milliseconds(500))
                // A poll comes meanwhile, and waits for nobody.
                await harness.publish()
                try await loop.sleep(for: .seconds(10))
                await harness.store.finish("end")
                let result = try await transcript
                #expect(result.fault == nil)
                #expect(result.last >= 2 * count + 1)
                if pause < .seconds(1) {
                    #expect(result.gaps.isEmpty)
                } else {
                    #expect(result.missed > 500, "they waited for a reader that never reads")
                }
            }
        }
    }
}
