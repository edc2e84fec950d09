package import Reactor

/// The next item for a reader.
package enum Delivery: Sendable {
    /// Whole lines, in the log's own memory.
    case lines(LineSpan)
    /// `kept` lines.
    case kept([UInt8])
    /// A `gap` line that names the lines that the reader has missed.
    case gap([UInt8])
    /// A new `hello` and `stats`: from here on the feed is of another run, or its sources have changed.
    case greeting([UInt8])
    /// The `hello` and `stats` of a run that has ended. A `gap` follows, for the lines of it that the reader did not get.
    case ended([UInt8], run: String)
    /// Nothing new; `interrupt` was called.
    case interrupted
    /// The `bye` line, which is the last.
    case end([UInt8])

    /// The lines as they are written; nil for none.
    package var piece: LinePiece? {
        switch self {
        case .lines(let span): .span(span)
        case .kept(let lines), .gap(let lines), .greeting(let lines), .ended(let lines, _), .end(let lines):
            .bytes(lines)
        case .interrupted: nil
        }
    }
}

/// Lines to write at once: in the log's own memory, or made.
package enum LinePiece: Sendable {
    case span(LineSpan)
    case bytes([UInt8])

    package var count: Int {
        switch self {
        case .span(let span): span.count
        case .bytes(let bytes): bytes.count
        }
    }

    /// Calls `body` with the bytes.
    package func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        switch self {
        case .span(let span): try span.withUnsafeBytes(body)
        case .bytes(let bytes): try bytes.span.bytes.withUnsafeBytes(body)
        }
    }

    /// Writes all of it, and waits for room as often as needed.
    ///
    /// - Parameter wrote: called with the number of bytes after each write.
    /// - Throws: `SystemError`, or `CancellationError` when the task is cancelled; a part may have been written.
    package func write(to stream: any ByteStream, wrote: (Int) -> Void = { _ in }) async throws {
        var done = 0
        while done < count {
            let taken = try withUnsafeBytes { bytes throws(SystemError) in
                try stream.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
            }
            done += taken
            wrote(taken)
            if done < count { try await stream.waitUntilWritable() }
        }
    }
}
