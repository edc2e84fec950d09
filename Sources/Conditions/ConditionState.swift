internal import Feed
internal import Reactor

/// Where a condition stands for one series, or for a set of them: `ok → pending → firing → clearing → ok`.
///
/// A test without a result changes nothing.
struct ConditionState: Sendable, Equatable {
    enum Phase: Int, Sendable, Comparable {
        case ok
        /// The tests hold, but not yet for long enough.
        case pending
        /// What ends the condition holds, but not yet for long enough.
        case clearing
        case firing

        /// Whether the condition is met.
        var isMet: Bool { self >= .clearing }

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    var phase = Phase.ok
    /// Since when the tests hold, by the wall clock.
    var since = Timestamp(microseconds: 0)
    /// When `pending` or `clearing` began.
    var begun = LoopInstant(nanoseconds: 0)

    /// When it changes if nothing else happens; nil for never.
    func deadline(of condition: Condition) -> LoopInstant? {
        switch phase {
        case .ok, .firing: nil
        case .pending: begun.advanced(by: condition.hold)
        case .clearing: begun.advanced(by: condition.endHold ?? .zero)
        }
    }

    /// - Parameters:
    ///   - verdict: of the tests.
    ///   - ending: of the test behind `until`; nil without one.
    mutating func step(_ condition: Condition, _ verdict: Verdict, until ending: Verdict?, at moment: Moment) {
        switch phase {
        case .ok:
            // Nothing begins while the test behind `until` holds.
            guard verdict == .holds, ending != .holds else { return }
            (since, begun) = (moment.wall, moment.now)
            phase = condition.hold == .zero ? .firing : .pending
        case .pending:
            if verdict == .doesNot || ending == .holds {
                phase = .ok
            } else if verdict == .holds, moment.now >= begun.advanced(by: condition.hold) {
                phase = .firing
            }
        case .firing:
            guard let hold = condition.endHold else {
                if verdict == .doesNot { phase = .ok }
                return
            }
            guard ending == .holds else { return }
            (phase, begun) = hold == .zero ? (.ok, begun) : (.clearing, moment.now)
        case .clearing:
            if ending == .doesNot {
                phase = .firing
            } else if ending == .holds, moment.now >= begun.advanced(by: condition.endHold ?? .zero) {
                phase = .ok
            }
        }
    }
}
