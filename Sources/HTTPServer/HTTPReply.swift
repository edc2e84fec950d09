package import Reactor

/// What becomes of a request.
package enum HTTPReply {
    case now(HTTPResponse)
    /// The connection waits, without a thread, until somebody answers it; the closure is called at once with what to
    /// answer by, and may do so itself or hand it to a task.
    case later((HTTPPromise) -> Void)
    /// The end of the connection instead of a response: a TCP reset, or an end of file.
    case closed(byReset: Bool)
}

/// A response; `Date`, `Connection` and what says how long the body is are the server's to add.
package struct HTTPResponse {
    package enum Body {
        case bytes([UInt8])
        /// Sent from where it is, however long it is: it stays valid and unchanged for as long as the owner lives, or
        /// for ever without one.
        case memory(UnsafeRawBufferPointer, owner: AnyObject?)
        case stream(HTTPStream)
        /// No body, but bytes of another protocol in both directions; for status 101 with an `Upgrade` field, to a
        /// request of HTTP/1.1. What the client has sent behind its request is the first to be read from the stream,
        /// which has to be closed.
        case upgrade((any ByteStream) -> Void)
        /// The connection itself, for whoever writes faster than a `stream` is asked: it gets the head of the response, which
        /// has no length and ends with the connection, writes that first, and has to close the connection. What the client
        /// sends still is for it to read.
        case connection((any WatchedStream, _ head: [UInt8]) -> Void)
    }

    /// From 100 to 999.
    package var status: Int
    /// One that HTTP does not allow, as a value of two lines, is left out.
    package var fields: [HTTPField]
    package var body: Body
    /// Whether it goes without what every answer of the server has besides its own fields.
    package var isWhole = false

    package init(status: Int, fields: [HTTPField] = [], body: Body = .bytes([])) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// A refusal of the server's own.
    static func refusal(_ status: Int, _ message: String, _ fields: [HTTPField] = []) -> HTTPResponse {
        HTTPResponse(
            status: status, fields: [HTTPField("Content-Type", "text/plain; charset=utf-8")] + fields,
            body: .bytes(Array("\(message)\n".utf8)))
    }
}

/// A body that its producer gives bit by bit. Nobody waits for it: it is asked for more when the connection has room,
/// and when it has nothing the connection is put aside until `resume`. Used on the server's loop, for one response.
package final class HTTPStream {
    /// What the producer came to.
    package enum Step {
        /// So many bytes are in the buffer, from 1.
        case bytes(Int)
        /// Nothing now; `resume` says that there is more.
        case nothingNow
        case end
        /// The end of the connection, so that the reader sees that something is missing; by a TCP reset if wanted.
        case broken(byReset: Bool)
    }

    /// Fills a buffer; the second parameter is how many bytes were given before.
    package typealias Producer = (UnsafeMutableRawBufferPointer, Int) -> Step

    /// How many bytes there will be; nil when that shows at the end (chunked, or to HTTP/1.0 until the connection
    /// closes).
    let size: Int?
    private var produce: Producer?
    /// Called once, when the response is over: with true after its last byte was sent, with false when the client left,
    /// the producer broke off, or the server stopped. It and the producer are let go of then.
    package var whenOver: ((Bool) -> Void)?
    weak var connection: HTTPConnection?

    /// - Parameter produce: called for a part of the body.
    package init(size: Int? = nil, produce: @escaping Producer) {
        self.size = size
        self.produce = produce
    }

    /// Has the producer be asked again after `nothingNow`; harmless at any other time.
    package func resume() { connection?.resumeStream() }

    func next(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Step {
        produce?(buffer, position) ?? .broken(byReset: false)
    }

    func finish(isComplete: Bool) {
        let whenOver = self.whenOver
        (self.whenOver, produce, connection) = (nil, nil, nil)
        whenOver?(isComplete)
    }
}

/// An answer that is still to come. Used on the server's loop.
package final class HTTPPromise {
    weak var connection: HTTPConnection?
    /// Called once when the client leaves, or the server stops, before there is an answer.
    package var whenLeft: (() -> Void)?

    init(of connection: HTTPConnection) { self.connection = connection }

    /// Answers; nothing happens when that was done before, or nobody waits for it any more.
    package func answer(_ reply: HTTPReply) {
        guard let connection else { return }
        self.connection = nil
        whenLeft = nil
        connection.keep(reply)
    }

    func leave() {
        let whenLeft = self.whenLeft
        (self.whenLeft, connection) = (nil, nil)
        whenLeft?()
    }
}
