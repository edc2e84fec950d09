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
    /// When anything last came.
    var lastHeard: LoopInstant
    /// Whether the input does not read, since an output that must get everything is behind.
    var isHeld = false
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
    /// The ping whose answer is waited for, and when it was sent.
    var awaited: (payload: [UInt8], sent: LoopInstant)?
    /// Why the connection ends, once that is known.
    var ending: Ending?

    /// Why a connection ended, or never began.
    struct Ending: Error {
        var failure: Failure
        /// How long the server wants to be left alone.
        var retryAfter: Duration?
        /// What the peer is told; nil when there is nobody to tell.
        var closeCode: CloseCode?
        /// Whether the peer will close the connection itself, for which it is given a moment.
        var waitsForPeer = false

        init(_ code: Failure.Code, _ message: String) { failure = Failure(code, message) }
    }

    init(_ stream: any ByteStream, limit: Int, buffer: ReadBuffer, on loop: EventLoop) {
        self.stream = stream
        self.buffer = buffer
        decoder = FrameDecoder(role: .client, limit: limit)
        lastHeard = loop.clock.now
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
