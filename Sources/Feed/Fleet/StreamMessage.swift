package import Reactor

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
