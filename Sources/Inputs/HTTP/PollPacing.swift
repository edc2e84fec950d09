internal import Feed
internal import Reactor

/// Waits between the requests of an input over HTTP, until the next is due or a reader asks for one.
struct PollPacing {
    private let loop: EventLoop
    /// Signals a request out of turn; see `PollRequests.requestPoll`.
    private let refresh: Wakeup
    var retries: Retries
    /// When a lasting fault was last reported.
    private var lastTold: LoopInstant?

    /// How far a request may exceed its deadline before the agent itself counts as stuck.
    static let grace = Duration.seconds(5)
    /// The least time between two requests that readers ask for.
    private static let refreshPause = Duration.seconds(1)
    /// The time between two reports of a fault in documents that are used anyway.
    private static let tellingPause = Duration.seconds(60)

    init(on loop: EventLoop, retries: Retries) {
        self.loop = loop
        self.retries = retries
        refresh = Wakeup(loop: loop)
    }

    /// Lets readers ask for requests of a source out of turn.
    func allowRequests(of source: String, at polls: PollRequests) async {
        await polls.allowPolling(of: source) { [refresh] request in
            if let refusal = request.refusal(by: source) { return refusal }
            refresh.signal()
            return nil
        }
    }

    /// Records a good answer.
    ///
    /// - Returns: the outage that it ends.
    mutating func succeed() -> Recovery? {
        retries.startOver()
        return retries.answer(at: loop.clock.now)
    }

    /// Returns the fault to report for a document that is used anyway: a feed with one bad item has it in every answer,
    /// so it is neither polled more slowly nor reported each time.
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

    /// Waits until `due`, or until a reader asks for a request: at least a second after the last one, and never before
    /// the upstream's `Retry-After` is over.
    ///
    /// - Parameter last: when the last request was made.
    func wait(until due: LoopInstant, since last: LoopInstant) async throws(CancellationError) {
        try await refresh.wait(until: due)
        let earliest = min(due, retries.allowed(at: last.advanced(by: Self.refreshPause)))
        if loop.clock.now < earliest { try await loop.sleep(until: earliest) }
    }
}
