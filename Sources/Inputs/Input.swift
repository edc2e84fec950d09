/// A producer of events for a store.
package protocol Input: Sendable {
    /// Produces events until the task is cancelled or there will never be more.
    func run() async throws(CancellationError)
    /// Whether `run` ended before all events had been read.
    var isCutShort: Bool { get async }
}

extension Input {
    package var isCutShort: Bool { get async { false } }
}
