package import Reactor

/// The source of a view's past lines: a journal.
package protocol PastFeed: Sendable {
    /// Sends a request to an agent's socket, and calls `receive` with the answer's bytes, its `bye` included, in pieces of
    /// any size, until `receive` returns false.
    ///
    /// - Throws: `PastFailure`, `CancellationError`.
    func read(_ request: PastRequest, receive: @escaping @Sendable ([UInt8]) async -> Bool) async throws
}

/// Requests past lines of a source (nil: of all) in a span of time: the newest 8 MiB of them, by order of arrival.
package struct PastRequest: Sendable, Equatable {
    package let source: String?
    /// Nil for the oldest line.
    package let from: Timestamp?
    /// Exclusive.
    package let until: Timestamp

    package init(source: String?, from: Timestamp?, until: Timestamp) {
        (self.source, self.from, self.until) = (source, from, until)
    }
}

/// Why past lines are unavailable; may contain text from outside.
package struct PastFailure: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
