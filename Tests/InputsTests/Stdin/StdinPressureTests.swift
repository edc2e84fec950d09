import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Who waits for whom.
@Suite(.limited) struct StdinPressureTests {
    private static let identity = AgentIdentity(run: "r", version: "0", started: StdinRun.wallStart)

    private func store(on loop: EventLoop, log: Int = 8 << 20) -> (EventStore, SteppedWallClock) {
        let wall = SteppedWallClock(following: loop.clock, startingAt: StdinRun.wallStart)
        var limits = FeedState.Limits()
        limits.logCapacity = log
        return (EventStore(on: loop, wall: wall, identity: Self.identity, limits: limits), wall)
    }

    /// Numbers one a line.
    private func numbers(_ count: Int) -> [UInt8] { (1...count).flatMap { Array("\($0)\n".utf8) } }

    @Test(arguments: [1 << 20, 1 << 22])
    func waitsForAnOutputThatTakesNothingAndLosesNothing(log: Int) async throws {
        let count = 60_000
        let bytes = numbers(count)
        let (held, read, last, gaps) = try await withLoop(virtual: true) { loop in
            let (store, wall) = store(on: loop, log: log)
            let (far, near) = SimulatedStream.pair(capacity: bytes.count, on: loop)
            let ends = LoopBound((far, near))
            #expect(try bytes.withUnsafeBytes { try far.write($0) } == bytes.count)
            far.close()
            let input = StdinInput(StdinRun.source(), store: store, on: loop, wall: wall) { _ in ends.value.1 }
            let (reader, _) = await store.open("slow", holdsInputs: true)
            async let end: Void = input.run()
            try await loop.sleep(for: .seconds(600))
            let held = await store.counts.data
            async let rest = Self.readAll(store, reader)
            try await end
            await store.finish("end")
            let (last, gaps) = try await rest
            return (held, await store.counts.data, last, gaps)
        }
        #expect(held > 0 && held < count, "\(held) were read ahead")
        #expect(held * 100 < log, "what was read ahead fills more than the log")
        #expect(last >= count)
        #expect(read == count)
        #expect(gaps == 0)
    }

