package import Reactor

/// The time of another agent, from its numbered lines: its windows close by that time, whatever the hub's is.
///
/// A line about the agent itself has its clock's time, which may step back; a data line has its event's, which may be
/// up to a window ahead of the clock. So a data line only shows that the clock is at most a window behind it, and a
/// line less than a window older than an earlier one shows nothing, because the agent may have written others in
/// between.
package struct MemberClock: Sendable, Equatable {
    /// The width of a window, in microseconds.
    private let width: Int64
    /// The time as of the newest line; nil before the first.
    package private(set) var time: Timestamp?

    package init(width: Duration) { self.width = width.microseconds }

    /// Updates the time by a numbered line.
    ///
    /// - Parameter wall: the hub's time. A line that is more than a window ahead of it counts as having this time; so
    ///   does the time of earlier lines if the hub's clock was stepped back since. A wrong clock must not lead to the
    ///   future.
    package mutating func hear(_ line: Timestamp, isData: Bool, wall: Timestamp) {
        let isAhead = isAhead(line, of: wall)
        let line = isAhead ? wall : line
        guard let time = time.map({ self.isAhead($0, of: wall) ? wall : $0 }) else {
            self.time = line
            return
        }
        let told = isData && !isAhead ? Timestamp(microseconds: line.microseconds.subtractingSaturated(width)) : line
        let isStepped = !isData && told.microseconds < time.microseconds.subtractingSaturated(width)
        self.time = told > time || isStepped ? told : time
    }

    private func isAhead(_ time: Timestamp, of wall: Timestamp) -> Bool {
        time.microseconds > wall.microseconds.addingSaturated(width)
    }

    /// The delay allowed for lines on their way, before a window closes without them.
    package static let patience = Duration.seconds(1)

    /// The agent's time, when `passed` has elapsed since its newest line arrived.
    package static func time(_ newest: Timestamp, after passed: Duration) -> Timestamp {
        newest + max(.zero, passed - patience)
    }
}
