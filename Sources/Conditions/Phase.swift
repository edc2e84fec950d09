internal import Reactor

/// Where a condition stands for one series, or for a set of them.
///
/// `ok → pending → firing → clearing → ok`; what is unknown changes nothing.
enum Phase: Sendable, Equatable {
    case ok
    /// The tests hold since then, but not yet for long enough.
    case pending(since: Timestamp)
    /// They held for long enough; nothing has ended that.
    case firing(since: Timestamp)
    /// The test behind `until` holds since `end`, but not yet for long enough.
    case clearing(since: Timestamp, end: Timestamp)

    /// Whether the condition is met.
    var isMet: Bool {
        switch self {
        case .ok, .pending: false
        case .firing, .clearing: true
        }
    }

    /// Whether the tests hold, but not yet for long enough.
    var isPending: Bool { if case .pending = self { true } else { false } }

    /// Since when the tests hold; nil while they do not.
    var since: Timestamp? {
        switch self {
        case .ok: nil
        case .pending(let since), .firing(let since), .clearing(let since, _): since
        }
    }

    /// When it changes if nothing else happens; nil for never.
    func deadline(of condition: Condition) -> Timestamp? {
        switch self {
        case .ok, .firing: nil
        case .pending(let since): since + condition.hold
        case .clearing(_, let end): end + (condition.end?.hold ?? .zero)
        }
    }

    /// - Parameters:
    ///   - verdict: of the tests.
    ///   - ending: of the test behind `until`; nil without one.
    ///   - now: not earlier than the last time.
    mutating func step(_ condition: Condition, _ verdict: Verdict, until ending: Verdict?, at now: Timestamp) {
        switch self {
        // Nothing begins while the test behind `until` holds; it may hold together with the tests.
        case .ok, .pending: begin(condition, ending == .holds ? .doesNot : verdict, at: now)
        case .firing, .clearing: finish(condition, verdict, until: ending, at: now)
        }
    }

    private mutating func begin(_ condition: Condition, _ verdict: Verdict, at now: Timestamp) {
        guard verdict == .holds else {
            if verdict == .doesNot { self = .ok }
            return
        }
        var since = now
        if case .pending(let earlier) = self { since = earlier }
        self = now >= since + condition.hold ? .firing(since: since) : .pending(since: since)
    }

    private mutating func finish(
        _ condition: Condition, _ verdict: Verdict, until ending: Verdict?, at now: Timestamp
    ) {
        guard case .firing(let since) = self else {
            guard case .clearing(let since, let end) = self else { return }
            switch ending {
            case .holds where now >= end + (condition.end?.hold ?? .zero): self = .ok
            case .doesNot: self = .firing(since: since)
            default: break
            }
            return
        }
        guard let ending else {
            if verdict == .doesNot { self = .ok }
            return
        }
        guard ending == .holds else { return }
        self = condition.end?.hold == .zero ? .ok : .clearing(since: since, end: now)
    }
}
