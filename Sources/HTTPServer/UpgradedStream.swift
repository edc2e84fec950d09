internal import CMicroHTTPD
internal import Glibc
internal import Reactor

/// A connection that was upgraded from HTTP, or lent to a writer of a response. It counts as one of the server's
/// connections until it is closed, which the server does when it stops.
final class UpgradedStream: WatchedStream {
    private let stream: DescriptorStream
    /// Bytes that came after the request and were not read yet.
    private var received: ArraySlice<UInt8>
    private var whenClosed: ((UpgradedStream) -> Void)?

    /// - Parameters:
    ///   - socket: libmicrohttpd's socket, which is duplicated.
    ///   - received: the bytes that the client sent after its request.
    ///   - whenClosed: returns libmicrohttpd's own socket.
    init(
        _ socket: Int32, received: [UInt8], on loop: EventLoop, whenClosed: @escaping (UpgradedStream) -> Void
    ) throws(SystemError) {
        let second = try systemCall("fcntl") { cw_mhd_duplicate(socket) }
        stream = try DescriptorStream(owning: Descriptor(owning: second), on: loop)
        self.received = received[...]
        self.whenClosed = whenClosed
        // Fails for Unix sockets, which need no such option.
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard !received.isEmpty, whenClosed != nil else { return try stream.read(into: buffer) }
        let first = received.prefix(buffer.count)
        buffer.copyBytes(from: first)
        received = received.dropFirst(first.count)
        return first.count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int { try stream.write(bytes) }

    func waitUntilReadable() async throws(CancellationError) {
        if received.isEmpty { try await stream.waitUntilReadable() }
    }

    func waitUntilWritable() async throws(CancellationError) { try await stream.waitUntilWritable() }

    func waitUntilHungUp() async throws(CancellationError) { try await stream.waitUntilHungUp() }

    func whenReady(_ body: @escaping (Readiness) -> Void) { stream.whenReady(body) }

    func close() {
        guard let whenClosed else { return }
        self.whenClosed = nil
        stream.close()
        whenClosed(self)
    }
}
