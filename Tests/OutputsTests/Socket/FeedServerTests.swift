import Feed
import Outputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct FeedServerTests {
    @Test func greetsThenReplaysThenGoesOnLive() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(3)
            return try await stage.serving { _ in
                let reader = try stage.connect()
                #expect(try await reader.next()?.type == "hello")
                #expect(try await reader.next()?.type == "stats")
                try await reader.skip(3)
                await stage.publish(2)
                let types = [try await reader.next()?.seq, try await reader.next()?.seq]
                #expect(types == [4, 5])
                await stage.store.finish("end")
                return try await reader.transcript(on: loop)
            }
        }
        #expect(transcript.bye?.lastSeq == 5 && transcript.lines.isEmpty && !transcript.isTorn)
    }

    @Test func everyReaderSeesEveryNumberOnceInALineOrInAGap() async throws {
        let rounds = LongRun.rounds(short: 60, long: 5_000)
        for seed in [71, 72] as [UInt64] {
            let (transcripts, stalled) = try await withLoop(virtual: true) { loop in
                let stage = await FeedStage(on: loop) { $0.logCapacity = 1 << 16 }
                return try await stage.serving { server in
                    let transcripts = try await Self.readByForty(stage, rounds, seed)
                    try await loop.sleep(for: .seconds(1))
                    #expect(await server.readerCount == 0, "seed \(seed)")
                    return (transcripts, await stage.store.counts.stalledReaders)
                }
            }
            #expect(stalled == 0, "seed \(seed)")
            for transcript in transcripts {
                #expect(transcript.fault == nil && !transcript.isTorn, "seed \(seed)")
                let last = transcript.end - 1
                #expect(transcript.bye?.lastSeq == last, "seed \(seed)")
                #expect(transcript.lines.count + transcript.missed == last, "seed \(seed)")
            }
            let slow = transcripts.count { !$0.gaps.isEmpty }
            #expect(slow > 3 && slow < 40, "seed \(seed): \(slow) were slow")
        }
    }

    /// Forty readers that pause, each in its own way and with its own room, while events come.
    private static func readByForty(_ stage: FeedStage, _ rounds: Int, _ seed: UInt64) async throws -> [FeedTranscript]
    {
        try await withThrowingTaskGroup(of: FeedTranscript.self) { group in
            for number in 0..<40 {
                let reader = try stage.connect(capacity: 64 << (number % 8))
                group.addTask {
                    var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
                    let longest = UInt64(1) << UInt64(min(11, number / 3))  // up to two seconds, in milliseconds
                    return try await reader.transcript(
                        pause: {
                            random.next() % 3 == 0 ? .milliseconds(Int64(random.next() % longest)) : nil
                        }, on: stage.loop)
                }
            }
            var random = SeededGenerator(seed: seed)
            for _ in 0..<rounds {
                await stage.publish(Int(random.next() % 15), text: Int(random.next() % 400))
                try await stage.loop.sleep(for: .milliseconds(Int64(random.next() % 1_000)))
            }
            await stage.store.finish("count")
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func givesASlowReaderOneGapAndThenWholeLines() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = 1 << 16 }
            return try await stage.serving { _ in
                let reader = try stage.connect(capacity: 2_000)
                await stage.publish(5, text: 100)
                try await loop.sleep(for: .seconds(1))
                for _ in 0..<500 { await stage.publish(text: 1_000) }
                try await loop.sleep(for: .seconds(1))
                await stage.store.finish("end")
                return try await reader.transcript(on: loop)
            }
        }
        #expect(transcript.fault == nil && transcript.gaps.count == 1 && !transcript.isTorn)
        #expect(transcript.lines.count + transcript.missed == 505 && transcript.bye?.lastSeq == 505)
        #expect(transcript.lines.count > 10)
    }

    @Test func closesAReaderThatTakesNothing() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            var limits = ReaderLimits()
            limits.stall = .seconds(60)
            try await stage.serving(limits) { server in
                let stalled = try stage.connect(capacity: 1_000)
                let idle = try stage.connect()
                await stage.publish(100, text: 100)
                try await loop.sleep(for: .milliseconds(59_900))
                #expect(await server.readerCount == 2)
                try await loop.sleep(for: .milliseconds(200))
                #expect(await server.readerCount == 1)
                #expect(await stage.store.counts.stalledReaders == 1)
                // What had been taken is there still; then it ends.
                let transcript = try await stalled.transcript(on: loop)
                #expect(stalled.bytesRead == 1_000 && transcript.fault == nil)
                // One that has everything is not stalled, however long nothing comes.
                try await idle.skip(102)
                try await loop.sleep(for: .seconds(3_600))
                #expect(await server.readerCount == 1)
                await stage.publish()
                #expect(try await idle.next()?.seq == 101)
            }
        }
    }

    @Test func doesNotCloseAReaderThatTakesALittle() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            try await stage.serving { server in
                let reader = try stage.connect(capacity: 500)
                await stage.publish(40, text: 100)
                var byte: [UInt8] = [0]
                for _ in 0..<20 {
                    try await loop.sleep(for: .seconds(55))
                    let count = try byte.withUnsafeMutableBytes { try reader.stream.read(into: $0) }
                    #expect(count == 1)
                }
                #expect(await server.readerCount == 1)
            }
        }
    }

    @Test func tellsOneReaderTooManyAndClosesIt() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            var limits = ReaderLimits()
            limits.readers = 2
            try await stage.serving(limits) { server in
                let first = try stage.connect()
                let second = try stage.connect()
                try await first.skip(2)
                try await second.skip(2)
                let third = try await stage.connect().transcript(on: loop)
                #expect(third.refusals.map(\.code) == [.connect] && third.hellos.isEmpty && third.fault == nil)
                #expect(third.refusals[0].message.contains("2 readers"))
                first.stream.close()
                try await loop.sleep(for: .seconds(1))
                #expect(await server.readerCount == 1)
                #expect(try await stage.connect().next()?.type == "hello")
                await stage.publish()
                #expect(try await second.next()?.seq == 1)
            }
        }
    }

    @Test func catchingUpGivesOthersATurn() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(2_000, text: 1_000)
            try await stage.serving { _ in
                let reader = try stage.connect(capacity: 8 << 20)
                let buffer = ReadBuffer(count: 8 << 20)
                var total = 0
                var pieces: [Int] = []
                while total < 2_000_000, pieces.count < 1_000 {
                    try await loop.sleep(for: .zero)
                    guard let count = try reader.stream.read(into: buffer.memory) else { continue }
                    pieces.append(count)
                    total += count
                }
                // A turn is over when it has brought 16 KiB, and what is left of their chunk of 64; two turns may lie in between.
                #expect(total >= 2_000_000 && pieces.allSatisfy { $0 < 160 << 10 }, "\(pieces)")
            }
        }
    }

    @Test func oneReaderThatAsksAllTheTimeLeavesTimeForOthers() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            try await stage.serving { _ in
                let asking = try stage.connect(capacity: 1 << 20)
                let other = try stage.connect()
                try await other.skip(2)
                let requests = String(repeating: "{\"poll\":\"x\"}\n", count: 1_000)
                try await asking.stream.write(all: Array(requests.utf8))
                // Both become ready in the same turn, and the other one is not answered after a thousand others.
                try await other.ask(#"{"replay":false}"#)
                #expect(try await other.next()?.type == "hello")
                let buffer = ReadBuffer(count: 1 << 20)
                let count = try asking.stream.read(into: buffer.memory) ?? 0
                #expect(count < 30_000, "of some 100,000 bytes of answers")
            }
        }
    }

    @Test func whoeverHasYetToBeCalledGetsTheEndAllTheSame() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            // More than are called in one turn.
            let readers = try await stage.serving { _ in
                var readers: [FeedReader] = []
                for _ in 0..<600 {
                    readers.append(try stage.connect())
                    try await loop.sleep(for: .zero)
                }
                for reader in readers { try await reader.skip(2) }
                await stage.publish()
                await stage.store.finish("end")
                return readers
            }
            for reader in readers {
                #expect(try await reader.next()?.seq == 1)
                #expect(try await reader.next()?.type == "bye")
                #expect(try await reader.next() == nil)
            }
        }
    }

    @Test func whoHasRoomGetsEverythingHoweverFarBehindItIs() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let reader = try await stage.serving { _ in
                let reader = try stage.connect(capacity: 8 << 20)
                try await reader.skip(2)
                await stage.publish(2_000, text: 300)
                await stage.store.finish("end")
                return reader
            }
            let transcript = try await reader.transcript(on: loop)
            #expect(transcript.lines.count == 2_000 && transcript.bye != nil)
        }
    }

    @Test func leavesNothingBehindAfterManyReaders() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(10)
            try await stage.serving { server in
                let timers = loop.timerCount
                var random = SeededGenerator(seed: 73)
                for _ in 0..<LongRun.rounds(short: 300, long: 20_000) {
                    let reader = try stage.connect(capacity: 300)
                    for _ in 0..<random.next() % 6 { _ = try await reader.line() }
                    if random.next() % 4 == 0 { try await reader.ask(#"{"since":5}"#) }
                    reader.stream.close()
                }
                try await loop.sleep(for: .milliseconds(1))
                #expect(await server.readerCount == 0)
                #expect(await stage.store.counts.readers == 0)
                #expect(loop.timerCount <= timers + 1)
            }
        }
    }
}
