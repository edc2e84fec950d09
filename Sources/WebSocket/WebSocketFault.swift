/// What a peer did that ends the connection (RFC 6455, section 7.1.7).
package struct WebSocketFault: Error, Sendable, Equatable {
    /// What the connection is to be closed with.
    package let closeCode: CloseCode
    /// What was wrong, as the end of a sentence about the peer: `sent a masked frame`.
    package let message: String

    package init(_ closeCode: CloseCode, _ message: String) {
        self.closeCode = closeCode
        self.message = message
    }
}

/// Which end of a connection we are: a client masks its frames and a server does not.
package enum Role: Sendable, Hashable, CaseIterable {
    case client, server
}

/// What a frame is (RFC 6455, section 5.2); the other ten numbers are reserved.
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
