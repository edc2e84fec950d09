package import Feed
package import Reactor

/// Tells a person on stderr what fails upstream: a reader of the feed like any other, that looks at few of its lines.
package actor FailureReporter {
    private let store: EventStore
    private let notices: Notices
    private let loop: EventLoop
    private let everyRequest: Bool
    private var rate: RateLimit
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter everyRequest: whether `latency` lines are told as well, and nothing is left out.
    package init(store: EventStore, notices: Notices, on loop: EventLoop, everyRequest: Bool) {
        self.store = store
        self.notices = notices
        self.loop = loop
        self.everyRequest = everyRequest
        rate = RateLimit(burst: 10, every: .seconds(1), now: loop.clock.now)
    }

    /// Reports until the feed ends or the task is cancelled.
    package func run() async throws(CancellationError) {
        let (reader, _) = await store.open(nil)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span):
                guard await store.mayHoldReports(span, orAnswers: everyRequest) else { continue }
                for text in span.withUnsafeBytes({ texts(of: $0) }) { await notices.say(text) }
            case .gap, .greeting, .interrupted: break  // the lines are in the feed; this is a courtesy
            case .end: return await store.close(reader)
            }
        }
    }

    private func texts(of bytes: UnsafeRawBufferPointer) -> [String] {
        var texts: [String] = []
        FeedLine.forEach(in: bytes) { line in
            let mayMatter =
                FeedLine.type(of: line, is: "\"error\"") || FeedLine.type(of: line, is: "\"recovered\"")
                || (everyRequest && FeedLine.type(of: line, is: "\"latency\""))
            if mayMatter, let text = text(of: line) { texts.append(text) }
        }
        return texts
    }

    private func text(of line: UnsafeRawBufferPointer) -> String? {
        guard let decoded = try? LineDecoder.decode(Array(line)[...]) else { return nil }
        let source = Sanitizer.visible(decoded.source ?? "?", limit: 100)
        switch decoded.body {
        case .error(let failure):
            let next = failure.retryIn.map { "; next try in \($0.shortText)" } ?? ""
            return limited("\(source): \(Sanitizer.visible(failure.message, limit: 1_000))\(next)")
        case .recovered(let recovery):
            let attempts = recovery.attempts == 1 ? "one failed attempt" : "\(recovery.attempts) failed attempts"
            let what = source == EventStore.ownName ? "goes on" : "answers again"
            return limited("\(source): \(what) after \(recovery.down.shortText) and \(attempts)")
        case .latency(let sample):
            let endpoint = Sanitizer.visible(sample.endpoint, limit: 300)
            return
                "catwatch: \(source): \(endpoint) \(sample.status) \(Duration.microseconds(sample.ms * 1_000).shortText)\n"
        default: return nil
        }
    }

    /// The message, unless there have been too many.
    private func limited(_ message: String) -> String? {
        guard everyRequest || rate.allow(at: loop.clock.now) else { return nil }
        let left = rate.takeSuppressed()
        let note = left > 0 ? " (\(left) further messages were not shown)" : ""
        return "catwatch: \(message)\(note)\n"
    }
}

/// A token bucket: a burst at once, then one a while.
struct RateLimit: Sendable {
    private let burst: Double
    private let every: Duration
    private var tokens: Double
    private var last: LoopInstant
    private var suppressed = 0

    init(burst: Int, every: Duration, now: LoopInstant) {
        self.burst = Double(burst)
        self.every = every
        tokens = Double(burst)
        last = now
    }

    /// Whether one more may pass now; counts those that may not.
    mutating func allow(at now: LoopInstant) -> Bool {
        tokens = min(burst, tokens + last.duration(to: now) / every)
        last = now
        guard tokens >= 1 else {
            suppressed += 1
            return false
        }
        tokens -= 1
        return true
    }

    /// How many may not have passed since this was last asked.
    mutating func takeSuppressed() -> Int {
        defer { suppressed = 0 }
        return suppressed
    }
}
