internal import Reactor

/// The agent's own failures: limits that are reached, so that further items are refused, and whatever it said failed and has
/// not recovered.
struct OwnFailures: Sendable {
    /// A limit, by its topic.
    enum Limit: String, CaseIterable {
        case series, endpoints, kept, alerts
    }

    /// The number of refusals, and the time of the last one.
    private var shortages: [Limit: (count: Int, last: LoopInstant, outage: Outage<Bool>)] = [:]
    /// The current failures by topic; the newest last.
    private var failures: [(topic: String, failure: Failure)] = []

    /// Records how often a limit has refused something.
    ///
    /// - Returns: whether to report it.
    mutating func grows(_ limit: Limit, to count: Int, at now: LoopInstant) -> Bool {
        guard count > 0, count > shortages[limit]?.count ?? 0 else { return false }
        var outage = shortages[limit]?.outage ?? Outage()
        defer { shortages[limit] = (count, now, outage) }
        return outage.fail(by: true, at: now)
    }

    /// Ends the shortages of limits that have refused nothing for `time`; returns the recoveries to report, by topic.
    mutating func ended(at now: LoopInstant, after time: Duration) -> [(topic: String, recovery: Recovery)] {
        Limit.allCases.compactMap { limit in
            guard let last = shortages[limit]?.last, last.duration(to: now) >= time else { return nil }
            return shortages[limit]?.outage.end(at: now).map { (limit.rawValue, $0) }
        }
    }

    /// Records a failure or a recovery on a topic.
    ///
    /// - Returns: at a recovery, the newest failure that lasts.
    mutating func apply(_ body: Event.Body, about topic: String) -> Failure? {
        switch body {
        case .error(let failure): failures = failures.filter { $0.topic != topic } + [(topic, failure)]
        case .recovered:
            failures.removeAll { $0.topic == topic }
            return failures.last?.failure
        default: break
        }
        return nil
    }
}
