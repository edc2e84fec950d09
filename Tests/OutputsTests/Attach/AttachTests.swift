import Feed
import Inputs
import Outputs
import Reactor
import TestSupport
import Testing

/// A feed that is served, attached to, and served again; all in memory and in virtual time.
@Suite(.limited) struct AttachTests {
    /// Where the attached agent connects to, which changes, and the connection under way.
    private final class Way: @unchecked Sendable {  // used by tasks of one loop
        var stage: FeedStage?
        var capacity = 65_536
        private(set) var attempts = 0
        private(set) var stream: SimulatedStream?

        init(to stage: FeedStage?) { self.stage = stage }

        func connect() throws(SystemError) -> any ByteStream {
            attempts += 1
            guard let stage else { throw SystemError(code: 111, call: "connect") }
            let stream = try stage.openStream(capacity: capacity)
            self.stream = stream
            return stream
        }

        /// Cuts the connection, as a kernel does: neither side says anything.
        func cut() {
            stream?.close()
            stream = nil
        }
    }

    private static func input(_ way: Way, _ relay: FeedStage, reconnects: Bool = true, seed: UInt64 = 1) -> AttachInput
    {
        AttachInput(
            store: relay.store, polls: relay.polls, on: relay.loop, reconnects: reconnects,
            random: SeededGenerator(seed: seed),
            tell: { _ in }, connect: { _ throws(SystemError) in try way.connect() })
    }

    /// Serves a feed, relays it, serves that, and relays it once more; `body` gets the three stages and the first way.
    private static func chain<Value: Sendable>(
        _ loop: EventLoop, seed: UInt64 = 1, logCapacity: Int = 1 << 20, capacity: Int = 65_536,
        _ body: @escaping @Sendable (FeedStage, FeedStage, FeedStage, Way) async throws -> Value
    ) async throws -> Value {
        let origin = await FeedStage(on: loop) { $0.logCapacity = logCapacity }
        let middle = await FeedStage(on: loop, run: "unknown", isRelay: true) { $0.logCapacity = logCapacity }
        let last = await FeedStage(on: loop, run: "unknown", isRelay: true) { $0.logCapacity = logCapacity }
        let way = Way(to: origin)
        way.capacity = capacity
        let first = input(way, middle, seed: seed)
        let second = input(Way(to: middle), last, seed: seed &+ 1)
        return try await origin.serving { _ in
            try await middle.serving { _ in
                try await last.serving { _ in
                    try await running {
                        try await first.run()
                    } while: {
                        try await running {
                            try await second.run()
                        } while: {
                            try await body(origin, middle, last, way)
                        }
                    }
                }
            }
        }
    }

    @Test func passesLinesOnByteForByteOverTwoAgents() async throws {
        let (direct, relayed) = try await withLoop(virtual: true) { loop in
            try await Self.chain(loop) { origin, _, last, _ in
                let direct = try origin.connect()
                let relayed = try last.connect()
                for round in 0..<100 {
                    await origin.publish(1 + round % 4, text: round * 7)
                    try await loop.sleep(for: .milliseconds(Int64(round * 10)))
                }
                try await loop.sleep(for: .seconds(1))
                await origin.store.finish("end")
                try await loop.sleep(for: .milliseconds(100))
                await last.store.finish("end")
                return (try await direct.transcript(on: loop), try await relayed.transcript(on: loop))
            }
        }
        #expect(direct.fault == nil && relayed.fault == nil && relayed.gaps.isEmpty)
        #expect(direct.lines.count > 250 && direct.numbers == relayed.numbers)
        #expect(zip(direct.lines, relayed.lines).allSatisfy { $0.bytes == $1.bytes })
        // The identity is the first agent's.
        #expect(relayed.hellos.map(\.run) == ["r1"] && relayed.bye?.run == "r1")
    }

