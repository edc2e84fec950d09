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
            _ name: String = "nats", subject: String = NatsSubject.all, together: Int = 64,
            _ body: @escaping @Sendable () async throws -> Void
        ) async throws {
            let source = NatsSource(
                name, at: NatsServers([NatsAddress(host: "h")]), stream: "CATWATCH", subject: subject, target: "h")
            let broker = MemoryBroker(stream, together: together) { [trouble] in trouble.at($0) }
            let input = NatsInput(
                source, from: broker, store: store, polls: polls, on: loop, worker: worker,
                random: SeededGenerator(seed: 1))
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

    private static func message(
        _ lines: [String], of agent: String = "web1", run: String? = "r1", raw: [UInt8]? = nil
    ) -> NatsMessage {
        var message = NatsMessage(subject: "catwatch.v1.\(agent)", stream: "CATWATCH")
        message.payload = raw ?? lines.flatMap { Array("\($0)\n".utf8) }
        message.headers[NatsHeader.run] = run
        return message
    }

    private static func stream(_ numbers: ClosedRange<Int>, of agent: String = "web1") throws -> MemoryStream {
        let stream = MemoryStream()
        stream.setTime(now)
        for number in numbers { try stream.publish(message([fact(number)], of: agent)) }
        return stream
    }

    private static func run(
        _ stream: MemoryStream, _ body: @escaping @Sendable (Fleet) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in try await body(Fleet(on: loop, stream)) }
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

    @Test func withoutAJournalItBeginsAHistoryAgo() async throws {
        let stream = MemoryStream()
        stream.setTime(Self.now - 61 * Self.second)
        try stream.publish(Self.message([Self.fact(7)]))
        stream.setTime(Self.now - 59 * Self.second)
        try stream.publish(Self.message([Self.fact(8)]))
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                #expect(stream.starts == [.time(Self.now - 60 * Self.second)])
                #expect(try await fleet.values() == [8])
            }
            #expect(await fleet.store.position(inStreamOf: "nats") == LineID("0", 2))
            // Another input goes on from there.
            try stream.publish(Self.message([Self.fact(9)]))
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(stream.starts.last == .sequence(3))
            #expect(try await fleet.values() == [8, 9])
        }
    }

    @Test func itGoesOnBehindTheMessageThatAJournalHas() async throws {
        let stream = try Self.stream(1...9)
        try await Self.run(stream) { fleet in
            await fleet.store.resume([
                MemberPosition("nats", LineID("0", 5)), MemberPosition("web1", LineID("r1", 6)),
                MemberPosition("old", LineID("r1", 6), stored: Self.start - .seconds(3_600)),
            ])
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(stream.starts == [.sequence(6)])
            // Of the message under way one line was there already.
            #expect(try await fleet.values() == [7, 8, 9])
            #expect(await fleet.store.sourceStates.contains { $0.source == "old.catwatch" })
        }
    }

    /// While it was away, or while it reads: what is there again is dropped, and that it is another stream is said.
    @Test(arguments: [true, false], [true, false])
    func aStreamThatIsMadeAnewOrSetBackIsReadFromAHistoryAgo(wasAway: Bool, isAnew: Bool) async throws {
        let stream = try Self.stream(1...9)
        @Sendable func change() throws {
            if isAnew { stream.remake() } else { stream.setBack(to: 5) }
            stream.setTime(Self.now + 10 * Self.second)
            for number in isAnew ? 6...14 : 6...8 { try stream.publish(Self.message([Self.fact(number)])) }
            // A run of long ago, which only another stream can have again.
            stream.setTime(Self.now - 10 * Self.second)
            try stream.publish(Self.message([Self.fact(3)], run: "r0"))
        }
        try await Self.run(stream) { fleet in
            if wasAway {
                let stored = Self.start
                await fleet.store.resume([
                    MemberPosition("nats", LineID("0", isAnew ? 5 : 99)),
                    MemberPosition("web1", LineID("r1", 9), stored: stored),
                ])
                try change()
            }
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                if !wasAway { try change() }
                try await fleet.pass(.seconds(30))
                try stream.publish(Self.message([Self.fact(15)]))
                try await fleet.pass(.seconds(30))
            }
            let before = wasAway ? [] : (1...9).map(Double.init)
            #expect(try await fleet.values() == before + (isAnew ? (10...15).map(Double.init) : [15]))
            let words = "nats: stream CATWATCH was made anew or set back: it is read from a --history ago on"
            // Nine messages hide that a stream of nine was set back.
            #expect(try await fleet.errors() == (isAnew || wasAway ? [words] : []))
        }
    }

    @Test func aStreamThatIsEmptiedIsReadOn() async throws {
        let stream = try Self.stream(1...5)
        try await Self.run(stream) { fleet in
            try await fleet.whileReading {
                try await fleet.pass(.seconds(1))
                stream.removeAll()
                stream.dropConsumers()
                try stream.publish(Self.message([Self.fact(6)]))
                try await fleet.pass(.seconds(30))
            }
            #expect(try await fleet.values() == (1...6).map(Double.init))
            #expect(try await fleet.errors().isEmpty)
        }
    }

    @Test func repeatedMessagesAreDroppedInAnyOrder() async throws {
        let stream = try Self.stream(1...3)
        for number in [2, 1, 3, 4, 2, 4, 5] { try stream.publish(Self.message([Self.fact(number)])) }
        try await Self.run(stream) { fleet in
            try await fleet.whileReading { try await fleet.pass(.seconds(1)) }
            #expect(try await fleet.values() == [1, 2, 3, 4, 5])
        }
    }

    @Test func whoWaitsForAJournalIsNotKeptFromEnding() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = Fleet(on: loop, MemoryStream(), awaitsPositions: true)
            try await fleet.whileReading { try await fleet.pass(.seconds(60)) }
            #expect(fleet.stream.starts.isEmpty && loop.timerCount == 0)
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
        LongRun.isOn ? [NatsFault.Kind.lost, .silent, .nobody, .unreachable] : [.lost, .silent])
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
