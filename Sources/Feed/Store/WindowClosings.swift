internal import Reactor

/// Which windows have closed, by one clock.
struct WindowClosings: Sendable {
    /// When the next window closes, and when it began: what is older than that has closed.
    private var boundary = Timestamp(microseconds: .min)
    private(set) var openSince = Timestamp(microseconds: .min)
    private var last = Timestamp(microseconds: .min)
    /// The first series whose windows that are over may have no line yet; nil when all have.
    var place: Int?
    /// Whether the clock was stepped back since, so that any window may be over.
    private(set) var looksAtAll = false

    /// Notices that the time of some windows has come.
    ///
    /// - Parameter width: how wide they are, in microseconds.
    /// - Returns: whether it has come since it was last looked at.
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
