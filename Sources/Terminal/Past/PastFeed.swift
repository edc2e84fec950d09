package import Reactor

/// The source of a series' past: a journal.
package protocol PastFeed: Sendable {
    /// Requests columns, and calls `receive` with the bytes of the answer as an agent sends it, its `bye` included, in pieces
    /// of any size, until `receive` returns false.
    ///
    /// - Throws: `PastFailure`, `CancellationError`.
    func read(_ request: PastRequest, receive: @escaping @Sendable ([UInt8]) async -> Bool) async throws
}

/// Requests the columns of a series in a span of time.
package struct PastRequest: Sendable, Equatable {
    package let series: String
    package let source: String
    /// The width of a column, in seconds.
    package let width: Int
    package let from: Timestamp
    /// Exclusive.
    package let until: Timestamp

    package init(series: String, source: String, width: Int, from: Timestamp, until: Timestamp) {
        (self.series, self.source, self.width, self.from, self.until) = (series, source, width, from, until)
    }
}

/// Why the past is unavailable; may contain text from outside.
package struct PastFailure: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