    /// What the origin's log let go of before the first connection, and what a relay's own log let go of since.
    @Test func keptLinesReachALateReaderOverTwoAgents() async throws {
        try await withLoop(virtual: true) { loop in
            try await Self.chain(loop) { origin, middle, last, way in
                way.stage = nil
                way.cut()
                let breeds = await origin.store.register(SourceDescription(name: "breeds"))
                @Sendable func breed(_ name: String) -> Event {
                    Event(
                        time: origin.store.wallTime, source: breeds,
                        body: .data(Datum(key: Bytes(name.utf8), text: Bytes("t".utf8))))
                }
                try await origin.store.whileRunning {
                    await origin.store.publish([breed("a"), breed("b")])
                    try await loop.sleep(for: .seconds(300))
                    await origin.publish(3)
                    way.stage = origin
                    try await loop.sleep(for: .seconds(30))
                    await origin.store.publish([breed("b"), breed("c")])
                    for _ in 0..<30 {
                        try await loop.sleep(for: .seconds(10))
                        await origin.publish()
                    }
                    for stage in [origin, middle, last] {
                        let (reader, _) = await stage.store.open(nil, keptAfter: 0)
                        var kept: [String] = []
                        while let delivery = await stage.store.dequeue(for: reader) {
                            let lines: [UInt8]
                            switch delivery {
                            case .kept(let bytes): lines = bytes
                            case .lines(let span): lines = span.withUnsafeBytes { Array($0) }
                            default: continue
                            }
                            kept += lines.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
                        }
                        let series = kept.compactMap { line in
                            line.firstRange(of: "\"series\":\"breeds/").map { line[$0.upperBound...].prefix(1) }
                        }
                        #expect(Set(series) == ["a", "b", "c"], "\(kept)")
                    }
                }
            }
        }
    }

    @Test func losesAndRepeatsNothingWhenTheConnectionIsCut() async throws {
        for seed in [111, 112, 113] as [UInt64] {
            let rounds = LongRun.rounds(short: 150, long: 3_000)
            let transcript = try await withLoop(virtual: true) { loop in
                try await Self.chain(loop, seed: seed, logCapacity: 1 << 22, capacity: 700) { origin, _, last, way in
                    let reader = try last.connect()
                    async let transcript = reader.transcript(on: loop)
                    var random = SeededGenerator(seed: seed)
                    for _ in 0..<rounds {
                        await origin.publish(Int(random.next() % 8), text: Int(random.next() % 300))
                        if random.next() % 3 == 0 { way.cut() }
                        try await loop.sleep(for: .milliseconds(Int64(random.next() % 1_600)))
                    }
                    try await loop.sleep(for: .seconds(60))
                    let end = await origin.store.nextLine(of: origin.store.open(nil, from: .newest).0).sequence
                    await last.store.finish("end")
                    let read = try await transcript
                    #expect(read.end == end && end > 300, "seed \(seed)")
                    #expect(way.attempts > 20, "seed \(seed)")
                    return read
                }
            }
            #expect(transcript.fault == nil && transcript.gaps.isEmpty, "seed \(seed)")
            #expect(transcript.numbers == Array(1..<transcript.end) && transcript.hellos.count == 1, "seed \(seed)")
        }
    }

    @Test func theStoreKnowsWhetherTheFeedComes() async throws {
        try await withLoop(virtual: true) { loop in
            try await Self.chain(loop) { origin, middle, _, way in
                let before = await FeedStage(on: loop, isRelay: true).store.numbers.attachment
                #expect(before?.isConnected == false && before?.silence == nil)
                #expect(await origin.store.numbers.attachment == nil)
                await origin.publish()
                try await loop.sleep(for: .seconds(3))
                await origin.publish()
                try await loop.sleep(for: .seconds(1))
                let attachment = await middle.store.numbers.attachment
                #expect(attachment?.isConnected == true && (attachment?.silence ?? .zero) <= .seconds(1))
                way.stage = nil
                way.cut()
                try await loop.sleep(for: .seconds(60))
                let lost = await middle.store.numbers.attachment
                #expect(lost?.isConnected == false && (lost?.silence ?? .zero) >= .seconds(60))
                way.stage = origin
                try await loop.sleep(for: .seconds(30))
                #expect(await middle.store.numbers.attachment?.isConnected == true)
            }
        }
    }

