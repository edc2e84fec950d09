/// A reader of one store.
package struct ReaderID: Sendable, Hashable {
    let index: Int
}

/// Where a reader begins.
package enum ReaderStart: Sendable {
    /// With the oldest line there is.
    case oldest
    /// With what comes from now on.
    case newest
    /// Behind this number.
    case after(Int)
}

/// What a reader gets.
package enum Delivery: Sendable {
    /// Whole lines, in the log's own memory.
    case lines(LineSpan)
    /// A `gap` line that names what the reader has missed.
    case gap([UInt8])
    /// A new `hello` and `stats`: the feed is another run's from here on, or its sources have changed.
    case greeting([UInt8])
    /// Nothing new; somebody called `interrupt`.
    case interrupted
    /// The `bye` line; nothing comes after it.
    case end([UInt8])
}
