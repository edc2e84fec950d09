package import Reactor

/// An agent of a fleet, as its store knows it; dense, from 0.
package struct MemberID: Sendable, Hashable {
    package let index: Int

    package init(index: Int) { self.index = index }
}

/// What travels with an event of a fleet: which line of which agent it was, for the last keys of its line here.
package struct LineOrigin: Sendable, Equatable {
    package var member: MemberID
    /// Which line of the agent's it was; nil for what the fleet itself says of the agent.
    package var line: LineID?
    /// The number of the message of a stream that it came by; nil for what came by none.
    package var stream: Int?
    /// The agent's time as of this line; nil where it tells nothing of that.
    package var clock: Timestamp?
    /// The `type` of a data line that has another one than its source.
    package var type: String?

    package init(
        _ member: MemberID, _ line: LineID? = nil, stream: Int? = nil, clock: Timestamp? = nil, type: String? = nil
    ) {
        (self.member, self.line, self.stream, self.clock, self.type) = (member, line, stream, clock, type)
    }
}
