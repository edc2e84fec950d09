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
        var scanner = JSONScanner(line, levelLimit: LineEncoder.mostLevels)
        guard (try? scanner.begin()) != nil else { return nil }
        let found = try? LineMembers.with(line, &scanner, isLine: true) { members throws(LineFault) -> AgentPosition? in
            guard let agent = try members.stringIfAny(.agent), let run = try members.stringIfAny(.originRun),
                AgentName.isValid(agent), RunName.isValid(run)
            else { return nil }
            let isLost = try members.stringIfAny(.type) == "lost"
            guard let sequence = try members.intIfAny(isLost ? .to : .originSeq, from: 1) else { return nil }
            return AgentPosition(agent, LineID(run, sequence), stream: try members.intIfAny(.originStream, from: 1))
        }
        guard let position = found.flatMap({ $0 }).flatMap({ $0 }) else { return nil }
        self = position
    }
}
