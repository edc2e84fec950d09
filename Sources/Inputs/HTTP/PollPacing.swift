internal import Feed
internal import Reactor

/// How an input over HTTP waits until its time comes, or somebody asks for it sooner.
struct PollPacing {
    private let loop: EventLoop
    /// Asked for out of turn; see `PollDesk.requestPoll`.
    private let refresh: Wakeup
    var retries: Retries
    /// When a fault that lasts was last told.
    private var lastTold: LoopInstant?

    /// What a request may take beyond its deadline before something is wrong with the agent.
    static let grace = Duration.seconds(5)
    /// The least time between two requests that readers ask for.
    private static let refreshPause = Duration.seconds(1)
    /// A fault in documents that are taken all the same is told once in so long.
    private static let tellingPause = Duration.seconds(60)

    init(on loop: EventLoop, retries: Retries) {
        self.loop = loop
        self.retries = retries
        refresh = Wakeup(loop: loop)
    }

    /// Lets others ask for requests of a source out of turn.
    func allowRequests(of source: String, at desk: PollDesk) async {
        await desk.allowPolling(of: source) { [refresh] request in
            if let refusal = request.refusal(by: source) { return refusal }
            refresh.signal()
            return nil
        }
    }

    /// Notes a good answer.
    ///
    /// - Returns: the outage that is over by that.
    mutating func succeed() -> Recovery? {
        retries.startOver()
        return retries.answer(at: loop.clock.now)
    }

    /// What is to be told of a fault in a document that was taken all the same: a feed with one bad item has it in every
    /// answer, and is neither polled more slowly for it nor told of each time.
    mutating func standing(_ problem: Failure?, at endpoint: Endpoint) -> Failure? {
        let now = loop.clock.now
        guard var problem else {
            lastTold = nil
            return nil
        }
        if let lastTold, lastTold.duration(to: now) < Self.tellingPause { return nil }
        lastTold = now
        problem.endpoint = endpoint.name
        return problem
    }

    /// Waits for `due`, or until somebody asks for a request before: at most once a second, as readers ask, and never
    /// before the upstream wants to be asked again.
    ///
    /// - Parameter last: when the last request was made.
    func wait(until due: LoopInstant, since last: LoopInstant) async throws(CancellationError) {
        let timer = loop.schedule(at: due) { [refresh] in refresh.signal() }
        defer { loop.cancel(timer) }
        try await refresh.wait()
        let earliest = min(due, retries.allowed(at: last.advanced(by: Self.refreshPause)))
        if loop.clock.now < earliest { try await loop.sleep(until: earliest) }
    }
}
