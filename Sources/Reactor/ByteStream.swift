/// Bytes to and from somewhere, never blocking. Not `Sendable`: it belongs to the actor that made it, on its loop.
///
/// The kinds are `DescriptorStream` (pipes, terminals, files, sockets), `CurlStream` (TLS and proxies), and in tests
/// `SimulatedStream` (memory, for virtual time).
/// Try, then wait: a wait reports changes, so it is for after `read` has returned nil, or `write` 0. One task waits for
/// each of the three conditions at a time.
package protocol ByteStream: AnyObject {
    /// Takes as many of the bytes as there is room for now.
    ///
    /// - Returns: how many were taken, 0 when there is no room.
    /// - Throws: `SystemError`; `EPIPE` or `ECONNRESET` when nobody reads at the other end any more.
    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int

    /// Reads what is there now, into a buffer that is not empty.
    ///
    /// - Returns: how many bytes were read, 0 at the end of the stream, nil when there is nothing yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int?

    /// Suspends until there may be room again, or the other end is gone.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitUntilWritable() async throws(CancellationError)

    /// Suspends until there may be something to read, or the stream has ended.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitUntilReadable() async throws(CancellationError)

    /// Suspends until the other end is gone; a pipe's reader that leaves is noticed before the next write. A TCP peer that
    /// closes looks like one that has only said all it had to say: the next write finds out.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitUntilHungUp() async throws(CancellationError)

    /// Closes it; waiting tasks come back and see `EBADF` at their next call. Harmless when repeated.
    func close()
}

/// A stream for whoever serves many, without a task for each.
package protocol WatchedStream: ByteStream {
    /// Has `body` called on the loop, instead of tasks, whenever there may be something to read again, or room after a lack
    /// of it, or the other end is gone; at once, if it is gone already. What could be read before is not told of.
    func whenReady(_ body: @escaping (Readiness) -> Void)
}

/// Where streams come in.
package protocol Listener: AnyObject {
    /// The next stream that somebody opened.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, `SystemError` (`EMFILE`, `EBADF` when closed).
    func accept() async throws -> any WatchedStream

    /// The next stream that somebody has opened already; nil when there is none.
    ///
    /// - Throws: `SystemError`, as `accept` does.
    func acceptNow() throws(SystemError) -> (any WatchedStream)?

    /// Stops listening; a waiting `accept` throws.
    func close()
}
