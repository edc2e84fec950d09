internal import CMicroHTTPD
internal import Glibc
internal import Reactor

/// One request and its reply, from the request line until libmicrohttpd says that it is over.
final class Exchange {
    /// Path and query as they were sent.
    let target: String
    let connection: OpaquePointer
    unowned let daemon: HTTPDaemon
    /// Whether the header fields were seen: the handler is called once for them before it is called for the answer.
    var isUnderWay = false
    /// What is to be answered, and when the request was complete; nil until then.
    var reply: Reply?
    var completed = LoopInstant(nanoseconds: 0)
    /// When the next byte of a drip is due.
    private var nextByte = LoopInstant(nanoseconds: 0)

    init(target: String, connection: OpaquePointer, daemon: HTTPDaemon) {
        self.target = target
        self.connection = connection
        self.daemon = daemon
    }

    /// Ends a body early: the connection is closed, so that the reader sees that something is missing.
    private static let endWithError = -2  // MHD_CONTENT_READER_END_WITH_ERROR, a macro with a cast

    /// The next bytes of a body that is not simply sent.
    ///
    /// - Parameters:
    ///   - position: bytes given so far.
    ///   - buffer: takes `room` bytes.
    /// - Returns: how many bytes were written, 0 when the connection was suspended, or `endWithError`.
    func read(at position: Int, into buffer: UnsafeMutableRawPointer, room: Int) -> Int {
        guard let reply, !daemon.isStopping else { return Self.endWithError }
        let body = reply.answer.body
        switch reply.delivery {
        case .truncated(let sent):
            guard position < sent else { return Self.endWithError }
            return copy(body[position..<min(sent, position + room)], to: buffer)
        case .reset(let after):
            guard position < after else {
                _ = cw_mhd_reset(connection)
                return Self.endWithError
            }
            return copy(body[position..<min(after, position + room)], to: buffer)
        case .endless:
            guard position >= body.count else {
                return copy(body[position..<min(body.count, position + room)], to: buffer)
            }
            memset(buffer, Int32(body.last ?? 0), room)
            return room
        case .drip(let every):
            let now = daemon.loop.clock.now
            guard now >= nextByte else {
                daemon.suspend(self, until: nextByte)
                return 0
            }
            nextByte = now.advanced(by: every)
            return copy(body[position...position], to: buffer)
        case .whole, .closed, .silence, .webSocket:
            return Self.endWithError
        }
    }

    /// The caller has cut `bytes` to what the buffer has room for.
    private func copy(_ bytes: ArraySlice<UInt8>, to buffer: UnsafeMutableRawPointer) -> Int {
        bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return 0 }
            buffer.copyMemory(from: start, byteCount: source.count)
            return source.count
        }
    }
}
