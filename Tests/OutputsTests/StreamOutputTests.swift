import Feed
import Glibc
import Outputs
import Reactor
import TestSupport
import Testing

/// The output over a simulated stream, in virtual time.
@Suite(.limited) struct StreamOutputTests {
    static let identity = AgentIdentity(run: "run", version: "0", started: Timestamp(seconds: 1_800_000_000))

    static func store(on loop: EventLoop, logCapacity: Int = 8 << 20) -> EventStore {
        let wall = SteppedWallClock(following: loop.clock, startingAt: identity.started)
        var limits = FeedState.Limits()
        limits.logCapacity = logCapacity
        return EventStore(on: loop, wall: wall, identity: identity, limits: limits)
    }

    static func events(_ range: Range<Int>, source: SourceID, text: String = "Cats sleep.") -> [Event] {
        range.map {
            Event(
                time: identity.started, source: source,
                body: .data(Datum(value: Double($0), text: Array(text.utf8)[...])))
        }
    }

    /// Everything that is readable now.
    static func drain(_ stream: SimulatedStream, atMost limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < limit {
            let size = min(buffer.count, limit - bytes.count)
            let read = try buffer.withUnsafeMutableBytes { try stream.read(into: .init(rebasing: $0[..<size])) }
            guard let read, read > 0 else { break }
            bytes += buffer[..<read]
        }
        return bytes
    }

    /// Whether the stream was closed at its other end and everything is read.
    static func isAtEnd(_ stream: SimulatedStream) throws -> Bool {
        var byte: [UInt8] = [0]
        let read = try byte.withUnsafeMutableBytes { try stream.read(into: $0) }
        #expect(read != 1, "there was more to read")
        return read == 0
    }

    static func decode(_ bytes: [UInt8]) throws -> [Line] {
        var splitter = LineSplitter()
        splitter.push(bytes[...])
        var lines: [Line] = []
        while let item = splitter.next() {
            guard case .line(let line) = item else { continue }
            lines.append(try LineDecoder.decode(line))
        }
        #expect(splitter.finish() == nil, "the stream ended within a line")
        return lines
    }

    /// Whether numbers go on without a hole that no gap line names.
    static func expectAccounted(_ lines: [Line], seed: UInt64 = 0) {
        var expected = 1
        for line in lines {
            if let number = line.seq {
                #expect(number == expected, "seed \(seed)")
                expected = number + 1
            } else if case .gap(let gap) = line.body {
                #expect(gap.from == expected && gap.to >= gap.from && gap.reason == "slow_reader", "seed \(seed)")
                expected = gap.to + 1
            }
        }
        if case .bye(let bye) = lines.last?.body {
            #expect(bye.lastSeq == expected - 1, "seed \(seed)")
        } else {
            Issue.record("there is no bye at the end, seed \(seed)")
        }
    }

