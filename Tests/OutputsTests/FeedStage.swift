import Feed
import Outputs
import Reactor
import TestSupport

/// A store in virtual time, and a listener in memory that serves it when asked to.
struct FeedStage: Sendable {
    let loop: EventLoop
    let wall: SteppedWallClock
    let store: EventStore
    let polls: PollRequests
    let source: SourceID
    let worker = SimulatedWorker()
    private let listener: LoopBound<SimulatedListener>

    static let start = Timestamp(seconds: 1_700_000_000)

    init(
        on loop: EventLoop, run: String = "r1", isRelay: Bool = false, isFleet: Bool = false,
        _ adjust: (inout FeedState.Limits) -> Void = { _ in }
    ) async {
        var limits = FeedState.Limits()
        adjust(&limits)
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: Self.start)
        let identity = AgentIdentity(run: run, version: "1", started: Self.start)
        store = EventStore(
            on: loop, wall: wall, identity: identity, limits: limits, isRelay: isRelay, isFleet: isFleet,
            awaitsPositions: isFleet)
        polls = PollRequests(on: loop)
        source = await store.register(SourceDescription(name: "fact", type: "fact"))
        listener = LoopBound(SimulatedListener(on: loop))
    }

    /// Publishes events of the one source, or of another one, with a text of so many bytes.
    func publish(_ count: Int = 1, text length: Int = 0, of other: SourceID? = nil) async {
        let text = length > 0 ? Bytes(repeating: 0x61, count: length) : nil
        let event = Event(time: wall.now, source: other ?? source, body: .data(Datum(value: 1, text: text)))
        await store.publish(Array(repeating: event, count: count))
    }

    /// Relays lines with these numbers, behind the `hello` of their run.
    ///
    /// - Parameter run: nil for more lines of the run that is now.
    func relay(_ run: String?, _ numbers: ClosedRange<Int>) async throws {
        let time = #""time":"2023-11-14T22:13:20.000000Z""#
        var texts: [String] = []
        if let run {
            let first = numbers.lowerBound
            texts.append(
                #"{"type":"hello",\#(time),"format":1,"run":"\#(run)","first_seq":\#(first),"next_seq":\#(first)}"#)
        }
        for number in numbers {
            texts.append(#"{"seq":\#(number),\#(time),"type":"fact","source":"s","series":"s","value":1}"#)
        }
        await store.relay(
            try texts.map { RelayedLine(try LineDecoder.decode(Bytes($0.utf8)), bytes: Bytes($0.utf8)) })
    }

    /// What the agent says of itself now.
    func agentLine() async -> Line.Agent? {
        let (reader, _) = await store.open(nil, from: .newest)
        let body = Event.Body.agent(AgentSample(loopLag: 0, cpu: 0))
        await store.publish([Event(time: wall.now, source: source, body: body)])
        guard case .lines(let span)? = try? await store.next(for: reader) else { return nil }
        await store.close(reader)
        // Windows that have closed meanwhile come first.
        guard let bytes = span.withUnsafeBytes({ Array($0) }).split(separator: 0x0A).last,
            let line = try? LineDecoder.decode(bytes), case .agent(let agent) = line.body
        else { return nil }
        return agent
    }

    /// Opens a connection to the server.
    func connect(capacity: Int = 65_536) throws(SystemError) -> FeedReader {
        FeedReader(try listener.value.connect(capacity: capacity))
    }

    /// The listener, for an input that attaches here.
    func openStream(capacity: Int = 65_536) throws(SystemError) -> SimulatedStream {
        try listener.value.connect(capacity: capacity)
    }

    /// Serves the feed while `body` runs; then the server is cancelled.
    func serving<Value: Sendable>(
        _ limits: ReaderLimits = .init(), history: JournalQueue? = nil,
        _ body: @escaping @Sendable (FeedServer) async throws -> Value
    ) async throws -> Value {
        let server = FeedServer(store: store, polls: polls, on: loop, limits: limits, history: history)
        let listener = self.listener
        return try await running {
            try await server.run { _ in listener.value }
        } while: {
            try await body(server)
        }
    }
}
