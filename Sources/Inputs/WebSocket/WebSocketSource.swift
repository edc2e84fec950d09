package import Feed

/// A WebSocket with JSON messages as a source.
package struct WebSocketSource: Sendable, Equatable {
    package var description: SourceDescription
    /// `ws` or `wss`; its headers, credentials, certificates and deadline apply to the handshake, and `maxBody` to one
    /// message.
    package var request: HTTPRequest
    /// Offered in this order (RFC 6455 section 11.3.4).
    package var subprotocols: [String] = []
    /// A text message to send after the handshake.
    package var subscribe: String?
    /// The time between pings.
    package var pingEvery: Duration = .seconds(20)
    /// The longest time from a ping to a pong, or anything else.
    package var pingTimeout: Duration = .seconds(10)
    /// The longest pause after failures; nil for 30 s.
    package var retryMost: Duration?
    package var extraction: Extraction

    package init(_ description: SourceDescription, request: HTTPRequest, extraction: Extraction = Extraction()) {
        self.description = description
        self.request = request
        self.extraction = extraction
    }
}
