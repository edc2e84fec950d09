/// The counts of a store since its start.
package struct StoreCounts: Sendable, Equatable {
    /// Data events, which `--count` limits.
    package var data = 0
    /// Readers that are open now.
    package var readers = 0
    /// The number of gaps sent to readers that were overtaken.
    package var gaps = 0
    /// Readers that were closed because they stopped reading.
    package var stalledReaders = 0
    /// Values older than the history.
    package var late = 0
    /// Values from more than a window ahead of the clock.
    package var future = 0
    package var series = 0
    /// Times that a series could not be added.
    package var refusedSeries = 0
    /// Answers and errors that were not counted because their endpoint was refused.
    package var refusedEndpoints = 0
    /// Messages from agents that were refused because there were too many.
    package var refusedAgents = 0

    package init() {}
}

/// The state of an output.
package struct OutputState: Sendable, Equatable {
    package var name: String
    /// `ok`, or a description of its fault.
    package var state: String
    /// The number of lines that it has yet to take.
    package var behind: Int
    /// The last sequence number that survives the process; nil for an output that does not report it.
    package var durable: Int?

    /// The longest text, in bytes: a fault may be described in a server's words.
    static let longest = 1_024

    package init(name: String, state: String, behind: Int, durable: Int? = nil) {
        self.name = name
        self.state = state
        self.behind = behind
        self.durable = durable
    }

    /// The first outputs in another agent's line.
    static func of(_ agent: Line.Agent) -> [OutputState] {
        agent.outputs.prefix(64).map {
            OutputState(
                name: LineEncoder.cut($0.output, at: longest), state: LineEncoder.cut($0.state, at: longest),
                behind: $0.behind, durable: $0.durable)
        }
    }
}
