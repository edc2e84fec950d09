internal import Feed
internal import Outputs
internal import Reactor

/// Tells the service manager that the agent makes progress: the loop runs, and polls end in time.
///
/// A failed poll counts as progress; one that never ends, or never starts, does not.
struct Watchdog: Sendable {
    private let polls: PollRequests
    private let loop: EventLoop
    private let service: ServiceManager
    private let interval: Duration

    /// - Parameter interval: how often the service manager expects a message.
    init(polls: PollRequests, on loop: EventLoop, service: ServiceManager, interval: Duration) {
        self.polls = polls
        self.loop = loop
        self.service = service
        self.interval = interval
    }

    /// Runs until the task is cancelled.
    func run() async throws(CancellationError) {
        while true {
            if await polls.isOnTime { service.tell("WATCHDOG=1") }
            try await loop.sleep(for: interval / 2)
        }
    }
}
