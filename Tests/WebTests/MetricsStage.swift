import Feed
import Reactor
import TestSupport

@testable import HTTPServer
@testable import Web

/// What a web server answers from, in virtual time, and what comes of a scrape.
struct MetricsStage: Sendable {
    let loop: EventLoop
    let wall: SteppedWallClock
    let store: EventStore
    let polls: PollRequests
    /// Used on the loop.
    private let bound: LoopBound<WebContext>
    var context: WebContext { bound.value }

    static let start = Timestamp(seconds: 1_700_000_000)

    init(on loop: EventLoop, isRelay: Bool = false, _ adjust: (inout FeedState.Limits) -> Void = { _ in }) {
        var limits = FeedState.Limits()
        adjust(&limits)
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: Self.start)
        let identity = AgentIdentity(run: "r1", version: "1.2", started: Self.start)
        store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isRelay: isRelay)
        polls = PollRequests(on: loop)
        bound = LoopBound(WebContext(store: store, polls: polls, on: loop, WebSettings()))
    }

    func register(_ name: String, _ rhythm: Rhythm = .stream) async -> SourceID {
        await store.register(SourceDescription(name: name, rhythm: rhythm))
    }

    func publish(_ body: Event.Body, from source: SourceID, at time: Timestamp? = nil) async {
        await store.publish([Event(time: time ?? wall.now, source: source, body: body)])
    }

    func publish(_ value: Double, key: [UInt8]? = nil, from source: SourceID, at time: Timestamp? = nil) async {
        await publish(.data(Datum(key: key.map { $0[...] }, value: value)), from: source, at: time)
    }

    func publish(ms: Double, status: Int = 200, endpoint: String = "GET http://h/x", from source: SourceID) async {
        await publish(.latency(LatencySample(endpoint: endpoint, status: status, ms: ms)), from: source)
    }

    /// An alert as of the start.
    static func alert(_ state: Alert.State, _ condition: String, _ about: String) -> Alert {
        Alert(
            about: about, condition: condition, state: state, id: "1", at: start, since: start - .milliseconds(250),
            value: 7, test: "> 5", evidence: Alert.Evidence(run: "r1", from: 1, to: 1))
    }

    func alert(_ state: Alert.State, _ condition: String, _ about: String, from source: SourceID) async {
        await publish(.alert(Self.alert(state, condition, about)), from: source)
    }

    /// Lines of another agent, which this one is attached to.
    func relay(_ lines: String...) async throws {
        let relayed = try lines.map { line in
            let bytes = Array(line.utf8)[...]
            return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
        }
        await store.relay(relayed)
    }

    /// What a scrape comes to; on the loop.
    func scrape(_ accept: String? = nil) throws -> Scrape {
        try Scrape(MetricsHandler(context).response(accept: accept))
    }
}
