internal import Feed

/// Splits the line of a condition into tokens.
struct ConditionScanner {
    struct Token: Equatable {
        var kind: Kind
        /// The bytes of the line.
        var range: Range<Int>

        enum Kind: Equatable {
            case comparison(Comparison)
            /// A run of characters without blanks; parts of it may stand in quotes.
            case word([Part])
        }

        /// The text of a word without quotes; nil for any other token.
        var plain: String? {
            guard case .word(let parts) = kind, parts.count == 1, !parts[0].isQuoted else { return nil }
            return parts[0].text
        }

        /// The text of a word that is one string in quotes; nil for any other token.
        var quoted: String? {
            guard case .word(let parts) = kind, parts.count == 1, parts[0].isQuoted else { return nil }
            return parts[0].text
        }
    }

    struct Part: Equatable {
        var text: String
        var isQuoted: Bool
    }

    private let line: String
    private let bytes: [UInt8]
    private var offset = 0

    /// - Throws: a fault for a string without an end, or with a wrong escape.
    static func tokens(of line: String) throws(ConditionFault) -> [Token] {
        var scanner = ConditionScanner(line: line, bytes: Array(line.utf8))
        var tokens: [Token] = []
        while let token = try scanner.next() { tokens.append(token) }
        return tokens
    }

    private init(line: String, bytes: [UInt8]) { (self.line, self.bytes) = (line, bytes) }

    private var byte: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func next() throws(ConditionFault) -> Token? {
        while let byte, Self.isBlank(byte) { offset += 1 }
        guard byte != nil else { return nil }
        let start = offset
        if let comparison = try comparison() { return Token(kind: .comparison(comparison), range: start..<offset) }
        var parts: [Part] = []
        while let byte, !Self.isBlank(byte), !Self.isSign(byte) {
            parts.append(byte == UInt8(ascii: "\"") ? try string() : plain())
        }
        return Token(kind: .word(parts), range: start..<offset)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    /// Whether it begins a comparison: `<`, `=`, `>` or `!`.
    private static func isSign(_ byte: UInt8) -> Bool {
        UInt8(ascii: "<")...UInt8(ascii: ">") ~= byte || byte == UInt8(ascii: "!")
    }

    private mutating func comparison() throws(ConditionFault) -> Comparison? {
        guard let first = byte, Self.isSign(first) else { return nil }
        let start = offset
        while let byte, Self.isSign(byte) { offset += 1 }
        let sign = String(decoding: bytes[start..<offset], as: UTF8.self)
        if let comparison = Comparison(rawValue: sign) { return comparison }
        let meant = ["==": "=", "<>": "!=", "=<": "<=", "=>": ">=", "!": "!="][sign]
        throw ConditionFault(
            meant.map { "write \($0)" } ?? "there is no '\(sign)'; write \(Self.comparisons)", in: line, at: start)
    }

    static let comparisons = Comparison.allCases.map(\.rawValue).joined(separator: " ")

    private mutating func plain() -> Part {
        let start = offset
        while let byte, !Self.isBlank(byte), !Self.isSign(byte), byte != UInt8(ascii: "\"") { offset += 1 }
        return Part(text: String(decoding: bytes[start..<offset], as: UTF8.self), isQuoted: false)
    }

    /// A JSON string.
    private mutating func string() throws(ConditionFault) -> Part {
        let start = offset
        offset += 1
        while let byte, byte != UInt8(ascii: "\"") { offset += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard offset < bytes.count else {
            throw ConditionFault("the quotes that begin here have no end", in: line, at: start)
        }
        offset += 1
        let text = bytes[start..<offset].withUnsafeBufferPointer { bytes in
            (try? JSONMinifier.validate(bytes)).map { _ in
                JSONText.string(UnsafeBufferPointer(rebasing: bytes.dropFirst().dropLast()))
            }
        }
        guard let text else {
            throw ConditionFault(
                #"no string of JSON: a backslash is written \\, a quote \", a control character \u001b"#, in: line,
                at: start)
        }
        return Part(text: text, isQuoted: true)
    }
}
