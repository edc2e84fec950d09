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
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "/"):
                while position < bytes.count, bytes[position] != 0x0A, bytes[position] != 0x0D {
                    bytes[position] = 0x20
                    position += 1
                }
            case UInt8(ascii: "/") where position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "*"):
                let start = position
                guard blankBlock(&bytes, from: &position) else { return start }
            case UInt8(ascii: "\""):
                skipString(bytes, from: &position)
                comma = nil
                previous = byte
            default:
                if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}"), let comma { bytes[comma] = 0x20 }
                comma = byte == UInt8(ascii: ",") && isEndOfValue(previous) ? position : nil
                previous = byte
                position += 1
            }
        }
        return nil
    }

    /// - Returns: false when the comment does not end.
    private static func blankBlock(_ bytes: inout [UInt8], from position: inout Int) -> Bool {
        var end = position + 2
        while end + 1 < bytes.count, bytes[end] != UInt8(ascii: "*") || bytes[end + 1] != UInt8(ascii: "/") { end += 1 }
        let isClosed = end + 1 < bytes.count
        end = isClosed ? end + 2 : bytes.count
        for offset in position..<end where bytes[offset] != 0x0A && bytes[offset] != 0x0D { bytes[offset] = 0x20 }
        position = end
        return isClosed
    }

    /// Skips a string; the JSON scanner reports one that does not end.
    private static func skipString(_ bytes: [UInt8], from position: inout Int) {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        position = bytes.count
    }

    private static func isEndOfValue(_ byte: UInt8?) -> Bool {
        switch byte {
        case nil, UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","), UInt8(ascii: ":"): false
        default: true
        }
    }
}
