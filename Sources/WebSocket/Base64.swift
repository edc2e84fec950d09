/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var output: [UInt8] = []
        var held = 0
        var word: UInt32 = 0
        func flush(_ count: Int) {
            for place in 0..<4 {
                let digit = Int(word >> UInt32(18 - 6 * place) & 0x3F)
                output.append(place <= count ? alphabet[digit] : UInt8(ascii: "="))
            }
        }
        for byte in bytes {
            word |= UInt32(byte) << UInt32(16 - 8 * held)
            held += 1
            guard held == 3 else { continue }
            flush(3)
            (held, word) = (0, 0)
        }
        if held > 0 { flush(held) }
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes a text; nil when it is not valid Base64, padding included.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
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
