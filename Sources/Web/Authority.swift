internal import Glibc

/// The host and port of a URL or of `Host` (RFC 3986, section 3.2), without a user.
package struct Authority: Equatable {
    /// In lower case; an IPv6 address has its brackets.
    package let host: String
    package let port: UInt16?
    /// Whether it is an IPv4 or IPv6 address and not a name.
    package let isAddress: Bool

    /// - Returns: nil for text that is no authority, or too long for one.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 300 else { return nil }
        let bytes = Array(text.utf8)
        let isBracketed = bytes.first == UInt8(ascii: "[")
        let end =
            isBracketed
            ? bytes.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 }
            : bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
        guard let end, end > 0 else { return nil }
        let behind = bytes[end...]
        if behind.isEmpty {
            port = nil
        } else {
            let digits = behind.dropFirst()
            guard behind.first == UInt8(ascii: ":"), digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            // A colon without a port is allowed.
            port = UInt16(String(decoding: digits, as: UTF8.self))
            guard digits.isEmpty || port != nil else { return nil }
        }
        let name = String(decoding: bytes[..<end], as: UTF8.self)
        guard isBracketed || Self.isName(bytes[..<end]) else { return nil }
        host = name.lowercased()
        var address = in6_addr()
        isAddress =
            inet_pton(
                isBracketed ? AF_INET6 : AF_INET, isBracketed ? String(name.dropFirst().dropLast()) : name, &address)
            == 1
        guard isAddress || !isBracketed else { return nil }
    }

    private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy {
            0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 || $0 == UInt8(ascii: "-")
                || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
        }
    }
}
