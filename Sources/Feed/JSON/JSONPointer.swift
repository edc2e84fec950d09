/// A JSON Pointer (RFC 6901): the path of a value in a document.
package struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The pointer as written: `/data/0/breed`.
    package let text: String
    /// The whole document.
    package static let root = JSONPointer()

    /// The unescaped reference tokens, concatenated.
    let bytes: [UInt8]
    let steps: [Step]

    /// One reference token.
    struct Step: Sendable, Hashable {
        /// The token's offset in `bytes`.
        var offset: Int
        var length: Int
        /// The token as an array index; nil for `01` and `-`, which never count as one here.
        var index: Int?
    }

    private init() {
        text = ""
        bytes = []
        steps = []
    }

    /// Parses a pointer: empty for the whole document, or tokens that start with `/`, where `~0` is `~` and `~1` is
    /// `/`.
    ///
    /// - Throws: `.pointer` with a message that says what to write instead.
    package init(_ text: String) throws(Failure) {
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else {
            throw Failure(.pointer, "the JSON Pointer \"\(text)\" does not start with '/'; \"/\(text)\" may be meant")
        }
        var bytes: [UInt8] = []
        var steps: [Step] = []
        for token in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst() {
            let offset = bytes.count
            var rest = token
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "~") else {
                    bytes.append(byte)
                    continue
                }
                switch rest.popFirst() {
                case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
                default:
                    throw Failure(
                        .pointer, "the JSON Pointer \"\(text)\" has a '~' that is not ~0 (for ~) or ~1 (for /)")
                }
            }
            steps.append(Step(offset: offset, length: bytes.count - offset, index: Self.index(bytes[offset...])))
        }
        self.text = text
        self.bytes = bytes
        self.steps = steps
    }

    /// A pointer with these reference tokens, which are not escaped.
    init(tokens: [Bytes]) {
        var bytes: [UInt8] = []
        var steps: [Step] = []
        var text: [UInt8] = []
        for token in tokens {
            steps.append(Step(offset: bytes.count, length: token.count, index: Self.index(token)))
            bytes += token
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
        self.bytes = bytes
        self.steps = steps
    }

    package var description: String { text }

    package static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.bytes == right.bytes && left.steps == right.steps
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
        hasher.combine(steps)
    }

    /// The first `count` tokens as written.
    private func prefix(_ count: Int) -> String {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.prefix(count + 1).joined(separator: "/")
    }

    /// The pointer's target for messages: the pointer in quotes, or "the document".
    package var place: String { place(steps.count) }

    /// The target of the first `count` tokens, for messages.
    func place(_ count: Int) -> String { count == 0 ? "the document" : "\"\(prefix(count))\"" }

    /// The key or index that a step asks for, for messages.
    func name(of step: Int) -> String {
        let step = steps[step]
        return String(decoding: bytes[step.offset..<step.offset + step.length], as: UTF8.self)
    }

    /// Explains why the pointer has no value, from the number of steps that resolved and what they led to.
    func missing(resolved: Int, kind: JSONKind, elements: Int) -> String {
        let place = place(resolved)
        let name = name(of: resolved)
        let reason =
            switch kind {
            case .object: "\(place) has no key \"\(name)\""
            case .array where steps[resolved].index == nil: "\(place) is an array and \"\(name)\" is no index"
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

    /// Parses digits without a leading zero (RFC 6901 section 4).
    private static func index(_ token: ArraySlice<UInt8>) -> Int? {
        guard token.count == 1 || token.first != UInt8(ascii: "0"), token.first != UInt8(ascii: "-") else { return nil }
        return token.withUnsafeBufferPointer { JSONNumber.integer($0) }
    }
}
