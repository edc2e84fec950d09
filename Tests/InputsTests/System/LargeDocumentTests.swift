import Feed
import Reactor
import TestSupport
import Testing

@testable import Inputs

/// Documents with more items than the log has room for, and outputs that must get everything.
@Suite(.limited) struct LargeDocumentTests {
    private static let items = 6_000
    private static let body = "[\((0..<items).map(String.init).joined(separator: ","))]"

    private static func extraction() throws -> Extraction {
        Extraction(items: try JSONPointer(""), value: .at(try JSONPointer("")), text: .nowhere)
    }

    private struct Place: Sendable {
        let loop: EventLoop
        let store: EventStore
        let wall: SteppedWallClock
        let polls: PollRequests
        /// An output that must get everything.
        let reader: ReaderID

        init(on loop: EventLoop, log: Int) async {
            self.loop = loop
            wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            var limits = FeedState.Limits()
            limits.logCapacity = log
            store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity, limits: limits)
            polls = PollRequests(on: loop)
            reader = await store.open("stdout", holdsInputs: true, call: {}).0
        }

        /// Everything that the output gets, with a pause after each delivery. Without one, virtual time stands still meanwhile.
        func read(pausing pause: Duration = .milliseconds(1)) async throws -> (lines: [Line], gaps: Int) {
            var lines: [Line] = []
            var gaps = 0
            while true {
                switch await store.dequeue(for: reader) {
                case .lines(let span)?:
                    let bytes = span.withUnsafeBytes { Array($0) }
                    for line in bytes.split(separator: 0x0A) { lines.append(try LineDecoder.decode(line)) }
                case .gap?: gaps += 1
                case .greeting?, .ended?, .kept?, .interrupted?, nil: break
                case .end?: return (lines, gaps)
                }
                try await loop.sleep(for: pause)
            }
        }

