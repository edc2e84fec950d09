internal import Reactor

/// Whether a source has said something good in time, or why it has not.
package enum Timeliness: Sendable, Equatable {
    case inTime
    /// It has come to its end by itself: nothing more is to come.
    case ended
    /// Nothing has come yet.
    case starting
    /// Nothing good has come for so long, where something is expected every `expected`.
    case late(silence: Duration, expected: Duration)
    /// It fails with this code, and has been silent for longer than it may be, or nothing good ever came.
    case failing(code: String)

    /// Whether it is as it should be.
    package var isGood: Bool { self == .inTime || self == .ended }

    /// - Parameters:
    ///   - code: of what it fails with; nil when what came last was no error.
    ///   - silence: since something good came: an event, an answer that nothing has changed, a page of a listing; nil when
    ///     nothing has.
    ///   - window: how wide windows are. As for a view, what comes every so often is late after two and a half times its
    ///     period, or two and a half windows. A stream is silent for as long as it likes.
    init(
        state: SourceStatus.State, code: String?, rhythm: Rhythm, silence: Duration?, hasEnded: Bool, window: Duration
    ) {
        let isFailing = state == .failing
        if hasEnded {
            self = .ended
        } else if state == .starting || silence == nil && !isFailing {
            self = .starting
        } else if case .every(let period) = rhythm, let silence {
            let expected = max(period, window)
            if silence * 2 <= expected * 5 {
                self = .inTime
            } else {
                self = isFailing ? .failing(code: code ?? "") : .late(silence: silence, expected: expected)
            }
        } else {
            self = isFailing ? .failing(code: code ?? "") : .inTime
        }
    }
}
