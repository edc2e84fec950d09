/// The settings for publishing a feed to a stream.
package struct NatsSettings: Sendable, Equatable {
    package var servers: NatsServers
    package var stream = "CATWATCH"
    /// The minimum time between two messages while lines are few.
    package var every = Duration.milliseconds(200)
    /// Whether each line is its own message.
    package var sendsLines = false

    /// The longest name of a stream, in bytes; headers have room for it.
    package static let longestStream = 64

    package init(to servers: NatsServers) { self.servers = servers }
}
