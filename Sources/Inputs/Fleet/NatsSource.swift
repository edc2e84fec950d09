package import Feed
package import Nats

/// A stream that many agents publish to; each of them is called what the last token of its subject says.
package struct NatsSource: Sendable, Equatable {
    /// Of the source that speaks of the stream itself.
    package let description: SourceDescription
    package var servers: NatsServers
    package var stream: String
    /// Whose messages are read; a pattern mostly.
    package var subject: String
    /// For a person.
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
