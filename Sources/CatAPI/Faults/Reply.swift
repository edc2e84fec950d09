/// An answer and the way in which it is to be delivered: what the server is told to do with a request.
package struct Reply: Sendable, Hashable {
    package var answer: Answer
    /// How long the answer is held back, counted from when the request was complete; nil to answer at once.
    package var delay: Duration?
    package var delivery: Delivery

    package init(_ answer: Answer, delay: Duration? = nil, delivery: Delivery = .whole) {
        self.answer = answer
        self.delay = delay
        self.delivery = delivery
    }
}

/// How an answer reaches its reader, or does not.
package enum Delivery: Sendable, Hashable {
    /// As it should be.
    case whole
    /// The first `sent` bytes of the body under a `Content-Length` for all of it, then the end of the connection.
    case truncated(sent: Int)
    /// The body again and again, chunked, for as long as somebody reads.
    case endless
    /// One byte of the body at a time.
    case drip(every: Duration)
    /// The first `after` bytes of the body and then a TCP reset; with none of them not even a status line.
    case reset(after: Int)
    /// The end of the connection instead of an answer.
    case closed
    /// Nothing, on a connection that stays open.
    case silence
    /// The answer's head, and then a WebSocket.
    case webSocket(AirQualityOrder)
}
