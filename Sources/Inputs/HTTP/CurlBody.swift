internal import CCurl
internal import Glibc
internal import Reactor

/// The body of an answer, as it comes. libcurl pauses the transfer while bytes wait to be read.
final class CurlBody: ReadOnlyStream {
    private let transport: CurlTransport
    private var handle: EasyHandle?
    private let arrival: Wakeup

    /// - Parameter arrival: that of the handle.
    init(_ handle: EasyHandle, arrival: Wakeup, of transport: CurlTransport) {
        (self.handle, self.arrival, self.transport) = (handle, arrival, transport)
    }

    /// No task waits here any more; off the loop, nothing can be closed safely.
    deinit { if transport.loop.isCurrent { close() } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard let handle else { throw SystemError(code: EBADF, call: "read") }
        let count = handle.read(into: buffer)
        if count > 0 {
            transport.resume(handle)
            return count
        }
        guard let result = handle.result else { return nil }
        // The system's error may be that of an address that was tried first.
        guard result == CURLE_OK else {
            throw result == CURLE_RECV_ERROR
                ? handle.failure("recv", ECONNRESET) : SystemError(code: ECONNRESET, call: "recv")
        }
        return 0
    }

    func waitUntilReadable() async throws(CancellationError) { try await arrival.wait() }

    func close() {
        if let handle = handle.take() { transport.end(handle, nil) }
    }
}