    @Test func namesInOneGapWhatIsGoneMeanwhile() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            try await Self.chain(loop, logCapacity: 1 << 16) { origin, _, last, way in
                let reader = try last.connect()
                async let transcript = reader.transcript(on: loop)
                await origin.publish(5)
                try await loop.sleep(for: .seconds(1))
                way.stage = nil
                way.cut()
                for _ in 0..<300 { await origin.publish(text: 1_000) }
                way.stage = origin
                try await loop.sleep(for: .seconds(30))
                await last.store.finish("end")
                return try await transcript
            }
        }
        #expect(transcript.fault == nil && transcript.gaps.count == 1 && transcript.gaps.first?.lowerBound == 6)
        #expect(transcript.lines.count + transcript.missed == 305 && transcript.end == 306)
    }

    @Test func beginsAnewWithAnotherRunAndNamesWhatWasNotSeen() async throws {
        try await withLoop(virtual: true) { loop in
            try await Self.chain(loop) { origin, middle, _, way in
                await origin.publish(5)
                // It reads nothing for now: what does not fit on its way is not seen.
                let slow = try middle.connect(capacity: 900)
                let quick = try middle.connect()
                try await quick.skip(2)
                for number in 1...5 { #expect(try await quick.next()?.seq == number) }
                await origin.publish(20, text: 100)
                try await loop.sleep(for: .seconds(1))

                let other = await FeedStage(on: loop, run: "r2")
                await other.publish(3)
                try await other.serving { _ in
                    way.stage = other
                    way.cut()
                    try await loop.sleep(for: .seconds(30))
                    await other.publish(1)
                    try await loop.sleep(for: .seconds(1))
                    await middle.store.finish("end")
                    let quickly = try await quick.transcript(on: loop)
                    #expect(quickly.numbers.prefix(20) == Array(6...25)[...])
                    #expect(Array(quickly.numbers.dropFirst(20).prefix(3)) == [1, 2, 3])
                    #expect(quickly.hellos.map(\.run) == ["r2"] && quickly.gaps.isEmpty && quickly.bye?.run == "r2")

                    let slowly = try await slow.transcript(on: loop)
                    #expect(slowly.hellos.map(\.run) == ["r1", "r2"] && !slowly.isTorn)
                    // Lines of the old run, whole or in the gap, up to the last; then the new run's from the first.
                    let seen = slowly.numbers.prefix { $0 <= slowly.lines.count }
                    #expect(!seen.isEmpty)
                    let old = slowly.gaps.first.map { slowly.numbers.prefix($0.lowerBound - 1) } ?? []
                    #expect(Array(old) == Array(1...old.count))
                    if let gap = slowly.gaps.first { #expect(gap == old.count + 1...25) }
                    #expect(Array(slowly.numbers.dropFirst(old.count).prefix(3)) == [1, 2, 3])
                }
            }
        }
    }

    @Test func comesBackToAnotherRunBehindWhatItHasOfThat() async throws {
        try await withLoop(virtual: true) { loop in
            try await Self.chain(loop) { origin, middle, _, way in
                let reader = try middle.connect()
                await origin.publish(25)
                try await loop.sleep(for: .seconds(1))
                let other = await FeedStage(on: loop, run: "r2")
                await other.publish(3)
                try await other.serving { _ in
                    way.stage = other
                    way.cut()
                    try await loop.sleep(for: .seconds(30))
                    way.stage = nil
                    way.cut()
                    await other.publish(5)
                    way.stage = other
                    try await loop.sleep(for: .seconds(30))
                    await middle.store.finish("end")
                    let end = await other.store.nextLine(of: other.store.open(nil, from: .newest).0).sequence
                    let transcript = try await reader.transcript(on: loop)
                    #expect(transcript.fault == nil && transcript.gaps.isEmpty && end > 8)
                    #expect(transcript.numbers == Array(1...25) + Array(1..<end))
                }
            }
        }
    }

    @Test func aReaderThatResumesBeforeTheFirstHelloGetsNothingTwice() async throws {
        try await withLoop(virtual: true) { loop in
            let origin = await FeedStage(on: loop)
            await origin.publish(10)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let way = Way(to: nil)
            let input = Self.input(way, relay)
            try await origin.serving { _ in
                try await relay.serving { _ in
                    let reader = try relay.connect()
                    try await reader.ask(#"{"since":6,"run":"r1"}"#)
                    let other = try relay.connect()
                    try await other.ask(#"{"since":6,"run":"r0"}"#)
                    let ahead = try relay.connect()
                    try await ahead.ask(#"{"since":99,"run":"r1"}"#)
                    try await loop.sleep(for: .seconds(1))
                    try await running {
                        try await input.run()
                    } while: {
                        way.stage = origin
                        guard case .hello(let hello)? = try await reader.next()?.body else {
                            Issue.record("no hello")
                            return
                        }
                        #expect(hello.run == "r1")
                        // The connection's own greeting, and the answer.
                        #expect(try await reader.next()?.type == "stats")
                        #expect(try await reader.next()?.type == "hello")
                        #expect(try await reader.next()?.type == "stats")
                        #expect(try await reader.next()?.seq == 7)
                        try await other.skip(4)
                        #expect(try await other.next()?.seq == 1)
                        // Nobody is beyond what there was: the next line is for all.
                        try await ahead.skip(4)
                        await origin.publish(2)
                        #expect(try await ahead.next()?.seq == 11)
                    }
                }
            }
        }
    }

    @Test func whatAReaderAskedForBeforeTheFirstHelloIsNotForAnotherRun() async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let origin = await FeedStage(on: loop)
            await origin.publish(10)
            let other = await FeedStage(on: loop, run: "r2")
            await other.publish(3)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let way = Way(to: origin)
            let input = Self.input(way, relay)
            return try await origin.serving { _ in
                try await other.serving { _ in
                    try await relay.serving { _ in
                        let reader = try relay.connect()
                        try await reader.ask(#"{"replay":false}"#)
                        try await loop.sleep(for: .seconds(1))
                        return try await running {
                            try await input.run()
                        } while: {
                            try await loop.sleep(for: .seconds(1))
                            await origin.publish(2)
                            try await loop.sleep(for: .seconds(1))
                            way.stage = other
                            way.cut()
                            try await loop.sleep(for: .seconds(30))
                            await relay.store.finish("end")
                            return try await reader.transcript(on: loop)
                        }
                    }
                }
            }
        }
        #expect(transcript.fault == nil && transcript.gaps.isEmpty)
        #expect(transcript.hellos.map(\.run) == ["r1", "r1", "r2"] && transcript.numbers == [11, 12, 1, 2, 3])
    }

    /// Each request is answered, the ones behind the first when it is known whose feed it is.
    @Test func everyRequestBeforeTheFirstHelloIsAnswered() async throws {
        try await withLoop(virtual: true) { loop in
            let origin = await FeedStage(on: loop)
            await origin.publish(10)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let way = Way(to: nil)
            let input = Self.input(way, relay)
            let transcript = try await origin.serving { _ in
                try await relay.serving { _ in
                    let reader = try relay.connect()
                    for since in [2, 4, 6] { try await reader.ask("{\"since\":\(since),\"run\":\"r1\"}") }
                    try await loop.sleep(for: .seconds(1))
                    return try await running {
                        try await input.run()
                    } while: {
                        way.stage = origin
                        try await loop.sleep(for: .seconds(20))
                        await relay.store.finish("end")
                        return try await reader.transcript(on: loop)
                    }
                }
            }
            #expect(transcript.hellos.count == 4 && transcript.fault == nil)
            #expect(transcript.numbers.suffix(4) == [7, 8, 9, 10])
        }
    }

    @Test func whatIsStillOnItsWayHereIsNotGivenTwice() async throws {
        try await withLoop(virtual: true) { loop in
            let origin = await FeedStage(on: loop)
            await origin.publish(10)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            try await origin.serving { _ in
                try await relay.serving { _ in
                    let source = try origin.connect()
                    var lines: [RelayedLine] = []
                    while lines.count < 12, let line = try await source.line() {
                        lines.append(RelayedLine(try LineDecoder.decode(line[...]), bytes: Bytes(line)))
                    }
                    await relay.store.relay(Array(lines[..<5]))
                    let reader = try relay.connect()
                    try await reader.ask(#"{"since":8,"run":"r1"}"#)
                    try await loop.sleep(for: .seconds(1))
                    await relay.store.relay(Array(lines[5...]))
                    await relay.store.finish("end")
                    let numbers = try await reader.transcript(on: loop).numbers
                    #expect(numbers.filter { $0 > 3 } == [9, 10])
                }
            }
        }
    }

    /// The third agent asks the second one before that knows that there is another run.
    @Test func aChainGoesOnWithAnotherRunWhoeverComesBackFirst() async throws {
        try await withLoop(virtual: true) { loop in
            let (first, second) = await (FeedStage(on: loop), FeedStage(on: loop, run: "r2"))
            await first.publish(5)
            await second.publish(7)
            let middles = await [
                FeedStage(on: loop, run: "unknown", isRelay: true), FeedStage(on: loop, run: "unknown", isRelay: true),
            ]
            let last = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let (way, late, end) = (Way(to: first), Way(to: nil), Way(to: middles[0]))
            let inputs = [Self.input(way, middles[0]), Self.input(late, middles[1]), Self.input(end, last)]
            let transcript = try await first.serving { _ in
                try await second.serving { _ in
                    try await middles[0].serving { _ in
                        try await middles[1].serving { _ in
                            try await last.serving { _ in
                                let reader = FeedReader(try last.openStream(capacity: 100_000))
                                return try await running {
                                    try await withThrowingDiscardingTaskGroup { group in
                                        for input in inputs { group.addTask { try await input.run() } }
                                    }
                                } while: {
                                    try await loop.sleep(for: .seconds(1))
                                    end.stage = middles[1]
                                    end.cut()
                                    try await loop.sleep(for: .seconds(20))
                                    late.stage = second
                                    try await loop.sleep(for: .seconds(20))
                                    await last.store.finish("end")
                                    return try await reader.transcript(on: loop)
                                }
                            }
                        }
                    }
                }
            }
            #expect(transcript.fault == nil && transcript.gaps.isEmpty)
            #expect(transcript.numbers == Array(1...5) + Array(1...7))
        }
    }

    @Test func triesAgainWithPausesWhileNobodyIsThere() async throws {
        try await withLoop(virtual: true) { loop in
            let origin = await FeedStage(on: loop)
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let way = Way(to: nil)
            let input = Self.input(way, relay)
            try await running {
                try await input.run()
            } while: {
                try await loop.sleep(for: .seconds(3_600))
                #expect(way.attempts > 300 && way.attempts < 3_000, "\(way.attempts) attempts")
                try await origin.serving { _ in
                    way.stage = origin
                    try await loop.sleep(for: .seconds(11))
                    #expect(await origin.store.counts.readers == 1)
                }
            }
        }
    }
}

extension AttachInput {
    /// By a socket; see `SocketFeed`.
    init(
        store: EventStore, polls: PollRequests, on loop: EventLoop, reconnects: Bool = true,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
        tell: @escaping @Sendable (Status) async -> Void,
        connect: @escaping @Sendable (EventLoop) throws -> any ByteStream
    ) {
        self.init(
            store: store, polls: polls, on: loop, by: SocketFeed(on: loop, connect: connect), reconnects: reconnects,
            random: random, tell: tell)
    }
}
