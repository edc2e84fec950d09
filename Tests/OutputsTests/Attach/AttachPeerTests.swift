import Feed
import Inputs
import Outputs
import Reactor
import TestSupport
import Testing

/// What an attached agent makes of peers that are not catwatch, or not well.
@Suite(.limited) struct AttachPeerTests {
    @Test(
        arguments: [
            "nonsense\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "{}\n", "[]\n", "\n", "\u{0}\u{1}\n",
            #"{"type":"hello","time":"2025-01-02T03:04:05.678901Z","format":2}"# + "\n",
            #"{"seq":1,"time":"2025-01-02T03:04:05.678901Z","type":"fact","source":"fact","series":"fact"}"# + "\n",
        ])
    func toldApartFromWhatIsNotCatwatch(greeting: String) async throws {
        let said = try await Self.saidAbout(greeting)
        let isNewer = greeting.contains(#""format":2"#)
        let reason =
            isNewer ? "format 2 is newer than this program, which reads format 1" : "what answers there is not catwatch"
        #expect(said == ["the agent is lost: \(reason)"])
    }

    @Test func passesOnWhyItWasRefused() async throws {
        let line = ControlLine.refusal(.connect, "there are 2 readers already", time: FeedStage.start)
        let said = try await Self.saidAbout(String(decoding: line, as: UTF8.self))
        #expect(said == ["the agent is lost: there are 2 readers already"])
    }

    /// A journal that fails leaves out lines that no gap may name; whoever says so again and again is quoted once.
    @Test func passesOnWhyItDoesNotGetAll() async throws {
        let line = ControlLine.refusal(.disk, "the journal cannot be read", time: FeedStage.start)
        let said = try await Self.saidAbout(
            Self.hello + String(repeating: String(decoding: line, as: UTF8.self), count: 3))
        #expect(said.first == "the agent says: the journal cannot be read" && said.count == 2)
    }

    /// It is about a request, and each connection has one of its own.
    @Test func aComplaintIsPassedOnOnceInEachConnection() async throws {
        try await withLoop(virtual: true) { loop in
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let line = ControlLine.refusal(.disk, "the journal cannot be read", time: FeedStage.start)
            let bytes = Array(Self.hello.utf8) + line + line
            let said = LoopBound(Said())
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, random: SeededGenerator(seed: 4),
                tell: { if case .warned(let text) = $0 { said.value.texts.append(text) } },
                connect: { loop in
                    let (here, there) = SimulatedStream.pair(on: loop)
                    _ = try bytes.withUnsafeBytes { bytes throws(SystemError) in try there.write(bytes) }
                    there.endWriting()
                    said.value.peers.append(there)
                    return here
                })
            try await running {
                try await input.run()
            } while: {
                while said.value.peers.count < 4 { try await loop.sleep(for: .milliseconds(100)) }
            }
            #expect(said.value.texts.count >= 3 && said.value.texts.count <= 4, "\(said.value.texts)")
        }
    }

    @Test(arguments: [0, 3 << 20]) func endsWhenThePeerSaysNothingUseful(length: Int) async throws {
        let said = try await Self.saidAbout(String(repeating: "x", count: length))
        #expect(said.count == 1)
    }

    private static let hello =
        #"{"type":"hello","time":"2025-01-02T03:04:05.678901Z","format":1,"run":"r1","first_seq":1,"next_seq":1}"#
        + "\n"
    private static let bye =
        #"{"type":"bye","time":"2025-01-02T03:04:05.678901Z","run":"r1","last_seq":0,"reason":"SIGTERM"}"# + "\n"
    private static let evil =
        #"{"type":"hello","time":"2025-01-02T03:04:05.678901Z","format":1,"run":"r\"}\n{\"poll\":\"fact\"}","first_seq":1,"next_seq":1}"#
        + "\n"

