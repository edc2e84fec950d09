internal import Reactor

/// How wide the windows of a source's series are, and for how long they are kept.
package struct WindowSpan: Sendable, Equatable {
    package let width: Duration
    package let history: Duration

    // Width of a window: the period of its source, at most a day; slower sources have windows without a value.
    private static let longest = Duration.seconds(86_400)
    // Windows kept of a slow source: history / width of the others, at most 120; dropped.
    static let most = 120

    // Bound: how old lines of earlier runs may be | three longest periods, or `keep`; at most 30 days | older lines and
    //   windows left out
    /// How old the newest lines and the windows of a source may be at a start.
    static func lookback(for rhythm: Rhythm, history: Duration) -> Duration {
        guard case .every(let period) = rhythm else { return history }
        return max(history, min(period, .seconds(10 * 86_400)) * 3)
    }

    /// - Parameters:
    ///   - rhythm: the source's. If it is polled less often than every `interval`, its windows are as wide as its period
    ///     in whole seconds, and as many of them are kept as `history` has intervals.
    ///   - interval: the width of other sources' windows, more than zero.
    ///   - history: the period for which those are kept.
    package init(_ rhythm: Rhythm, interval: Duration, history: Duration) {
        guard case .every(let period) = rhythm, period > interval else {
            (width, self.history) = (interval, history)
            return
        }
        let (seconds, rest) = min(period, Self.longest).components
        width = .seconds(seconds + (rest > 0 ? 1 : 0))
        self.history = width * min(max(history.microseconds / interval.microseconds, 1), Int64(Self.most))
    }
}
