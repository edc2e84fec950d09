/// Base64 (RFC 4648, section 4).
enum Base64 {
    /// What a text stands for; nil when it is none, padding included.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padding = Array(text.suffix(2)).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        for (index, character) in text.dropLast(padding).enumerated() {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            if index % 4 != 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> (6 - UInt32(index % 4) * 2))) }
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character) - 0x41
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character) - 0x61 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character) - 0x30 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
