package import Reactor

extension LineSpan {
    /// Writes the lines after the first `done` bytes, as far as there is room now.
    ///
    /// - Returns: the number of bytes written.
    package func write(from done: Int, to stream: any ByteStream) throws(SystemError) -> Int {
        try withUnsafeBytes { bytes throws(SystemError) in
            try stream.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
        }
    }

    /// Writes all of the lines, and waits for room as often as needed.
    ///
    /// - Parameter wrote: called with the number of bytes after each write.
    /// - Throws: `SystemError`, or `CancellationError` when the task is cancelled; a part may have been written.
    package func write(to stream: any ByteStream, wrote: (Int) -> Void = { _ in }) async throws {
        var done = 0
        while done < count {
            let taken = try write(from: done, to: stream)
            done += taken
            wrote(taken)
            if done < count { try await stream.waitUntilWritable() }
        }
    }
}
