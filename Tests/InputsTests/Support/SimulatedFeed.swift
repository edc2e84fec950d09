import Feed
import Inputs
import LineRules
import Outputs
import Reactor
import TestSupport
import Testing

/// A whole pipeline in virtual time: poller, store, output, and what came out at the other end of the stream.
struct SimulatedFeed: Sendable {
    /// The connection's lines, decoded.
    var lines: [Line] = []
    /// The same as they came, without their newlines.
    var texts: [String] = []
    /// The requests that were made.
    var calls: [ScriptedTransport.Call] = []
    var mostUnderWay = 0
    /// When the input started, and when it came to an end by itself.
    var start = LoopInstant(nanoseconds: 0)
    var returned: Duration?
    /// How the source was doing at the end.
    var state: SourceStatus.State?

    /// What an input needs.
    struct Place: Sendable {
        let store: EventStore
        let polls: PollRequests
        let transport: ScriptedTransport
        let loop: EventLoop
        let wall: SteppedWallClock
    }

    static let wallStart = Timestamp(seconds: 1_800_000_000)
    static let identity = AgentIdentity(run: "test-run", version: "0", started: wallStart)

    static func source(
        _ url: String = "http://cats.test/fact", every: Duration = .seconds(1), value: String? = nil,
        text: String? = nil
    ) throws -> HTTPSource {
        HTTPSource(
            SourceDescription(name: "fact"), request: HTTPRequest(url: url), every: every,
            extraction: Extraction(
                value: try value.map { .at(try JSONPointer($0)) } ?? .first,
                text: try text.map { .at(try JSONPointer($0)) } ?? .first))
    }

    /// Polls for as long as said, ends the feed, and reads all of it.
    static func run(
        _ source: HTTPSource, for duration: Duration, seed: UInt64 = 1, decodes: Bool = true,
        script: @escaping @Sendable (Int, HTTPRequest) -> ScriptedTransport.Reply
    ) async throws -> SimulatedFeed {
        try await run(for: duration, decodes: decodes, script: script) { place in
            let poller = HTTPPoller(
                source, store: place.store, polls: place.polls, transport: place.transport, on: place.loop,
                wall: place.wall,
                random: SeededGenerator(seed: seed))
            try await poller.run()
        }
    }

    /// The same for any input.
    static func run(
        for duration: Duration, decodes: Bool = true,
        script: @escaping @Sendable (Int, HTTPRequest) -> ScriptedTransport.Reply,
        input: @escaping @Sendable (Place) async throws -> Void
    ) async throws -> SimulatedFeed {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: wallStart)
            let store = EventStore(on: loop, wall: wall, identity: identity)
            let transport = ScriptedTransport(on: loop, script: script)
            let place = Place(store: store, polls: PollRequests(on: loop), transport: transport, loop: loop, wall: wall)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let sink = LineSink(on: loop)
            var feed = SimulatedFeed()
            let start = loop.clock.now
            feed.start = start
            let returned = LoopBound(Returned())

            let ending = await withTaskGroup(of: StreamOutput.Ending?.self) { group in
                group.addTask { try? await output.run { _ in sink.open() } }
                group.addTask {
                    await sink.run()
                    return nil
                }
                await withTaskGroup(of: Void.self) { inputs in
                    inputs.addTask { try? await store.run() }
                    inputs.addTask {
                        guard (try? await input(place)) != nil else { return }
                        returned.value.after = start.duration(to: loop.clock.now)
                    }
                    try? await loop.sleep(for: duration)
                    inputs.cancelAll()
                }
                await store.finish("test")
                var ending: StreamOutput.Ending?
                for await end in group { ending = ending ?? end }
                return ending
            }
            #expect(ending == .finished)
            #expect(loop.timerCount == 0)
            #expect(await transport.underWay == 0)

            feed.returned = returned.value.after
            feed.state = await store.sourceStates.first?.state
            feed.calls = await transport.calls
            feed.mostUnderWay = await transport.mostUnderWay
            feed.texts = sink.texts
            if decodes { feed.lines = try sink.texts.map { try LineDecoder.decode(Array($0.utf8)[...]) } }
            return feed
        }
    }

    private final class Returned {
        var after: Duration?
    }

    // MARK: What there is in it

    var data: [Line.Data] {
        lines.compactMap { if case .data(let data) = $0.body { data } else { nil } }
    }
    var latencies: [LatencySample] {
        lines.compactMap { if case .latency(let sample) = $0.body { sample } else { nil } }
    }
    var errors: [Failure] {
        lines.compactMap { if case .error(let failure) = $0.body { failure } else { nil } }
    }
    var windows: [Line.Window] {
        lines.compactMap { if case .window(let window) = $0.body { window } else { nil } }
    }
    var progress: [Progress] {
        lines.compactMap { if case .progress(let progress) = $0.body { progress } else { nil } }
    }
    var recoveries: [Recovery] {
        lines.compactMap { if case .recovered(let recovery) = $0.body { recovery } else { nil } }
    }
    /// When the requests began, counted from the start.
    var begun: [Duration] { calls.map { start.duration(to: $0.began) } }

    /// Checks what holds for every connection: its frame, and numbers without holes.
    func expectWellFormed(sourceLocation: SourceLocation = #_sourceLocation) {
        guard lines.count >= 3, case .hello = lines[0].body, case .stats = lines[1].body,
            case .bye(let bye) = lines[lines.count - 1].body
        else {
            Issue.record("no hello, stats and bye around \(lines.count) lines", sourceLocation: sourceLocation)
            return
        }
        for text in texts { #expect(LineRules.faults(of: text.utf8).isEmpty, sourceLocation: sourceLocation) }
        let numbers = lines.compactMap(\.seq)
        #expect(numbers.elementsEqual(1..<numbers.count + 1), sourceLocation: sourceLocation)
        #expect(numbers.count == lines.count - 3, sourceLocation: sourceLocation)
        #expect(bye.lastSeq == numbers.count && bye.reason == "test", sourceLocation: sourceLocation)
    }
}

/// Reads lines from the far end of a simulated stream.
final class LineSink: @unchecked Sendable {  // touched on one loop only
    private let near: SimulatedStream
    private let far: SimulatedStream
    private(set) var texts: [String] = []

    init(on loop: EventLoop) {
        (near, far) = SimulatedStream.pair(on: loop)
    }

    /// The end that the output writes to.
    func open() -> SimulatedStream { near }

    /// Reads until the stream ends; what is no whole line fails the test.
    func run() async {
        var splitter = LineSplitter()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            guard let read = try? buffer.withUnsafeMutableBytes({ try far.read(into: $0) }) else {
                try? await far.waitUntilReadable()
                continue
            }
            if read == 0 { break }
            splitter.push(buffer[..<read])
            while let item = splitter.next() {
                guard case .line(let line) = item else {
                    Issue.record("a line was too long")
                    continue
                }
                texts.append(String(decoding: line, as: UTF8.self))
            }
        }
        #expect(splitter.finish() == nil, "the feed ended within a line")
    }
}
