/// Where an agent of a fleet is: its last line that was taken, and where a stream had that.
package struct AgentPosition: Sendable, Hashable {
    package var agent: String
    package var line: LineID
    /// The number of its message in the stream it came by; nil for what came by none.
    package var stream: Int?

    package init(_ agent: String, _ line: LineID, stream: Int? = nil) {
        (self.agent, self.line, self.stream) = (agent, line, stream)
    }
}

extension AgentPosition {
    /// Where a line of a fleet says that it came from; nil for any other line. A `lost` line comes from the last line it names.
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
