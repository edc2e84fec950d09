/// A plain reading of JSON for these tests, so that the writer is not checked by its own module.
indirect enum JSONValue: Equatable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// Members in the order they came.
    case object([Member])

    struct Member: Equatable {
        let name: String
        let value: JSONValue
    }

    /// Nil when the bytes are not exactly one JSON value.
    init?(_ bytes: some Sequence<UInt8>) {
        var reader = JSONReader(bytes: Array(bytes))
        guard let value = reader.value(), reader.isAtEnd else { return nil }
        self = value
    }

    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }

    var items: [JSONValue] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return Int(exactly: number)
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func value() -> JSONValue? {
        switch next {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take("true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[index...].starts(with: text.utf8) else { return false }
        index += text.utf8.count
        return true
    }

    private mutating func number() -> JSONValue? {
        let digits = bytes[index...].prefix { "+-.eE0123456789".utf8.contains($0) }
        index = digits.endIndex
        return Double(String(decoding: digits, as: UTF8.self)).map { .number($0) }
    }

    private mutating func array() -> JSONValue? {
        index += 1
        if take("]") { return .array([]) }
        var items: [JSONValue] = []
        while let item = value() {
            items.append(item)
            if take("]") { return .array(items) }
            guard take(",") else { return nil }
        }
        return nil
    }

    private mutating func object() -> JSONValue? {
        index += 1
        if take("}") { return .object([]) }
        var members: [JSONValue.Member] = []
        while next == UInt8(ascii: "\""), let name = string(), take(":"), let value = value() {
            members.append(.init(name: name, value: value))
            if take("}") { return .object(members) }
            guard take(",") else { return nil }
        }
        return nil
    }

    private mutating func string() -> String? {
        index += 1
        var units: [UInt16] = []
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF16.self)
            case UInt8(ascii: "\\"):
                guard let unit = escape() else { return nil }
                units.append(unit)
            case 0x20..<0x7F: units.append(UInt16(byte))
            default: return nil  // PHP escapes whatever is not printable ASCII
            }
        }
        return nil
    }

    private mutating func escape() -> UInt16? {
        guard let letter = next else { return nil }
        index += 1
        let simple: [UInt8: UInt16] = [
            UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 8,
            UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "f"): 12, UInt8(ascii: "r"): 13,
        ]
        if letter != UInt8(ascii: "u") { return simple[letter] }
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4 else { return nil }
        index += 4
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