    private static func readAll(_ store: EventStore, _ reader: ReaderID) async throws -> (last: Int, gaps: Int) {
        var last = 0
        var gaps = 0
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span): last = span.sequences.upperBound
            case .gap: gaps += 1
            case .greeting, .ended, .kept, .interrupted: continue
            case .end: return (last, gaps)
            }
        }
    }

    @Test func letsTheOthersHaveTheirTurn() async throws {
        let bytes = numbers(100_000)
        let most = try await withLoop(virtual: true) { loop in
            let (store, wall) = store(on: loop)
            let (far, near) = SimulatedStream.pair(capacity: bytes.count, on: loop)
            let ends = LoopBound(near)
            #expect(try bytes.withUnsafeBytes { try far.write($0) } == bytes.count)
            far.close()
            let input = StdinInput(StdinRun.source(), store: store, on: loop, wall: wall) { _ in ends.value }
            async let end: Void = input.run()
            var seen = 0
            var most = 0
            while seen < 100_000 {
                try await loop.sleep(for: .zero)
                let now = await store.counts.data
                most = max(most, now - seen)
                seen = now
            }
            try await end
            return most
        }
        #expect(most <= 2_048)
    }

    @Test func endsWhenItIsCancelled() async throws {
        try await withLoop(virtual: true) { loop in
            let (store, wall) = store(on: loop)
            let (far, near) = SimulatedStream.pair(on: loop)
            let ends = LoopBound(near)
            let input = StdinInput(StdinRun.source(), store: store, on: loop, wall: wall) { _ in ends.value }
            _ = try Array("x\ny\n1\n".utf8).withUnsafeBytes { try far.write($0) }
            let wasCancelled = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do {
                        try await input.run()
                        return false
                    } catch {
                        return true
                    }
                }
                try? await loop.sleep(for: .milliseconds(100))
                group.cancelAll()
                return await group.next() ?? false
            }
            #expect(wasCancelled)
            #expect(await store.counts.data == 1)
            #expect(loop.timerCount == 0)
            withExtendedLifetime(far) {}
        }
    }

    /// As when a reload changes how standard input is read: the next input goes on in the middle of a line.
    @Test func whatACancelledOneHasNotReadIsLeftToTheNext() async throws {
        let numbers = 1_000..<4_000
        let values = try await withLoop { loop in
            let wall = SystemWallClock()
            var limits = FeedState.Limits()
            limits.logCapacity = 1 << 16
            let store = EventStore(on: loop, wall: wall, identity: Self.identity, limits: limits)
            let (reader, _) = await store.open("test", holdsInputs: true)
            let pipe = try Descriptor.pipe()
            let lines = LoopBound(StdinLines())
            let first = try pipe.read.duplicate().release()
            let second = try pipe.read.duplicate().release()
            let writer = LoopBound(try DescriptorStream(owning: try pipe.write.duplicate(), on: loop))
            _ = consume pipe
            func input(_ number: Int32) -> StdinInput {
                StdinInput(StdinRun.source(), store: store, on: loop, wall: wall, lines: lines) {
                    (loop) throws(SystemError) in
                    try DescriptorStream(owning: Descriptor(owning: number), on: loop)
                }
            }
            try await writer.value.write(all: Array((numbers.map { "\($0)\n" }.joined() + "40").utf8))
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await input(first).run() }
                while await store.counts.data == 0 { try? await loop.sleep(for: .milliseconds(1)) }
                group.cancelAll()
            }
            #expect(await store.counts.data < numbers.count)
            async let end: Void = input(second).run()
            async let values = StdinRun.collectValues(store, reader)
            try await writer.value.write(all: Array("00\n".utf8))
            writer.value.close()
            try await end
            await store.finish("end")
            return try await values
        }
        #expect(values == (numbers.map(Double.init) + [4_000]))
    }

    @Test func saysThatTheStreamCannotBeRead() async throws {
        let run = try await withLoop(virtual: true) { loop in
            let (store, wall) = store(on: loop)
            let input = StdinInput(StdinRun.source(), store: store, on: loop, wall: wall) { _ throws(SystemError) in
                throw SystemError(code: 21, call: "read")
            }
            let (reader, _) = await store.open("test", holdsInputs: true)
            try await input.run()
            #expect(await input.isCutShort)
            await store.finish("end")
            return try await StdinRun(lines: StdinRun.collect(store, reader))
        }
        #expect(run.errors.map(\.code) == [.closed])
        #expect(run.errors.first?.message == "standard input cannot be read: Is a directory")
    }

    /// A real pipe and a real clock: the descriptor's readiness, and its end.
    @Test func readsAPipe() async throws {
        let values = try await withLoop { loop in
            let wall = SystemWallClock()
            let store = EventStore(on: loop, wall: wall, identity: Self.identity)
            let (reader, _) = await store.open("test", holdsInputs: true)
            let pipe = try Descriptor.pipe()
            let from = try pipe.read.duplicate().release()
            let writer = LoopBound(try DescriptorStream(owning: try pipe.write.duplicate(), on: loop))
            _ = consume pipe
            let input = StdinInput(StdinRun.source(), store: store, on: loop, wall: wall) {
                (loop) throws(SystemError) in
                try DescriptorStream(owning: Descriptor(owning: from), on: loop)
            }
            async let end: Void = input.run()
            try await writer.value.write(all: Array("1\n2\n".utf8))
            try await loop.sleep(for: .milliseconds(5))
            try await writer.value.write(all: Array("3".utf8))
            writer.value.close()
            try await end
            #expect(await !input.isCutShort)
            await store.finish("end")
            return try await StdinRun.collectValues(store, reader)
        }
        #expect(values == [1, 2, 3])
    }
}
