/// Makes lines of the feed safe for a terminal without changing their meaning: a JSON string may hold unescaped DEL, C1
/// control and bidirectional formatting characters, which a terminal obeys, so they become `\uXXXX`.
///
/// C0 controls are always escaped in JSON strings, and otherwise occur only as white space in another agent's lines,
/// which are relayed unchanged. A tab or carriage return there becomes a space. Newlines stay.
package enum TerminalEscaper {
    /// Returns the bytes with such characters escaped; nil when there are none.
    package static func escaped(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var result: [UInt8] = []
        var copied = 0
        var offset = 0
        while offset < bytes.count {
            let byte = bytes[offset]
            guard byte >= 0x7F || (byte < 0x20 && byte != 0x0A), let (scalar, length) = hidden(bytes, offset) else {
                offset += 1
                continue
            }
            result += bytes[copied..<offset]
            if byte < 0x20 {
                result.append(0x20)
            } else {
                result += Array("\\u".utf8)
                for shift in [12, 8, 4, 0] {
                    let digit = UInt8(truncatingIfNeeded: scalar >> UInt32(shift)) & 15
                    result.append(digit < 10 ? 48 + digit : 87 + digit)
                }
            }
            offset += length
            copied = offset
        }
        guard copied > 0 else { return nil }
        return result + bytes[copied...]
    }

    /// The scalar at this offset and its length in UTF-8, if a terminal obeys it.
    private static func hidden(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> (UInt32, Int)? {
        let first = bytes[offset]
        if first <= 0x7F { return (UInt32(first), 1) }
        guard offset + 1 < bytes.count else { return nil }
        let second = bytes[offset + 1]
        switch (first, second) {
        case (0xC2, 0x80...0x9F): return (UInt32(second), 2)  // C1
        case (0xD8, 0x9C): return (0x061C, 2)  // Arabic letter mark
        case (0xE2, 0x80), (0xE2, 0x81):
            guard offset + 2 < bytes.count else { return nil }
            let scalar = 0x2000 | UInt32(second & 0x3F) << 6 | UInt32(bytes[offset + 2] & 0x3F)
            switch scalar {
            case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: return (scalar, 3)
            default: return nil
            }
        default: return nil
        }
    }
}
