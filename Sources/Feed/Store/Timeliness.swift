internal import Reactor

/// Whether a source's data is on time, or why not.
package enum Timeliness: Sendable, Equatable {
    case inTime
    /// It has ended by itself: no more data is expected.
    case ended
    /// Nothing has arrived yet.
    case starting
    /// No success for `silence`, although data is expected every `expected`.
    case late(silence: Duration, expected: Duration)
    /// It fails with this code, and has been silent for too long, or never succeeded.
    case failing(code: String)

    /// Whether the source is healthy.
    package var isGood: Bool { self == .inTime || self == .ended }

    /// - Parameters:
    ///   - code: the code of its newest error; nil unless it is failing.
    ///   - silence: the time since its last success: an event, the answer that nothing changed, a page of a listing;
    ///     nil if it never succeeded.
    ///   - window: the width of a window: see `Rhythm.patience`.
    init(
        state: SourceStatus.State, code: String?, rhythm: Rhythm, silence: Duration?, hasEnded: Bool, window: Duration
    ) {
        let isFailing = state == .failing
        if hasEnded {
            self = .ended
        } else if state == .starting || silence == nil && !isFailing {
            self = .starting
        } else if let patience = rhythm.patience(window: window), let silence {
            if silence <= patience {
                self = .inTime
            } else {
                self = isFailing ? .failing(code: code ?? "") : .late(silence: silence, expected: patience * 2 / 5)
            }
        } else {
            self = isFailing ? .failing(code: code ?? "") : .inTime
        }
    }
}
