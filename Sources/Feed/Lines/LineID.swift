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
    /// The agent's line; nil for the hub's own lines about the agent.
    package var line: LineID?
    /// The number of the stream message that carried it; nil if none did.
    package var stream: Int?
    /// The agent's time as of this line; nil if the line says nothing about it.
    package var clock: Timestamp?
    /// The `type` of a data line, if it differs from its source's.
    package var type: String?
    /// The time from which on the series has the line's word; nil without one.
    package var since: Timestamp?

    package init(
        _ member: MemberID, _ line: LineID? = nil, stream: Int? = nil, clock: Timestamp? = nil, type: String? = nil
    ) {
        (self.member, self.line, self.stream, self.clock, self.type) = (member, line, stream, clock, type)
    }
}

/// The message of a stream that carried lines of an agent.
package struct StreamMessage: Sendable, Equatable {
    /// The run of these lines.
    package var run: String
    /// The message's number in the stream.
    package var sequence: Int
    /// The time when the stream received it.
    package var heard: Timestamp

    package init(run: String, sequence: Int, heard: Timestamp) {
        (self.run, self.sequence, self.heard) = (run, sequence, heard)
    }
}

/// The position of a fleet's agent: its last line received, and that line's position in a stream.
package struct AgentPosition: Sendable, Hashable {
    package var agent: String
    package var line: LineID
    /// The number of the stream message that carried it; nil if none did.
    package var stream: Int?

    package init(_ agent: String, _ line: LineID, stream: Int? = nil) {
        (self.agent, self.line, self.stream) = (agent, line, stream)
    }
}

extension AgentPosition {
    /// Reads the origin that a line of a hub states; nil for any other line. A `lost` line has the last line that it
    /// names.
    package init?(_ line: UnsafeBufferPointer<UInt8>) {
        let found = try? LineMembers.with(line: line) { members throws(LineFault) -> AgentPosition? in
            guard let agent = try members.stringIfAny(.agent), let run = try members.stringIfAny(.originRun),
                AgentName.isValid(agent), RunName.isValid(run)
            else { return nil }
            let isLost = try members.stringIfAny(.type) == "lost"
            guard let sequence = try members.intIfAny(isLost ? .to : .originSeq, from: 1) else { return nil }
            return AgentPosition(agent, LineID(run, sequence), stream: try members.intIfAny(.originStream, from: 1))
        }
        guard let position = found?.value else { return nil }
        self = position
    }
}
