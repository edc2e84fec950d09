package import Reactor

/// A run and a sequence number, of a line that may or may not exist.
package struct LineID: Sendable, Hashable {
    package var run: String
    package var sequence: Int

    package init(_ run: String, _ sequence: Int) { (self.run, self.sequence) = (run, sequence) }
}

/// The rule for names of runs, which are used in requests, file names and sentences.
package enum RunName {
    // Name of a run: 64 letters, digits, `-` or `_`; an attached agent's connection ends; a request is refused.
    /// The rule in words, for error messages.
    package static let rule = "1 to 64 letters, digits, - or _"

    package static func isValid(_ name: String) -> Bool {
        1...64 ~= name.utf8.count && name.utf8.allSatisfy(AgentName.isByte)
    }
}

/// An agent of a fleet, by its index in the store; dense, from 0.
package struct MemberID: Sendable, Hashable {
    package let index: Int
}

/// The origin of an event in a fleet: the agent and its line, for the last keys of its line here.
package struct LineOrigin: Sendable, Equatable {
    package var member: MemberID
    /// The agent's line; nil for the hub's own lines about the agent. One about several lines has the number 0.
    package var line: LineID?
    /// The last of these lines, if it is about several.
    package var last: Int?
    /// When the message that carried it was stored in a stream; nil if none did.
    package var stored: Timestamp?
    /// The agent's time as of this line; nil if the line says nothing about it.
    package var clock: Timestamp?
    /// The `type` of a data line, if it differs from its source's.
    package var type: String?
    /// The time from which on the series has the line's word; nil without one.
    package var since: Timestamp?

    package init(
        _ member: MemberID, _ line: LineID? = nil, through last: Int? = nil, stored: Timestamp? = nil,
        clock: Timestamp? = nil
    ) {
        (self.member, self.line, self.last, self.stored, self.clock) = (member, line, last, stored, clock)
    }
}

/// The message of a stream that carried lines of a member.
package struct StreamMessage: Sendable, Equatable {
    /// The run of these lines.
    package var run: String
    /// The host that published it, if it says so; any text.
    package var host: String?
    /// The time when the stream stored it.
    package var stored: Timestamp
    /// Whether it may have been read before, perhaps from another stream.
    package var isReread: Bool

    package init(run: String, host: String? = nil, stored: Timestamp, isReread: Bool = false) {
        (self.run, self.host, self.stored, self.isReread) = (run, host, stored, isReread)
    }
}

/// The newest line of a member's run that was received, or is known to be missing. A journal keeps it.
///
/// The position in a NATS stream has the same form: the member is the name of the source, the run the time when the
/// stream was created, and the number that of the newest message.
package struct MemberPosition: Sendable, Hashable {
    package var member: String
    package var line: LineID
    /// When the message that carried it was stored in a stream; nil if none did.
    package var stored: Timestamp?

    package init(_ member: String, _ line: LineID, stored: Timestamp? = nil) {
        (self.member, self.line, self.stored) = (member, line, stored)
    }
}
