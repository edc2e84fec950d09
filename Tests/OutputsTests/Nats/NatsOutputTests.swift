import Feed
import Glibc
import Nats
import Outputs
import Reactor
import Synchronization
import TestSupport
import Testing

/// A stream in memory, in virtual time.
@Suite(.limited) struct NatsOutputTests {
    /// What an output told.
    private final class Told {
        var bodies: [Event.Body] = []

        var errors: [String] {
            bodies.compactMap { if case .error(let failure) = $0 { failure.message } else { nil } }
        }
        var recoveries: Int { bodies.count { if case .recovered = $0 { true } else { false } } }
    }

    /// What is wrong with the servers, for a test to change.
    private final class Trouble: Sendable {
        private let fault = Mutex<NatsFault?>(nil)
        private let calls = Mutex<[MemoryStream.Call]>([])
        private let isOnce = Mutex(false)
        private let asked = Mutex<[MemoryStream.Call]>([])

        func set(
            _ kind: NatsFault.Kind?, at calls: [MemoryStream.Call] = [.connect, .publish, .stream],
            once: Bool = false
        ) {
            fault.withLock { $0 = kind.map { NatsFault($0, "it is \($0)") } }
            self.calls.withLock { $0 = calls }
            isOnce.withLock { $0 = once }
        }
        func at(_ call: MemoryStream.Call) -> MemoryStream.Trouble? {
            asked.withLock { $0.append(call) }
            guard calls.withLock({ $0.contains(call) }) else { return nil }
            return fault.withLock { fault in
                defer { if isOnce.withLock(\.self) { fault = nil } }
                return fault.map { .before($0) }
            }
        }
        func count(of call: MemoryStream.Call) -> Int { asked.withLock { $0.count { $0 == call } } }
    }

    private struct Agent: Sendable {
        let stage: FeedStage
        let told: LoopBound<Told>

        /// Passes on a run of another agent, with lines of those numbers.
        ///
        /// - Parameter member: which agent of a fleet they came from.
        func relay(_ run: String, _ numbers: ClosedRange<Int>, isFleet: Bool = false, of member: String? = nil)
            async throws
        {
            let hello = ControlLine.hello(
                time: FeedStage.start, identity: AgentIdentity(run: run, version: "1", started: FeedStage.start),
                isFiltered: false, interval: .seconds(10), history: .seconds(120), firstSequence: numbers.lowerBound,
                nextSequence: numbers.lowerBound, isFleet: isFleet)
            let origin = member.map { #","agent":"\#($0)","origin_run":"r1","origin_seq":1"# } ?? ""
            let source = member.map { "\($0).fact" } ?? "fact"
            let facts = numbers.map { number in
                Array(
                    (#"{"seq":\#(number),"time":"2023-11-14T22:13:20.000000Z","type":"fact","source":"\#(source)","#
                        + #""series":"\#(source)","value":1\#(origin)}"#).utf8)
            }
            await stage.store.relay(
                try ([hello.dropLast()] + facts.map { $0[...] }).map {
                    RelayedLine(try LineDecoder.decode(Bytes($0)), bytes: Bytes($0))
                })
        }
    }

    private static let settings = NatsSettings(to: NatsServers([NatsAddress(host: "h")]))

    /// Runs an output while `body` runs, then ends the feed and waits for the output.
    @discardableResult
    private static func publish(
        to broker: any Broker, _ settings: NatsSettings = settings, logCapacity: Int = 8 << 20, isRelay: Bool = false,
        isFleet: Bool = false, _ body: @escaping @Sendable (Agent) async throws -> Void
    ) async throws -> Told {
        try await withLoop(virtual: true) { loop in
            try await publish(
                to: broker, settings, on: loop, logCapacity: logCapacity, isRelay: isRelay, isFleet: isFleet, body)
        }.value
    }

    private static func publish(
        to broker: any Broker, _ settings: NatsSettings = settings, host: String = "h1",
        on loop: EventLoop, logCapacity: Int = 8 << 20, isRelay: Bool = false, isFleet: Bool = false,
        _ body: @escaping @Sendable (Agent) async throws -> Void
    ) async throws -> LoopBound<Told> {
        let stage = await FeedStage(on: loop, isRelay: isRelay, isFleet: isFleet) { $0.logCapacity = logCapacity }
        let told = LoopBound(Told())
        let output = NatsOutput(
            as: "web1", of: host, settings, to: broker, store: stage.store, on: loop, worker: stage.worker,
            random: SeededGenerator(seed: 1)
        ) { body in
            told.value.bodies.append(body)
            guard !isRelay else { return }
            stage.store.assumeIsolated {
                $0.publish([Event(time: stage.wall.now, source: $0.agentSource, body: body)])
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await output.run() }
            group.addTask {
                try await body(Agent(stage: stage, told: told))
                await stage.store.finish("end")
            }
            // What a body throws ends the output as well.
            for try await _ in group {}
        }
        #expect(await stage.store.counts.readers == 0)
        return told
    }

    /// The numbers of the lines, and of those that gaps name, in the order of the stream.
    private static func numbers(_ messages: [NatsMessage]) throws -> (kept: [Int], missed: [Int]) {
        var (kept, missed): ([Int], [Int]) = ([], [])
        for message in messages {
            #expect(message.payload.last == 0x0A)
            let before = (kept + missed).max()
            for line in try lines(message) {
                if case .gap(let gap) = line.body { missed += gap.from...gap.to }
                if let number = line.seq { kept.append(number) }
            }
            let headers = message.headers
            if let first = headers[NatsHeader.first].flatMap({ Int($0) }), let before { #expect(first == before + 1) }
            #expect(headers[NatsHeader.last].flatMap { Int($0) } ?? before == (kept + missed).max())
        }
        return (kept, missed)
    }

    private static func lines(_ message: NatsMessage) throws -> [Line] {
        try message.payload.split(separator: 0x0A).map { try LineDecoder.decode($0) }
    }

    // MARK: What is published

    @Test func everyLineIsThereOnceBehindWhoItIs() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream)) { agent in
            for _ in 0..<100 {
                await agent.stage.publish(3, text: 50)
                try await agent.stage.loop.sleep(for: .milliseconds(30))
            }
        }
        let messages = stream.stored
        let numbers = try Self.numbers(messages)
        #expect(numbers.kept == Array(1...300) && numbers.missed.isEmpty)
        #expect(try Self.lines(messages[0]).prefix(2).map(\.type) == ["hello", "stats"])
        #expect(try Self.lines(#require(messages.last)).last?.type == "bye")
        #expect(Set(messages.compactMap(\.id)).count == messages.count { $0.id != nil })
        #expect(messages[0].headers[NatsHeader.run] == "r1")
        #expect(messages[0].headers[NatsHeader.host] == "h1")
        #expect(
            messages.map { $0.headers[NatsHeader.ended] != nil }.firstIndex(of: true) == messages.count
                - 1)
        #expect(messages[0].subject == "catwatch.v1.web1")
    }

