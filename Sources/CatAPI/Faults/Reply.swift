/// A response with the way to deliver it.
package struct Reply: Sendable, Hashable {
    package var answer: Answer
    /// How long to hold the response back after the request is complete; nil for no delay.
    package var delay: Duration?
    package var delivery: Delivery

    package init(_ answer: Answer, delay: Duration? = nil, delivery: Delivery = .whole) {
        self.answer = answer
        self.delay = delay
        self.delivery = delivery
    }
}

/// The way in which a response reaches its reader, or fails to.
package enum Delivery: Sendable, Hashable {
    /// Without a fault.
    case whole
    /// The first `sent` bytes of the body under a `Content-Length` for all of it, then the end of the connection.
    case truncated(sent: Int)
    /// The body, then its last byte again and again, chunked, for as long as somebody reads.
    case endless
    /// One byte of the body at a time.
    case drip(every: Duration)
    /// The first `after` bytes of the body and then a TCP reset; with 0, not even a status line.
    case reset(after: Int)
    /// The end of the connection instead of an answer.
    case closed
    /// No answer, on a connection that stays open.
    case silence
    /// The response's head, and then a WebSocket.
    case webSocket(AirQualityOrder)
}
