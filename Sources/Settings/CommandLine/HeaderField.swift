internal import Reactor

/// A header field sent with every request; its value is a secret and never printed.
package struct HeaderField: Sendable, Hashable {
    package let name: String
    package let value: String

    /// Reads `Name: value` (RFC 9110, 5.1 and 5.5); blanks around the value are dropped.
    ///
    /// - Throws: `UsageError` when the name is not a token or the value would break the request apart.
    package init(_ text: String) throws(UsageError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw UsageError("a header is written 'Name: value'; there is no colon")
        }
        let name = text[..<colon]
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
            throw UsageError("a header's name is letters, digits and hyphens before the colon")
        }
        var value = text.utf8[text.utf8.index(after: colon)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw UsageError("the value of header \(UsageError.quoted(name)) holds a line break or control character")
        }
        self.name = String(name)
        self.value = String(Substring(value))
    }

    /// The `Authorization` header for a bearer token (RFC 6750, 2.1); white space around the token is dropped.
    ///
    /// - Parameter origin: the token's origin, for the message.
    /// - Throws: `UsageError` when the token is empty or holds a byte that tokens cannot have.
    package init(bearer token: some StringProtocol, from origin: String) throws(UsageError) {
        let token = token.utf8.split(whereSeparator: { [0x20, 0x09, 0x0A, 0x0D].contains($0) })
        guard token.count == 1, token[0].allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UsageError(token.isEmpty ? "\(origin) holds no token" : "\(origin) holds something that is no token")
        }
        name = "Authorization"
        value = "Bearer " + String(decoding: token[0], as: UTF8.self)
    }

    /// Whether a token may hold the byte (RFC 9110, 5.6.2).
    static func isTokenByte(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte) }
}

extension HeaderField: CustomStringConvertible, CustomReflectable {
    /// The header without its value.
    package var description: String { "\(name): …" }

    /// Holds only the description, so that `dump` and a failed `#expect` show no secret either.
    package var customMirror: Mirror { Mirror(self, children: ["field": description]) }
}
