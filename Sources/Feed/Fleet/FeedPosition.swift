/// Where an agent of a fleet is: the last line of a run that was taken, and where a stream had it.
package struct FeedPosition: Sendable, Equatable {
    package var agent: String
    package var place: FeedPlace
    /// The number of its message in the stream it came by; nil for what came by none.
    package var stream: Int?

    package init(_ agent: String, _ place: FeedPlace, stream: Int? = nil) {
        (self.agent, self.place, self.stream) = (agent, place, stream)
    }
}

extension FeedPosition {
    /// Where a line of a fleet says that it came from; nil for any other line. One that names lines which are missing is as good
    /// as the last of these.
    package init?(_ line: UnsafeBufferPointer<UInt8>) {
        var scanner = JSONScanner(line, levelLimit: LineEncoder.mostLevels)
        guard (try? scanner.begin()) != nil else { return nil }
        let found = try? LineMembers.with(line, &scanner, isLine: true) { members throws(LineFault) -> FeedPosition? in
            guard let agent = try members.stringIfAny(.agent), let run = try members.stringIfAny(.originRun),
                AgentName.isValid(agent), RunName.isValid(run)
            else { return nil }
            let isLost = try members.stringIfAny(.type) == "lost"
            guard let sequence = try members.intIfAny(isLost ? .to : .originSeq, from: 1) else { return nil }
            return FeedPosition(agent, FeedPlace(run, sequence), stream: try members.intIfAny(.originStream, from: 1))
        }
        guard let position = found.flatMap({ $0 }).flatMap({ $0 }) else { return nil }
        self = position
    }
}