    @Test func writesHelloStatsWhatThereIsWhatComesAndBye() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.store(on: loop)
            let source = await store.register(SourceDescription(name: "fact", type: "fact"))
            await store.publish(Self.events(0..<3, source: source))
            let (near, far) = SimulatedStream.pair(on: loop)
            let ends = Ends(near)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let ending = try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask { try await output.run { _ in ends.stream } }
                try await loop.sleep(for: .seconds(1))
                await store.publish(Self.events(3..<5, source: source))
                try await loop.sleep(for: .seconds(1))
                await store.finish("SIGTERM")
                return try await group.next()
            }
            #expect(ending == .finished)
            let lines = try Self.decode(Self.drain(far))
            #expect(lines.map(\.type) == ["hello", "stats", "fact", "fact", "fact", "fact", "fact", "bye"])
            Self.expectAccounted(lines)
            // The stream is closed, so that its reader sees the end.
            let isAtEnd = try Self.isAtEnd(far)
            #expect(isAtEnd)
            #expect(await store.counts.readers == 0)
            #expect(loop.timerCount == 0)
        }
    }

    /// Another agent writes its lines as it likes: its greeting, what is missing and its end go the same way as its data.
    @Test func aTerminalGetsNothingRawOfAnyLine() async throws {
        let text = try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Self.identity.started)
            let store = EventStore(on: loop, wall: wall, identity: Self.identity, isRelay: true)
            func relay(_ text: String) async throws {
                let bytes = Bytes(Array(text.utf8))
                await store.relay([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
            }
            let time = "\"time\":\"2026-03-01T12:00:00Z\",\"type\":"
            let (near, far) = SimulatedStream.pair(on: loop)
            let ends = Ends(near)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true, escapesForTerminal: true)
            try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask { try await output.run { _ in ends.stream } }
                try await loop.sleep(for: .seconds(1))
                for (run, name) in [("r", "\u{9B}2J\u{7F}"), ("s", "\u{202E}\u{61C}\u{85}")] {
                    try await relay(
                        "{\(time)\"hello\",\"format\":1,\"run\":\"\(run)\",\"first_seq\":1,\"next_seq\":1,"
                            + "\"host\":{\"name\":\"\(name)\"}}")
                    try await relay(
                        "\r{\t\"seq\":1,\(time)\"fact\",\r\"source\":\"a\u{9D}\",\t\"series\":\"a\",\"value\":1\t}\r")
                    try await loop.sleep(for: .seconds(1))
                }
                await store.finish("SIGTERM")
                _ = try await group.next()
            }
            return String(decoding: try Self.drain(far), as: UTF8.self)
        }
        for scalar in text.unicodeScalars where scalar != "\n" {
            let isObeyed = scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value || [0x202E, 0x61C].contains(scalar.value)
            #expect(!isObeyed, "\(text.debugDescription)")
        }
        let lines = try Self.decode(Array(text.utf8))
        #expect(lines.map(\.type) == ["hello", "stats", "fact", "hello", "stats", "fact", "bye"])
        guard case .hello(let hello) = lines[3].body, case .bye(let bye) = lines[6].body else {
            Issue.record("no hello or bye")
            return
        }
        #expect(hello.run == "s" && hello.host.name == "\u{202E}\u{61C}\u{85}" && bye.run == "s")
    }

    @Test(arguments: [1, 7, 100, 4_096])
    func aNarrowStreamGetsWholeLinesByteByByte(capacity: Int) async throws {
        let bytes = try await withLoop(virtual: true) { loop in
            let store = Self.store(on: loop)
            let source = await store.register(SourceDescription(name: "fact", type: "fact"))
            let (near, far) = SimulatedStream.pair(capacity: capacity, on: loop)
            let ends = Ends(near)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            return try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask { try await output.run { _ in ends.stream } }
                await store.publish(Self.events(0..<20, source: source))
                await store.finish("end")
                var bytes: [UInt8] = []
                repeat {
                    bytes += try Self.drain(far)
                    if try Self.isAtEnd(far) { break }
                    try await far.waitUntilReadable()
                } while true
                let ending = try await group.next()
                #expect(ending == .finished)
                return bytes
            }
        }
        let lines = try Self.decode(bytes)
        #expect(lines.count == 23)
        Self.expectAccounted(lines)
    }

    @Test func aReaderThatIsOvertakenIsToldWhatItMissed() async throws {
        let seeds = LongRun.rounds(short: 5, long: 200)
        for seed in 1...seeds {
            let bytes = try await withLoop(virtual: true) { loop in
                let store = Self.store(on: loop, logCapacity: 1 << 16)
                let source = await store.register(SourceDescription(name: "fact", type: "fact"))
                let (near, far) = SimulatedStream.pair(capacity: 2_000, on: loop)
                let ends = Ends(near)
                let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: false)
                return try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                    group.addTask { try await output.run { _ in ends.stream } }
                    var random = SeededGenerator(seed: UInt64(seed))
                    var bytes: [UInt8] = []
                    for _ in 0..<60 {
                        let count = Int.random(in: 0..<100, using: &random)
                        await store.publish(Self.events(0..<count, source: source))
                        try await loop.sleep(for: .milliseconds(100))
                        bytes += try Self.drain(far, atMost: Int.random(in: 1..<4_000, using: &random))
                    }
                    await store.finish("end")
                    while !group.isEmpty {
                        let piece = try Self.drain(far)
                        bytes += piece
                        try await loop.sleep(for: .milliseconds(1))
                        if piece.isEmpty { break }
                    }
                    let ending = try await group.next()
                    #expect(ending == .finished)
                    return try bytes + Self.drain(far)
                }
            }
            let lines = try Self.decode(bytes)
            Self.expectAccounted(lines, seed: UInt64(seed))
            let gaps = lines.count { if case .gap = $0.body { true } else { false } }
            #expect(gaps > 0, "seed \(seed)")
        }
    }

    @Test func aReaderThatLeavesIsNoticedWhileNothingIsWritten() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.store(on: loop)
            let (near, far) = SimulatedStream.pair(on: loop)
            let ends = Ends(near)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let ending = try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask { try await output.run { _ in ends.stream } }
                try await loop.sleep(for: .seconds(1))
                far.close()
                return try await group.next()
            }
            #expect(ending == .readerGone)
            #expect(await store.counts.readers == 0)
        }
    }

    @Test func aReaderThatLeavesWhileTheStreamIsFullIsNoticed() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.store(on: loop)
            let (near, far) = SimulatedStream.pair(capacity: 10, on: loop)
            let ends = Ends(near)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let ending = try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask { try await output.run { _ in ends.stream } }
                try await loop.sleep(for: .seconds(1))
                far.close()
                return try await group.next()
            }
            #expect(ending == .readerGone)
        }
    }

    @Test func aCancelledOutputClosesItsStreamAndItsReader() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.store(on: loop)
            let (near, far) = SimulatedStream.pair(capacity: 10, on: loop)
            let ends = Ends(near)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) { try await output.run { _ in ends.stream } }
                }
                try? await loop.sleep(for: .seconds(1))
                group.cancelAll()
            }
            let taken = try Self.drain(far).count
            let isAtEnd = try Self.isAtEnd(far)
            #expect(taken == 10 && isAtEnd)
            #expect(await store.counts.readers == 0)
        }
    }

    /// A stream that fails when it is written to.
    private final class FailingStream: ByteStream {
        private let error: SystemError
        private let never: Wakeup

        init(_ error: SystemError, on loop: EventLoop) {
            self.error = error
            never = Wakeup(loop: loop)
        }

        func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int { throw error }
        func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? { nil }
        func waitUntilWritable() async throws(CancellationError) {}
        func waitUntilReadable() async throws(CancellationError) { try await never.wait() }
        func waitUntilHungUp() async throws(CancellationError) { try await never.wait() }
        func close() {}
    }

    @Test(arguments: [EPIPE, ECONNRESET, ENOSPC, EIO])
    func onlyAReaderThatIsGoneIsNoFailure(code: Int32) async throws {
        let error = SystemError(code: code, call: "write")
        let ending = try await withLoop(virtual: true) { loop in
            let output = StreamOutput("stdout", store: Self.store(on: loop), on: loop, holdsInputs: true)
            return try await output.run { _ in FailingStream(error, on: loop) }
        }
        #expect(ending == (code == EPIPE || code == ECONNRESET ? .readerGone : .failed(error)))
    }

    @Test func aStreamThatCannotBeOpenedIsAFailure() async throws {
        try await withLoop(virtual: true) { loop in
            let store = Self.store(on: loop)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let error = SystemError(code: 13, call: "open", subject: "/nowhere")
            let ending = try await output.run { _ throws(SystemError) in throw error }
            #expect(ending == .failed(error))
            #expect(await store.counts.readers == 0)
        }
    }

    /// Carries one end into the output's task; touched on one loop only.
    final class Ends: @unchecked Sendable {
        let stream: SimulatedStream
        init(_ stream: SimulatedStream) { self.stream = stream }
    }
}
