internal import Feed

/// A value in a configuration, and its place.
struct ConfigNode: Sendable {
    enum Value: Sendable {
        case object([Member])
        case array([ConfigNode])
        case string(String)
        /// The number as it was written.
        case number(String)
        case boolean(Bool)
        case null
    }

    /// A name and its value.
    struct Member: Sendable {
        let name: String
        /// The offset of the name's opening quote.
        let offset: Int
        let value: ConfigNode
    }

    let value: Value
    /// The bytes of the value in the text.
    let range: Range<Int>

    var offset: Int { range.lowerBound }

    /// The kind of value with its article, for messages.
    var kind: String {
        switch value {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .boolean(let flag): flag ? "true" : "false"
        case .null: "null"
        }
    }
}

extension ConfigNode {
    /// The deepest allowed nesting of arrays and objects.
    static let maximumDepth = 64

    /// The reason why a text is not JSON, and where.
    struct Fault: Error, Sendable, Equatable {
        let offset: Int
        let message: String
    }

    /// Parses JSON with comments and trailing commas; everything else follows RFC 8259.
    ///
    /// - Throws: the first fault.
    static func parse(_ text: ConfigText) throws(Fault) -> ConfigNode {
        if let offset = text.firstInvalidByte() { throw Fault(offset: offset, message: "the file is not UTF-8 here") }
        var bytes = text.bytes
        let comment = CommentBlanker.blank(&bytes)
        do throws(JSONFault) {
            try JSONMinifier.validate(bytes[...])
        } catch {
            if let comment, error.offset >= comment { throw endless(comment) }
            throw Fault(offset: error.offset, message: "not JSON: \(error.reason)")
        }
        if let comment { throw endless(comment) }
        return try bytes.withUnsafeBufferPointer { (bytes) throws(Fault) in
            var parser = ConfigParser(bytes: bytes)
            return try parser.value(depth: 0)
        }
    }

    private static func endless(_ offset: Int) -> Fault { Fault(offset: offset, message: "a comment that has no */") }
}

/// Builds the tree of a text that was validated before.
private struct ConfigParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Recurses at most `maximumDepth` levels deep.
    mutating func value(depth: Int) throws(ConfigNode.Fault) -> ConfigNode {
        skip()
        let start = position
        let value: ConfigNode.Value
        switch byte {
        case UInt8(ascii: "{"):
            try check(depth)
            var members: [ConfigNode.Member] = []
            position += 1
            while more(until: UInt8(ascii: "}")) {
                let offset = position
                let name = string()
                skip()
                position += 1  // the colon
                members.append(.init(name: name, offset: offset, value: try self.value(depth: depth + 1)))
            }
            value = .object(members)
        case UInt8(ascii: "["):
            try check(depth)
            var elements: [ConfigNode] = []
            position += 1
            while more(until: UInt8(ascii: "]")) { elements.append(try self.value(depth: depth + 1)) }
            value = .array(elements)
        case UInt8(ascii: "\""): value = .string(string())
        case UInt8(ascii: "t"): value = literal(4, .boolean(true))
        case UInt8(ascii: "f"): value = literal(5, .boolean(false))
        case UInt8(ascii: "n"): value = literal(4, .null)
        default: value = number()
        }
        return ConfigNode(value: value, range: start..<position)
    }

    /// The current byte; 0 at the end, which a validated text never reaches inside a value.
    private var byte: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private func check(_ depth: Int) throws(ConfigNode.Fault) {
        guard depth < ConfigNode.maximumDepth else {
            throw .init(offset: position, message: "nested deeper than \(ConfigNode.maximumDepth) levels")
        }
    }

    private mutating func skip() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    /// Steps over a comma to the next element; returns false after stepping over the closing bracket.
    private mutating func more(until end: UInt8) -> Bool {
        skip()
        if byte == UInt8(ascii: ",") {
            position += 1
            skip()
        }
        guard position < bytes.count, byte != end else {
            position = min(position + 1, bytes.count)
            return false
        }
        return true
    }

    private mutating func string() -> String {
        position += 1
        let start = min(position, bytes.count)
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = min(position, bytes.count)
        position = min(position + 1, bytes.count)
        return JSONText.string(UnsafeBufferPointer(rebasing: bytes[start..<end]))
    }

    private mutating func number() -> ConfigNode.Value {
        let start = position
        while byte.isDecimalDigit || "-+.eE".utf8.contains(byte) { position += 1 }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func literal(_ length: Int, _ value: ConfigNode.Value) -> ConfigNode.Value {
        position = min(position + length, bytes.count)
        return value
    }
}
