/// A JSON Pointer (RFC 6901): the path of a value in a document.
package struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The pointer as written: `/data/0/breed`.
    package let text: String
    /// The unescaped reference tokens.
    let tokens: [Bytes]

    /// The whole document.
    package static let root = JSONPointer(tokens: [])

    /// The reason why a text is not a pointer.
    package enum Fault: Error {
        /// It is not empty and does not start with `/`.
        case noSlash
        /// A `~` is neither `~0` nor `~1`.
        case escape
    }

    /// Parses a pointer: empty for the whole document, or tokens that start with `/`, where `~0` is `~` and `~1` is
    /// `/`.
    package init(_ text: String) throws(Fault) {
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { throw .noSlash }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        self.text = text
        tokens = try parts.map { (part) throws(Fault) in try Self.unescape(part) }
    }

    private static func unescape(_ part: Substring.UTF8View) throws(Fault) -> Bytes {
        var token = Bytes()
        var rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                token.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
            default: throw .escape
            }
        }
        return token
    }

    /// A pointer with these reference tokens, which are not escaped.
    init(tokens: [Bytes]) {
        var text: [UInt8] = []
        for token in tokens {
            text.append(UInt8(ascii: "/"))
            for byte in token {
                switch byte {
                case UInt8(ascii: "~"): text += "~0".utf8
                case UInt8(ascii: "/"): text += "~1".utf8
                default: text.append(byte)
                }
            }
        }
        self.text = String(decoding: text, as: UTF8.self)
        self.tokens = tokens
    }

    package var description: String { text }

    /// The pointer's target for messages: the pointer in quotes, or "the document".
    package var place: String { tokens.isEmpty ? "the document" : "\"\(text)\"" }

    /// The key or index that a step asks for, for messages.
    func name(of step: Int) -> String { String(decoding: tokens[step], as: UTF8.self) }

    /// Explains why the pointer has no value, from the number of steps that resolved and what they led to.
    func missing(resolved: Int, kind: JSONKind, elements: Int) -> String {
        let place = JSONPointer(tokens: Array(tokens.prefix(resolved))).place
        let name = name(of: resolved)
        let reason =
            switch kind {
            case .object: "\(place) has no key \"\(name)\""
            case .array where Self.index(tokens[resolved]) == nil: "\(place) is an array and \"\(name)\" is no index"
            case .array:
                "\(place) has \(elements) element\(elements == 1 ? "" : "s") and no index \(name), counted from 0"
            default: "\(place) is \(kind) and has nothing in it"
            }
        return "\"\(self)\" not found: \(reason)"
    }

    /// The failure for a target that is a number outside the range of a double.
    package func outOfRange(_ token: Bytes) -> Failure {
        let text = String(decoding: token.prefix(40), as: UTF8.self) + (token.count > 40 ? "…" : "")
        return Failure(.pointer, "\(place) is \(text), which is out of the range of a double")
    }

    /// A token as an array index: digits without a leading zero (RFC 6901 section 4). Nil for `01` and `-`.
    static func index(_ token: Bytes) -> Int? {
        guard token.count == 1 || token.first != UInt8(ascii: "0"), token.first != UInt8(ascii: "-") else { return nil }
        return token.withUnsafeBufferPointer { JSONNumber.integer($0) }
    }
}
