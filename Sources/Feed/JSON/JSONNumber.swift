/// Turns JSON numbers into doubles.
package enum JSONNumber {
    /// Returns the double nearest to a number of valid JSON; nil when that is infinite, or when `token` is not a
    /// number.
    ///
    /// A number too small for a double becomes 0, as everywhere.
    package static func double(_ token: UnsafeBufferPointer<UInt8>) -> Double? {
        if let quick = exact(token) { return quick }
        let first = token.count > 1 && token[0] == UInt8(ascii: "-") ? token[1] : token.first ?? 0
        // The standard library accepts more than JSON's numbers: names, hexadecimal digits, a leading plus.
        guard first &- UInt8(ascii: "0") < 10, token.allSatisfy("0123456789+-.eE".utf8.contains) else { return nil }
        return Double(String(decoding: token, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
    }

    /// The most digits of a whole number that are always within the range of a double.
    static let longestFinite = 308

    /// Whether a number of valid JSON, without its sign, exceeds the range of a double, so that it would be infinite.
    static func overflows(_ token: UnsafeBufferPointer<UInt8>) -> Bool {
        let digits = token.prefix { $0 &- UInt8(ascii: "0") < 10 }.count
        var exponent = 0
        if let mark = token.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
            let text = token[(mark + 1)...].drop { $0 == UInt8(ascii: "+") }
            exponent = integer(UnsafeBufferPointer(rebasing: text)) ?? (text.first == UInt8(ascii: "-") ? .min : .max)
        }
        // The number is below ten to the power of digits and exponent.
        return exponent > longestFinite - digits && double(token) == nil
    }

    /// Returns the double in a string: if its text is one JSON number, with or without ASCII white space around it; nil
    /// for any other text.
    package static func lenient(_ body: UnsafeBufferPointer<UInt8>) -> Double? {
        guard body.contains(UInt8(ascii: "\\")) else { return trimmed(body) }
        return JSONText.unescape(Bytes(body)).withUnsafeBufferPointer { trimmed($0) }
    }

    private static func trimmed(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        var token = text[...]
        while let byte = token.first, isSpace(byte) { token.removeFirst() }
        while let byte = token.last, isSpace(byte) { token.removeLast() }
        guard let first = token.first, first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10 else { return nil }
        let bytes = UnsafeBufferPointer(rebasing: token)
        // A JSON value that begins like this is a number.
        guard (try? JSONMinifier.validate(bytes)) != nil else { return nil }
        return double(bytes)
    }

    /// A space, a tab, or any control character that moves to another line.
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    /// Returns the integer written without fraction and exponent; nil for other forms and if it does not fit.
    package static func integer(_ token: UnsafeBufferPointer<UInt8>) -> Int? {
        let negative = token.first == UInt8(ascii: "-")
        let digits = token.dropFirst(negative ? 1 : 0)
        guard !digits.isEmpty else { return nil }
        var value = 0
        for byte in digits {
            let digit = Int(byte) - Int(UInt8(ascii: "0"))
            guard 0...9 ~= digit else { return nil }
            // Counts down, because the least integer has no positive counterpart.
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (difference, underflowed) = product.subtractingReportingOverflow(digit)
            guard !overflowed, !underflowed else { return nil }
            value = difference
        }
        guard !negative else { return value }
        return value == .min ? nil : -value
    }

    /// Powers of ten that a double represents exactly.
    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20,
        1e21, 1e22,
    ]

    /// Handles the common case: all digits fit into 53 bits and the power of ten is exact, so that one operation rounds
    /// once (Clinger, "How to read floating point numbers accurately", 1990). Nil for any other.
    private static func exact(_ token: UnsafeBufferPointer<UInt8>) -> Double? {
        let isNegative = token.first == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        // 19 digits always fit into 64 bits, and so does an exponent of this length.
        guard token.count - start <= 19 else { return nil }
        var digits: UInt64 = 0
        var exponent = 0
        var point: Int?
        var index = start
        while index < token.count {
            let digit = token[index] &- UInt8(ascii: "0")
            if digit < 10 {
                digits = digits &* 10 &+ UInt64(digit)
            } else if token[index] == UInt8(ascii: "."), point == nil {
                point = index
            } else {
                break
            }
            index += 1
        }
        guard index > start, token[start] != UInt8(ascii: ".") else { return nil }
        if let point { exponent = point + 1 - index }
        if index < token.count {
            guard token[index] | 0x20 == UInt8(ascii: "e") else { return nil }
            index += 1
            if index < token.count, token[index] == UInt8(ascii: "+") { index += 1 }
            guard let said = integer(UnsafeBufferPointer(rebasing: token[index...])) else { return nil }
            exponent += said
        }
        guard digits <= 1 << 53, -22...22 ~= exponent else { return nil }
        let value = exponent < 0 ? Double(digits) / powers[-exponent] : Double(digits) * powers[exponent]
        return isNegative ? -value : value
    }
}
