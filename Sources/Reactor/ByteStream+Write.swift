extension ByteStream {
    /// Writes all bytes, waiting for room as often as needed.
    ///
    /// - Throws: `SystemError`, or `CancellationError` when the task is cancelled, which may leave a part written.
    package func write(all bytes: [UInt8]) async throws {
        var done = 0
        while done < bytes.count {
            done += try bytes.withUnsafeBytes { bytes throws(SystemError) in
                try write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
            }
            if done < bytes.count { try await waitUntilWritable() }
        }
    }
}
