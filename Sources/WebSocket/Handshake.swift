/// The common parts of both sides of an opening handshake (RFC 6455, sections 1.3 and 4).
package enum Handshake {
    /// The server's answer to a client's key, in `Sec-WebSocket-Accept`.
    package static func accept(key: String) -> String {
        Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// The client's key made of 16 random bytes, for `Sec-WebSocket-Key`.
    package static func key(of nonce: (UInt64, UInt64)) -> String {
        withUnsafeBytes(of: nonce) { Base64.encode($0) }
    }

    /// Whether a text can be such a key: 22 characters of Base64 and two of padding.
    package static func isKey(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let isDigit = { (byte: UInt8) in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): true
            default: false
            }
        }
        return bytes.count == 24 && bytes[..<22].allSatisfy(isDigit) && bytes[22...].elementsEqual("==".utf8)
    }

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
