import Feed
import Inputs
import Outputs
import Reactor
import TestSupport
import Testing

/// Who comes back after a long time, or after another run has begun: an attached agent, and somebody that is pushed to.
@Suite(.limited) struct PastPeersTests {
    /// Whom a push reaches, while it is there. Unchecked: used by tasks of one loop.
    private final class Peer: @unchecked Sendable {
        private let loop: EventLoop
        var isPresent = true
        private(set) var reader: FeedReader?

        init(on loop: EventLoop) { self.loop = loop }

        func connect() throws -> LoopBound<any ByteStream> {
            guard isPresent else { throw SystemError(code: 111, call: "connect") }
            let (here, there) = SimulatedStream.pair(capacity: 2_000, on: loop)
            reader = FeedReader(there)
            return LoopBound(here)
        }

        func leave() {
            reader?.stream.close()
            reader = nil
            isPresent = false
        }

        /// The next reader there is.
        func comeBack() async throws -> FeedReader {
            isPresent = true
            while true {
                if let reader { return reader }
                try await loop.sleep(for: .milliseconds(50))
            }
        }
    }

    @Test(arguments: [false, true])
    func aPushThatFoundNobodyForLongGoesOnFromTheJournal(sendsControl: Bool) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await PastReaderTests.Stage(on: loop)
            let peer = Peer(on: loop)
            let target = try PushTarget("unix:/x?resend=2000&control=\(sendsControl)")
            let output = PushOutput(
                target, store: stage.feed.store, on: loop, random: SeededGenerator(seed: 1), history: stage.queue,
                tell: { _ in }, connect: { try peer.connect() })
            stage.history.begin("r1")
            await stage.publish(100)
            try await stage.serving {
                try await running {
                    try await output.run()
                } while: {
                    var next = 1
                    // Away, and cut off in the middle of what is older, again and again.
                    for round in 0..<4 {
                        let reader = try await peer.comeBack()
                        var isFirst = true
                        for _ in 0..<(round == 0 ? 60 : 600) {
                            guard let line = try await reader.line() else { break }
                            let number = FeedTranscript.number(line)
                            if let number, isFirst {
                                // What was on its way comes again, from the start of a piece.
                                #expect(number <= next, "\(number) where \(next) was due")
                                (next, isFirst) = (number, false)
                            }
                            if let number {
                                #expect(number == next)
                                next = number + 1
                            }
                        }
                        peer.leave()
                        await stage.publish(round < 2 ? 800 : 0)
                    }
                    #expect(next > 100)
                    let reader = try await peer.comeBack()
                    await stage.feed.store.finish("end")
                    var numbers: [Int] = []
                    var gaps: [ClosedRange<Int>] = []
                    while let line = try await reader.next() {
                        if let sequence = line.seq { numbers.append(sequence) }
                        if case .gap(let gap) = line.body { gaps.append(gap.from...gap.to) }
                    }
                    #expect(numbers.last == 1_700 && (numbers.first ?? .max) <= next)
                    let missing = zip(numbers, numbers.dropFirst()).filter { $1 != $0 + 1 }
                    #expect(missing.isEmpty && gaps.isEmpty)
                }
            }
        }
    }

    /// Who asks for nothing is not told either what it missed, so nothing is to be missed.
    @Test(arguments: [false, true], [0, 400])
    func aPushThatIsOvertakenGetsTheLinesFromTheJournal(sendsControl: Bool, unknown: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await PastReaderTests.Stage(on: loop)
            let peer = Peer(on: loop)
            let output = PushOutput(
                try PushTarget("unix:/x?control=\(sendsControl)"), store: stage.feed.store, on: loop,
                random: SeededGenerator(seed: 1), history: stage.queue, tell: { _ in },
                connect: { try peer.connect() })
            stage.history.begin("r1")
            try await stage.serving {
                try await running {
                    try await output.run()
                } while: {
                    await stage.publish(100)
                    let reader = try await peer.comeBack()
                    try await loop.sleep(for: .seconds(1))
                    // It reads nothing meanwhile, and the journal may have stopped before the end.
                    await stage.publish(1_500 - unknown)
                    await stage.publish(unknown) { _ in false }
                    async let transcript = reader.transcript(on: loop)
                    try await loop.sleep(for: .seconds(1))
                    await stage.publish(100)
                    try await loop.sleep(for: .seconds(1))
                    await stage.feed.store.finish("end")
                    let said = try await transcript
                    let missing = Set(1...1_700).subtracting(said.numbers)
                    #expect(said.numbers == said.numbers.sorted() && said.numbers.last == 1_700)
                    #expect(unknown > 0 ? !missing.isEmpty && missing.min() ?? 0 > 1_100 : missing.isEmpty)
                    #expect(Set(said.gaps.flatMap { Array($0) }) == (sendsControl ? missing : []))
                }
            }
        }
    }

    /// It needs nothing of the log, so the next run may begin.
    @Test func nobodyWaitsForAPushThatReadsTheJournal() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await PastReaderTests.Stage(on: loop)
            let peer = Peer(on: loop)
            peer.isPresent = false
            let output = PushOutput(
                try PushTarget("unix:/x"), store: stage.feed.store, on: loop, random: SeededGenerator(seed: 1),
                history: stage.queue, tell: { _ in }, connect: { try peer.connect() })
            stage.history.begin("r1")
            try await stage.serving {
                try await running {
                    try await output.run()
                } while: {
                    await stage.publish(1_500)
                    let reader = try await peer.comeBack()
                    #expect(try await reader.next()?.seq == 1)
                    let before = loop.clock.now
                    try await stage.feed.store.waitForReaders(atMost: .seconds(1))
                    #expect(before == loop.clock.now)
                }
            }
        }
    }

    /// Has a feed relay a `hello` and lines of a run.
    private static func relay(_ run: String, _ numbers: [Int], to feed: FeedStage) async throws {
        let identity = AgentIdentity(run: run, version: "1", started: FeedStage.start)
        let hello = ControlLine.hello(
            time: FeedStage.start, identity: identity, isFiltered: false, interval: .seconds(1),
            history: .seconds(120), firstSequence: 1, nextSequence: 1)
        let lines = numbers.map { MemoryHistory.line($0, FeedStage.start, text: 500) }
        for bytes in [Array(hello.dropLast())] + lines {
            await feed.store.relay([RelayedLine(try LineDecoder.decode(bytes[...]), bytes: Bytes(bytes))])
        }
    }

    /// The journal had an outage while the run that somebody is overtaken in ended; it may have the next one.
    @Test(arguments: [0, 1, 2]) func aPushIsToldOfTheRestOfARunThatTheJournalDoesNotHave(_ journal: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let feed = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let history = MemoryHistory()
            let queue = JournalQueue(history, on: loop, worker: loop, wall: feed.wall)
            let peer = Peer(on: loop)
            let output = PushOutput(
                try PushTarget("unix:/x?control=true"), store: feed.store, on: loop, random: SeededGenerator(seed: 1),
                history: queue, tell: { _ in }, connect: { try peer.connect() })
            history.begin("r1")
            history.add(1...200, text: 100)
            if journal > 0 {
                history.begin("r2")
                history.add(1...3, text: 100)
            }
            try await running {
                try await queue.run()
            } while: {
                try await running {
                    try await output.run()
                } while: {
                    try await Self.relay("r1", Array(1...300), to: feed)
                    let reader = try await peer.comeBack()
                    // It reads nothing while that run ends.
                    try await loop.sleep(for: .seconds(1))
                    try await Self.relay("r2", Array(1...10), to: feed)
                    // The disk may go, too, before the journal's next page.
                    if journal == 2 { history.failsAfter = 1 }
                    async let transcript = reader.transcript(on: loop)
                    try await loop.sleep(for: .seconds(1))
                    await feed.store.finish("end")
                    let said = try await transcript
                    #expect(said.fault == nil && said.hellos.last?.run == "r2", "\(said.fault ?? "")")
                    #expect(said.numbers.suffix(10) == Array(1...10))
                    // All of the first run, then all of the second.
                    var missing = Set(1...300).subtracting(said.numbers.dropLast(10))
                    #expect(!missing.isEmpty)
                    for gap in said.gaps { missing.subtract(gap) }
                    #expect(missing.isEmpty, "\(missing.sorted()) of \(said.gaps)")
                }
            }
        }
    }

    /// Numbers that a relayed feed never had are neither in the journal nor in the log, which has what is around them.
    @Test func aHoleWithinTheLogIsAGapOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let feed = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let history = MemoryHistory()
            let queue = JournalQueue(history, on: loop, worker: loop, wall: feed.wall)
            let peer = Peer(on: loop)
            let output = PushOutput(
                try PushTarget("unix:/x?control=true"), store: feed.store, on: loop, random: SeededGenerator(seed: 1),
                history: queue, tell: { _ in }, connect: { try peer.connect() })
            history.begin("r1")
            let numbers = Array(1...50) + Array(61...100)
            for number in numbers { history.add(number...number, text: 500) }
            try await running {
                try await queue.run()
            } while: {
                try await running {
                    try await output.run()
                } while: {
                    let reader = try await peer.comeBack()
                    try await Self.relay("r1", numbers, to: feed)
                    async let transcript = reader.transcript(on: loop)
                    try await loop.sleep(for: .seconds(1))
                    await feed.store.finish("end")
                    let said = try await transcript
                    #expect(said.numbers == numbers && said.gaps == [51...60] && said.fault == nil, "\(said.gaps)")
                }
            }
        }
    }

    @Test func anAttachedAgentGetsTheRestOfARunThatIsOver() async throws {
        try await withLoop(virtual: true) { loop in
            let first = await FeedStage(on: loop)
            let second = await PastReaderTests.Stage(on: loop, run: "r2")
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let way = Way(to: first)
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, random: SeededGenerator(seed: 3), tell: { _ in },
                connect: { _ throws(SystemError) in try way.connect() })
            try await relay.serving { _ in
                try await running {
                    try await input.run()
                } while: {
                    let reader = FeedReader(try relay.openStream(capacity: 100_000))
                    try await first.serving { _ in
                        await first.publish(20)
                        try await loop.sleep(for: .seconds(1))
                        way.stage = nil
                    }
                    way.cut()
                    try await loop.sleep(for: .seconds(5))
                    second.history.begin("r1")
                    second.history.add(1...300)
                    second.history.begin("r2")
                    await second.publish(700)
                    try await second.serving {
                        way.stage = second.feed
                        try await loop.sleep(for: .seconds(30))
                        await relay.store.finish("end")
                    }
                    let transcript = try await reader.transcript(on: loop)
                    // A run has more than one where its sources have changed.
                    let runs = transcript.hellos.map(\.run)
                    #expect(runs.first == "r1" && runs.last == "r2" && !runs.drop { $0 == "r1" }.contains("r1"))
                    #expect(transcript.gaps.isEmpty)
                    #expect(transcript.numbers == Array(1...300) + Array(1...700))
                    #expect(transcript.fault == nil && transcript.bye?.run == "r2")
                }
            }
        }
    }

    /// Where the attached agent is. Unchecked: used by tasks of one loop.
    private final class Way: @unchecked Sendable {
        var stage: FeedStage?
        private var stream: SimulatedStream?

        init(to stage: FeedStage?) { self.stage = stage }

        func connect() throws(SystemError) -> any ByteStream {
            guard let stage else { throw SystemError(code: 111, call: "connect") }
            let stream = try stage.openStream(capacity: 1 << 16)
            self.stream = stream
            return stream
        }

        func cut() { stream?.close() }
    }
}
