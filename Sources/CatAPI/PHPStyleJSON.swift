/// Writes JSON the way PHP's `json_encode` does by default, as the real API does.
///
/// It escapes solidi and everything outside ASCII (as UTF-16 code units, including surrogate pairs). Both are valid
/// JSON (RFC 8259, section 7) that readers must handle, so the stand-in sends them as well.
struct PHPStyleJSON {
    private(set) var bytes: [UInt8] = []

    /// Appends text that is known to be valid JSON.
    mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Appends JSON that is finished already.
    mutating func raw(_ json: [UInt8]) { bytes.append(contentsOf: json) }

    mutating func integer(_ number: Int) { bytes.append(contentsOf: String(number).utf8) }

    mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

    /// Appends the number, or `null`.
    mutating func integer(_ number: Int?) {
        if let number { integer(number) } else { raw("null") }
    }

    /// Appends the text in quotes, or `null`.
    mutating func string(_ text: String?) {
        if let text { string(text) } else { raw("null") }
    }

    /// Appends the text in quotes.
    mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for unit in text.utf16 {
            switch unit {
            case 0x22, 0x5C, 0x2F:  // quotation mark, backslash, solidus
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(truncatingIfNeeded: unit))
            case 0x08: raw("\\b")
            case 0x09: raw("\\t")
            case 0x0A: raw("\\n")
            case 0x0C: raw("\\f")
            case 0x0D: raw("\\r")
            case 0x20..<0x7F: bytes.append(UInt8(truncatingIfNeeded: unit))
            default: escape(unit)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ unit: UInt16) {
        raw("\\u")
        for shift in [12, 8, 4, 0] {
            let digit = UInt8(truncatingIfNeeded: (unit >> UInt16(shift)) & 0xF)
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
