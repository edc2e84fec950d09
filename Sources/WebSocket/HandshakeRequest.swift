/// A client's half of the opening handshake (RFC 6455, section 4.1).
package struct HandshakeRequest: Sendable {
    /// The host, and the port unless it is the scheme's default.
    package var authority: String
    /// Path and query.
    package var target: String
    /// From `Handshake.key`.
    package var key: String
    /// Offered in this order.
    package var subprotocols: [String] = []
    /// Whole lines, `Name: value`. A `Host` line replaces ours; the handshake's own fields cannot be replaced.
    package var fields: [String] = []

    package init(authority: String, target: String, key: String) {
        self.authority = authority
        self.target = target
        self.key = key
    }

    /// Returns the bytes to send.
    ///
    /// - Throws: `HandshakeFault` when a text has line breaks or control characters, or a field is the handshake's own.
    package func encoded() throws(HandshakeFault) -> [UInt8] {
        var lines = ["GET \(target) HTTP/1.1"]
        if !fields.contains(where: { Self.name(of: $0) == "host" }) { lines.append("Host: \(authority)") }
        lines += [
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13",
        ]
        if !subprotocols.isEmpty { lines.append("Sec-WebSocket-Protocol: \(subprotocols.joined(separator: ", "))") }
        for field in fields {
            let name = Self.name(of: field)
            guard !["upgrade", "connection"].contains(name), !name.hasPrefix("sec-websocket-") else {
                throw HandshakeFault(.request, "the header \(name) belongs to the handshake and cannot be set")
            }
            lines.append(field)
        }
        guard lines.allSatisfy(Handshake.isOneLine), !target.utf8.contains(0x20) else {
            throw HandshakeFault(.request, "the URL or a header has characters that cannot be sent")
        }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private static func name(of field: String) -> String {
        Handshake.trimmed(field.prefix { $0 != ":" }).lowercased()
    }
}

/// Why the handshake failed.
package struct HandshakeFault: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The request has text that cannot be sent.
        case request
        /// The answer does not conform to RFC 6455.
        case answer
        /// The answer's head is too large.
        case tooLarge
    }

    package let kind: Kind
    /// The fault; for an answer, the end of a sentence about the server: `sent …`.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
