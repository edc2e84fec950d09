internal import Feed
internal import Reactor
internal import WebSocket

/// One connection: its stream, what was read of it, and what is to be sent. Belongs to its input.
final class WebSocketSession {
    let stream: any ByteStream
    var decoder: FrameDecoder
    /// What is read; of it, `pending` is not looked at yet.
    let buffer: ReadBuffer
    var pending = 0..<0
    var alive: KeepAlive
    /// Whether a frame was begun and not written to its end, so that no other can follow.
    var isInsideFrame = false

    /// A text message to begin with.
    var text: [UInt8]?
    /// A ping that is to be sent.
    var ping: [UInt8]?
    /// The answer to the last ping; earlier ones need none (RFC 6455, section 5.5.3).
    var pong: [UInt8]?
    /// Called when there is something to send.
    let outgoing: Wakeup
    /// Why the connection ends, once that is known.
    var ending: WebSocketEnding?

    init(_ stream: any ByteStream, of source: WebSocketSource, buffer: ReadBuffer, on loop: EventLoop) {
        self.stream = stream
        self.buffer = buffer
        decoder = FrameDecoder(role: .client, limit: source.request.maxBody)
        alive = KeepAlive(every: source.pingEvery, timeout: source.pingTimeout, at: loop.clock.now)
        outgoing = Wakeup(loop: loop)
    }

    /// The next frame to send; nil when there is none.
    func nextFrame() -> (opcode: Opcode, payload: [UInt8])? {
        if let text {
            self.text = nil
            return (.text, text)
        }
        if let pong {
            self.pong = nil
            return (.pong, pong)
        }
        if let ping {
            self.ping = nil
            return (.ping, ping)
        }
        return nil
    }
}
