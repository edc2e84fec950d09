/// Validates UTF-8 text that comes in pieces (RFC 3629, section 4): no overlong forms, no surrogates, nothing above
/// U+10FFFF. It fails at the first invalid byte, before the character is complete.
package struct UTF8Check: Sendable {
    /// The number of continuation bytes that the character lacks.
    private var missing = 0
    /// The range of the next continuation byte.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    package init() {}

    /// Whether the text could end here.
    package var isComplete: Bool { missing == 0 }

    /// Checks the next piece; returns false when no valid text starts like this.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                // In bounds: eight bytes from `index` on lie below `count`.
                while index + 8 <= bytes.count,
                    bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                {
                    index += 8
                }
                guard index < bytes.count else { break }
            }
            guard take(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard (low...high).contains(byte) else { return false }
            missing -= 1
            (low, high) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { low = 0xA0 }  // less would be overlong
            if byte == 0xED { high = 0x9F }  // more would be a surrogate
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { low = 0x90 }
            if byte == 0xF4 { high = 0x8F }  // more would be above U+10FFFF
        default: return false
        }
        return true
    }
}
