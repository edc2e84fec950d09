package import Reactor

/// How to answer a request.
package enum HTTPReply {
    case now(HTTPResponse)
    /// The connection waits, without a thread, for a later answer; the closure is called at once with a promise, and
    /// may answer it itself or hand it to a task.
    case later((HTTPPromise) -> Void)
    /// Closes the connection without a response: by a TCP reset, or an end of file.
    case closed(byReset: Bool)
}

/// A response; the server adds `Date`, `Connection` and the fields about the body's length.
package struct HTTPResponse {
    package enum Body {
        case bytes([UInt8])
        /// Sent from this memory without a copy: it must stay valid and unchanged as long as the owner lives, or for
        /// ever without one.
        case memory(UnsafeRawBufferPointer, owner: AnyObject?)
        case stream(HTTPStream)
        /// No body, but bytes of another protocol in both directions; for status 101 with an `Upgrade` field, to an
        /// HTTP/1.1 request. The stream starts with the bytes that the client sent after its request; the receiver must
        /// close it.
        case upgrade((any ByteStream) -> Void)
        /// The connection itself, for a writer that is faster than a polled `stream`: it gets the head of the response,
        /// which has no length and ends with the connection, must write that first, and must close the connection. It
        /// also reads what the client still sends.
        case connection((any WatchedStream, _ head: [UInt8]) -> Void)
    }

    /// From 100 to 999.
    package var status: Int
    /// Fields that HTTP does not allow, such as values of two lines, are dropped.
    package var fields: [HTTPField]
    package var body: Body
    /// Whether the server omits the fields that it adds to every answer.
    package var isWhole = false

    package init(status: Int, fields: [HTTPField] = [], body: Body = .bytes([])) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// A line of plain text.
    package static func text(_ status: Int, _ message: String, _ fields: [HTTPField] = []) -> HTTPResponse {
        HTTPResponse(
            status: status, fields: [HTTPField("Content-Type", "text/plain; charset=utf-8")] + fields,
            body: .bytes(Array("\(message)\n".utf8)))
    }
}

/// A body that its producer delivers in pieces, without blocking: it is asked for more when the connection has room,
/// and after `nothingNow` the connection is suspended until `resume`. Used on the server's loop, for one response.
package final class HTTPStream {
    /// A result of the producer.
    package enum Step {
        /// This many bytes are in the buffer, at least 1.
        case bytes(Int)
        /// Nothing now; the producer calls `resume` when there is more.
        case nothingNow
        case end
        /// The connection ends, so that the reader notices the missing part; by a TCP reset if requested.
        case broken(byReset: Bool)
    }

    /// Fills a buffer; the second parameter is the number of bytes delivered before.
    package typealias Producer = (UnsafeMutableRawBufferPointer, Int) -> Step

    /// The body's length in bytes; nil when only its end shows it (chunked, or in HTTP/1.0 until the connection
    /// closes).
    let size: Int?
    private var produce: Producer?
    /// Called once when the response is over: with true after its last byte was sent, with false when the client left,
    /// the producer broke off, or the server stopped. It and the producer are then released.
    package var whenOver: ((Bool) -> Void)?
    weak var connection: HTTPConnection?

    /// - Parameter produce: called for each piece of the body.
    package init(size: Int? = nil, produce: @escaping Producer) {
        self.size = size
        self.produce = produce
    }

    /// Asks the producer again after `nothingNow`; harmless at any other time.
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

/// A pending answer. Used on the server's loop.
package final class HTTPPromise {
    weak var connection: HTTPConnection?
    /// Called once when the client leaves, or the server stops, before there is an answer.
    package var whenLeft: (() -> Void)?

    init(of connection: HTTPConnection) { self.connection = connection }

    /// Answers; does nothing when already answered, or when the client is gone.
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
