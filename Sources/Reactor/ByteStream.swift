internal import Glibc

/// A non-blocking stream of bytes in both directions. Not `Sendable`: it belongs to the actor that created it, on its
/// loop.
///
/// The kinds are `DescriptorStream` (pipes, terminals, files, sockets), `CurlStream` (TLS and proxies), those that can
/// only be read (`ReadOnlyStream`), and in tests `SimulatedStream` (memory, for virtual time). Try first, then wait: a
/// wait reports changes, so use it after `read` has returned nil, or `write` 0. Only one task may wait for each of the
/// three conditions at a time.
package protocol ByteStream: AnyObject {
    /// Writes as many of the bytes as there is room for now.
    ///
    /// - Returns: the number of bytes written, 0 when there is no room.
    /// - Throws: `SystemError`; `EPIPE` or `ECONNRESET` when nobody reads at the other end any more.
    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int

    /// Reads what is available now into a buffer, which must not be empty.
    ///
    /// - Returns: the number of bytes read, 0 at the end of the stream, nil when there is nothing yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int?

    /// Suspends until there may be room again, or the other end is gone.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitUntilWritable() async throws(CancellationError)

    /// Suspends until there may be something to read, or the stream has ended.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitUntilReadable() async throws(CancellationError)

    /// Suspends until the other end is gone; detects a pipe's reader that leaves before the next write. A TCP peer that
    /// closes looks like one that only stops sending: the next write finds out.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitUntilHungUp() async throws(CancellationError)

    /// Closes the stream; waiting tasks resume and get `EBADF` at their next call. Can be called repeatedly.
    func close()
}

/// A stream for a server of many clients, without a task for each.
package protocol WatchedStream: ByteStream {
    /// Calls `body` on the loop, instead of resuming tasks, whenever there may be more to read, room after a lack of
    /// it, or the other end is gone; at once, if it is gone already. Bytes that were available before are not reported.
    func whenReady(_ body: @escaping (Readiness) -> Void)
}

/// A stream that can only be read. Only reading it tells its end, unless a kind of it watches for that.
package protocol ReadOnlyStream: ByteStream {}

extension ReadOnlyStream {
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        throw SystemError(code: EBADF, call: "write")
    }

    package func waitUntilWritable() async throws(CancellationError) {}

    package func waitUntilHungUp() async throws(CancellationError) {}
}

/// Accepts streams.
package protocol Listener: AnyObject {
    /// Waits for the next stream that a client opens.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, `SystemError` (`EMFILE`, `EBADF` when closed).
    func accept() async throws -> any WatchedStream

    /// Returns the next stream that a client has opened already; nil when there is none.
    ///
    /// - Throws: `SystemError`, as `accept` does.
    func acceptNow() throws(SystemError) -> (any WatchedStream)?

    /// Stops listening; a waiting `accept` throws.
    func close()
}

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

    /// Suspends until there may be something to read, or the stream has ended; closes it when nothing comes for too
    /// long.
    ///
    /// - Parameter silence: how long is too long; nil for no limit.
    /// - Returns: false when it was too long.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func waitUntilReadable(
        atMost silence: Duration?, on loop: EventLoop, isolation: isolated (any Actor)? = #isolation
    ) async throws(CancellationError) -> Bool {
        var isSilent = false
        var timer: LoopTimer?
        if let silence {
            timer = loop.schedule(after: silence) {
                // After a long turn of the loop or a suspension of the machine, bytes may be waiting.
                timer = loop.schedule(after: .milliseconds(100)) {
                    isSilent = true
                    self.close()
                }
            }
        }
        defer { if let timer { loop.cancel(timer) } }
        try await waitUntilReadable()
        return !isSilent
    }
}
