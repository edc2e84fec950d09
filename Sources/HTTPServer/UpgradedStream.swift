internal import CMicroHTTPD
internal import Reactor

/// A connection on which HTTP has ended. It counts as one of the server's until it is closed, which a server that stops
/// does itself.
final class UpgradedStream: ByteStream {
    private let stream: DescriptorStream
    /// What came behind the request and was not read yet.
    private var received: ArraySlice<UInt8>
    private var handle: OpaquePointer?
    private let whenClosed: (UpgradedStream) -> Void

    /// - Parameters:
    ///   - socket: libmicrohttpd's, which closes it when it gets `handle` back; a second descriptor of it is used here.
    ///   - received: what the client has sent behind its request.
    init(
        _ socket: Int32, _ handle: OpaquePointer, received: [UInt8], on loop: EventLoop,
        whenClosed: @escaping (UpgradedStream) -> Void
    ) throws(SystemError) {
        let second = try systemCall("fcntl") { cw_mhd_duplicate(socket) }
        stream = try DescriptorStream(owning: Descriptor(owning: second), on: loop)
        self.handle = handle
        self.received = received[...]
        self.whenClosed = whenClosed
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard !received.isEmpty, handle != nil else { return try stream.read(into: buffer) }
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

    func close() {
        guard let handle else { return }
        self.handle = nil
        stream.close()
        cw_mhd_close_upgraded(handle)
        whenClosed(self)
    }
}
