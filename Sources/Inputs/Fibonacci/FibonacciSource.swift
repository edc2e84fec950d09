package import Feed

/// The Fibonacci numbers as a feed: how long this machine takes to add them up.
package struct FibonacciSource: Sendable, Equatable {
    /// What lines a run makes.
    package enum Emission: String, Sendable, CaseIterable {
        /// One with the time it took.
        case summary
        /// One for every number, and the summary.
        case pairs
    }

    package var description: SourceDescription
    /// Up to which number a run goes, 0 to `PollRequest.mostN`.
    package var n: Int
    /// The time from run to run; nil for runs on request only, after a first one.
    package var every: Duration?
    package var emission: Emission = .summary

    package init(_ description: SourceDescription, n: Int, every: Duration? = nil) {
        self.description = description
        self.description.takesN = true
        self.n = n
        self.every = every
    }
}
