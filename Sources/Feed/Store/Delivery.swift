/// A reader of one store.
package struct ReaderID: Sendable, Hashable {
    let index: Int
}

/// The position at which a reader starts.
package enum ReaderStart: Sendable {
    /// At the oldest line in the log.
    case oldest
    /// At the next line that is added.
    case newest
    /// After this sequence number.
    case after(Int)
}

/// The next item for a reader.
package enum Delivery: Sendable {
    /// Whole lines, in the log's own memory.
    case lines(LineSpan)
    /// A `gap` line that names the lines that the reader has missed.
    case gap([UInt8])
    /// A new `hello` and `stats`: from here on the feed is of another run, or its sources have changed.
    case greeting([UInt8])
    /// Nothing new; `interrupt` was called.
    case interrupted
    /// The `bye` line, which is the last.
    case end([UInt8])
}
