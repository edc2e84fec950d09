internal import HTTPServer
internal import Reactor

/// Answers the server's requests: chooses routes and, if allowed, faults, with their random numbers, and keeps the
/// WebSockets. Used on the loop's thread only.
final class DemoRouter {
    private let loop: EventLoop
    private let allowsFaults: Bool
    private let wallClock: any WallClock
    /// Replaces a missing `Host` field.
    var host = "127.0.0.1"
    private let air: SharedAirQuality
    private var random: SplitMix
    private var faults = FaultRouter()
    private var sessions: [ObjectIdentifier: (session: AirQualitySession, task: Task<Void, Never>)] = [:]
    private(set) var requests = 0
    private(set) var delays: [Duration] = []

    /// The most delays to remember.
    private static let rememberedDelays = 10_000

    init(loop: EventLoop, allowsFaults: Bool, seed: UInt64, wallClock: any WallClock) {
        self.loop = loop
        self.allowsFaults = allowsFaults
        self.wallClock = wallClock
        air = SharedAirQuality(seed: seed, on: loop)
        random = SplitMix(seed: seed)
    }

    var webSockets: Int { sessions.count }

    /// Ends the WebSockets and waits for them.
    func close() async {
        let open = sessions.values
        for (session, _) in open { session.close(telling: true) }
        for (_, task) in open { await task.value }
    }

    func reply(to request: HTTPRequest) -> HTTPReply {
        requests += 1
        let completed = loop.clock.now
        let reply = reply(to: Request(request, host: host))
        if reply.delivery == .silence { return .later { _ in } }
        guard let delay = reply.delay, delay > .zero else { return carryOut(reply, since: completed) }
        return .later { [unowned self] promise in
            let timer = loop.schedule(at: completed.advanced(by: delay)) { [unowned self] in
                promise.answer(carryOut(reply, since: completed))
            }
            promise.whenLeft = { [loop] in loop.cancel(timer) }
        }
    }

    private func reply(to request: Request) -> Reply {
        if allowsFaults, FaultRouter.covers(request.path) {
            return faults.reply(to: request, using: &random, now: wallClock.now)
        }
        if request.path == AirQualityOrder.path { return AirQualityOrder.reply(to: request) }
        return Reply(CatAPI.answer(request, using: &random))
    }

    /// - Parameter completed: when the request was complete.
    private func carryOut(_ reply: Reply, since completed: LoopInstant) -> HTTPReply {
        var response = HTTPResponse(status: reply.answer.status, fields: reply.answer.headers)
        if reply.delay != nil {
            let made = completed.duration(to: loop.clock.now)
            response.fields.append(HTTPField("X-Delay-Ms", String(made.milliseconds)))
            if delays.count == Self.rememberedDelays { delays.removeFirst() }
            delays.append(made)
        }
        switch reply.delivery {
        case .closed, .silence: return .closed(byReset: false)
        case .reset(after: 0): return .closed(byReset: true)
        case .webSocket(let order): response.body = .upgrade { [unowned self] in open(order, $0) }
        case .whole, .truncated, .endless, .drip, .reset:
            response.body = reply.faultyBody(on: loop).map { .stream($0) } ?? .bytes(reply.answer.body)
        }
        return .now(response)
    }

    private func open(_ order: AirQualityOrder, _ stream: any ByteStream) {
        let session = AirQualitySession(order, over: stream, on: loop, air)
        let key = ObjectIdentifier(session)
        let bound = LoopBound((self, session))
        let task = Task(executorPreference: loop) {
            await bound.value.1.run()
            bound.value.0.sessions[key] = nil
        }
        sessions[key] = (session, task)
    }
}
