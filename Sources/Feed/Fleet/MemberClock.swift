package import Reactor

/// The time of another agent, as its numbered lines tell it: its own windows close by that, whatever the time is here.
///
/// What an agent says of itself has its clock's time, which may step back; a data line has its event's, which may be anything up
/// to a window ahead of the clock. So a data line says no more than that the clock is at most a window behind it, and a line
/// that is less than a window older than one before it, which others were written in between, says nothing.
package struct MemberClock: Sendable, Equatable {
    /// How wide windows are, in microseconds.
    private let width: Int64
    /// As of the newest line; nil before there was one.
    package private(set) var time: Timestamp?

    package init(width: Duration) { self.width = width.microseconds }

    /// Takes in the time of a numbered line.
    ///
    /// - Parameter wall: the time here. What is more than a window ahead of it has that, and its clock is that then; the time of
    ///   earlier lines too when the clock here was stepped back since: one that is wrong is no reason to look into the future.
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

    /// What lines may be late by, on their way, before a window closes without them.
    package static let patience = Duration.seconds(1)

    /// The agent's time when `passed` has gone by since the newest line came.
    package static func time(_ newest: Timestamp, after passed: Duration) -> Timestamp {
        newest + max(.zero, passed - patience)
    }
}