    @Test(arguments: [evil, hello + evil])
    func aNameOfARunThatIsNoneIsRefused(greeting: String) async throws {
        let said = try await Self.saidAbout(greeting)
        #expect(said.count == 1)
        #expect(said[0].contains("breaks the protocol: ") && said[0].contains("1 to 64 letters, digits, - or _"))
    }

    /// What came with it in one piece is passed on: an attached agent that comes back goes on behind that.
    @Test func whatCameBeforeABreachIsPassedOn() async throws {
        let lines = (1...3).map { number in
            #"{"seq":\#(number),"time":"2025-01-02T03:04:05.678901Z","type":"fact","source":"fact","series":"fact","value":1}"#
                + "\n"
        }
        let said = try await Self.saidAbout(Self.hello + lines.joined() + Self.evil, passingOn: 3)
        #expect(said.count == 1 && said[0].contains("breaks the protocol: "))
    }

    /// The line has no end, and the connection neither: its length is what is told.
    @Test(arguments: ["", hello], [0])
    func aLineWithoutAnEndIsRefusedAndNotAskedForAgainAtOnce(greeting: String, extra: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let said = LoopBound(Said())
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, random: SeededGenerator(seed: 3),
                tell: { status in
                    guard case .lost(let reason, let pause?) = status else { return }
                    said.value.texts.append(reason)
                    said.value.pauses.append(pause)
                },
                connect: { loop in
                    let (here, there) = SimulatedStream.pair(capacity: 3 << 20, on: loop)
                    let line = String(repeating: "x", count: LineEncoder.longestLine + 1 + extra)
                    var bytes = Array((greeting + line).utf8)
                    let taken = try bytes.withUnsafeBytes { bytes throws(SystemError) in try there.write(bytes) }
                    #expect(taken == bytes.count)
                    bytes = []
                    said.value.peers.append(there)
                    return here
                })
            await #expect(throws: CancellationError.self) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await input.run() }
                    group.addTask { try await loop.sleep(for: .seconds(60)) }
                    try await group.next()
                    group.cancelAll()
                    try await group.next()
                }
            }
            let texts = said.value.texts
            #expect(Set(texts) == ["what answers there breaks the protocol: a line has more than 1 MiB"])
            // A quarter of a second, twice as long each time, ten seconds: not hundreds of times.
            #expect((5...40).contains(texts.count), "\(texts.count)")
            #expect(said.value.pauses.max() ?? .zero > .seconds(4))
        }
    }

    /// It has nothing of another run, and what is gone for good is not asked for again.
    @Test func comesBackBehindTheLastNumberThatItHasOfTheRun() async throws {
        try await withLoop(virtual: true) { loop in
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let gap = String(
                decoding: ControlLine.gap(time: FeedStage.start, missing: 1...50, reason: "slow_reader"),
                as: UTF8.self)
            let other = Self.hello.replacing("r1", with: "r2")
            // The greeting with its replay, and the answer.
            let early = gap.replacing("50", with: "90")
            let greetings = [Self.hello, Self.hello + early + Self.hello + gap, other + other, Self.hello]
            let said = LoopBound(Said())
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, random: SeededGenerator(seed: 4), tell: { _ in },
                connect: { loop in
                    let (here, there) = SimulatedStream.pair(capacity: 1_000, on: loop)
                    let bytes = Array(greetings[min(said.value.peers.count, 3)].utf8)
                    let taken = try bytes.withUnsafeBytes { bytes throws(SystemError) in try there.write(bytes) }
                    #expect(taken == bytes.count)
                    said.value.peers.append(there)
                    return here
                })
            try await running {
                try await input.run()
            } while: {
                for number in 0..<4 {
                    while said.value.peers.count <= number { try await loop.sleep(for: .milliseconds(100)) }
                    let peer = FeedReader(said.value.peers[number])
                    if number > 0 {
                        said.value.texts.append(String(decoding: try await peer.line() ?? [], as: UTF8.self))
                    }
                    try await loop.sleep(for: .milliseconds(100))
                    peer.stream.close()
                }
            }
            let resumes = [(0, "r1"), (50, "r1"), (0, "r2")].map { RequestLine.resume(after: $0, of: $1).dropLast() }
            #expect(said.value.texts == resumes.map { String(decoding: $0, as: UTF8.self) })
        }
    }

    @Test(arguments: [hello, hello + bye])
    func onePeerThatGreetsAndClosesIsTriedEverLessOften(greeting: String) async throws {
        try await withLoop(virtual: true) { loop in
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let said = LoopBound(Said())
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, random: SeededGenerator(seed: 4),
                tell: { if case .lost(_, let pause?) = $0 { said.value.pauses.append(pause) } },
                connect: { loop in
                    let (here, there) = SimulatedStream.pair(on: loop)
                    _ = try Array(greeting.utf8).withUnsafeBytes { bytes throws(SystemError) in try there.write(bytes) }
                    there.endWriting()
                    said.value.peers.append(there)
                    return here
                })
            try await running {
                try await input.run()
            } while: {
                try await loop.sleep(for: .seconds(60))
            }
            #expect((5...40).contains(said.value.pauses.count), "\(said.value.pauses.count)")
            #expect(said.value.pauses.max() ?? .zero > .seconds(4))
        }
    }

    @Test func aLineThatCannotBeReadIsToldOnce() async throws {
        func line(_ seq: Int, _ rest: String) -> String {
            #"{"seq":\#(seq),"time":"2020-09-13T12:26:41.000000Z","type":"t","source":"s","series":"s"\#(rest)}"#
        }
        let lines = [line(1, ""), line(2, #","value":1e999"#), #"{"seq":3"#, line(4, "")]
        let said = try await Self.saidAbout(Self.hello + lines.map { $0 + "\n" }.joined(), passingOn: 2)
        #expect(
            said.count == 2 && said[0].hasPrefix("a line of the agent cannot be read, and is left out: "), "\(said)")
    }

    private static func fact(_ seq: Int, _ type: String = "fact", more: String = "") -> String {
        #"{"seq":\#(seq),"time":"2020-09-13T12:26:41.000000Z","type":"\#(type)","source":"s"\#(more)}"# + "\n"
    }

    private static let series = #","series":"s""#
    private static let endlessGap =
        #"{"type":"gap","time":"2020-09-13T12:26:41.000000Z","from":2,"to":\#(Int.max),"reason":"slow_reader"}"# + "\n"

    @Test(arguments: [fact(.max, more: series), fact(.max, "later"), endlessGap])
    func aNumberThatNoneCanFollowEndsTheConnection(line: String) async throws {
        let said = try await Self.saidAbout(Self.hello + Self.fact(1, more: Self.series) + line, passingOn: 1)
        #expect(said.count == 1 && said[0].contains("breaks the protocol: it counts up to \(Int.max)"), "\(said)")
        let last = Self.fact(.max - 1, more: Self.series)
        #expect(try await Self.saidAbout(Self.hello + last, passingOn: 1).allSatisfy { !$0.contains("protocol") })
    }

    @Test func theGapForLinesThatAreNotPassedOnDoesNotBlameTheReader() async throws {
        try await withLoop(virtual: true) { loop in
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let (here, there) = SimulatedStream.pair(on: loop)
            let bound = LoopBound(here)
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, reconnects: false, tell: { _ in },
                connect: { _ throws(SystemError) in bound.value })
            let bad = #","series":"s","value":1e999"#
            let lines = [
                Self.fact(1, more: bad), Self.fact(2, more: Self.series), Self.fact(3, more: bad),
                Self.fact(4, "later", more: #","new":1e999"#), Self.fact(5, more: Self.series),
            ]
            try await there.write(all: Array((Self.hello + lines.joined()).utf8))
            there.endWriting()
            let (reader, _) = await relay.store.open("reader")
            try await input.run()
            var gaps: [String] = []
            while let delivery = await relay.store.dequeue(for: reader) {
                guard case .gap(let line) = delivery, let gap = Line.Gap(line[...]) else { continue }
                gaps.append("\(gap.from)-\(gap.to) \(gap.reason ?? "")")
            }
            #expect(gaps == ["1-1 relay", "3-4 relay"])
        }
    }

    /// What it says about a peer that greets like that and closes, without `--no-reconnect` taken back.
    private static func saidAbout(_ greeting: String, passingOn count: Int = 0) async throws -> [String] {
        try await withLoop(virtual: true) { loop in
            let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
            let (here, there) = SimulatedStream.pair(capacity: 1_000, on: loop)
            let bound = LoopBound(here)
            let said = LoopBound(Said())
            let input = AttachInput(
                store: relay.store, polls: relay.polls, on: loop, reconnects: false,
                tell: { said.value.texts += [$0.text].compactMap(\.self) },
                connect: { _ throws(SystemError) in bound.value })
            let peer = LoopBound(there)
            try await running {
                try await peer.value.write(all: Array(greeting.utf8))
                peer.value.close()
            } while: {
                try await input.run()
                #expect(await relay.store.counts.data == count)
            }
            return said.value.texts
        }
    }

    private final class Said {
        var texts: [String] = []
        var pauses: [Duration] = []
        var peers: [SimulatedStream] = []
    }

    @Test func survivesWhateverAPeerSays() async throws {
        for seed in [121, 122] as [UInt64] {
            try await withLoop(virtual: true) { loop in
                let origin = await FeedStage(on: loop)
                await origin.publish(20, text: 20)
                let recorded = try await origin.serving { _ in
                    let reader = try origin.connect()
                    var lines: [[UInt8]] = []
                    for _ in 0..<22 { lines.append(try await reader.line() ?? []) }
                    return lines
                }
                var random = SeededGenerator(seed: seed)
                for round in 0..<LongRun.rounds(short: 60, long: 5_000) {
                    let transcript = try await Self.relay(recorded, mutatedBy: &random, on: loop)
                    // Whatever came, those who read here get whole lines whose numbers add up.
                    #expect(transcript.fault == nil && !transcript.isTorn, "seed \(seed), round \(round)")
                }
            }
        }
    }

    private static func relay(
        _ lines: [[UInt8]], mutatedBy random: inout SeededGenerator, on loop: EventLoop
    ) async throws -> FeedTranscript {
        var lines = lines
        for _ in 0...random.next() % 4 {
            let index = Int(random.next() % UInt64(lines.count))
            let place = Int(random.next() % UInt64(max(1, lines[index].count)))
            switch random.next() % 4 {
            case 0: lines.remove(at: index)
            case 1: lines.insert(lines[index], at: 0)
            case 2: lines.swapAt(index, lines.count - 1)
            default: if !lines[index].isEmpty { lines[index][place] = UInt8(truncatingIfNeeded: random.next()) }
            }
        }
        let bytes = Array(lines.joined(separator: [0x0A])) + [0x0A]
        let relay = await FeedStage(on: loop, run: "unknown", isRelay: true)
        let (here, there) = SimulatedStream.pair(on: loop)
        let (bound, peer) = (LoopBound(here), LoopBound(there))
        let input = AttachInput(
            store: relay.store, polls: relay.polls, on: loop, reconnects: false, tell: { _ in },
            connect: { _ throws(SystemError) in bound.value })
        return try await relay.serving { _ in
            let reader = try relay.connect()
            async let transcript = reader.transcript(on: loop)
            try await running {
                try await peer.value.write(all: bytes)
                peer.value.close()
            } while: {
                try await input.run()
            }
            try await loop.sleep(for: .seconds(1))
            await relay.store.finish("end")
            return try await transcript
        }
    }
}
