import Feed
import Journal
import Nats
import Outputs
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import Inputs

/// A stream in memory that a fleet reads, in virtual time.
@Suite(.limited) struct NatsInputTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private static let second: Int64 = 1_000_000_000
    private static let now = start.microseconds * 1_000

    /// What is wrong with the servers, for a test to change.
    private final class Trouble: Sendable {
        private let trouble = Mutex<(call: MemoryStream.Call, MemoryStream.Trouble, left: Int)?>(nil)

        func set(_ trouble: MemoryStream.Trouble, at call: MemoryStream.Call, times: Int = .max) {
            self.trouble.withLock { $0 = (call, trouble, times) }
        }
        func end() { trouble.withLock { $0 = nil } }
        func at(_ call: MemoryStream.Call) -> MemoryStream.Trouble? {
            trouble.withLock { trouble in
                guard let now = trouble, now.call == call, now.left > 0 else { return nil }
                trouble?.left -= 1
                return now.1
            }
        }
    }

    private struct Fleet: Sendable {
        let loop: EventLoop
        let wall: SteppedWallClock
        let store: EventStore
        let polls: PollRequests
        let stream: MemoryStream
        let trouble = Trouble()
        let worker = SimulatedWorker()

        init(on loop: EventLoop, _ stream: MemoryStream, awaitsPositions: Bool = false) {
            var limits = FeedState.Limits()
            limits.history = .seconds(60)
            limits.logCapacity = 1 << 20
            self.loop = loop
            self.stream = stream
            wall = SteppedWallClock(following: loop.clock, startingAt: NatsInputTests.start)
            let identity = AgentIdentity(run: "fleet", version: "1", started: NatsInputTests.start)
            store = EventStore(
                on: loop, wall: wall, identity: identity, limits: limits, isFleet: true,
                awaitsPositions: awaitsPositions)
            polls = PollRequests(on: loop)
        }

        /// Reads the stream while `body` runs.
        func whileReading(
            _ name: String = "nats", subject: String = NatsSubject.all, together: Int = 64, mostFound: Int = 20_000,
            _ body: @escaping @Sendable () async throws -> Void
        ) async throws {
            let source = NatsSource(
                name, at: NatsServers([NatsAddress(host: "h")]), stream: "CATWATCH", subject: subject, target: "h")
            let broker = MemoryBroker(stream, together: together) { [trouble] in trouble.at($0) }
            let input = NatsInput(
                source, from: broker, store: store, polls: polls, on: loop, worker: worker,
                mostFound: mostFound, random: SeededGenerator(seed: 1))
            try await running {
                try await input.run()
            } while: {
                try await body()
            }
        }

        /// All numbered lines so far.
        func lines() async throws -> [Line] {
            let (reader, _) = await store.open(nil)
            var lines: [Line] = []
            while let delivery = await store.dequeue(for: reader) {
                guard case .lines(let span) = delivery else { continue }
                let bytes = span.withUnsafeBytes { Array($0) }
                lines += try bytes.split(separator: 0x0A).map { try LineDecoder.decode($0) }
            }
            await store.close(reader)
            return lines
        }

        /// What was said to be wrong, by whom.
        func errors(of source: String? = nil) async throws -> [String] {
            try await lines().compactMap { line in
                guard case .error(let failure) = line.body, source == nil || line.source == source else { return nil }
                return failure.message
            }
        }

        /// The values that came of an agent, in their order.
        func values(_ agent: String = "web1") async throws -> [Double] {
            try await lines().compactMap { line in
                guard case .data(let data) = line.body, line.source == "\(agent).fact" else { return nil }
                return data.value
            }
        }

        /// How many brokers can be read, of how many.
        func connections() async -> [Int?] { [await store.connections?.open, await store.connections?.all] }

        func pass(_ time: Duration) async throws { try await loop.sleep(for: time) }
    }

    private static func hello(_ run: String, _ more: String = "", format: Int = 1) -> String {
        #"{"type":"hello","time":"2023-11-14T22:13:20Z","format":\#(format),"run":"\#(run)","first_seq":1,"next_seq":1\#(more)}"#
    }

    private static func fact(_ number: Int) -> String {
        #"{"seq":\#(number),"time":"2023-11-14T22:13:20Z","type":"fact","source":"fact","series":"fact","value":\#(number)}"#
    }

    private static func window(_ number: Int) -> String {
        #"{"seq":\#(number),"time":"2023-11-14T22:13:20Z","type":"window","source":"fact","series":"fact","start":"2023-11-14T22:13:10Z","seconds":10,"last":1,"last_seq":1,"count":1,"min":1,"max":1,"mean":1}"#
    }

    private static func message(
        _ lines: [String], of agent: String = "web1", run: String? = "r1", last: Int? = nil, raw: [UInt8]? = nil
    ) -> NatsMessage {
        var message = NatsMessage(subject: "catwatch.v1.\(agent)", stream: "CATWATCH")
        message.payload = raw ?? lines.flatMap { Array("\($0)\n".utf8) }
        if let run { message.headers.append(.init(NatsHeader.run, run)) }
        if let last {
            message.headers.append(.init(NatsHeader.first, "\(last - lines.count + 1)"))
            message.headers.append(.init(NatsHeader.last, "\(last)"))
        }
        return message
    }

    private static func stream(_ numbers: ClosedRange<Int>, of agent: String = "web1") throws -> MemoryStream {
        let stream = MemoryStream()
        stream.setTime(now)
        for number in numbers { try stream.publish(message([fact(number)], of: agent, last: number)) }
        return stream
    }

    private static func run(
        _ stream: MemoryStream, _ body: @escaping @Sendable (Fleet) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in try await body(Fleet(on: loop, stream)) }
    }

    // MARK: Kept lines

    private static func kept(_ number: Int, _ key: String, run: String = "r1") -> String {
        #"{"type":"kept","time":"2023-11-14T22:13:20Z","run":"\#(run)","line":{"seq":\#(number),"#
            + #""time":"2023-11-14T22:03:20Z","type":"fact","source":"fact","series":"fact/\#(key)","text":"t"}}"#
    }

    private static let stats =
        #"{"type":"stats","time":"2023-11-14T22:13:20Z","as_of":0,"endpoints":[],"sources":[{"source":"fact","state":"ok"}]}"#

    /// They come at any time, again and again, and change no position.
    @Test func keptLinesOfAStreamAreKept() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        try stream.publish(Self.message([Self.kept(3, "unlisted")]))
        try stream.publish(Self.message([Self.hello("r1"), Self.stats, Self.kept(1, "a"), Self.kept(2, "b")]))
        try stream.publish(Self.message([Self.fact(7)], last: 7))
        try stream.publish(
            Self.message([
                Self.kept(3, "c"), Self.kept(8, "future"), Self.kept(4, "other", run: "r2"), Self.kept(1, "a"),
            ]))
        try stream.publish(Self.message([Self.fact(8)], last: 8))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                let (reader, _) = await fleet.store.open(nil, keptAfter: 0)
                try await fleet.pass(.seconds(5))
                var keys: [String] = []
                while let delivery = await fleet.store.dequeue(for: reader) {
                    guard case .kept(let lines) = delivery else { continue }
                    keys += try lines.split(separator: 0x0A).compactMap {
                        guard case .kept(let kept) = try LineDecoder.decode($0).body,
                            case .data(let data) = kept.line.body
                        else { return nil }
                        return data.series
                    }
                }
                #expect(keys == ["web1.fact/a", "web1.fact/b", "web1.fact/c"])
                #expect(try await fleet.values() == [7, 8])
                let member = await fleet.store.member(fleet.store.member("web1"))
                #expect(member.lost == 0 && member.place == LineID("r1", 8) && member.repeated == 0)
                #expect(await fleet.store.knownPositions.map(\.stream) == [5])
            }
        }
    }

    // MARK: What comes

    @Test func everyAgentIsASourceThatIsCalledWhatItsSubjectSays() async throws {
        let stream = try Self.stream(1...3)
        try stream.publish(Self.message([Self.fact(1), Self.fact(2)], of: "web2", run: "r2"))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                #expect(try await fleet.values() == [1, 2, 3])
                #expect(try await fleet.values("web2") == [1, 2])
                try stream.publish(Self.message([Self.fact(4)]))
                try await fleet.pass(.seconds(1))
                #expect(try await fleet.values() == [1, 2, 3, 4])
                #expect(await fleet.polls.requestPoll(of: "web1.fact")?.reason.contains("broker") == true)
            }
            #expect(try await fleet.errors().isEmpty)
        }
    }

    @Test func eachLineSaysByWhichMessageItCame() async throws {
        let stream = try Self.stream(1...1)
        try stream.publish(Self.message([Self.fact(2), Self.fact(5)]))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            let (reader, _) = await fleet.store.open(nil)
            var text = ""
            while let delivery = await fleet.store.dequeue(for: reader) {
                if case .lines(let span) = delivery {
                    text += span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                }
            }
            let places = text.split(separator: "\n").compactMap { line in
                Array(line.utf8).withUnsafeBufferPointer { AgentPosition($0) }
            }
            let wanted = [(1, 1), (2, 2), (4, 2), (5, 2)].map { number, message in
                AgentPosition("web1", LineID("r1", number), stream: message)
            }
            #expect(places == wanted)
        }
    }

    @Test(arguments: [true, false])
    func anAgentWhoseLastMessageSaysGoodbyeHasEnded(says: Bool) async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 3_600 * Self.second)
        var message = Self.message([Self.fact(1)], last: 1)
        if says { message.headers.append(.init(NatsHeader.ended, "yes")) }
        try stream.publish(message)
        try await Self.run(stream) { fleet in
            let running = Task(executorPreference: fleet.loop) { try? await fleet.store.run() }
            try await fleet.whileReading { try await fleet.pass(.seconds(5)) }
            running.cancel()
            await running.value
            let states = try await fleet.lines().compactMap {
                if case .peer(let peer) = $0.body { peer.state } else { nil }
            }
            #expect(states == [says ? "ended" : "silent"])
        }
    }

    @Test func itBeginsAHistoryAgoAndKnowsWhoWasThereBefore() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 61 * Self.second)
        try stream.publish(Self.message([Self.fact(1)], of: "gone", last: 1))
        try stream.publish(Self.message([Self.fact(7)], last: 7))
        stream.setTime(Self.now - 59 * Self.second)
        try stream.publish(Self.message([Self.fact(8)], last: 8))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                #expect(stream.starts == [.lastOfEach, .time(Self.now - 60 * Self.second)])
                #expect(try await fleet.values() == [8])
                #expect(try await fleet.values("gone") == [])
                #expect(await fleet.store.sourceStates.contains { $0.source == "gone.catwatch" })
                // What it is back with, and what is missing of it, is told.
                try stream.publish(Self.message([Self.fact(1), Self.fact(2), Self.fact(4)], of: "gone"))
                try await fleet.pass(.seconds(1))
                #expect(try await fleet.values("gone") == [2, 4])
            }
            let lost = try await fleet.lines().compactMap {
                if case .lost(let lost) = $0.body { lost.numbers } else { nil }
            }
            #expect(lost == [3...3])
        }
    }

    @Test func fewerAgentsThanWereSaidAreNotWaitedFor() async throws {
        let stream = try Self.stream(1...3)
        stream.setOvercount(5)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1, 2, 3])
            #expect(stream.starts.count == 2)
        }
    }

    @Test func ofMoreAgentsThanThereAreNotAllLastMessagesAreLookedAt() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 61 * Self.second)
        for number in 1...10 { try stream.publish(Self.message([Self.fact(1)], of: "web\(number)", last: 1)) }
        try await Self.run(stream) { fleet in
            try await fleet.whileReading(together: 2, mostFound: 3) {
                try await fleet.pass(.seconds(1))
                let known = await fleet.store.sourceStates.map(\.source).filter { $0.hasPrefix("web") }
                #expect(known == (1...4).map { "web\($0).catwatch" })
            }
        }
    }

    @Test func behindAJournalItGoesOnWithTheMessageOfTheLastLine() async throws {
        let stream = try Self.stream(1...9)
        try await Self.run(stream) { fleet in
            await fleet.store.resume([
                AgentPosition("old", LineID("r1", 3), stream: 8), AgentPosition("web1", LineID("r0", 9), stream: 9),
                AgentPosition("web1", LineID("r1", 5), stream: 5),
            ])
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            // The second one has looked whether that line is there.
            #expect(stream.starts == [.lastOfEach, .sequence(5), .sequence(5)])
            #expect(try await fleet.values() == [6, 7, 8, 9])
        }
    }

    /// By which messages lines of `a`, whose last message is 5, and of `b`, whose is 4, were taken.
    @Test(
        arguments: [
            // Nothing is known.
            ([], [], nil), ([AgentPosition("a", LineID("r", 1))], [], nil),
            ([AgentPosition("other", LineID("r", 1), stream: 7)], [], nil),
            // The newest of all agents that are there.
            (
                [AgentPosition("b", LineID("r", 1), stream: 2), AgentPosition("a", LineID("r", 1), stream: 5)],
                [5, 2], 5
            ),
            // Of one that has something newer what came behind its last line is not known: it may be windows.
            (
                [AgentPosition("a", LineID("r", 1), stream: 3), AgentPosition("b", LineID("r", 1), stream: 4)],
                [4, 3], 3
            ),
            // The newest run counts, be its number less.
            (
                [AgentPosition("a", LineID("r", 1), stream: 5), AgentPosition("a", LineID("s", 1), stream: 2)], [2],
                2
            ),
        ] as [([AgentPosition], [UInt64], UInt64?)])
    func whereToBeginIsTold(by positions: [AgentPosition], _ newest: [UInt64], _ start: UInt64?) {
        let positions = StreamPositions(positions, last: ["a": 5, "b": 4])
        #expect(positions.newest.map(\.number) == newest)
        #expect(positions.newest.first.map { positions.behind($0.number).first?.number ?? $0.number } == start)
    }

    @Test func aPositionIsAStreamsThatHasTheLineInThatMessage() {
        let position = AgentPosition("web1", LineID("r1", 5), stream: 9)
        func message(_ agent: String = "web1", _ run: String? = "r1", _ first: String?, _ last: String?) -> NatsDelivery
        {
            NatsDelivery(
                subject: "catwatch.v1.\(agent)", sequence: 9, number: 1, time: 0, run: run, first: first, last: last)
        }
        // A message that begins behind the line says that it is lost.
        for (first, last) in [("5", "5"), ("1", "5"), ("5", "9"), ("0", "9"), ("6", "9"), ("6", "6")] {
            #expect(StreamPositions.isMessage(message("web1", "r1", first, last), of: position))
        }
        for (first, last) in [
            ("7", "9"), ("1", "4"), (nil, "9"), ("1", nil), ("x", "9"), ("1", "99999999999999999999"),
            ("\(Int.min)", "4"),
        ] {
            #expect(!StreamPositions.isMessage(message("web1", "r1", first, last), of: position))
        }
        #expect(!StreamPositions.isMessage(message("web2", "r1", "5", "5"), of: position))
        #expect(!StreamPositions.isMessage(message("web1", "r2", "5", "5"), of: position))
        #expect(!StreamPositions.isMessage(message("web1", nil, "5", "5"), of: position))
    }

    /// A fleet with a journal was away, and another stream is there when it is back: made anew, or of other servers.
    @Test(arguments: [0, 3, 7, 30])
    func anotherStreamIsReadFromItsFirstMessageOn(before: Int) async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 3_600 * Self.second)
        for number in 0..<before {
            try stream.publish(Self.message([Self.fact(number + 1)], of: "new", last: number + 1))
        }
        // The run goes on, so that its names tell nothing, and there are as many messages as there were.
        for number in 11...40 { try stream.publish(Self.message([Self.fact(number)], last: number)) }
        try await Self.run(stream) { fleet in
            await fleet.store.resume([AgentPosition("web1", LineID("r1", 10), stream: 10)])
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values("new") == (0..<before).map { Double($0 + 1) })
            #expect(try await fleet.values() == (11...40).map(Double.init))
            #expect(try await !fleet.lines().contains { if case .lost = $0.body { true } else { false } })
        }
    }

    /// What came of an agent before the newest line was taken, though its own newest lines are windows.
    @Test func windowsOfOneThatHasNothingNewAreNotMissingWhenTheyComeAgain() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        try stream.publish(Self.message([Self.fact(1)], of: "slow", last: 1))
        try stream.publish(Self.message([Self.window(2), Self.window(3)], of: "slow", last: 3))
        try stream.publish(Self.message([Self.fact(1)], of: "behind", last: 1))
        try stream.publish(Self.message([Self.window(4)], of: "slow", last: 4))
        try stream.publish(Self.message([Self.fact(1)], last: 1))
        try stream.publish(Self.message([Self.fact(2)], of: "behind", last: 2))
        try await Self.run(stream) { fleet in
            await fleet.store.resume(
                [("slow", 1), ("behind", 3), ("web1", 5)].map { name, message in
                    AgentPosition(name, LineID("r1", 1), stream: message)
                })
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                #expect(stream.starts.last == .sequence(3))
                try stream.publish(Self.message([Self.fact(5)], of: "slow", last: 5))
                try await fleet.pass(.seconds(1))
            }
            #expect(try await fleet.values("slow") == [5])
            #expect(try await fleet.values("behind") == [2])
            #expect(try await !fleet.lines().contains { if case .lost = $0.body { true } else { false } })
        }
    }

    /// What was taken of others meanwhile is not looked at again: of an agent that begins anew all the time older runs are not known.
    @Test(arguments: [true, false])
    func agentsOfManyRunsAreNotReadAgainWhenAnotherOneIs(isBelieved: Bool) async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        if !isBelieved { try stream.publish(Self.message([Self.fact(7)], of: "other", last: 7)) }
        try stream.publish(Self.message([Self.fact(1)], of: "slow", last: 1))
        try stream.publish(Self.message([Self.window(2)], of: "slow", last: 2))
        for run in 1...20 { try stream.publish(Self.message([Self.fact(1)], run: "r\(run)", last: 1)) }
        let kept = stream.stored.count
        try stream.publish(Self.message([Self.fact(2)], run: "r20", last: 2))
        try stream.publish(Self.message([Self.fact(3)], of: "slow", last: 3))
        try await Self.run(stream) { fleet in
            await fleet.store.resume(
                [AgentPosition("slow", LineID("r1", 1), stream: 1)]
                    + (13...20).map { AgentPosition("web1", LineID("r\($0)", 1), stream: kept - 20 + $0) })
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [2])
            #expect(try await fleet.values("slow") == [3])
            // Where its line was in another stream, nobody goes back.
            #expect(stream.starts.last == .sequence(isBelieved ? 1 : UInt64(kept)))
            let lost = try await fleet.lines().compactMap {
                if case .lost(let lost) = $0.body { lost.numbers } else { nil }
            }
            #expect(lost == (isBelieved ? [] : [2...2]))
        }
    }

    /// Not all of them are looked for: behind those that are not there, what is left is read.
    @Test func agentsWhoseLastLinesTheStreamHasLetGoOfMissNothingThatItHas() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        let names = (0..<10).map { "slow\($0)" }
        for name in names { try stream.publish(Self.message([Self.fact(1)], of: name, last: 1)) }
        for name in names { try stream.publish(Self.message([Self.window(2)], of: name, last: 2)) }
        try stream.publish(Self.message([Self.fact(1)], last: 1))
        for name in names { try stream.publish(Self.message([Self.fact(3)], of: name, last: 3)) }
        stream.remove(through: 8)
        try await Self.run(stream) { fleet in
            await fleet.store.resume(
                names.enumerated().map { AgentPosition($1, LineID("r1", 1), stream: $0 + 1) }
                    + [AgentPosition("web1", LineID("r1", 1), stream: 21)])
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(stream.starts.last == .sequence(9))
            for name in names { #expect(try await fleet.values(name) == [3]) }
            #expect(try await !fleet.lines().contains { if case .lost = $0.body { true } else { false } })
        }
    }

    /// The newest line's message is gone for good: the one before it says as well which stream it is.
    @Test(arguments: [1, 2])
    func oneMessageThatIsGoneDoesNotMakeItAnotherStream(newest: Int) async throws {
        let stream = try Self.stream(1...9)
        for number in 1...2 { try stream.publish(Self.message([Self.fact(number)], of: "web2", last: number)) }
        let gone = UInt64(9 + newest)
        stream.remove(gone)
        try await Self.run(stream) { fleet in
            await fleet.store.resume([
                AgentPosition("web1", LineID("r1", 8), stream: 8),
                AgentPosition("web2", LineID("r1", newest), stream: Int(gone)),
            ])
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(stream.starts == [.lastOfEach, .sequence(gone), .sequence(8), .sequence(8)])
            #expect(try await fleet.values() == [9])
            #expect(try await fleet.values("web2") == (newest == 1 ? [2] : []))
        }
    }

    @Test func whoReadsManyAgentsForTheFirstTimeLetsOthersHaveTheirTurn() async throws {
        let stream = MemoryStream()
        for number in 1...100 { try stream.publish(Self.message([Self.fact(1)], of: "web\(number)", last: 1)) }
        try await Self.run(stream) { fleet in
            let counts = LoopBound(Counts())
            try await fleet.whileReading(together: 1_000) {
                while await fleet.store.sourceStates.count < 101 {
                    try await fleet.pass(.zero)
                    counts.value.seen.insert(await fleet.store.sourceStates.count)
                }
            }
            #expect(counts.value.seen.count { 1..<101 ~= $0 } >= 3, "\(counts.value.seen)")
        }
    }

    private final class Counts { var seen: Set<Int> = [] }

    /// While an output is waited for, an agent is forgotten and another one has its place.
    @Test func linesAreOfTheAgentThatSentThemWhoeverHasItsPlaceMeanwhile() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        let text = String(repeating: "x", count: 4_000)
        let lines = (1...200).map { Self.fact($0).replacing("\"value\"", with: "\"text\":\"\(text)\",\"value\"") }
        try stream.publish(Self.message(lines, last: 200))
        try await Self.run(stream) { fleet in
            let (slow, _) = await fleet.store.open("slow", holdsInputs: true)
            try await fleet.whileReading {
                try await fleet.pass(.seconds(10))
                let count = await fleet.store.nextSequence
                #expect(20..<190 ~= count)
                let place = await fleet.store.member("web1")
                let running = Task(executorPreference: fleet.loop) { try? await fleet.store.run() }
                await fleet.store.release(named: "web1.catwatch")
                try await fleet.pass(.seconds(1_000))
                #expect(await fleet.store.member("other") == place)
                await fleet.store.close(slow)
                try await fleet.pass(.seconds(10))
                running.cancel()
                await running.value
            }
            let texts = try await fleet.lines().map { $0.source ?? "" }
            #expect(!texts.contains("other.fact") && texts.last?.hasPrefix("web1.") == true, "\(Set(texts))")
        }
    }

    @Test func windowsThatCameBeforeARestartAreNotMissingBehindIt() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        try stream.publish(Self.message([Self.fact(1)] + (2...4).map(Self.window), last: 4))
        try stream.publish(Self.message([Self.window(5)], last: 5))
        try stream.publish(Self.message([Self.fact(1), Self.window(2)], of: "web2", last: 2))
        try stream.publish(Self.message([Self.fact(1), Self.window(2)], of: "quiet", last: 2))
        try stream.publish(Self.message([Self.fact(1)], of: "newest", last: 1))
        try stream.publish(Self.message([Self.fact(6)], last: 6))
        try stream.publish(Self.message([Self.fact(3)], of: "web2", last: 3))
        try await Self.run(stream) { fleet in
            await fleet.store.resume(
                [("web1", 1), ("web2", 3), ("quiet", 4), ("newest", 5)].map { name, message in
                    AgentPosition(name, LineID("r1", 1), stream: message)
                })
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                try stream.publish(Self.message([Self.fact(3)], of: "quiet"))
                try await fleet.pass(.seconds(1))
            }
            for (name, value) in [("web1", 6), ("web2", 3), ("quiet", 3)] {
                #expect(try await fleet.values(name) == [Double(value)])
            }
            #expect(try await fleet.values("newest").isEmpty)
            #expect(try await !fleet.lines().contains { if case .lost = $0.body { true } else { false } })
        }
    }

    @Test func aSourceThatBeginsAnewGoesOnWhereTheFleetIs() async throws {
        let stream = try Self.stream(1...3)
        try await Self.run(stream) { fleet in
            await fleet.store.resume([AgentPosition("web1", LineID("r1", 1), stream: 1)])
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            // Longer ago than the history.
            for number in 4...6 { try stream.publish(Self.message([Self.fact(number)])) }
            try await fleet.pass(.seconds(600))
            stream.setTime(Self.now + 600 * Self.second)
            try stream.publish(Self.message([Self.fact(7)]))
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(stream.starts.last == .sequence(3))
            #expect(try await fleet.values().suffix(4) == [4, 5, 6, 7])
        }
    }

    @Test(arguments: [2, 3, 7])
    func lastMessagesThatAreLateAreNotMissing(late: Int) async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 3_600 * Self.second)
        for number in 1...5 { try stream.publish(Self.message([Self.fact(number)], last: number)) }
        try await Self.run(stream) { fleet in
            await fleet.store.resume([AgentPosition("web1", LineID("r1", 2), stream: 2)])
            fleet.trouble.set(.late, at: .next, times: late)
            try await fleet.whileReading { try await fleet.pass(.seconds(30)) }
            #expect(stream.starts.last == .sequence(2))
            #expect(try await fleet.values() == [3, 4, 5])
        }
    }

    private final class Count { var value = 0 }

    /// Twice: the second time it has to know what there is of the first one.
    @Test func aJournalIsWaitedForHoweverSlowItsDiskIs() async throws {
        let stream = try Self.stream(1...3)
        let journal = MemoryLineStore()
        for round in 0..<2 {
            try await withLoop(virtual: true) { loop in
                let fleet = Fleet(on: loop, stream, awaitsPositions: true)
                let output = JournalOutput(
                    "x.db", keeping: journal, store: fleet.store, on: loop, worker: fleet.worker, wall: fleet.wall
                ) { _ in
                }
                let calls = LoopBound(Count())
                fleet.worker.time = {
                    calls.value.value += 1
                    return (before: round == 1 && calls.value.value == 1 ? .seconds(5) : .zero, after: .zero)
                }
                let keeping = Task(executorPreference: loop) { try? await output.run() }
                try await output.waitUntilBegun()
                try await fleet.whileReading {
                    let count = stream.starts.count
                    try await fleet.pass(.milliseconds(1_500))
                    #expect(try await fleet.errors().isEmpty)
                    try await fleet.pass(.seconds(1))
                    let waits =
                        "waits for the journal to say up to where it has the lines of agents: none is read before"
                    #expect(try await fleet.errors(of: "catwatch") == (round == 0 ? [] : [waits]))
                    #expect(round == 0 || stream.starts.count == count)
                    try await fleet.pass(.seconds(5))
                    let recoveries = try await fleet.lines().compactMap { line -> Duration? in
                        if case .recovered(let recovery) = line.body { recovery.down } else { nil }
                    }
                    #expect(recoveries == (round == 0 ? [] : [.seconds(3)]))
                }
                await fleet.store.finish("end")
                await keeping.value
                fleet.worker.time = nil
            }
            // Longer ago than a fleet that knows nothing looks back.
            stream.setTime(Self.now - 3_600 * Self.second)
            for number in 4...6 where round == 0 { try stream.publish(Self.message([Self.fact(number)], last: number)) }
        }
        let kept = try journal.runs.flatMap(\.lines).map { try LineDecoder.decode(Array($0.utf8)[...]) }
        let values = kept.compactMap { if case .data(let data) = $0.body { data.value } else { nil } }
        #expect(values == [1, 2, 3, 4, 5, 6])
        #expect(!kept.contains { if case .lost = $0.body { true } else { false } })
    }

    @Test func whoWaitsForAJournalIsNotKeptFromEnding() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = Fleet(on: loop, MemoryStream(), awaitsPositions: true)
            try await fleet.whileReading { try await fleet.pass(.seconds(60)) }
            #expect(fleet.stream.starts.isEmpty && loop.timerCount == 0)
        }
    }

    /// What has come is not all because the rest is late.
    @Test func someLastMessagesThatAreLateAreNotMissing() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 3_600 * Self.second)
        for name in ["a", "b", "c"] { try stream.publish(Self.message([Self.fact(1)], of: name, last: 1)) }
        try await Self.run(stream) { fleet in
            fleet.worker.time = { (before: .seconds(1), after: .zero) }
            try await fleet.whileReading(together: 1) {
                // Behind connecting, looking at the stream, a consumer and a message.
                try await fleet.pass(.milliseconds(4_500))
                fleet.trouble.set(.late, at: .next, times: 2)
                try await fleet.pass(.seconds(20))
            }
            fleet.worker.time = nil
            #expect(stream.starts.count == 2)
            let sources = await fleet.store.sourceStates.map(\.source)
            #expect(["a", "b", "c"].allSatisfy { sources.contains("\($0).catwatch") }, "\(sources)")
        }
    }

    // MARK: Servers

    @Test(arguments: [1, 2, 64])
    func messagesThatAreLostOnTheWayAreAskedForAgain(together: Int) async throws {
        let stream = try Self.stream(1...9)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading(together: together) {
                try await fleet.pass(.seconds(1))
                for number in 10...40 {
                    if number % 7 == 0 { fleet.trouble.set(.missing, at: .next, times: 1) }
                    try stream.publish(Self.message([Self.fact(number)]))
                    try await fleet.pass(.milliseconds(100))
                }
                try await fleet.pass(.seconds(5))
            }
            #expect(try await fleet.values() == (1...40).map(Double.init))
            #expect(try await fleet.errors().isEmpty)
        }
    }

    @Test func credentialsThatHaveExpiredAreReadAnew() async throws {
        let stream = try Self.stream(1...3)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                fleet.trouble.set(.before(NatsFault(.refused, "expired")), at: .next, times: 1)
                try await fleet.pass(.seconds(1))
                try stream.publish(Self.message([Self.fact(4)]))
                try await fleet.pass(.seconds(60))
            }
            #expect(try await fleet.values() == [1, 2, 3, 4])
            #expect(try await fleet.errors() == ["nats: expired"])
        }
    }

    @Test(
        arguments: [.connect, .stream, .read, .next] as [MemoryStream.Call],
        [NatsFault.Kind.lost, .silent, .nobody, .unreachable])
    func whateverFailsForAWhileNothingIsMissing(_ call: MemoryStream.Call, _ kind: NatsFault.Kind) async throws {
        let stream = try Self.stream(1...3)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                // Once is not worth a line.
                stream.dropConsumers()
                fleet.trouble.set(.before(NatsFault(kind, "it is \(kind)")), at: call, times: 1)
                try stream.publish(Self.message([Self.fact(4)]))
                try await fleet.pass(.seconds(10))
                #expect(try await fleet.values() == [1, 2, 3, 4])
                #expect(try await fleet.errors().isEmpty)
                fleet.trouble.set(.before(NatsFault(call == .connect ? .lost : kind, "gone")), at: .next, times: 1)
                try await fleet.pass(.seconds(1))
                fleet.trouble.set(.after(NatsFault(kind, "it is \(kind)")), at: call)
                stream.dropConsumers()
                try stream.publish(Self.message([Self.fact(5)]))
                try await fleet.pass(.seconds(30))
                fleet.trouble.end()
                try await fleet.pass(.seconds(30))
            }
            #expect(try await fleet.values() == [1, 2, 3, 4, 5])
            let said = try await fleet.errors(of: "nats")
            #expect(said.count <= 1 && said.allSatisfy { $0 == "nats: it is \(kind)" })
            let recoveries = try await fleet.lines().count { if case .recovered = $0.body { true } else { false } }
            #expect(recoveries == said.count)
            if call != .connect { #expect(said.count == 1) }
        }
    }

    @Test func theFleetIsReadyWhileTheStreamCanBeRead() async throws {
        let stream = try Self.stream(1...1)
        try await Self.run(stream) { fleet in
            fleet.trouble.set(.before(NatsFault(.refused, "no")), at: .connect)
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                #expect(await fleet.connections() == [0, 1])
                fleet.trouble.end()
                try await fleet.pass(.seconds(60))
                #expect(await fleet.connections() == [1, 1])
                // What is over at once is not worth a word.
                fleet.trouble.set(.before(NatsFault(.silent, "no")), at: .next, times: 1)
                try await fleet.pass(.seconds(1))
                #expect(await fleet.connections() == [1, 1])
                fleet.trouble.set(.before(NatsFault(.silent, "no")), at: .read)
                stream.dropConsumers()
                try await fleet.pass(.seconds(30))
                #expect(await fleet.connections() == [0, 1])
                fleet.trouble.end()
                // A fleet that is refused is no reason not to be ready.
                try stream.publish(Self.message([Self.hello("r9", #","fleet":true"#)], of: "circle", run: "r9"))
                try await fleet.pass(.seconds(30))
                #expect(await fleet.connections() == [1, 1])
            }
            #expect(await fleet.store.connections == nil)
        }
    }

    /// A stream without a message is read as well, and what agents publish to it is no fault of its own.
    @Test func theSourceIsUpOnceTheStreamIsReadWhateverAgentsPublish() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        try await Self.run(stream) { fleet in
            @Sendable func isUp() async -> Bool {
                var walk = await fleet.store.walk
                while let source = await fleet.store.nextSource(&walk) {
                    if source.name == "nats" { return source.timeliness.isGood && source.state == .ok }
                }
                return false
            }
            @Sendable func recoveries() async throws -> [String?] {
                try await fleet.lines().filter { if case .recovered = $0.body { true } else { false } }.map(\.source)
            }
            fleet.trouble.set(.before(NatsFault(.silent, "no")), at: .next, times: 1)
            try await fleet.whileReading {
                try await fleet.pass(.milliseconds(1))
                #expect(await isUp())
                for name in ["evil", "we%b", "catwatch", "evil"] {
                    try stream.publish(Self.message([], of: name, run: nil, raw: Array("hi".utf8)))
                    try await fleet.pass(.seconds(1))
                    #expect(await isUp(), "\(name)")
                }
                let errors = try await fleet.errors(of: "evil.catwatch")
                #expect(errors.count == 1 && errors[0].hasPrefix("evil sends a message that does not say"), "\(errors)")
                #expect(try await fleet.errors(of: "nats").count == 2)
                #expect(try await recoveries() == ["nats", "nats"])
                // Its error is over with the first message that is one.
                try stream.publish(Self.message([Self.fact(1)], of: "evil"))
                try await fleet.pass(.seconds(1))
                #expect(try await recoveries().last == "evil.catwatch")
                #expect(try await fleet.values("evil") == [1])
                #expect(await fleet.store.sourceStates.allSatisfy { $0.state == .ok })
                // While it cannot be read it is not up at any moment, however far each try gets.
                fleet.trouble.set(.before(NatsFault(.silent, "no")), at: .next)
                fleet.worker.time = { (before: .milliseconds(100), after: .zero) }
                try await fleet.pass(.seconds(5))
                for _ in 0..<400 {
                    try await fleet.pass(.milliseconds(50))
                    #expect(await !isUp())
                    #expect(await fleet.store.connections?.open == 0)
                }
                fleet.worker.time = nil
            }
        }
    }

    @Test func aStreamThatIsMadeAnewIsReadFromItsFirstMessageOn() async throws {
        let stream = try Self.stream(1...5)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                stream.remake()
                stream.setTime(Self.now + 10 * Self.second)
                // As many as there were, so that the numbers tell nothing.
                for number in 6...14 { try stream.publish(Self.message([Self.fact(number)])) }
                try await fleet.pass(.seconds(30))
            }
            #expect(try await fleet.values() == (1...14).map(Double.init))
        }
    }

    /// A server is back with an earlier disk while the fleet runs: it is the same stream, and has grown to its place again.
    @Test(arguments: [3, 4, 20])
    func aStreamThatIsSetBackAndHasGrownSinceIsReadWhollyAllTheSame(count: Int) async throws {
        let stream = try Self.stream(1...5)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                stream.setBack(to: 2)
                stream.setTime(Self.now + Self.second)
                for number in 1...count { try stream.publish(Self.message([Self.fact(number)], of: "web2")) }
                try stream.publish(Self.message([Self.fact(6)]))
                try await fleet.pass(.seconds(30))
            }
            #expect(try await fleet.values("web2") == (1...count).map(Double.init))
            #expect(try await fleet.values() == (1...6).map(Double.init))
            #expect(try await fleet.errors().isEmpty)
        }
    }

    @Test func whatAStreamHasLetGoOfIsLost() async throws {
        let stream = try Self.stream(1...3)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                fleet.trouble.set(.before(NatsFault(.unreachable, "no server is there")), at: .connect)
                stream.dropConsumers()
                fleet.trouble.set(.before(NatsFault(.lost, "lost")), at: .next, times: 1)
                for number in 4...9 { try stream.publish(Self.message([Self.fact(number)])) }
                stream.remove(through: 6)
                try await fleet.pass(.seconds(30))
            }
            let lines = try await fleet.lines()
            #expect(try await fleet.values() == [1, 2, 3, 7, 8, 9])
            #expect(lines.compactMap { if case .lost(let lost) = $0.body { lost.numbers } else { nil } } == [4...6])
        }
    }

    @Test func aStreamThatTakesOthersSubjectsIsNamed() async throws {
        let stream = MemoryStream(subjects: ["other.*"])
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(60))
                #expect(
                    try await fleet.errors() == ["nats: stream CATWATCH takes other.*, and not catwatch.v1.*"])
                stream.setUp { $0.subjects = [NatsSubject.all] }
                try stream.publish(Self.message([Self.fact(1)]))
                stream.setTime(Self.now + 60 * Self.second)
                try stream.publish(Self.message([Self.fact(2)]))
                try await fleet.pass(.seconds(30))
            }
            #expect(try await fleet.values() == [2])
        }
    }

    /// What waits for an output waits in the stream, but for one answer.
    @Test func aSlowOutputSlowsReadingDown() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        let text = String(repeating: "x", count: 4_000)
        for number in 1...400 {
            let line = Self.fact(number).replacing("\"value\"", with: "\"text\":\"\(text)\",\"value\"")
            try stream.publish(Self.message([line]))
        }
        try await Self.run(stream) { fleet in
            let (slow, _) = await fleet.store.open("slow", holdsInputs: true)
            try await fleet.whileReading(together: 8) {
                try await fleet.pass(.seconds(10))
                let before = await fleet.store.nextSequence
                #expect(before < 200)
                try await fleet.pass(.seconds(10))
                #expect(await fleet.store.nextSequence == before)
                var count = 0
                while count < 400 {
                    if let delivery = await fleet.store.dequeue(for: slow) {
                        if case .lines(let span) = delivery { count += span.sequences.count }
                        if case .gap = delivery { Issue.record("lines were let go of") }
                    } else {
                        try await fleet.pass(.milliseconds(100))
                    }
                }
            }
        }
    }

    // MARK: What is not believed

    @Test func whatNamesNoAgentIsRefusedOnceEach() async throws {
        let stream = try Self.stream(1...1)
        let names = ["we%b", "ünï", String(repeating: "x", count: 64), "", "a\u{202E}b"]
        for name in names + names { try stream.publish(Self.message([Self.fact(1)], of: name)) }
        try stream.publish(Self.message([Self.fact(2)]))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1, 2])
            let errors = try await fleet.errors()
            // A subject that ends with a dot is none, which no server passes on.
            #expect(errors.count == names.count - 1 && errors[0].contains("we%b names no agent"), "\(errors)")
        }
    }

    @Test func namesThatAConfigurationRefusesAreRefusedHereToo() async throws {
        let stream = try Self.stream(1...1)
        for name in ["nats", "catwatch", "lost"] {
            for number in 1...2 { try stream.publish(Self.message([Self.fact(number)], of: name)) }
        }
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(
                try await fleet.errors() == [
                    "nats: agent nats is not read, as that name is taken: by the source nats",
                    "nats: agent catwatch is not read, as no source may be called so: choose another name",
                    "nats: agent lost is not read, as no source may be called so: choose another name",
                ])
            #expect(
                await fleet.store.sourceStates.allSatisfy { !$0.source.hasSuffix(".fact") || $0.source == "web1.fact" })
        }
    }

    /// Names are without end, and so is what may be wrong with them.
    @Test func ofAgentsThatAreForgottenNothingIsLeft() async throws {
        let stream = try Self.stream(1...1)
        try await Self.run(stream) { fleet in
            try await fleet.store.whileRunning {
                try await fleet.whileReading {
                    try stream.publish(Self.message([Self.fact(1)], of: "web2", run: nil))
                    try await fleet.pass(.seconds(60))
                    #expect(await fleet.polls.requestPoll(of: "web1.fact")?.reason.contains("broker") == true)
                    #expect(await fleet.polls.requestPoll(of: "web2.fact")?.reason.contains("broker") == true)
                    #expect(await fleet.store.forget("web1") == nil)
                    #expect(await fleet.store.forget("web2") == nil)
                    try await fleet.pass(.seconds(5))
                    #expect(await fleet.polls.requestPoll(of: "web1.fact")?.cause == .unknown)
                    #expect(await fleet.polls.requestPoll(of: "web2.fact")?.cause == .unknown)
                    // It may come back, by another subject too, and what is wrong is said anew.
                    try stream.publish(Self.message([Self.fact(1)], of: "web2", run: nil))
                    try stream.publish(Self.message([Self.fact(2)]))
                    try await fleet.pass(.seconds(1))
                    #expect(await fleet.polls.requestPoll(of: "web1.fact")?.reason.contains("broker") == true)
                }
            }
            #expect(try await fleet.errors().count { $0.contains("does not say of which run") } == 2)
            #expect(try await fleet.values() == [1, 2])
            // Nobody is there who could be asked when the source is gone.
            #expect(await fleet.polls.requestPoll(of: "web1.fact")?.cause == .unknown)
        }
    }

    @Test func ofHowMuchThatIsWrongItIsSaidHasAnEnd() async throws {
        let stream = try Self.stream(1...1)
        for number in 0..<1_010 { try stream.publish(Self.message([Self.fact(1)], of: "x\(number)", run: nil)) }
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(20)) }
            let errors = try await fleet.errors()
            #expect(errors.count == 1_001 && errors.last == "nats: more is wrong with its messages than is said")
        }
    }

    /// After a reload, its messages may come by another subject.
    @Test func theNextInputKnowsNothingOfTheSubjectsOfTheOneBefore() async throws {
        let stream = MemoryStream(subjects: ["catwatch.>"])
        stream.setTime(Self.now)
        try stream.publish(Self.message([Self.fact(1)]))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            var other = Self.message([Self.fact(2)])
            other.subject = "catwatch.v2.web1"
            try stream.publish(other)
            try await fleet.whileReading(subject: "catwatch.v2.*") { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1, 2])
            #expect(try await fleet.errors().isEmpty)
        }
    }

    @Test func anAgentOfAnotherSubjectOrSourceIsRefusedOnce() async throws {
        let stream = MemoryStream(subjects: ["catwatch.>"])
        stream.setTime(Self.now)
        try stream.publish(Self.message([Self.fact(1)]))
        var other = Self.message([Self.fact(2)])
        other.subject = "catwatch.v2.web1"
        try stream.publish(other)
        try stream.publish(other)
        try stream.publish(Self.message([Self.fact(1)], of: "web2"))
        try stream.publish(Self.message([Self.fact(1)], of: "web3"))
        try await Self.run(stream) { fleet in
            _ = await fleet.store.register(SourceDescription(agent: "web2"))
            _ = await fleet.store.register(SourceDescription(name: "web3.fact"))
            try await fleet.whileReading(subject: "catwatch.>") { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1])
            #expect(try await fleet.values("web2") == [])
            #expect(
                try await fleet.errors(of: "nats") == [
                    "nats: web1 publishes to catwatch.v1.web1, and not catwatch.v2.web1",
                    "nats: agent web2 is not read, as that name is taken: by the source web2.catwatch",
                    "nats: agent web3 is not read, as that name is taken: by the source web3.fact",
                ])
            // Once it is gone, its agents may come by others.
            await fleet.store.retire(named: "nats")
            await fleet.store.release(named: "nats")
            #expect(await !fleet.store.sourceStates.contains { $0.source.hasPrefix("web1.") })
            try await fleet.whileReading("second") {
                try await fleet.pass(.seconds(1))
                #expect(await fleet.store.sourceStates.contains { $0.source == "web1.catwatch" })
            }
            #expect(try await fleet.errors(of: "second").count == 2)
        }
    }

    @Test func noMoreAgentsAreTakenThanThereMayBe() async throws {
        try await withLoop(virtual: true) { loop in
            var limits = FeedState.Limits()
            limits.members = 2
            let identity = AgentIdentity(run: "fleet", version: "1", started: Self.start)
            let wall = SteppedWallClock(following: loop.clock, startingAt: Self.start)
            let store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isFleet: true)
            let source = await store.register(SourceDescription(name: "nats"))
            for name in ["a", "b", "a"] { _ = try await store.member(name, by: source).get() }
            #expect(await store.numbers.counts?.refusedAgents == 0)
            #expect(await store.member("c", by: source) == .failure(.tooMany(2)))
            #expect(await store.numbers.counts?.refusedAgents == 1)
        }
    }

    @Test func whatIsNoMessageOfOursIsSaidOnceForEachAgent() async throws {
        let stream = try Self.stream(1...1)
        for _ in 0..<2 {
            try stream.publish(Self.message([], raw: Array("no line\n{}\n\n[".utf8)))
            try stream.publish(Self.message([Self.fact(2)], run: nil))
            try stream.publish(Self.message([Self.fact(2)], run: "r 1"))
            try stream.publish(Self.message([], raw: [UInt8](repeating: 0x20, count: NatsDelivery.mostPayload + 1)))
            try stream.publish(Self.message([], raw: [UInt8](repeating: 0x20, count: LineEncoder.longestLine + 1)))
            try stream.publish(Self.message([Self.hello("r2", format: 2)], of: "late", run: "r2"))
        }
        try stream.publish(Self.message([Self.fact(2)]))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1, 2])
            let errors = try await fleet.errors()
            for words in [
                "web1 sends what is no line", "does not say of which run", "2097153 bytes",
                "late is not read: format 2 is newer",
            ] {
                #expect(errors.count { $0.contains(words) } == 1, "\(words): \(errors)")
            }
            #expect(errors.count == 4, "\(errors)")
        }
    }

    /// Nothing came of it that could be taken, which is not that nothing went wrong.
    @Test func anAgentWhoseMessagesAreAllRefusedIsSaidToBe() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        try stream.publish(Self.message([Self.fact(1)], of: "strange", run: nil))
        try stream.publish(
            Self.message([], of: "large", raw: [UInt8](repeating: 0x20, count: NatsDelivery.mostPayload + 1)))
        try stream.publish(Self.message([Self.hello("r1", #","fleet":true"#)], of: "fleet"))
        try await Self.run(stream) { fleet in
            @Sendable func peers() async throws -> [String: String] {
                var peers: [String: String] = [:]
                for line in try await fleet.lines() {
                    if case .peer(let peer) = line.body { peers[line.agent ?? "?"] = peer.state }
                }
                return peers
            }
            try await fleet.store.whileRunning {
                try await fleet.whileReading {
                    try await fleet.pass(.seconds(2))
                    #expect(try await peers() == ["strange": "refused", "large": "refused", "fleet": "refused"])
                    for name in ["strange", "large"] { try stream.publish(Self.message([Self.fact(1)], of: name)) }
                    try await fleet.pass(.seconds(2))
                    #expect(try await peers() == ["strange": "live", "large": "live", "fleet": "refused"])
                    #expect(await fleet.store.forget("fleet") == nil)
                }
            }
        }
    }

    @Test(arguments: [hello("r1", #","fleet":true"#), hello("r1", format: 2)])
    func aFleetOrWhatIsNewerIsNoMemberUntilAnotherRunOfItsIsNone(_ hello: String) async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now)
        try stream.publish(Self.message([hello, Self.fact(1)]))
        try stream.publish(Self.message([Self.fact(2)]))
        try stream.publish(Self.message([Self.hello("r2"), Self.fact(1)], run: "r2"))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1])
            #expect(try await fleet.errors().count == 1)
            #expect(try await fleet.lines().count { if case .recovered = $0.body { true } else { false } } == 1)
        }
    }
}
