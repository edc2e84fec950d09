import Feed
import Outputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct PushOutputTests {
    /// Somebody else's listener: takes connections when it is there, and remembers what it has read.
    private final class Peer: @unchecked Sendable {  // used by tasks of one loop
        private let loop: EventLoop
        private let capacity: Int
        private var arrived: SimulatedStream?
        private weak var given: SimulatedStream?
        let came: Wakeup
        var isPresent = true
        private(set) var attempts = 0

        init(on loop: EventLoop, capacity: Int) {
            self.loop = loop
            self.capacity = capacity
            came = Wakeup(loop: loop)
        }

        func connect() throws -> LoopBound<any ByteStream> {
            attempts += 1
            guard isPresent else { throw SystemError(code: 111, call: "connect") }
            let (here, there) = SimulatedStream.pair(capacity: capacity, on: loop)
            arrived = there
            given = here
            came.signal()
            return LoopBound(here)
        }

        /// Ends the last connection.
        func hangUp() { given?.close() }

        func accept() async throws -> FeedReader {
            while true {
                if let stream = arrived {
                    arrived = nil
                    return FeedReader(stream)
                }
                try await came.wait()
            }
        }
    }

    private static func output(
        _ target: String, _ stage: FeedStage, _ peer: Peer, seed: UInt64 = 1
    ) throws -> PushOutput {
        PushOutput(
            try PushTarget(target), store: stage.store, on: stage.loop, random: SeededGenerator(seed: seed),
            tell: { _ in }, connect: { try peer.connect() })
    }

    @Test(arguments: [false, true])
    func sendsNumberedLinesAndOthersOnlyWhenAsked(sendsControl: Bool) async throws {
        let transcript = try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = 1 << 16 }
            await stage.publish(3)
            let peer = Peer(on: loop, capacity: 4_000)
            let output = try Self.output("unix:/x?control=\(sendsControl)", stage, peer)
            return try await running {
                try await output.run()
            } while: {
                let reader = try await peer.accept()
                try await loop.sleep(for: .seconds(1))
                for _ in 0..<200 { await stage.publish(text: 1_000) }
                await stage.store.finish("end")
                return try await reader.transcript(on: loop)
            }
        }
        #expect(transcript.lines.prefix(3).map(\.number) == [1, 2, 3] && transcript.lines.last?.number == 203)
        #expect(transcript.hellos.count == (sendsControl ? 1 : 0) && transcript.gaps.count == (sendsControl ? 1 : 0))
        #expect((transcript.bye != nil) == sendsControl)
        if sendsControl { #expect(transcript.fault == nil && transcript.lines.count + transcript.missed == 203) }
        #expect(!transcript.isTorn)
    }

    /// What is killed loses at most what was written to it and not read; what is resent covers that.
    @Test(arguments: [2_000, 20_000, 60_000])
    func losesNothingWhenThePeerIsKilledAgainAndAgain(resend: Int) async throws {
        for seed in [101, 102] as [UInt64] {
            let kills = LongRun.rounds(short: 40, long: 1_000)
            let (connections, last) = try await withLoop(virtual: true) { loop in
                // What the log lets go of is not what is counted here.
                let stage = await FeedStage(on: loop) {
                    $0.logCapacity = 1 << 28
                    $0.history = .seconds(86_400)
                }
                // Its buffer holds no more than is resent.
                let peer = Peer(on: loop, capacity: resend)
                let output = try Self.output("unix:/x?resend=\(resend)", stage, peer, seed: seed)
                return try await running {
                    try await output.run()
                } while: {
                    try await Self.kill(peer, kills, stage, seed)
                }
            }
            var seen = Set<Int>()
            var end = 0
            for lines in connections {
                guard let first = lines.first else { continue }
                #expect(lines.map(\.number) == Array(first.number..<first.number + lines.count), "seed \(seed)")
                #expect(first.number <= end + 1, "seed \(seed): \(end + 1)..<\(first.number) are lost")
                // Whole pieces come again, of which one is at most 64 KiB.
                let repeats = lines.filter { $0.number <= end }
                let bytes = repeats.reduce(0) { $0 + $1.bytes.count + 1 }
                #expect(bytes <= resend + (64 << 10), "seed \(seed): \(bytes) bytes again")
                for line in lines { seen.insert(line.number) }
                end = max(end, lines.last?.number ?? 0)
            }
            #expect(seen.count == last && end == last, "seed \(seed): \(seen.count) of \(last)")
        }
    }

    /// Reads over one connection after the other, each up to a random moment; gives what was read over each.
    private static func kill(
        _ peer: Peer, _ kills: Int, _ stage: FeedStage, _ seed: UInt64
    ) async throws -> ([[(number: Int, bytes: [UInt8])]], Int) {
        var random = SeededGenerator(seed: seed)
        var connections: [[(number: Int, bytes: [UInt8])]] = []
        for round in 0...kills {
            let reader = try await peer.accept()
            let isLast = round == kills
            var lines: [(number: Int, bytes: [UInt8])] = []
            if isLast { await stage.store.finish("end") }
            let most = isLast ? Int.max : Int(random.next() % 60)
            while lines.count < most {
                if !isLast, random.next() % 4 == 0 { await stage.publish(Int(random.next() % 30), text: 300) }
                // The same run goes on, and with it what is known of what was written.
                if !isLast, random.next() % 8 == 0 { await stage.store.greetAll() }
                if !isLast, random.next() % 8 == 0 {
                    try await stage.loop.sleep(for: .milliseconds(Int64(random.next() % 50)))
                }
                // A peer that reads everything, but for what is on its way.
                guard isLast || random.next() % 16 != 0, let line = try await read(reader, isLast, stage) else { break }
                if let number = FeedTranscript.number(line) { lines.append((number, line)) }
            }
            // What it has read it has, whether it looked at it or not.
            lines += reader.buffered().compactMap { line in FeedTranscript.number(line).map { ($0, line) } }
            connections.append(lines)
            reader.stream.close()
            if random.next() % 4 == 0 { peer.isPresent = false }
            try await stage.loop.sleep(for: .milliseconds(Int64(random.next() % 300)))
            peer.isPresent = true
        }
        return (connections, await stage.store.nextLine(of: stage.store.open(nil, from: .newest).0).sequence - 1)
    }

    /// The next line; nil when there is none within a while, or no more.
    private static func read(_ reader: FeedReader, _ waits: Bool, _ stage: FeedStage) async throws -> [UInt8]? {
        if !waits { await stage.publish(text: 300) }
        return try await reader.line()
    }

    @Test func aPeerThatOnlyConnectsIsNotSentEverOlderLines() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(1_000, text: 300)
            let peer = Peer(on: loop, capacity: 2_000)
            let output = try Self.output("unix:/x?resend=20000", stage, peer)
            try await running {
                try await output.run()
            } while: {
                let first = try await peer.accept()
                for number in 1...1_000 { #expect(FeedTranscript.number(try await first.line() ?? []) == number) }
                first.stream.close()
                for _ in 0..<20 { try await peer.accept().stream.close() }
                let last = try await peer.accept()
                let number = FeedTranscript.number(try await last.line() ?? []) ?? 0
                #expect(number < 960, "begins again at \(number)")
            }
        }
    }

    /// Reads lines one by one as they come, each of them a write.
    private static func readOneByOne(
        _ numbers: ClosedRange<Int>, _ reader: FeedReader, _ publish: (Int) async throws -> Void
    ) async throws {
        for number in numbers {
            try await publish(number)
            var line: [UInt8] = []
            repeat { line = try await reader.line() ?? [] } while !line.isEmpty && FeedTranscript.number(line) == nil
            #expect(FeedTranscript.number(line) == number)
        }
    }

    @Test func namesLinesOfAnEndedRunThatMayBeUnread() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop, run: "unknown", isRelay: true) { $0.logCapacity = 1 << 16 }
            let peer = Peer(on: loop, capacity: 3_000)
            let output = try Self.output("unix:/x?control=true&resend=20000", stage, peer)
            let time = #""time":"2001-09-09T01:46:40.000000Z""#
            let relay = { @Sendable (text: String) in
                let bytes = Bytes(text.utf8)
                await stage.store.relay([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
            }
            let begin = { @Sendable (run: String, first: Int) in
                try await relay(
                    #"{"type":"hello",\#(time),"format":1,"run":"\#(run)","first_seq":\#(first),"next_seq":\#(first)}"#)
            }
            let publish = { @Sendable (number: Int) in
                let text = String(repeating: "x", count: 400)
                try await relay(
                    #"{"seq":\#(number),\#(time),"type":"fact","source":"s","series":"s","text":"\#(text)"}"#)
            }
            try await begin("r1", 5_001)
            try await running {
                try await output.run()
            } while: {
                let first = try await peer.accept()
                try await Self.readOneByOne(5_001...5_090, first, publish)
                try await begin("r2", 1)
                try await Self.readOneByOne(1...5, first, publish)
                peer.isPresent = false
                first.stream.close()
                for number in 6...400 { try await publish(number) }
                try await loop.sleep(for: .seconds(1))
                peer.isPresent = true
                let second = try await peer.accept()
                // Whether the end of the run before was read is not known, and nobody has it any more.
                guard case .hello(let old)? = try await second.next()?.body,
                    case .stats? = try await second.next()?.body,
                    case .gap(let unread)? = try await second.next()?.body,
                    case .hello(let new)? = try await second.next()?.body
                else {
                    Issue.record("the former run is not named")
                    return
                }
                #expect(old.run == "r1" && unread.from > 5_001 && unread.from < 5_090 && unread.to == 5_090)
                try await second.skip(1)
                guard case .gap(let gap)? = try await second.next()?.body else {
                    Issue.record("no gap")
                    return
                }
                #expect(new.run == "r2" && gap.from == 1 && gap.to > 200)
            }
        }
    }

    @Test func triesAnAbsentPeerForEverAndSaysSo() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(5)
            let peer = Peer(on: loop, capacity: 1_000)
            peer.isPresent = false
            let output = try Self.output("tcp:somewhere:9", stage, peer)
            try await running {
                try await output.run()
            } while: {
                try await loop.sleep(for: .seconds(3_600))
                // Full jitter below 15 s: half of that on average.
                #expect(peer.attempts > 200 && peer.attempts < 2_000, "\(peer.attempts) attempts")
                let agent = await stage.agentLine()
                let outputs = agent?.outputs.map { "\($0.output) \($0.state) \($0.behind)" }
                #expect(outputs?.count == 1 && outputs?[0].hasPrefix("tcp:somewhere:9 Connection refused ") == true)
                peer.isPresent = true
                let reader = try await peer.accept()
                #expect(try await reader.next()?.seq == 1)
                #expect(await stage.agentLine()?.outputs.first?.state == "ok")
            }
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func aPeerThatStayedForLongIsSoonTriedAgain(seed: UInt64)
        async throws
    {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let peer = Peer(on: loop, capacity: 1_000)
            peer.isPresent = false
            let output = try Self.output("unix:/x", stage, peer, seed: seed)
            try await running {
                try await output.run()
            } while: {
                try await loop.sleep(for: .seconds(600))
                peer.isPresent = true
                let reader = try await peer.accept()
                await stage.publish()
                #expect(try await reader.next()?.seq == 1)
                try await loop.sleep(for: .seconds(15))
                reader.stream.close()
                let lost = loop.clock.now
                _ = try await peer.accept()
                // The first pause, and no longer one after many failures: that was up to 15 s.
                #expect(lost.duration(to: loop.clock.now) <= .milliseconds(250), "seed \(seed)")
            }
        }
    }

    /// What it took is sent again each time.
    @Test func aPeerThatTakesSomethingAndClosesIsTriedEverLessOften() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(50)
            let peer = Peer(on: loop, capacity: 1_000)
            let output = try Self.output("unix:/x", stage, peer)
            try await running {
                try await output.run()
            } while: {
                try await running {
                    while true {
                        let reader = try await peer.accept()
                        _ = try await reader.line()
                        reader.stream.close()
                    }
                } while: {
                    try await loop.sleep(for: .seconds(600))
                }
                #expect((40...250).contains(peer.attempts), "\(peer.attempts) attempts")
            }
        }
    }

    @Test func aPeerThatOnlySaysNoMoreIsPushedToOn() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let peer = Peer(on: loop, capacity: 1_000)
            let output = try Self.output("unix:/x", stage, peer)
            try await running {
                try await output.run()
            } while: {
                let reader = try await peer.accept()
                (reader.stream as? SimulatedStream)?.endWriting()
                try await loop.sleep(for: .milliseconds(100))
                await stage.publish()
                #expect(try await reader.next()?.seq == 1)
                #expect(peer.attempts == 1)
                reader.stream.close()
                _ = try await peer.accept()
            }
        }
    }

    @Test func whatThePeerSaysIsReadAndDropped() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let peer = Peer(on: loop, capacity: 1_000)
            let output = try Self.output("unix:/x", stage, peer)
            try await running {
                try await output.run()
            } while: {
                let reader = try await peer.accept()
                try await reader.stream.write(all: Array(repeating: 0, count: 100_000))
                await stage.publish()
                #expect(try await reader.next()?.seq == 1)
            }
        }
    }

    /// Has a push stop while `body` runs, and another one with `control=true` go on; gives what came over each connection.
    private static func replaced(
        resend: Int = 0, _ body: @escaping @Sendable (FeedStage, Peer) async throws -> Void
    ) async throws -> (first: FeedTranscript, second: FeedTranscript, took: Duration) {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            await stage.publish(3)
            let peer = Peer(on: loop, capacity: 4_000)
            let first = try Self.output("unix:/x?resend=\(resend)", stage, peer)
            let running = Task(executorPreference: loop) { try await first.run() }
            let reader = try await peer.accept()
            async let read = reader.transcript(on: loop)
            try await loop.sleep(for: .seconds(1))
            try await body(stage, peer)
            let before = loop.clock.now
            await first.stop()
            try await running.value
            let took = before.duration(to: loop.clock.now)
            peer.isPresent = true
            let second = PushOutput(
                try PushTarget("unix:/x?resend=\(resend)&control=true"), store: stage.store, on: loop,
                from: await first.start, tell: { _ in }, connect: { try peer.connect() })
            async let end: Void = second.run()
            let other = try await peer.accept()
            await stage.publish(4)
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["ok"])
            await stage.store.finish("end")
            let transcript = try await other.transcript(on: loop)
            try await end
            #expect(await stage.store.counts.readers == 0)
            return (try await read, transcript, took)
        }
    }

    @Test func anotherOneGoesOnAfterAllThatThereWas() async throws {
        let (first, second, took) = try await Self.replaced { stage, _ in await stage.publish(40, text: 1_000) }
        #expect(first.numbers == Array(1...43) && !first.isTorn && first.bye == nil && took < .seconds(1))
        #expect(second.numbers == Array(44...48) && second.bye?.lastSeq == 48)
    }

    @Test func anotherOneRepeatsWhatThePeerMayNotHaveRead() async throws {
        let (first, second, _) = try await Self.replaced(resend: 5_000) { stage, _ in
            await stage.publish(40, text: 1_000)
        }
        #expect(first.numbers == Array(1...43))
        // Four or five of these lines are 5,000 bytes; it begins with a whole piece.
        let again = try #require(second.numbers.first)
        #expect(again <= 40 && second.numbers == Array(again...48), "begins at \(again)")
    }

    @Test func oneWithoutAConnectionStopsAtOnce() async throws {
        let (first, second, took) = try await Self.replaced { stage, peer in
            peer.isPresent = false
            peer.hangUp()
            try await stage.loop.sleep(for: .seconds(30))
            await stage.publish(2)
        }
        #expect(first.numbers == [1, 2, 3] && took < .milliseconds(10))
        // What came while it was away; with windows that have closed.
        #expect(
            second.numbers == Array(second.numbers[0]...second.end - 1) && second.numbers[0] <= 4 && second.end > 10)
    }
}
