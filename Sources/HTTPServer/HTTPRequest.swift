/// A request as it came, whole.
package struct HTTPRequest: Sendable {
    package internal(set) var method: String
    /// Path and query as they stand in the request line, percent-encoded: from the slash on, also when a whole address stands
    /// there. `*` to `OPTIONS` alone. Dots and encoded slashes are left as they are.
    package internal(set) var target: String
    /// The header fields in the order in which they came.
    package internal(set) var fields: [HTTPField]
    /// All of the body, chunks undone; at most `HTTPServer.Limits.body` bytes.
    package internal(set) var body: [UInt8]

    /// The target up to its question mark, as it was sent.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// What follows the question mark, as it was sent; empty without one.
    package var query: Substring { target[path.endIndex...].dropFirst() }

    /// The value of a field, whatever the case of its name; those of several, with commas between them (RFC 9110,
    /// section 5.3), so that a field that must be there once and is there twice equals nothing that is expected.
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
    /// Whether two texts are the same but for the case of ASCII letters.
    func isSame(as other: String) -> Bool {
        let lower = { (byte: UInt8) in (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        return utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) { lower($0) == lower($1) }
    }
}
