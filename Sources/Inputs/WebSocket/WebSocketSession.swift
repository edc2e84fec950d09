internal import Feed
package import Reactor
internal import WebSocket

/// One connection: its stream, the bytes read, and the frames to send. Belongs to its input.
final class WebSocketSession {
    let stream: any ByteStream
    var decoder: FrameDecoder
    /// The bytes read; those in `pending` are not handled yet.
    let buffer: ReadBuffer
    var pending = 0..<0
    var alive: KeepAlive
    /// Whether a frame is partly written, so that no other may follow.
    var isInsideFrame = false

    /// The text message to send first.
    var text: [UInt8]?
    /// The ping to send.
    var ping: [UInt8]?
    /// The answer to the last ping; earlier ones need none (RFC 6455, section 5.5.3).
    var pong: [UInt8]?
    /// Signalled when there is something to send.
    let outgoing: Wakeup

    init(_ stream: any ByteStream, of source: WebSocketSource, buffer: ReadBuffer, on loop: EventLoop) {
        self.stream = stream
        self.buffer = buffer
        decoder = FrameDecoder(role: .client, limit: source.request.maxBody)
        alive = KeepAlive(every: source.pingEvery, timeout: source.pingTimeout, at: loop.clock.now)
        outgoing = Wakeup(loop: loop)
    }

    /// The next frame to send; nil when there is none.
    func nextFrame() -> (opcode: Opcode, payload: [UInt8])? {
        if let text = text.take() { return (.text, text) }
        if let pong = pong.take() { return (.pong, pong) }
        return ping.take().map { (.ping, $0) }
    }
}

/// Opens byte streams to a URL: over the network (`CurlTransport`), or simulated in a test.
package protocol StreamTransport: Sendable {
    /// Connects, through proxies and with TLS as the request says, within the request's deadline. Nothing is sent or
    /// read.
    ///
    /// - Parameter request: its URL is `ws`, `wss`, `http` or `https`; headers, body and redirects do not matter.
    /// - Returns: the stream, which belongs to the caller's loop, and the duration of name resolution, connection and
    ///   TLS.
    /// - Throws: `HTTPFailure`; when the task is cancelled, one with the code `closed`.
    func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming)
}
