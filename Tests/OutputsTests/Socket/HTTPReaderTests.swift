import Feed
import Reactor
import TestSupport
import Testing

@testable import Outputs

/// Readers by HTTP, without HTTP: in virtual time.
@Suite(.limited) struct HTTPReaderTests {
    /// What a reader by HTTP has got. Unchecked: used by tasks of one loop.
    private final class Reader: @unchecked Sendable {
        let stream: SimulatedStream
        private(set) var bytes: [UInt8] = []

        init(_ stream: SimulatedStream) { self.stream = stream }

        /// Reads what there is now; true at the end.
        @discardableResult
        func read(atMost limit: Int = .max) throws -> Bool {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 1)
            defer { buffer.deallocate() }
            var left = limit
            while left > 0 {
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(left, buffer.count)])
                guard let count = try stream.read(into: part) else { return false }
                if count == 0 { return true }
                bytes += part[..<count]
                left -= count
            }
            return false
        }

        func readToEnd(on loop: EventLoop) async throws {
            while try !read() { try await loop.sleep(for: .milliseconds(1)) }
        }

        var events: EventStream { EventStream(bytes) }
        var lines: [String] { bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) } }
        var numbers: [Int] {
            let lines = String(decoding: bytes.prefix(5), as: UTF8.self) == "retry" ? events.lines : lines
            return lines.compactMap { FeedTranscript.number(Array($0.utf8)) }
        }
    }

    private static func readers(
        _ stage: FeedStage, _ limits: ReaderLimits = ReaderLimits(), _ seats: ReaderSeats = ReaderSeats()
    ) -> FeedReaders {
        FeedReaders(store: stage.store, polls: stage.polls, on: stage.loop, limits: limits, seats: seats)
    }

    private static func connect(
        _ readers: FeedReaders, _ stage: FeedStage, _ form: ReaderForm = .events, capacity: Int = 1 << 20,
        _ adjust: (inout ReaderRequest.Wish) -> Void = { _ in }
    ) throws -> Reader {
        var wish = ReaderRequest.Wish()
        adjust(&wish)
        let (client, server) = SimulatedStream.pair(capacity: capacity, on: stage.loop)
        readers.admit(server, behind: [], as: form, try wish.terms())
        return Reader(client)
    }

    private static func withStage(_ body: @escaping @Sendable (FeedStage) async throws -> Void) async throws {
        try await withLoop(virtual: true) { try await body(FeedStage(on: $0)) }
    }

    @Test func whoLeavesInTheMiddleOfSomeTimeIsForgotten() async throws {
        try await Self.withStage { stage in
            let readers = Self.readers(stage)
            await stage.publish(50, text: 100)
            for form in [ReaderForm.events, .lines] {
                let reader = try Self.connect(readers, stage, form, capacity: 3_000) {
                    $0.until = FeedStage.start + .seconds(1_000_000)
                }
                try await stage.loop.sleep(for: .milliseconds(1))
                try reader.read(atMost: 100)
                reader.stream.close()
                try await stage.loop.sleep(for: .milliseconds(1))
                #expect(readers.count == 0)
            }
        }
    }

    @Test func everyFormHasTheSameLines() async throws {
        try await Self.withStage { stage in
            let readers = Self.readers(stage)
            // Before those that want everything.
            let none = try Self.connect(readers, stage) { $0.types = ["dog"] }
            let (events, lines) = (try Self.connect(readers, stage), try Self.connect(readers, stage, .lines))
            try await stage.serving { _ in
                let socket = try stage.connect()
                for round in 0..<20 {
                    await stage.publish(round * 7, text: round * 10)
                    try await stage.loop.sleep(for: .milliseconds(30))
                }
                await stage.store.finish("end")
                let transcript = try await socket.transcript(on: stage.loop)
                for reader in [none, events, lines] { try await reader.readToEnd(on: stage.loop) }
                #expect(none.numbers.isEmpty)
                #expect(transcript.lines.count == 1_330 && transcript.bye != nil)
                let numbered = transcript.lines.map { String(decoding: $0.bytes, as: UTF8.self) }
                #expect(Array(events.events.lines.dropFirst(2).dropLast()) == numbered)
                #expect(Array(lines.lines.dropFirst(2).dropLast()) == numbered)
                #expect(events.events.lines.last == lines.lines.last)
                let ids = [String](repeating: "", count: 2) + (1...1_330).map { "r1-\($0)" } + ["r1-1330"]
                #expect(events.events.events.map(\.id) == ids && events.events.retry == 2_000)
            }
        }
    }

    @Test(arguments: [ReaderForm.events, .lines]) func goesOnWhereItIsAskedTo(form: ReaderForm) async throws {
        try await Self.withStage { stage in
            let readers = Self.readers(stage)
            await stage.publish(10)
            let since = try Self.connect(readers, stage, form) { $0.since = 7 }
            let other = try Self.connect(readers, stage, form) { ($0.since, $0.run) = (7, "other") }
            let same = try Self.connect(readers, stage, form) { ($0.since, $0.run) = (7, "r1") }
            let new = try Self.connect(readers, stage, form) { $0.replay = false }
            let none = try Self.connect(readers, stage, form) { $0.types = ["dog"] }
            await stage.publish(2)
            await stage.store.finish("end")
            for reader in [since, other, same, new, none] { try await reader.readToEnd(on: stage.loop) }
            #expect(since.numbers == Array(8...12) && same.numbers == Array(8...12))
            #expect(other.numbers == Array(1...12) && new.numbers == [11, 12] && none.numbers.isEmpty)
            #expect(String(decoding: none.bytes, as: UTF8.self).contains(#""filtered":true"#))
        }
    }

    /// What is framed once for all is the same lines, but each has its own place in a span of its own.
    @Test func whoComesInTheMiddleOfAnothersSpanGetsEveryLine() async throws {
        try await Self.withStage { stage in
            await stage.publish(40, text: 1_000)
            for since in 10..<20 {
                let readers = Self.readers(stage)
                let slow = try Self.connect(readers, stage, capacity: 1_000)
                // Into the second piece.
                while slow.bytes.count < 20_000 {
                    try slow.read()
                    try await stage.loop.sleep(for: .milliseconds(1))
                }
                let quick = try Self.connect(readers, stage) { $0.since = since }
                try await stage.loop.sleep(for: .milliseconds(10))
                try quick.read()
                #expect(quick.numbers == Array((since + 1)..<41), "\(since)")
                for _ in 0..<100 {
                    try slow.read()
                    try await stage.loop.sleep(for: .milliseconds(1))
                }
                #expect(slow.numbers == Array(1...40), "\(since)")
                readers.closeAll()
            }
        }
    }

    /// What another one has got already of lines that came meanwhile is for later.
    @Test func whoIsInTheMiddleOfASpanGetsNoLineTwice() async throws {
        for since in 10..<20 {
            try await Self.withStage { stage in
                await stage.publish(20, text: 1_000)
                let readers = Self.readers(stage)
                let slow = try Self.connect(readers, stage, capacity: 1_000)
                while slow.bytes.count < 5_000 {
                    try slow.read()
                    try await stage.loop.sleep(for: .milliseconds(1))
                }
                await stage.publish(5, text: 1_000)
                let quick = try Self.connect(readers, stage) { $0.since = since }
                var hasLines = false
                for _ in 0..<100 {
                    try quick.read()
                    try await stage.loop.sleep(for: .milliseconds(1))
                    hasLines = hasLines || !quick.numbers.isEmpty
                    if hasLines { try slow.read() }
                }
                #expect(quick.numbers == Array((since + 1)...25) && slow.numbers == Array(1...25), "\(since)")
                readers.closeAll()
            }
        }
    }

    @Test func aStreamHasABeatEveryTenSeconds() async throws {
        try await Self.withStage { stage in
            let readers = Self.readers(stage)
            let lines = try Self.connect(readers, stage, .lines)
            let stream = try Self.connect(readers, stage) { $0.types = ["dog"] }
            await stage.publish(3)
            try await stage.loop.sleep(for: .milliseconds(30_500))
            try stream.read()
            try lines.read()
            let beats = stream.events.events.filter { $0.name == "beat" }.map(\.data)
            #expect(
                beats == ["30", "40", "50"].map { #"{"time":"2023-11-14T22:13:\#($0).000000Z","next_seq":4}"# },
                "\(beats)")
            #expect(!String(decoding: lines.bytes, as: UTF8.self).contains("next_seq\":4}"))
            readers.closeAll()
        }
    }

    /// A piece of events counts as a piece of lines does.
    @Test func aStreamThatCatchesUpGivesOthersATurn() async throws {
        try await Self.withStage { stage in
            await stage.publish(2_000, text: 1_000)
            let readers = Self.readers(stage)
            let stream = try Self.connect(readers, stage, capacity: 8 << 20)
            var pieces: [Int] = []
            while stream.bytes.count < 2_000_000, pieces.count < 1_000 {
                let before = stream.bytes.count
                try await stage.loop.sleep(for: .zero)
                try stream.read()
                pieces.append(stream.bytes.count - before)
            }
            #expect(stream.bytes.count >= 2_000_000 && pieces.allSatisfy { $0 < 160 << 10 }, "\(pieces)")
            readers.closeAll()
        }
    }

    private struct PlayedBackClock: WallClock {
        let rate: Double
        let playback: String?
        var now: Timestamp { FeedStage.start }
    }

    @Test(arguments: [
        (10.0, "10x", #""rate":10,"playback":"10x""#), (1, "1x", #""playback":"1x""#),
        (0, "paused", #""rate":0,"playback":"paused""#),
    ])
    func aBeatOverARecordingComesEverySecondAndSaysHowItIsPlayedBack(
        rate: Double, playback: String, said: String
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let clock = PlayedBackClock(rate: rate, playback: playback)
            let store = EventStore(
                on: loop, wall: clock, identity: AgentIdentity(run: "r", version: "1", started: clock.now),
                isRecording: true)
            let readers = FeedReaders(
                store: store, polls: PollRequests(on: loop), on: loop, limits: ReaderLimits(), seats: ReaderSeats())
            let (client, server) = SimulatedStream.pair(capacity: 1 << 20, on: loop)
            readers.admit(server, behind: [], as: .events, try ReaderRequest.Wish().terms())
            let reader = Reader(client)
            try await loop.sleep(for: .milliseconds(2_500))
            try reader.read()
            let beats = reader.events.events.filter { $0.name == "beat" }.map(\.data)
            #expect(beats.count == 2 && beats.allSatisfy { $0.hasSuffix("\"next_seq\":1,\(said)}") }, "\(beats)")
            readers.closeAll()
        }
    }

    @Test func aSlowStreamGetsAGapAndWholeEvents() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = 1 << 20 }
            let readers = Self.readers(stage)
            let slow = try Self.connect(readers, stage, capacity: 2_000)
            for _ in 0..<100 {
                await stage.publish(20, text: 1_000)
                try await loop.sleep(for: .milliseconds(10))
            }
            await stage.store.finish("end")
            try await slow.readToEnd(on: loop)
            let numbers = slow.numbers
            let missing = 2_000 - numbers.count
            let gaps = slow.events.lines.filter { $0.contains(#""type":"gap""#) }
            #expect(gaps.count == 1 && numbers.count > 100 && numbers.last == 2_000)
            let last = zip(numbers, numbers.dropFirst()).first { $1 != $0 + 1 }?.0 ?? 0
            #expect(gaps[0].contains(#""from":\#(last + 1),"to":\#(last + missing),"reason":"slow_reader""#))
            #expect(!slow.events.isTorn)
        }
    }

    @Test func aStreamThatTakesNothingIsClosedAndCounted() async throws {
        try await Self.withStage { stage in
            let seats = ReaderSeats()
            let readers = Self.readers(stage, ReaderLimits(), seats)
            let stalled = try Self.connect(readers, stage, capacity: 1_000)
            let idle = try Self.connect(readers, stage)
            await stage.publish(100, text: 100)
            try await stage.loop.sleep(for: .milliseconds(59_000))
            #expect(readers.count == 2 && seats.taken == 2)
            try idle.read()
            try await stage.loop.sleep(for: .seconds(2))
            #expect(readers.count == 1 && seats.taken == 1)
            #expect(await stage.store.counts.stalledReaders == 1)
            try stalled.read()
            #expect(stalled.bytes.count == 1_000)
            readers.closeAll()
            #expect(seats.taken == 0)
        }
    }

    @Test func readersOfTheSocketAndByHTTPAreCountedTogether() async throws {
        try await Self.withStage { stage in
            let seats = ReaderSeats()
            let limits = {
                var limits = ReaderLimits()
                limits.readers = 2
                return limits
            }()
            let readers = Self.readers(stage, limits, seats)
            let server = FeedServer(
                store: stage.store, polls: stage.polls, on: stage.loop, limits: limits, seats: seats)
            let listener = LoopBound(SimulatedListener(on: stage.loop))
            try await running {
                try await server.run { _ in listener.value }
            } while: {
                let stream = try Self.connect(readers, stage)
                #expect(readers.refusal == nil)
                let first = FeedReader(try listener.value.connect())
                #expect(try await first.next()?.type == "hello")
                #expect(readers.refusal == "there are 2 readers already; try again later")
                let second = try await FeedReader(try listener.value.connect()).transcript(on: stage.loop)
                #expect(second.refusals.map(\.code) == [.connect])
                stream.stream.close()
                try await stage.loop.sleep(for: .milliseconds(1))
                #expect(readers.refusal == nil && seats.taken == 1)
                var fewer = ReaderLimits()
                fewer.readers = 1
                readers.change(to: fewer)
                #expect(readers.refusal != nil)
            }
        }
    }

    @Test func whoSaysNoMoreHasLeft() async throws {
        try await Self.withStage { stage in
            let readers = Self.readers(stage)
            let stream = try Self.connect(readers, stage)
            // What comes behind a request is nothing.
            _ = try Array("{\"types\":[]}\n".utf8).withUnsafeBytes { try stream.stream.write($0) }
            await stage.publish(2)
            try await stage.loop.sleep(for: .seconds(1))
            try stream.read()
            #expect(stream.numbers == [1, 2] && readers.count == 1)
            stream.stream.endWriting()
            try await stage.loop.sleep(for: .milliseconds(1))
            #expect(readers.count == 0)
        }
    }

    @Test(arguments: [false, true]) func theEndComesWithAByeOrAfterTheEvent(isOver: Bool) async throws {
        try await Self.withStage { stage in
            let readers = Self.readers(stage)
            let quick = try Self.connect(readers, stage)
            let slow = try Self.connect(readers, stage, capacity: 1_000)
            await stage.publish(20, text: 1_000)
            try await stage.loop.sleep(for: .seconds(1))
            try quick.read()
            readers.leave(within: .seconds(5), isOver: isOver)
            #expect(readers.refusal == "the feed is about to end")
            if isOver { await stage.store.finish("end") }
            let before = stage.loop.clock.now
            async let left: Void = readers.waitUntilLeft()
            while try !slow.read(atMost: 100) { try await stage.loop.sleep(for: .milliseconds(50)) }
            try await left
            try quick.read()
            #expect(quick.events.lines.last?.contains("bye") == isOver && !quick.events.isTorn)
            #expect(!slow.events.isTorn && slow.numbers.count < 20)
            let time = before.duration(to: stage.loop.clock.now)
            #expect(isOver ? .seconds(4)...(.seconds(5)) ~= time : time < .seconds(1), "\(time)")
            #expect(readers.count == 0)
        }
    }

    /// Of a log that may have 4 GiB.
    @Test func whatThereIsAlreadyIsBoundedByBytes() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = 40 << 20 }
            for _ in 0..<40 { await stage.publish(100, text: 3_000) }
            let readers = Self.readers(stage)
            var wishes: [(inout ReaderRequest.Wish) -> Void] = [{ _ in }, { $0.since = 1_000 }, { $0.since = 3_999 }]
            wishes.append { ($0.since, $0.run) = (1_000, "other") }
            for (index, wish) in wishes.enumerated() {
                let reader = try Self.connect(readers, stage, .lines, capacity: 20 << 20, wish)
                try await loop.sleep(for: .seconds(1))
                try reader.read()
                let (numbers, lines) = (reader.numbers, reader.lines)
                let first = try #require(numbers.first)
                #expect(numbers == Array(first...4_000))
                let gaps = lines.filter { $0.holds(#""type":"gap""#) }
                if index == 2 {
                    #expect(first == 4_000 && gaps.isEmpty)
                    continue
                }
                #expect(first > 1_001)
                #expect(reader.bytes.count <= FeedReaders.mostReplayed + 2_000)
                #expect(reader.bytes.count > FeedReaders.mostReplayed - 5_000)
                #expect(lines[0].contains(#""first_seq":\#(first),"#))
                #expect(gaps.count == (index == 1 ? 1 : 0))
                if index == 1 { #expect(gaps[0].contains(#""from":1001,"to":\#(first - 1),"#)) }
                reader.stream.close()
            }
            readers.closeAll()
        }
    }

    @Test func aStreamOfAnAttachedFeedBeginsWithItsHello() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop, isRelay: true)
            let readers = Self.readers(stage)
            let stream = try Self.connect(readers, stage) { ($0.since, $0.run) = (6, "theirs") }
            try stream.read()
            #expect(stream.events.events.isEmpty && stream.events.retry == 2_000)
            try await Self.relay("theirs", 6...8, stage)
            try await loop.sleep(for: .seconds(1))
            try stream.read()
            #expect(stream.numbers == [7, 8] && stream.events.lastID == "theirs-8")
            readers.closeAll()
        }
    }

    /// A slow one is in the middle of the old run's lines when the new run begins, or the new one has the numbers of the old one.
    @Test(arguments: [(50, 2), (1, 1)]) func everyLineHasTheNameOfItsOwnRun(first: Int, second: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop, isRelay: true)
            let readers = Self.readers(stage)
            let stream = try Self.connect(readers, stage, capacity: 2_000)
            try await Self.relay("theirs", 1...first, stage, text: 1_000)
            try await loop.sleep(for: .milliseconds(1))
            try await Self.relay("others", 1...second, stage)
            await stage.store.finish("end")
            try await stream.readToEnd(on: loop)
            let facts = stream.events.events.filter { $0.data.contains(#""type":"fact""#) }
            #expect(facts.map(\.id) == (1...first).map { "theirs-\($0)" } + (1...second).map { "others-\($0)" })
            #expect(facts.suffix(second).allSatisfy { $0.data.contains(#""text":""}"#) })
        }
    }

    /// Passes on a run from its beginning, with lines that have a text of so many bytes.
    private static func relay(
        _ run: String, _ numbers: ClosedRange<Int>, _ stage: FeedStage, text length: Int = 0
    ) async throws {
        let time = #""time":"2026-11-22T05:24:29.089021Z""#
        let places = #""first_seq":\#(numbers.lowerBound),"next_seq":\#(numbers.upperBound)"#
        let text = String(repeating: "a", count: length)
        let hello =
            #"{"type":"hello",\#(time),"format":1,"run":"\#(run)","filtered":false,"interval_s":10,"history_s":120,"#
            + #"\#(places),"host":{},"app":{}}"#
        let lines = numbers.map { #"{"seq":\#($0),\#(time),"type":"fact","source":"s","value":1,"text":"\#(text)"}"# }
        for line in [hello] + lines {
            let bytes = Array(line.utf8)
            await stage.store.relay([RelayedLine(try LineDecoder.decode(bytes[...]), bytes: bytes[...])])
        }
    }
}
