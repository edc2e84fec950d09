package import Feed
internal import Reactor

/// Bytes of the feed that are written at once.
package enum FeedPiece: Sendable {
    /// Lines in the log's own memory.
    case span(LineSpan)
    case bytes([UInt8])

    /// Calls `body` with the bytes.
    package func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        switch self {
        case .span(let span): try span.withUnsafeBytes(body)
        case .bytes(let bytes): try bytes.span.bytes.withUnsafeBytes(body)
        }
    }

    /// The number of bytes.
    var count: Int {
        switch self {
        case .span(let span): span.count
        case .bytes(let bytes): bytes.count
        }
    }

    /// Writes the bytes after the first `done`, as far as there is room now.
    ///
    /// - Returns: the number of bytes written.
    func write(from done: Int, to stream: any ByteStream) throws(SystemError) -> Int {
        try withUnsafeBytes { bytes throws(SystemError) in
            try stream.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
        }
    }

    /// Writes all of it, and waits for room as often as needed.
    ///
    /// - Parameter wrote: called with the number of bytes after each write.
    /// - Throws: `SystemError`, or `CancellationError` when the task is cancelled; a part may have been written.
    func write(to stream: any ByteStream, wrote: (Int) -> Void = { _ in }) async throws {
        var done = 0
        while done < count {
            let taken = try write(from: done, to: stream)
            done += taken
            wrote(taken)
            if done < count { try await stream.waitUntilWritable() }
        }
    }
}
