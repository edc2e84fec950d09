package import Feed

/// The Fibonacci numbers as a source: how long this machine takes to compute them.
package struct FibonacciSource: Sendable, Equatable {
    /// Which lines a run publishes.
    package enum Emission: String, Sendable, CaseIterable {
        /// One line with the time it took.
        case summary
        /// One line for every number, and the summary.
        case pairs
    }

    package var description: SourceDescription
    /// The last number of a run, 0 to `PollRequest.mostN`.
    package var n: Int
    /// The time between runs; nil for one run at the start and then only on request.
    package var every: Duration?
    package var emission: Emission = .summary

    package init(_ description: SourceDescription, n: Int, every: Duration? = nil) {
        self.description = description
        self.description.takesN = true
        self.n = n
        self.every = every
    }
}
