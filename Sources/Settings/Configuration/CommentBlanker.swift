/// Turns JSON with comments and trailing commas into strict JSON by overwriting them with spaces: all offsets stay.
enum CommentBlanker {
    /// Blanks `//` and `/* */` comments, and commas before a closing bracket that follow a value.
    ///
    /// Line breaks stay. Strings are not touched, and nothing else is corrected.
    /// - Returns: the offset of a comment that does not end, if any; it is blanked to the end of the text.
    static func blank(_ bytes: inout [UInt8]) -> Int? {
        var position = 0
        // The comma after a value, with only white space and comments behind it so far.
        var comma: Int?
        var previous: UInt8?
        var endless: Int?
        func second() -> UInt8? { position + 1 < bytes.count ? bytes[position + 1] : nil }
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where second() == UInt8(ascii: "/") || second() == UInt8(ascii: "*"):
                var end = position + 2
                if second() == UInt8(ascii: "/") {
                    while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D { end += 1 }
                } else {
                    while end < bytes.count, !bytes[end...].starts(with: "*/".utf8) { end += 1 }
                    if end == bytes.count { endless = position } else { end += 2 }
                }
                for offset in position..<end where bytes[offset] != 0x0A && bytes[offset] != 0x0D {
                    bytes[offset] = 0x20
                }
                position = end
            case UInt8(ascii: "\""):
                // The JSON scanner reports a string that does not end.
                position += 1
                while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                    position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                }
                position += 1
                comma = nil
                previous = byte
            default:
                if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}"), let comma { bytes[comma] = 0x20 }
                comma = byte == UInt8(ascii: ",") && isEndOfValue(previous) ? position : nil
                previous = byte
                position += 1
            }
        }
        return endless
    }

    private static func isEndOfValue(_ byte: UInt8?) -> Bool {
        switch byte {
        case nil, UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","), UInt8(ascii: ":"): false
        default: true
        }
    }
}
