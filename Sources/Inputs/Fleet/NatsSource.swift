package import Feed
package import Nats

/// A stream that many agents publish to; the last token of a subject is the agent's name.
package struct NatsSource: Sendable, Equatable {
    /// The description of the source that stands for the stream itself.
    package let description: SourceDescription
    package var servers: NatsServers
    package var stream: String
    /// The subjects to read; mostly a pattern.
    package var subject: String
    /// The address to show.
    package var target: String

    package init(
        _ name: String, at servers: NatsServers, stream: String, subject: String = NatsSubject.all, target: String
    ) {
        description = SourceDescription(name: name)
        self.servers = servers
        self.stream = stream
        self.subject = subject
        self.target = target
    }
}
