internal import Reactor

/// Tracks which windows have closed, by one clock.
struct WindowClosings: Sendable {
    /// The end and the start of the open window: earlier windows have closed.
    private var boundary = Timestamp(microseconds: .min)
    private(set) var openSince = Timestamp(microseconds: .min)
    private var last = Timestamp(microseconds: .min)
    /// The first series whose ended windows may lack a line; nil when all have theirs.
    var place: Int?
    /// Whether the clock has stepped back since, so that any window may have ended.
    private(set) var looksAtAll = false

    /// Updates the boundary if windows have ended by `time`.
    ///
    /// - Parameter width: the width of a window, in microseconds.
    /// - Returns: whether windows have ended since the last call.
    mutating func notice(_ time: Timestamp, width: Int64) -> Bool {
        guard time >= boundary || time < last else { return false }
        looksAtAll = time < last || looksAtAll && place != nil
        last = time
        let index = Window.index(of: time, width: width)
        boundary = Window.end(of: index, width: width)
        openSince = Window.start(of: index, width: width)
        place = 0
        return true
    }
}
