internal import CCrypto

/// The common parts of both sides of an opening handshake (RFC 6455, sections 1.3 and 4).
package enum Handshake {
    /// The server's answer to a client's key, in `Sec-WebSocket-Accept`.
    package static func accept(key: String) -> String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        SHA1(text, text.utf8.count, &digest)
        return Base64.encode(digest)
    }

    /// The client's key made of 16 random bytes, for `Sec-WebSocket-Key`.
    package static func key(of nonce: (UInt64, UInt64)) -> String {
        withUnsafeBytes(of: nonce) { Base64.encode($0) }
    }

    /// Whether a text is such a key.
    package static func isKey(_ text: String) -> Bool { Base64.decode(text.utf8)?.count == 16 }

    /// Whether a list of tokens contains one, regardless of case (RFC 9110, section 5.6.1).
    package static func list(_ text: String, names token: String) -> Bool {
        let wanted = token.lowercased()
        return text.split(separator: ",").contains { trimmed($0).lowercased() == wanted }
    }

    /// Whether a text can be sent as a field value or request target without breaking the line.
    package static func isOneLine(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
