/// Something that brings events into a store.
package protocol Input: Sendable {
    /// Brings events until the task is cancelled, or until there will never be any more.
    func run() async throws(CancellationError)
}
