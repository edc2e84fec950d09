import Glibc
import Reactor
import TestSupport
import Testing

/// What every kind of byte stream must do.
@Suite(.limited) struct ByteStreamTests {
    private static func withEnds<Value: Sendable>(
        of kind: StreamKind, _ body: @escaping @Sendable (EventLoop, Ends) async throws -> Value
    ) async throws -> Value {
        try await withLoop(virtual: kind.isVirtual) { loop in try await body(loop, try kind.open(on: loop)) }
    }

    @Test(arguments: StreamKind.allCases)
    func takesNothingWhenItIsFullAndGoesOnWhenTheReaderHasDrained(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { _, ends in
            let taken = try ends.writer.fill()
            #expect(taken > 0)
            try #expect(ends.writer.fill() == 0)
            for round in 0..<3 {
                let writing = Log<Int>()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        // The room of the beginning may still be announced: try again until there is some.
                        while try ends.writer.write([7]) == 0 { try await ends.writer.waitUntilWritable() }
                        writing.entries.append(round)
                    }
                    await letOthersRun()
                    #expect(writing.entries.isEmpty)
                    try #expect(ends.reader.drain().bytes.count == taken)
                    try await group.waitForAll()
                }
                try #expect(ends.reader.drain().bytes == [7])
                try #expect(ends.writer.fill() == taken)
            }
        }
    }

    @Test(arguments: StreamKind.allCases)
    func readsNothingYetThenTheBytesThenTheEnd(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { _, ends in
            try #expect(ends.reader.read(upTo: 10) == nil)
            try #expect(ends.writer.write([1, 2, 3]) == 3)
            try await #expect(ends.reader.next(upTo: 2) == [1, 2])
            try #expect(ends.reader.read(upTo: 10) == [3])
            try #expect(ends.reader.read(upTo: 10) == nil)
            try #expect(ends.writer.write([4, 5]) == 2)
            ends.writer.close()
            try await #expect(ends.reader.next(upTo: 10) == [4, 5])
            try await #expect(ends.reader.next(upTo: 10) == [])
            try #expect(ends.reader.read(upTo: 10) == [])
        }
    }

    @Test(arguments: StreamKind.allCases)
    func wakesAReaderThatWaitsForBytesAndForTheEnd(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { _, ends in
            async let everything = ends.reader.readToTheEnd()
            await letOthersRun()
            for byte: UInt8 in 0..<5 {
                try #expect(ends.writer.write([byte]) == 1)
                await letOthersRun()
            }
            ends.writer.close()
            try await #expect(everything == [0, 1, 2, 3, 4])
        }
    }

    @Test(arguments: StreamKind.allCases)
    func aWriteWithoutAReaderIsABrokenPipe(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { _, ends in
            try #expect(ends.writer.write([1]) == 1)
            try #expect(ends.reader.drain().bytes == [1])
            ends.reader.close()
            for _ in 0..<2 { #expect(throws: SystemError(code: EPIPE, call: "write")) { try ends.writer.write([2]) } }
            try #expect(ends.writer.write([]) == 0)
        }
    }

    @Test(arguments: StreamKind.allCases)
    func noticesThatTheReaderLeftWithoutAWrite(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { _, ends in
            let noticed = Log<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await ends.writer.waitUntilHungUp()
                    noticed.entries.append("hang-up")
                }
                group.addTask {
                    let code = await errorCode { try await ends.writer.keepFull() }
                    #expect(code == EPIPE)
                    noticed.entries.append("write")
                }
                await letOthersRun()
                #expect(noticed.entries.isEmpty)
                ends.reader.close()
                try await group.waitForAll()
            }
            #expect(Set(noticed.entries) == ["hang-up", "write"])
            // It stays so: whoever asks later is told as well.
            for _ in 0..<3 { try await ends.writer.waitUntilHungUp() }
        }
    }

    @Test(arguments: StreamKind.allCases)
    func closingItWakesAllWhoWaitOnIt(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { _, ends in
            let codes = await withTaskGroup(of: Int32?.self) { group in
                group.addTask { await errorCode { try await ends.writer.keepFull() } }
                group.addTask {
                    await errorCode {
                        try await ends.writer.waitUntilHungUp()
                        _ = try ends.writer.write([1])
                    }
                }
                group.addTask {
                    await errorCode {
                        while true {
                            _ = try ends.reader.drain()
                            try await ends.reader.waitUntilReadable()
                        }
                    }
                }
                await letOthersRun()
                ends.writer.close()
                ends.writer.close()
                // Those who wait at this end, whatever the other one does.
                var codes = [await group.next(), await group.next()]
                ends.reader.close()
                codes.append(await group.next())
                return codes
            }
            #expect(codes == [EBADF, EBADF, EBADF])
            #expect(throws: SystemError(code: EBADF, call: "write")) { try ends.writer.write([1]) }
            #expect(throws: SystemError(code: EBADF, call: "read")) { try ends.reader.read(upTo: 1) }
            for _ in 0..<2 {
                try await ends.writer.waitUntilWritable()
                try await ends.reader.waitUntilReadable()
                try await ends.reader.waitUntilHungUp()
            }
        }
    }

    @Test(arguments: StreamKind.allCases)
    func aCancelledWaitLeavesNothingBehind(kind: StreamKind) async throws {
        try await Self.withEnds(of: kind) { loop, ends in
            for _ in 0..<3 {
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await ends.writer.keepFull() }
                    group.addTask { try await ends.writer.waitUntilHungUp() }
                    group.addTask { try await ends.reader.waitUntilHungUp() }
                    await letOthersRun()
                    group.cancelAll()
                    for _ in 0..<3 {
                        await #expect(throws: CancellationError.self) { try await group.next() }
                    }
                }
                _ = try ends.reader.drain()
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try await ends.reader.readToTheEnd() }
                    await letOthersRun()
                    group.cancelAll()
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
            }
            #expect(loop.timerCount == 0)
            // Nobody waits there any more, and it works as before.
            async let next = ends.reader.next(upTo: 10)
            await letOthersRun()
            try #expect(ends.writer.write([9]) == 1)
            try await #expect(next == [9])
        }
    }

    @Test(arguments: StreamKind.allCases, [1, 2])
    func passesTheSameBytesInAnyChunks(kind: StreamKind, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let size = (kind == .smallSimulated ? 5_000 : 200_000) * LongRun.rounds(short: 1, long: 10)
        let bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        // Tiny and large chunks in turn: of at most 1, 10, 100, … bytes.
        let limits = kind == .smallSimulated ? [1, 10] : [200, 10_000, 100_000]
        let limit = limits[Int(seed) % limits.count]
        let received = try await Self.withEnds(of: kind) { _, ends in
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ 100)
                    var position = 0
                    while position < bytes.count {
                        let end = min(bytes.count, position + Int.random(in: 1...limit, using: &random))
                        let taken = try ends.writer.write(bytes[position..<end])
                        position += taken
                        if taken == 0 { try await ends.writer.waitUntilWritable() }
                        if random.next() % 8 == 0 { await Task.yield() }
                    }
                    ends.writer.close()
                    return []
                }
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ 200)
                    var received: [UInt8] = []
                    while true {
                        let part = try await ends.reader.next(upTo: Int.random(in: 1...limit, using: &random))
                        if part.isEmpty { return received }
                        received += part
                        if random.next() % 8 == 0 { await Task.yield() }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        #expect(received == bytes, "seed \(seed), \(kind)")
    }
}
