package import Reactor

/// Where a view gets lines of before: a journal.
package protocol PastFeed: Sendable {
    /// Has `take` called with what a reader of an agent's socket gets who asks for this, its `bye` included, in any pieces,
    /// until that gives false.
    ///
    /// - Throws: `PastFailure`, `CancellationError`.
    func read(_ request: PastRequest, take: @escaping @Sendable ([UInt8]) async -> Bool) async throws
}

/// Lines of before: those of a source (nil: of all) and a span of time, the newest 8 MiB of what there is.
package struct PastRequest: Sendable, Equatable {
    package let source: String?
    /// Nil for the oldest.
    package let from: Timestamp?
    /// Not included.
    package let until: Timestamp

    package init(source: String?, from: Timestamp?, until: Timestamp) {
        (self.source, self.from, self.until) = (source, from, until)
    }
}

/// Why there are no lines of before; it may hold text of others.
package struct PastFailure: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
