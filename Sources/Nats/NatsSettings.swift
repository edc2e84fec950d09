/// How a feed is published to a stream.
package struct NatsSettings: Sendable, Equatable {
    package var servers: NatsServers
    package var stream = "CATWATCH"
    /// The least time between two messages, while lines are few.
    package var every = Duration.milliseconds(200)
    /// Whether each line is a message.
    package var sendsLines = false

    /// How long a stream's name may be: headers have room for so much.
    package static let longestStream = 64

    package init(to servers: NatsServers) { self.servers = servers }
}
