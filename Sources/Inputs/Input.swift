/// Something that brings events into a store.
package protocol Input: Sendable {
    /// Brings events until the task is cancelled, or until there will never be any more.
    func run() async throws(CancellationError)
    /// Whether `run` came to an end before everything there was had come.
    var isCutShort: Bool { get async }
}

extension Input {
    package var isCutShort: Bool { get async { false } }
}
