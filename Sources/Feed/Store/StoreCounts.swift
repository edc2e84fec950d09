/// What a store has counted since its start.
package struct StoreCounts: Sendable, Equatable {
    /// Data events, which `--count` looks at.
    package var data = 0
    /// Readers that are open now.
    package var readers = 0
    /// Times that a reader was overtaken.
    package var gaps = 0
    /// Readers that were closed because they took nothing.
    package var stalledReaders = 0
    /// Values older than the history.
    package var late = 0
    /// Values from more than a window ahead of the clock.
    package var future = 0
    package var series = 0
    /// Times that a series could not be added.
    package var refusedSeries = 0
    /// Times that an answer or an error had no endpoint to be counted at, as there were too many.
    package var refusedEndpoints = 0
    /// Times that something came of an agent that is not read, as there were too many.
    package var refusedAgents = 0

    package init() {}
}

/// How an output is doing.
package struct OutputState: Sendable, Equatable {
    package var name: String
    /// `ok`, or what is wrong.
    package var state: String
    /// How many lines it has not taken yet.
    package var behind: Int
    /// Up to which number lines outlive the process; nil for an output that does not say.
    package var durable: Int?

    /// How long its texts get, in bytes: what is wrong may be said in a server's words.
    static let longest = 1_024

    package init(name: String, state: String, behind: Int, durable: Int? = nil) {
        self.name = name
        self.state = state
        self.behind = behind
        self.durable = durable
    }

    /// The first of those that another agent's line has.
    static func of(_ agent: Line.Agent) -> [OutputState] {
        agent.outputs.prefix(64).map {
            OutputState(
                name: LineEncoder.cut($0.output, at: longest), state: LineEncoder.cut($0.state, at: longest),
                behind: $0.behind, durable: $0.durable)
        }
    }
}
