package import Reactor

/// The message of a stream that lines of an agent's came by.
package struct StreamMessage: Sendable, Equatable {
    /// Whose lines they are.
    package var run: String
    /// Its number in the stream.
    package var sequence: Int
    /// When the stream got it.
    package var heard: Timestamp

    package init(run: String, sequence: Int, heard: Timestamp) {
        (self.run, self.sequence, self.heard) = (run, sequence, heard)
    }
}
