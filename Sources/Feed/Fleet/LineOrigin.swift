package import Reactor

/// An agent of a fleet, by its index in the store; dense, from 0.
package struct MemberID: Sendable, Hashable {
    package let index: Int

    package init(index: Int) { self.index = index }
}

/// The origin of an event in a fleet: the agent and its line, for the last keys of its line here.
package struct LineOrigin: Sendable, Equatable {
    package var member: MemberID
    /// The agent's line; nil for the hub's own lines about the agent.
    package var line: LineID?
    /// The number of the stream message that carried it; nil if none did.
    package var stream: Int?
    /// The agent's time as of this line; nil if the line says nothing about it.
    package var clock: Timestamp?
    /// The `type` of a data line, if it differs from its source's.
    package var type: String?

    package init(
        _ member: MemberID, _ line: LineID? = nil, stream: Int? = nil, clock: Timestamp? = nil, type: String? = nil
    ) {
        (self.member, self.line, self.stream, self.clock, self.type) = (member, line, stream, clock, type)
    }
}