        func poller(_ source: HTTPSource, _ transport: ScriptedTransport) -> HTTPPoller {
            HTTPPoller(source, store: store, polls: polls, transport: transport, on: loop, wall: wall)
        }
    }

    private static func data(_ lines: [Line]) -> [Line.Data] {
        lines.compactMap { if case .data(let data) = $0.body { data } else { nil } }
    }

    private static func values(_ lines: [Line]) -> [Double] { data(lines).compactMap(\.value) }

    private static func errors(_ lines: [Line]) -> [Failure] {
        lines.compactMap { if case .error(let failure) = $0.body { failure } else { nil } }
    }

    // MARK: Standard input

    /// Reads `text` as standard input with an output that takes it bit by bit.
    private static func stdin(
        _ text: String, log: Int, worker: (any Worker)? = nil, maxLine: Int = 1 << 20
    ) async throws -> (lines: [Line], gaps: Int, turns: Turns) {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: log)
            let bytes = Array(text.utf8)
            let (far, near) = SimulatedStream.pair(capacity: bytes.count, on: loop)
            let end = LoopBound(near)
            #expect(try bytes.withUnsafeBytes { try far.write($0) } == bytes.count)
            far.close()
            let source = StdinRun.source(try Self.extraction(), maxLine: maxLine)
            let input = StdinInput(source, store: place.store, on: loop, wall: place.wall, worker: worker) { _ in
                end.value
            }
            async let ended: Void = {
                try await input.run()
                await place.store.finish("end")
            }()
            async let turns = Turns.watch(place.store, on: loop, until: items) { true }
            let (lines, gaps) = try await place.read(pausing: .zero)
            try await ended
            return (lines, gaps, try await turns)
        }
    }

    @Test(arguments: ["\n", ""], [1 << 16, 1 << 18])
    func aLineThatIsLargerThanTheLogComesThrough(end: String, log: Int) async throws {
        let (lines, gaps, turns) = try await Self.stdin(Self.body + end, log: log)
        #expect(gaps == 0 && Self.errors(lines).isEmpty)
        #expect(Self.values(lines).elementsEqual((0..<Self.items).map(Double.init)))
        #expect(turns.most <= EventBatch.fullCount, "more than a slice at once")
    }

    @Test func whatIsLeftOutOfALineIsSaid() async throws {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: 1 << 16)
            let bytes = Array((Self.body + "\n[1]\n").utf8)
            let (far, near) = SimulatedStream.pair(capacity: bytes.count, on: loop)
            let ends = LoopBound((far, near))
            #expect(try bytes.withUnsafeBytes { try far.write($0) } == bytes.count)
            let source = StdinRun.source(try Self.extraction())
            let input = StdinInput(source, store: place.store, on: loop, wall: place.wall) { _ in ends.value.1 }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await input.run() }
                try? await loop.sleep(for: .seconds(1))
                group.cancelAll()
            }
            await place.store.finish("end")
            let (lines, _) = try await place.read()
            let count = await place.store.counts.data
            #expect(count > 0 && count < Self.items)
            let error = try #require(Self.errors(lines).first)
            #expect(error.code == .closed && error.message.hasPrefix("line 1: the source was stopped or changed"))
            #expect(error.message.contains("the first \(count) of its events"), "\(count): \(error.message)")
        }
    }

    // MARK: Pages

    @Test(arguments: [1 << 16, 1 << 18])
    func aListingThatComesOnceComesThrough(log: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: log)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(200, Self.body) }
            var source = try SimulatedListing.source()
            source.extraction = try Self.extraction()
            source.total = nil
            let input = PagesInput(
                source, store: place.store, polls: place.polls, transport: transport, on: loop, wall: place.wall)
            async let fed: Void = {
                try await input.run()
                await place.store.finish("end")
            }()
            // A slow output is not the source's fault.
            try await loop.sleep(for: .seconds(100))
            #expect(await place.polls.isOnTime)
            let held = await place.store.counts.data
            #expect(held < Self.items)
            let (lines, gaps) = try await place.read()
            try await fed
            #expect(gaps == 0 && Self.errors(lines).isEmpty)
            #expect(Self.values(lines).elementsEqual((0..<Self.items).map(Double.init)))
            #expect(await !input.isCutShort)
        }
    }

    @Test func aListingThatIsCutShortSaysSo() async throws {
        try await withLoop(virtual: true) { loop in
            for most in [1, 2] {
                let place = await Place(on: loop, log: 1 << 20)
                let transport = ScriptedTransport(on: loop) { number, _ in
                    SimulatedListing.page([number], next: number == 0 ? #""?page=2""# : "null")
                }
                let source = try SimulatedListing.source { $0.mostPages = most }
                let input = PagesInput(
                    source, store: place.store, polls: place.polls, transport: transport, on: loop, wall: place.wall)
                let runner = SourceRunner(store: place.store, polls: place.polls, on: loop) { _, _ in input }
                #expect(await !runner.isCutShort)
                try await runner.run([.pages(source)])
                #expect(await input.isCutShort == (most == 1))
                #expect(await runner.isCutShort == (most == 1))
            }
        }
    }

    // MARK: Polls

    private static func source(every: Duration) throws -> HTTPSource {
        HTTPSource(
            SourceDescription(name: "x"), request: HTTPRequest(url: "http://cats.test/"), every: every,
            extraction: try extraction())
    }

    @Test func aPollWaitsForAnOutputThatTakesIt() async throws {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: 1 << 16)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(200, Self.body) }
            let poller = place.poller(try Self.source(every: .seconds(600)), transport)
            async let result = place.read()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await poller.run() }
                try? await loop.sleep(for: .seconds(60))
                group.cancelAll()
            }
            await place.store.finish("end")
            let (lines, gaps) = try await result
            #expect(gaps == 0 && Self.errors(lines).isEmpty)
            #expect(Self.values(lines).elementsEqual((0..<Self.items).map(Double.init)))
        }
    }

    /// Whatever an output does not take, polls go on at their ticks, and the watchdog is content.
    @Test(arguments: [Duration.seconds(10), .seconds(600)])
    func anOutputThatTakesNothingStopsNoPolls(every: Duration) async throws {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: 1 << 16)
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(200, Self.body) }
            let poller = place.poller(try Self.source(every: every), transport)
            let polls = 6
            let start = loop.clock.now
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await poller.run() }
                for _ in 0..<20 {
                    try? await loop.sleep(for: every / 4)
                    #expect(await place.polls.isOnTime, "after \(start.duration(to: loop.clock.now))")
                }
                // Waits, and goes on at the next tick.
                group.cancelAll()
            }
            let begun = await transport.calls.map { start.duration(to: $0.began) }
            // In 5 periods, the first one at once, and perhaps one before the first tick.
            #expect(begun.count >= polls - 1 && begun.count <= polls + 1, "\(begun)")
            for (one, other) in zip(begun.dropFirst(2), begun.dropFirst(3)) { #expect(other - one == every) }
            await place.store.finish("end")
            let (_, gaps) = try await place.read()
            #expect(gaps > 0)
            #expect(await place.store.counts.data >= (begun.count - 1) * Self.items)
        }
    }

    // MARK: WebSockets

    @Test func aMessageThatIsLargerThanTheLogComesThrough() async throws {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: 1 << 16)
            let peers = ScriptedPeers(on: loop) { _, peer in
                try await peer.value.shakeHands()
                try await peer.value.send(Self.body)
                try await peer.value.send("[1]")
                try await WebSocketInputTests.answerPings(peer)
            }
            let input = try Self.socket(place, peers)
            async let result = place.read()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await input.run() }
                group.addTask { await peers.run() }
                try? await loop.sleep(for: .seconds(60))
                group.cancelAll()
            }
            await place.store.finish("end")
            let (lines, gaps) = try await result
            #expect(gaps == 0 && Self.errors(lines).isEmpty)
            #expect(Self.values(lines).elementsEqual((0..<Self.items).map(Double.init) + [1]))
            #expect(await peers.attempts.count == 1)
        }
    }

    @Test func whatIsLeftOutOfAMessageIsSaid() async throws {
        try await withLoop(virtual: true) { loop in
            let place = await Place(on: loop, log: 1 << 16)
            let peers = ScriptedPeers(on: loop) { _, peer in
                try await peer.value.shakeHands()
                try await peer.value.send(Self.body)
                try await WebSocketInputTests.answerPings(peer)
            }
            let input = try Self.socket(place, peers)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await peers.run() }
                let task = Task(executorPreference: loop) { try? await input.run() }
                try? await loop.sleep(for: .seconds(60))
                task.cancel()
                await task.value
                group.cancelAll()
            }
            let count = await place.store.counts.data
            #expect(count > 0 && count < Self.items)
            await place.store.finish("end")
            let (lines, _) = try await place.read()
            let error = try #require(Self.errors(lines).last)
            #expect(error.code == .closed && error.message.contains("the first \(count) of its events"))
        }
    }

    private static func socket(_ place: Place, _ peers: ScriptedPeers) throws -> WebSocketInput {
        var source = try SimulatedSocket.source()
        source.extraction = try extraction()
        return WebSocketInput(
            source, store: place.store, polls: place.polls, transport: peers, on: place.loop, wall: place.wall,
            random: SeededGenerator(seed: 5))
    }
}
