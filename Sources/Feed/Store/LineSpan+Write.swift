package import Reactor

extension LineSpan {
    /// Writes what is left of the lines behind the first `done` bytes, as much as there is room for now.
    ///
    /// - Returns: how many bytes were taken.
    package func write(from done: Int, to stream: any ByteStream) throws(SystemError) -> Int {
        try withUnsafeBytes { bytes throws(SystemError) in
            try stream.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
        }
    }

    /// Writes all of the lines, waiting for room as often as it takes.
    ///
    /// - Parameter wrote: gets how many bytes were taken, each time.
    /// - Throws: `SystemError`, or `CancellationError` when the task is cancelled, which may leave a part written.
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
