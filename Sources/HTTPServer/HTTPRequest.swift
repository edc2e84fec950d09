/// A complete request.
package struct HTTPRequest: Sendable {
    package internal(set) var method: String
    /// Path and query from the request line, percent-encoded: from the slash on, even if it had a full URL. `*` only
    /// with `OPTIONS`. Dots and encoded slashes are unchanged.
    package internal(set) var target: String
    /// The header fields in the order in which they came.
    package internal(set) var fields: [HTTPField]
    /// The whole body, without chunks; at most `HTTPServer.Limits.body` bytes.
    package internal(set) var body: [UInt8]

    /// The target up to its question mark, still encoded.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// The part behind the question mark, still encoded; empty without one.
    package var query: Substring { target[path.endIndex...].dropFirst() }

    /// The value of a field, regardless of the name's case; several values are joined by commas (RFC 9110, section
    /// 5.3), so a single-valued field that is sent twice matches nothing expected.
    package subscript(name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    func values(of name: String) -> [String] { fields.filter { $0.name.isSame(as: name) }.map(\.value) }
}

/// A header field.
package struct HTTPField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension String {
    /// Whether two texts are equal, ignoring the case of ASCII letters.
    func isSame(as other: String) -> Bool {
        let lower = { (byte: UInt8) in (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        return utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) { lower($0) == lower($1) }
    }
}
