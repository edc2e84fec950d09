import Glibc

/// JSON as the test vectors need it: read strictly enough for files of our own, compared by structure.
package enum VectorJSON: Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([VectorJSON])
    case object([String: VectorJSON])

    package struct Malformed: Error {
        let offset: Int
    }

    package init(parsing bytes: [UInt8]) throws {
        var parser = VectorParser(bytes: bytes)
        self = try parser.value()
        guard parser.isAtEnd else { throw Malformed(offset: parser.offset) }
    }

    package subscript(key: String) -> VectorJSON? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    package var string: String? {
        guard case .string(let string) = self else { return nil }
        return string
    }

    package var number: Double? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    package var bool: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    /// The members of an object by their names; of something else there are none.
    package var members: [String: VectorJSON] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    package var elements: [VectorJSON] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    package static func optional(_ number: Double?) -> VectorJSON { number.map { .number($0) } ?? .null }
    package static func optional(_ number: Int?) -> VectorJSON { number.map { .number(Double($0)) } ?? .null }
    package static func optional(_ string: String?) -> VectorJSON { string.map { .string($0) } ?? .null }
    package static func int(_ number: Int) -> VectorJSON { .number(Double(number)) }

    /// As JSON text with sorted keys.
    package var text: String {
        switch self {
        case .null: return "null"
        case .bool(let bool): return "\(bool)"
        case .number(let number):
            return Double(Int(exactly: number) ?? 0) == number ? "\(Int(number))" : "\(number)"
        case .string(let string):
            var text = "\""
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"", "\\": text += "\\\(scalar)"
                case "\n": text += "\\n"
                case "\0"..<" ":
                    let digits = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                default: text.unicodeScalars.append(scalar)
                }
            }
            return text + "\""
        case .array(let elements): return "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            let parts = members.sorted { $0.key < $1.key }.map { "\(VectorJSON.string($0).text):\($1.text)" }
            return "{" + parts.joined(separator: ",") + "}"
        }
    }

    /// The first place where the two differ, in words; nil when they are equal.
    package func difference(from expected: VectorJSON, at path: String = "state") -> String? {
        switch (self, expected) {
        case (.object(let mine), .object(let theirs)):
            for key in Set(mine.keys).union(theirs.keys).sorted() {
                guard let left = mine[key], let right = theirs[key] else {
                    return "\(path).\(key) is \(mine[key]?.text ?? "absent"), not \(theirs[key]?.text ?? "absent")"
                }
                if let difference = left.difference(from: right, at: "\(path).\(key)") { return difference }
            }
            return nil
        case (.array(let mine), .array(let theirs)) where mine.count == theirs.count:
            for (index, (left, right)) in zip(mine, theirs).enumerated() {
                if let difference = left.difference(from: right, at: "\(path)[\(index)]") { return difference }
            }
            return nil
        case (.string(let mine), .string(let theirs)) where !mine.utf8.elementsEqual(theirs.utf8):
            return "\(path) is \(text), not \(expected.text)"
        default:
            return self == expected ? nil : "\(path) is \(text), not \(expected.text)"
        }
    }
}

/// Reads one JSON value after the other.
private struct VectorParser {
    let bytes: [UInt8]
    var offset = 0

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return offset == bytes.count
        }
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x09 { offset += 1 }
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[offset...].starts(with: text.utf8) else { return false }
        offset += text.utf8.count
        return true
    }

    mutating func value() throws -> VectorJSON {
        skipSpace()
        if take("null") { return .null }
        if take("true") { return .bool(true) }
        if take("false") { return .bool(false) }
        switch next {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "["):
            return .array(try list(until: "]") { parser in try parser.value() })
        case UInt8(ascii: "{"):
            let members = try list(until: "}") { parser in
                parser.skipSpace()
                let key = try parser.string()
                parser.skipSpace()
                guard parser.take(":") else { throw VectorJSON.Malformed(offset: parser.offset) }
                return (key, try parser.value())
            }
            return .object(Dictionary(members) { first, _ in first })
        default:
            let token = bytes[offset...].prefix { "+-.0123456789eE".utf8.contains($0) }
            guard let number = Double(String(decoding: token, as: UTF8.self)) else {
                throw VectorJSON.Malformed(offset: offset)
            }
            offset += token.count
            return .number(number)
        }
    }

    private mutating func list<Element>(
        until end: String, _ element: (inout VectorParser) throws -> Element
    ) throws -> [Element] {
        offset += 1
        var elements: [Element] = []
        skipSpace()
        if take(end) { return elements }
        while true {
            elements.append(try element(&self))
            skipSpace()
            if take(end) { return elements }
            guard take(",") else { throw VectorJSON.Malformed(offset: offset) }
        }
    }

    /// The UTF-8 of four hexadecimal digits; the vectors have no surrogates.
    private mutating func scalar() throws -> [UInt8] {
        let digits = String(decoding: bytes[offset...].prefix(4), as: UTF8.self)
        guard let code = UInt16(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
            throw VectorJSON.Malformed(offset: offset)
        }
        offset += 4
        return Array(String(Character(scalar)).utf8)
    }

    private mutating func string() throws -> String {
        guard take("\"") else { throw VectorJSON.Malformed(offset: offset) }
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), let escaped = next {
                offset += 1
                switch escaped {
                case UInt8(ascii: "n"): text.append(0x0A)
                case UInt8(ascii: "t"): text.append(0x09)
                case UInt8(ascii: "r"): text.append(0x0D)
                case UInt8(ascii: "b"): text.append(0x08)
                case UInt8(ascii: "f"): text.append(0x0C)
                case UInt8(ascii: "u"): text += try scalar()
                default: text.append(escaped)
                }
            } else {
                text.append(byte)
            }
        }
        throw VectorJSON.Malformed(offset: offset)
    }
}
