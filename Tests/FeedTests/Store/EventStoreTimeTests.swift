import Feed
import Reactor
import TestSupport
import Testing

/// When readers are woken, and when windows close.
@Suite(.limited) struct EventStoreTimeTests {
    @Test func wakesOneReaderAtOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (reader, _) = await harness.store.open("stdout")
            async let transcript = harness.readAll(reader)
            var published: [LoopInstant] = []
            for _ in 0..<50 {
                try await loop.sleep(for: .milliseconds(3))
                published.append(loop.clock.now)
                await harness.publish()
            }
            try await loop.sleep(for: .milliseconds(3))
            await harness.store.finish("end")
            #expect(try await transcript.times.dropLast() == published[...])
        }
    }

    @Test func wakesAThousandReadersTogether() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let transcripts = try await withThrowingTaskGroup(of: Transcript.self) { group in
                for _ in 0..<1_000 {
                    let (reader, _) = await harness.store.open(nil)
                    group.addTask { try await harness.readAll(reader, decodes: false) }
                }
                for _ in 0..<60 {
                    try await loop.sleep(for: .milliseconds(1))
                    await harness.publish(value: nil)
                }
                // Nothing new comes, and all get what there was.
                try await loop.sleep(for: .milliseconds(20))
                let ended = loop.clock.now
                await harness.store.finish("end")
                return try await group.reduce(into: [(Transcript, LoopInstant)]()) { $0.append(($1, ended)) }
            }
            for (transcript, ended) in transcripts {
                #expect(transcript.fault == nil && transcript.numbers == Array(1...60))
                let deliveries = transcript.times.dropLast()
                #expect(deliveries.allSatisfy { $0 <= ended })
                for (earlier, later) in zip(deliveries, deliveries.dropFirst()) {
                    #expect(earlier.duration(to: later) >= .milliseconds(20))
                }
            }
        }
    }

    @Test func wakesNobodyWhenNothingWasAdded() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            try await harness.store.whileRunning {
                let (reader, _) = await harness.store.open("stdout")
                async let transcript = harness.readAll(reader)
                for _ in 0..<100 {
                    try await loop.sleep(for: .seconds(7))
                    await harness.store.publish([])
                }
                await harness.store.finish("end")
                #expect(try await transcript.times.count == 1)
            }
        }
    }

    @Test func closesWindowsThoughNobodyPublishes() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            try await harness.store.whileRunning {
                let (reader, _) = await harness.store.open("stdout")
                async let transcript = harness.readAll(reader)
                try await loop.sleep(for: .seconds(3))
                await harness.publish(2)
                try await loop.sleep(for: .seconds(60))
                await harness.store.finish("end")
                let window = try #require(try await transcript.lines.last)
                guard case .window(let body) = window.body else {
                    Issue.record("no window")
                    return
                }
                #expect(try await transcript.lines.count == 3 && body.count == 2 && body.lastSeq == 2)
                #expect(body.start == StoreHarness.start && window.time == StoreHarness.start + .seconds(10))
                // Handed out at that moment, too.
                let delivered = try await transcript.times.dropLast().last
                #expect(delivered == LoopInstant(nanoseconds: 1_000_000_000).advanced(by: .seconds(10)))
            }
        }
    }

    @Test(arguments: [-100_000, -15, -4, 4, 15, 100_000] as [Int64])
    func noticesWithinAWidthThatTheClockWasStepped(seconds: Int64) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            try await harness.store.whileRunning {
                let (reader, _) = await harness.store.open("stdout")
                async let transcript = harness.readAll(reader)
                await harness.publish()
                try await loop.sleep(for: .seconds(3))
                harness.wall.step(by: .seconds(seconds))
                try await loop.sleep(for: .seconds(11))
                await harness.publish()
                try await loop.sleep(for: .seconds(40))
                await harness.store.finish("end")
                let read = try await transcript
                #expect(read.fault == nil && read.numbers == Array(1...read.lines.count))
                // Every value is in a window that was told, whatever the clock did.
                var counts: [Timestamp: Int] = [:]
                for window in read.windows { counts[window.start] = window.count }
                #expect(counts.values.reduce(0, +) == 2)
            }
        }
    }

    @Test func spendsADayOfOneEventASecond() async throws {
        let seconds = LongRun.rounds(short: 3_600, long: 86_400)
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let transcript = try await harness.store.whileRunning {
                let (reader, _) = await harness.store.open("stdout", holdsInputs: true)
                async let transcript = harness.readAll(reader)
                for second in 0..<seconds {
                    await harness.publish(value: Double(second))
                    try await loop.sleep(for: .seconds(1))
                }
                await harness.store.finish("duration")
                return try await transcript
            }
            #expect(transcript.fault == nil && transcript.gaps.isEmpty)
            let windows = transcript.windows
            #expect(transcript.lines.count == seconds + windows.count)
            #expect(windows.count >= seconds / 10 - 1 && windows.count <= seconds / 10)
            for (index, window) in windows.enumerated() {
                let first = Double(index * 10)
                #expect(window.start == StoreHarness.start + .seconds(index * 10))
                #expect(window.count == 10 && window.min == first && window.max == first + 9)
                #expect(window.last == first + 9 && window.mean == first + 4.5)
            }
        }
    }
}
