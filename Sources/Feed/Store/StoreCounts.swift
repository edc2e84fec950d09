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
    /// Kept lines that were dropped because there were too many.
    package var keptDropped = 0
    /// Messages from agents that were refused because there were too many.
    package var refusedAgents = 0

    package init() {}
}
