package import Feed

/// A WebSocket whose messages are JSON, as a feed.
package struct WebSocketSource: Sendable, Equatable {
    package var description: SourceDescription
    /// `ws` or `wss`; its headers, credentials, certificates and deadline hold for the handshake, and `maxBody` for one
    /// message.
    package var request: HTTPRequest
    /// Offered in this order (RFC 6455 section 11.3.4).
    package var subprotocols: [String] = []
    /// A text message to send as soon as it is open.
    package var subscribe: String?
    /// The time between pings.
    package var pingEvery: Duration = .seconds(20)
    /// How long a pong, or anything else, may take to come after a ping.
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
