/// The parameters of a URL, read as PHP reads them: form encoding, and the last one of a name wins.
package struct Query: Sendable {
    private let pairs: [(name: String, value: String)]

    /// - Parameter raw: the text after the question mark, still percent-encoded.
    package init(_ raw: Substring) {
        guard !raw.isEmpty else {
            pairs = []
            return
        }
        pairs = raw.split(separator: "&").map { field in
            let halves = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decode(halves[0]), halves.count == 2 ? Self.decode(halves[1]) : "")
        }
    }

    package subscript(name: String) -> String? {
        pairs.last { $0.name == name }?.value
    }

    /// The parameter as PHP's `FILTER_VALIDATE_INT` reads it: blanks around it and a sign are allowed; leading zeros,
    /// fractions and values beyond 64 bits are not.
    package func integer(_ name: String) -> Int? {
        guard let text = self[name] else { return nil }
        let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D, 0x0B, 0x00]
        let trimmed = text.utf8.drop { blanks.contains($0) }
        guard let end = trimmed.lastIndex(where: { !blanks.contains($0) }) else { return nil }
        let number = trimmed[...end]
        let first = number[number.startIndex]
        let isSigned = first == UInt8(ascii: "+") || first == UInt8(ascii: "-")
        let digits = isSigned ? number.dropFirst() : number
        let zero = UInt8(ascii: "0")
        guard let leading = digits.first, digits.allSatisfy({ $0 >= zero && $0 <= zero + 9 }) else { return nil }
        guard leading != zero || digits.count == 1 else { return nil }
        return Int(Substring(number))
    }

    /// Undoes percent-encoding and `+`; a percent sign without two hex digits stands for itself, and bytes that are
    /// not UTF-8 become U+FFFD.
    private static func decode(_ text: Substring) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(text)
        }
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            let byte = source[index]
            if byte == UInt8(ascii: "%"), index + 2 < source.count,
                let high = hexDigit(source[index + 1]), let low = hexDigit(source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
