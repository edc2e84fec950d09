/// A peer's violation that ends the connection (RFC 6455, section 7.1.7).
package struct WebSocketFault: Error, Sendable, Equatable {
    /// The code to close the connection with.
    package let closeCode: CloseCode
    /// The fault, as the end of a sentence about the peer: `sent a masked frame`.
    package let message: String

    package init(_ closeCode: CloseCode, _ message: String) {
        self.closeCode = closeCode
        self.message = message
    }
}

/// Our end of a connection: a client masks its frames and a server does not.
package enum Role: Sendable, Hashable, CaseIterable {
    case client, server
}

/// The type of a frame (RFC 6455, section 5.2); the other ten values are reserved.
package enum Opcode: UInt8, Sendable, CaseIterable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    /// Control frames are short, never fragmented, and may come between the fragments of a message.
    package var isControl: Bool { rawValue >= 8 }
}