    @Test func aFeedOfManyLinesMakesMessagesOfAQuarterOfAMiB() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream)) { agent in
            for _ in 0..<40 { await agent.stage.publish(100, text: 1_000) }
        }
        let messages = stream.stored
        #expect(try Self.numbers(messages).kept == Array(1...4_000))
        #expect(messages.dropLast().allSatisfy { 250_000...262_144 ~= $0.payload.count })
    }

    @Test func whoComesLateIsToldEveryMinuteWhoItIs() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream)) { agent in
            for _ in 0..<190 {
                await agent.stage.publish(1)
                try await agent.stage.loop.sleep(for: .seconds(1))
            }
            // Also when there is nothing else to tell.
            let count = stream.stored.count
            try await agent.stage.loop.sleep(for: .seconds(180))
            #expect(stream.stored.count >= count + 3)
        }
        let greetings = try stream.stored.indices.filter { try Self.lines(stream.stored[$0]).first?.type == "hello" }
        #expect(greetings.count == 7)
        for message in stream.stored {
            let types = try Self.lines(message).map(\.type)
            #expect(types.lastIndex(of: "hello") ?? 0 == 0 && types.lastIndex(of: "stats") ?? 1 == 1)
        }
    }

    // MARK: Kept lines

    /// The numbers of the kept lines in each message that has some, and when it came.
    private static func kept(_ messages: [NatsMessage]) throws -> [[Int]] {
        try messages.map {
            try lines($0).compactMap { if case .kept(let kept) = $0.body { kept.line.seq } else { nil } }
        }.filter { !$0.isEmpty }
    }

    /// Publishes a line for each of some series, of which the log then has none any more.
    private static func publishSeries(_ count: Int, _ stage: FeedStage) async throws {
        let events = (0..<count).map {
            Event(
                time: stage.wall.now, source: stage.source,
                body: .data(Datum(key: Bytes("k\($0)".utf8), text: Bytes("t".utf8))))
        }
        await stage.store.publish(events)
        try await stage.loop.sleep(for: .seconds(1))
        try await publish(10, times: 20, text: 1_000, stage)
    }

    /// Publishes lines so slowly that none is missed.
    private static func publish(_ count: Int, times: Int, text: Int = 0, _ stage: FeedStage) async throws {
        for _ in 0..<times {
            await stage.publish(count, text: text)
            try await stage.loop.sleep(for: .milliseconds(300))
        }
    }

    @Test func keptLinesArePublishedEveryQuarterOfAnHour() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream), logCapacity: 1 << 16) { agent in
            try await Self.publishSeries(50, agent.stage)
            #expect(try Self.kept(stream.stored).isEmpty)
            try await agent.stage.loop.sleep(for: .seconds(60))
            #expect(try Self.kept(stream.stored) == [Array(1...50)])
            try await agent.stage.loop.sleep(for: .seconds(14 * 60))
            #expect(try Self.kept(stream.stored).count == 1)
            try await agent.stage.loop.sleep(for: .seconds(60))
            #expect(try Self.kept(stream.stored) == [Array(1...50), Array(1...50)])
            // Behind a greeting, so that it is known whose sources they are of.
            for message in stream.stored {
                let types = try Self.lines(message).map(\.type)
                if let first = types.firstIndex(of: "kept") { #expect(types[..<first] == ["hello", "stats"]) }
            }
        }
        let numbers = try Self.numbers(stream.stored)
        #expect(numbers.missed.isEmpty && numbers.kept == Array(1...numbers.kept.count), "\(numbers)")
    }

    @Test func windowsAndLinesOfAnEarlierRunArePublishedToo() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream), logCapacity: 1 << 16) { agent in
            let stage = agent.stage
            _ = await stage.store.register(SourceDescription(name: "fact", rhythm: .every(.seconds(60))))
            let run = await stage.store.run
            let bytes = Bytes(
                (#"{"type":"kept","time":"2023-11-14T22:13:20.000000Z","run":"\#(run)","line":{"seq":0,"#
                    + #""time":"2023-11-14T22:13:20.000000Z","type":"fact","source":"fact","series":"fact/old","text":"t","#
                    + #""origin_run":"r0","origin_seq":7}}"#).utf8)
            await stage.store.restore([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
            for _ in 0..<16 {
                await stage.publish(1, text: 8_000)
                try await stage.loop.sleep(for: .seconds(60))
            }
            #expect(try Self.kept(stream.stored).contains { $0.last == 0 })
            let kept = try stream.stored.flatMap { try Self.lines($0) }.compactMap {
                if case .kept(let kept) = $0.body { kept } else { nil }
            }
            // Values are worth more.
            let first = try stream.stored.map { try Self.lines($0) }.compactMap { lines in
                lines.firstIndex { if case .kept(let kept) = $0.body { !kept.windows.isEmpty } else { false } }
            }
            #expect(!first.isEmpty && first.allSatisfy { $0 > 2 })
            // A window a minute; those of the newest round.
            #expect(kept.last { !$0.windows.isEmpty }?.windows.count ?? 0 > 1)
            #expect(
                kept.contains {
                    String(decoding: $0.bytes, as: UTF8.self).hasSuffix(#""origin_run":"r0","origin_seq":7}"#)
                })
        }
        #expect(try Self.numbers(stream.stored).missed.isEmpty)
    }

    @Test func aChangeOfSourcesIsToldAtOnce() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream)) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            _ = await agent.stage.store.register(SourceDescription(name: "other", type: "other"))
            await agent.stage.store.greetAll()
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
        }
        let lines = try stream.stored.flatMap { try Self.lines($0) }
        #expect(lines.count { $0.type == "hello" } == 2)
        guard case .stats(let stats) = lines.last(where: { $0.type == "stats" })?.body else {
            Issue.record("no stats")
            return
        }
        #expect(stats.sources.map(\.source).contains("other"))
    }

    @Test func aStreamThatTakesLessGetsSmallerMessages() async throws {
        let stream = MemoryStream()
        let told = try await Self.publish(to: MemoryBroker(stream)) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            // It is found out by the refusal: nobody tells us.
            stream.setUp { $0.mostMessage = 4_000 }
            for _ in 0..<3 { await agent.stage.publish(10, text: 1_500) }
            await agent.stage.publish(1, text: 4_000)
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
        }
        let numbers = try Self.numbers(stream.stored)
        #expect(numbers.kept.filter { $0 <= 33 } == Array(1...31) + [33] && numbers.missed == [32])
        #expect(told.errors.count == 1)
        // What was not taken is not sent again as it was.
        #expect(Set(stream.sent.map(\.payload)).count == stream.sent.count)
    }

    @Test func statsOfManySourcesFitAMessage() async throws {
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream, mostMessage: 16 << 10)) { agent in
            for index in 0..<1_000 {
                _ = await agent.stage.store.register(SourceDescription(name: "a source by name of \(index)"))
            }
            await agent.stage.publish(5)
            try await agent.stage.loop.sleep(for: .seconds(1))
            await agent.stage.store.greetAll()
            try await agent.stage.loop.sleep(for: .seconds(1))
        }
        #expect(try Self.numbers(stream.stored).kept == Array(1...5))
        let stats = try stream.stored.flatMap { try Self.lines($0) }.compactMap { line -> Int? in
            if case .stats(let stats) = line.body { stats.sources.count } else { nil }
        }
        #expect(stats.count >= 2 && stats[1] > 20 && stats[1] < 1_000)
    }

    @Test func aLineAMessageSaysWhereItComesFrom() async throws {
        var settings = Self.settings
        settings.sendsLines = true
        let stream = MemoryStream()
        try await Self.publish(to: MemoryBroker(stream), settings) { agent in
            await agent.stage.publish(3)
            try await agent.stage.loop.sleep(for: .seconds(1))
        }
        let texts = stream.stored.map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(texts.count == 6 && texts.allSatisfy { $0.split(separator: "\n").count == 1 })
        #expect(texts[2].hasSuffix(#","agent":"web1","origin_run":"r1","origin_seq":1}"# + "\n"))
        #expect(texts[0].hasSuffix(#","agent":"web1","origin_run":"r1"}"# + "\n"))
        #expect(try Self.numbers(stream.stored).kept == [1, 2, 3])
    }

    @Test func whatIsAttachedToIsPublishedUnderItsOwnRun() async throws {
        let stream = MemoryStream()
        let told = try await Self.publish(to: MemoryBroker(stream), isRelay: true) { agent in
            for run in ["a", "b"] {
                try await agent.relay(run, 1...3)
                // The last one has yet to be sent when the other run begins.
                try await agent.stage.loop.sleep(for: .milliseconds(50))
            }
            try await agent.stage.loop.sleep(for: .seconds(1))
        }
        #expect(told.bodies.isEmpty)
        let runs = stream.stored.map { $0.headers[NatsHeader.run] }
        #expect(runs.first == "a" && runs.last == "b")
        #expect(Set(stream.stored.compactMap { $0.id?.first }) == ["a", "b"])
        for run in ["a", "b"] {
            let messages = stream.stored.filter { $0.headers[NatsHeader.run] == run }
            #expect(try Self.numbers(messages).kept == [1, 2, 3])
            guard case .hello(let hello)? = try Self.lines(messages[0]).first?.body else {
                Issue.record("no hello of \(run)")
                continue
            }
            #expect(hello.run == run)
        }
    }

    /// A greeting is due before the rest of a run that has ended meanwhile.
    @Test func noMessageOfARunHasTheGreetingOfTheNext() async throws {
        let (stream, trouble) = (MemoryStream(), Trouble())
        try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at), isRelay: true) { agent in
            let loop = agent.stage.loop
            try await agent.relay("a", 1...3)
            try await loop.sleep(for: .seconds(1))
            trouble.set(.nobody, at: [.publish])
            try await agent.stage.relay(nil, 4...4)
            try await loop.sleep(for: .seconds(1))
            try await agent.stage.relay(nil, 5...6)
            try await agent.relay("b", 1...2)
            try await loop.sleep(for: .seconds(70))
            trouble.set(nil)
            try await loop.sleep(for: .seconds(70))
        }
        var found: [String] = []
        for message in stream.stored {
            let run = message.headers[NatsHeader.run]
            for line in try Self.lines(message) {
                if case .hello(let hello) = line.body { #expect(hello.run == run) }
                if case .gap(let gap) = line.body { found.append("\(run ?? "") gap \(gap.from)-\(gap.to)") }
                if let number = line.seq { found.append("\(run ?? "") \(number)") }
            }
        }
        #expect(found == ["a 1", "a 2", "a 3", "a 4", "a gap 5-6", "b 1", "b 2"])
    }

    /// There would be circles.
    @Test func aFleetsFeedIsNotPublished() async throws {
        let stream = MemoryStream()
        let told = try await Self.publish(to: MemoryBroker(stream), isRelay: true) { agent in
            for (run, isFleet) in [("a", true), ("a", true), ("b", false), ("c", true)] {
                try await agent.relay(run, 1...1, isFleet: isFleet)
                try await agent.stage.loop.sleep(for: .seconds(100))
            }
        }
        #expect(told.errors == Array(repeating: "nats: \(Self.refusal)", count: 2))
        #expect(Set(stream.stored.map { $0.headers[NatsHeader.run] }) == ["b"])
        #expect(try Self.numbers(stream.stored).kept == [1])
        // Nor one's own.
        let other = MemoryStream()
        let said = try await Self.publish(to: MemoryBroker(other), isFleet: true) { agent in
            await agent.stage.publish(5)
            try await agent.stage.loop.sleep(for: .seconds(100))
            #expect(await agent.stage.agentLine()?.outputs.first?.state == "refused: \(Self.refusal)")
        }
        #expect(said.errors == ["nats: \(Self.refusal)"] && other.sent.isEmpty)
    }

    /// As of a journal that is played back.
    @Test func aFleetIsKnownByItsLinesToo() async throws {
        let stream = MemoryStream()
        let told = try await Self.publish(to: MemoryBroker(stream), isRelay: true) { agent in
            try await agent.relay("a", 1...1, of: "web1")
            try await agent.stage.loop.sleep(for: .seconds(100))
        }
        #expect(told.errors == ["nats: \(Self.refusal)"] && stream.stored.isEmpty)
    }

    private static let refusal = "a fleet's feed is not published: attach to its agents, which publish their own"

    // MARK: Faults

    /// Whatever fails: every line in order; once while the stream remembers ids, afterwards a whole message again.
    @Test func nothingIsLostWhateverFails() async throws {
        for seed in 0..<UInt64(LongRun.rounds(short: 15, long: 500)) {
            let stream = MemoryStream()
            let random = Mutex(SeededGenerator(seed: seed))
            let kinds: [NatsFault.Kind] = [.silent, .lost, .nobody, .unreachable, .other]
            let forgets = seed % 3 == 0
            let broker = MemoryBroker(stream) { _ in
                random.withLock { random in
                    guard Int.random(in: 0..<3, using: &random) == 0 else { return nil }
                    let fault = NatsFault(kinds.randomElement(using: &random) ?? .lost, "by chance")
                    let isLate = Bool.random(using: &random)
                    if forgets, Bool.random(using: &random) { stream.forgetIDs() }
                    return isLate ? .after(fault) : .before(fault)
                }
            }
            try await Self.publish(to: broker) { agent in
                for _ in 0..<60 {
                    await agent.stage.publish(Int.random(in: 0...20), text: 20)
                    try await agent.stage.loop.sleep(for: .milliseconds(Int64.random(in: 0...900)))
                }
                try await agent.stage.loop.sleep(for: .seconds(60))
            }
            var ids: Set<String> = []
            let stored = stream.stored
            let once = stored.filter { $0.id.map { ids.insert($0).inserted } ?? true }
            let numbers = try Self.numbers(once)
            #expect(numbers.kept == Array(1...(numbers.kept.last ?? 0)) && numbers.missed.isEmpty, "seed \(seed)")
            if !forgets { #expect(once.count == stored.count, "seed \(seed)") }
            // Unchanged until it is acknowledged.
            var payloads: [String: [UInt8]] = [:]
            for message in stream.sent {
                guard let id = message.id else { continue }
                #expect(payloads[id] ?? message.payload == message.payload, "seed \(seed)")
                payloads[id] = message.payload
            }
        }
    }

    @Test func aReaderOfTheStreamIsToldWhatTheLogHasLetGoOf() async throws {
        let stream = MemoryStream()
        let trouble = Trouble()
        let told = try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at), logCapacity: 64 << 10) {
            agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            trouble.set(.unreachable)
            for _ in 0..<100 {
                await agent.stage.publish(10, text: 500)
                try await agent.stage.loop.sleep(for: .milliseconds(100))
            }
            let line = await agent.stage.agentLine()
            #expect(line?.outputs.first?.state == "retrying: it is unreachable")
            trouble.set(nil)
            try await agent.stage.loop.sleep(for: .seconds(10))
            #expect(await agent.stage.agentLine()?.outputs.first?.state == "ok")
        }
        let numbers = try Self.numbers(stream.stored)
        #expect(
            !numbers.missed.isEmpty && (numbers.kept + numbers.missed).sorted() == Array(1...(numbers.kept.last ?? 0)))
        #expect(told.errors == ["nats: it is unreachable"] && told.recoveries == 1)
    }

    @Test func aStreamThatCouldNotBeLookedAtIsLookedAtAgain() async throws {
        let stream = MemoryStream()
        stream.setUp { $0.mostMessage = 8 << 10 }
        let trouble = Trouble()
        trouble.set(.lost, at: [.stream], once: true)
        try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at)) { agent in
            for _ in 0..<5 { await agent.stage.publish(10, text: 1_500) }
            try await agent.stage.loop.sleep(for: .seconds(10))
        }
        #expect(try Self.numbers(stream.stored).kept == Array(1...50) && stream.sent.count == stream.stored.count)
    }

    @Test func whatIsWrongIsShownAlsoWhileItIsTriedAgain() async throws {
        let trouble = Trouble()
        trouble.set(.unreachable)
        _ = try await withLoop(virtual: true) { loop in
            _ = try await Self.publish(to: MemoryBroker(MemoryStream(), trouble: trouble.at), on: loop) { agent in
                agent.stage.worker.time = { (before: .seconds(2), after: .zero) }
                try await loop.sleep(for: .seconds(1))
                #expect(await agent.stage.agentLine()?.outputs.first?.state == "connecting")
                for _ in 0..<40 {
                    try await loop.sleep(for: .milliseconds(1_100))
                    #expect(await agent.stage.agentLine()?.outputs.first?.state == "retrying: it is unreachable")
                }
                agent.stage.worker.time = nil
            }
        }
    }

    /// However long an outage was: servers that are there again are found soon, and the next outage is a new one.
    @Test(arguments: [(NatsFault.Kind.nobody, 1_100), (.silent, 1_100), (.unreachable, 5_500)])
    func serversThatAreThereAgainAreFoundSoon(_ kind: NatsFault.Kind, _ milliseconds: Int) async throws {
        let stream = MemoryStream()
        let trouble = Trouble()
        try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at)) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            trouble.set(kind, at: [.connect, .publish])
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(60))
            trouble.set(nil)
            try await agent.stage.loop.sleep(for: .milliseconds(milliseconds))
            #expect(try Self.numbers(stream.stored).kept.starts(with: [1, 2]))
            try await agent.stage.loop.sleep(for: .seconds(1))
            let count = stream.stored.count
            trouble.set(kind, at: [.connect, .publish])
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .milliseconds(10))
            trouble.set(nil)
            try await agent.stage.loop.sleep(for: .milliseconds(1_100))
            #expect(stream.stored.count > count)
        }
    }

    @Test func aHostsNameIsNoHeaderOfItsOwn() async throws {
        let stream = MemoryStream()
        try await withLoop(virtual: true) { loop in
            _ = try await Self.publish(
                to: MemoryBroker(stream), host: "a b\r\nX: ü" + String(repeating: "y", count: 99), on: loop
            ) {
                await $0.stage.publish(1)
            }
        }
        let host = stream.stored.first?.headers[NatsHeader.host]
        #expect(host == "abX:" + String(repeating: "y", count: 54))
    }

    /// Others' may have taken their place meanwhile.
    @Test(arguments: [NatsFault.Kind.refused, .denied])
    func credentialsThatAreRefusedAreShownAnew(_ kind: NatsFault.Kind) async throws {
        let stream = MemoryStream()
        let trouble = Trouble()
        let connects = Mutex(0)
        let told = try await Self.publish(
            to: MemoryBroker(stream) { call in
                if call == .connect { connects.withLock { $0 += 1 } }
                return trouble.at(call)
            }
        ) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            trouble.set(kind, at: [.publish])
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .milliseconds(10))
            trouble.set(nil)
            try await agent.stage.loop.sleep(for: .seconds(10))
        }
        #expect(told.errors == ["nats: it is \(kind)"] && told.recoveries == 1)
        #expect(connects.withLock(\.self) == 2 && stream.stored.count >= 2)
    }

    @Test func aStreamThatWasEmptiedIsGoneOnWith() async throws {
        let stream = MemoryStream()
        let told = try await Self.publish(to: MemoryBroker(stream)) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            stream.removeAll()
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
        }
        #expect(told.bodies.isEmpty)
        #expect(try Self.numbers(stream.stored).kept == [2])
    }

    // MARK: The end

    /// While it waits for lines, for the next message, for another try.
    @Test(
        arguments: [nil, .unreachable, .lost, .silent, .nobody, .absent, .refused, .denied, .other]
            as [NatsFault.Kind?])
    func itEndsAtOnceWhenItIsCancelled(_ kind: NatsFault.Kind?) async throws {
        let stream = MemoryStream()
        let trouble = Trouble()
        try await withLoop(virtual: true) { loop in
            for wait in [Duration.milliseconds(10), .seconds(1), .milliseconds(35_500)] {
                let stage = await FeedStage(on: loop)
                let output = NatsOutput(
                    as: "web1", of: "h1", Self.settings, to: MemoryBroker(stream, trouble: trouble.at),
                    store: stage.store, on: loop, worker: stage.worker, random: SeededGenerator(seed: 1)
                ) { _ in }
                let cancelled = try await running {
                    try await output.run()
                } while: {
                    await stage.publish(3)
                    try await loop.sleep(for: .milliseconds(100))
                    trouble.set(kind)
                    await stage.publish(3)
                    try await loop.sleep(for: wait)
                    return loop.clock.now
                }
                trouble.set(nil)
                #expect(cancelled == loop.clock.now)
                #expect(await stage.store.counts.readers == 0)
            }
        }
    }

    /// A broker whose every call takes until somebody writes into its pipe.
    private final class StuckBroker: Broker {
        private let pipe: Pipe
        private let calls = Atomic(0)
        private let closes = Atomic(0)

        init() throws(SystemError) { pipe = try Descriptor.pipe(nonblocking: false) }

        func release() {
            var byte: UInt8 = 0
            #expect(write(pipe.write.number, &byte, 1) == 1)
        }

        var isBusy: Bool { calls.load(ordering: .acquiring) > 0 }

        private func enter() {
            calls.add(1, ordering: .acquiringAndReleasing)
            var byte: UInt8 = 0
            while read(pipe.read.number, &byte, 1) < 0, errno == EINTR {}
        }

        let mostMessage = 1 << 20
        func connect() throws(NatsFault) { enter() }
        func publish(_ message: NatsMessage) throws(NatsFault) -> Bool {
            enter()
            return false
        }
        func stream(_ name: String) throws(NatsFault) -> NatsStream { NatsStream() }
        func close() { closes.add(1, ordering: .acquiringAndReleasing) }
        var isClosed: Bool { closes.load(ordering: .acquiring) > 0 }
    }

    @Test func aServerThatKeepsTheThreadHoldsUpNeitherTheLoopNorTheEnd() async throws {
        try await withLoop { loop in
            let thread = try LoopThread(name: "broker")
            let broker = try StuckBroker()
            let stage = await FeedStage(on: loop)
            let output = NatsOutput(
                as: "web1", of: "h1", Self.settings, to: broker, store: stage.store, on: loop,
                worker: thread.loop, random: SeededGenerator(seed: 1)
            ) { _ in }
            try await running {
                try await output.run()
            } while: {
                while !broker.isBusy { try await loop.sleep(for: .milliseconds(1)) }
                // Others go on: timers, and who publishes events.
                for _ in 0..<5 {
                    await stage.publish(1)
                    try await loop.sleep(for: .milliseconds(1))
                }
                #expect(await stage.store.nextSequence == 6)
                #expect(await stage.agentLine()?.outputs.first?.state == "connecting")
            }
            // It has ended, and the server has still not answered.
            #expect(await stage.store.counts.readers == 0)
            #expect(!broker.isClosed)
            broker.release()
            thread.stop()
            #expect(broker.isClosed)
        }
    }

    @Test func theEndIsNotWaitedForForEver() async throws {
        let stream = MemoryStream()
        let trouble = Trouble()
        try await withLoop(virtual: true) { loop in
            let before = loop.clock.now
            let told = try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at), on: loop) { agent in
                await agent.stage.publish(3)
                try await loop.sleep(for: .seconds(1))
                trouble.set(.unreachable)
                await agent.stage.publish(5)
                try await loop.sleep(for: .seconds(1))
            }
            #expect(before.duration(to: loop.clock.now) < .seconds(8))
            // Three were published, and one line tells of the servers.
            #expect(told.value.errors.last == "nats: the last 6 lines were not published")
        }
        #expect(stream.stored.count == 1)
    }

    /// However long the pause is in which the end comes.
    @Test(
        arguments: [
            .unreachable, .lost, .silent, .nobody, .absent, .full, .refused, .denied, .secure, .settings, .other,
        ]
            as [NatsFault.Kind], [false, true])
    func aPauseEndsWithTheFeed(_ kind: NatsFault.Kind, _ isOver: Bool) async throws {
        for seconds in LongRun.isOn ? 30..<40 : 33..<35 {
            let stream = MemoryStream()
            let trouble = Trouble()
            try await withLoop(virtual: true) { loop in
                let ending = LoopBound(Ending(at: loop.clock.now))
                let told = try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at), on: loop) { agent in
                    await agent.stage.publish(1)
                    try await loop.sleep(for: .seconds(1))
                    trouble.set(kind, at: [.connect, .publish])
                    await agent.stage.publish(5)
                    try await loop.sleep(for: .seconds(Int64(seconds)))
                    if isOver { trouble.set(nil) }
                    ending.value.time = loop.clock.now
                }
                let took = ending.value.time.duration(to: loop.clock.now)
                if isOver {
                    // With what the error was that was told.
                    #expect(try Self.numbers(stream.stored).kept == Array(1...7) && took <= .seconds(1), "\(took)")
                } else {
                    #expect(stream.stored.count == 1 && took <= .milliseconds(4_500), "\(took)")
                    #expect(told.value.errors == ["nats: it is \(kind)", "nats: the last 6 lines were not published"])
                }
            }
        }
    }

    /// An election at the end.
    @Test func serversThatAreThereAgainSoonGetTheRest() async throws {
        let stream = MemoryStream()
        let trouble = Trouble()
        let told = try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at)) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            trouble.set(.nobody)
            await agent.stage.publish(5)
            try await agent.stage.loop.sleep(for: .milliseconds(10))
            agent.stage.loop.schedule(after: .milliseconds(3_400)) { trouble.set(nil) }
        }
        #expect(try Self.numbers(stream.stored).kept == Array(1...6))
        #expect(!told.errors.contains { $0.contains("not published") })
    }

    private final class Ending {
        var time: LoopInstant
        init(at time: LoopInstant) { self.time = time }
    }

    @Test func anAnswerIsNotWaitedForForEverEither() async throws {
        let stream = MemoryStream()
        try await withLoop(virtual: true) { loop in
            let ending = LoopBound(Ending(at: loop.clock.now))
            let told = try await Self.publish(to: MemoryBroker(stream), on: loop) { agent in
                await agent.stage.publish(1)
                try await loop.sleep(for: .seconds(1))
                agent.stage.worker.time = { (before: .seconds(60), after: .zero) }
                await agent.stage.publish(5)
                try await loop.sleep(for: .seconds(1))
                ending.value.time = loop.clock.now
            }
            #expect(ending.value.time.duration(to: loop.clock.now) <= .milliseconds(4_500))
            #expect(told.value.errors == ["nats: the last 5 lines were not published"])
        }
    }

    @Test func whatTakesLongIsPublishedWhole() async throws {
        let stream = MemoryStream()
        var settings = Self.settings
        settings.sendsLines = true
        let told = try await Self.publish(to: MemoryBroker(stream), settings) { agent in
            await agent.stage.publish(1)
            try await agent.stage.loop.sleep(for: .seconds(1))
            agent.stage.worker.time = { (before: .zero, after: .seconds(1)) }
            await agent.stage.publish(19)
        }
        #expect(try Self.numbers(stream.stored).kept == Array(1...20) && told.errors.isEmpty)
    }

    /// Of another run its own, and of one that began before it was attached to those that came.
    @Test(
        arguments: [([("a", 1...3), ("b", 1...2)], 2), ([("b", 11...13)], 3), ([("b", 11...13), ("c", 1...2)], 2)]
            as [([(String, ClosedRange<Int>)], Int)])
    func linesOfAFeedThatIsPassedOnAreCountedByTheirRun(_ runs: [(String, ClosedRange<Int>)], _ count: Int) async throws
    {
        let stream = MemoryStream()
        let trouble = Trouble()
        let told = try await Self.publish(to: MemoryBroker(stream, trouble: trouble.at), isRelay: true) { agent in
            for (run, numbers) in runs {
                if run == "b" { trouble.set(.silent, at: [.publish]) }
                try await agent.relay(run, numbers)
                try await agent.stage.loop.sleep(for: .seconds(1))
            }
        }
        #expect(told.errors.last == "nats: the last \(count) lines were not published", "\(told.errors)")
    }
}
