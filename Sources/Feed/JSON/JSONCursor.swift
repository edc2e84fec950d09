/// Walks over JSON that has been validated already and knows only where values end.
///
/// All reads are inside the bytes whatever they are, so text that is not JSON gives wrong ranges and nothing worse.
struct JSONCursor {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The byte here; nil at the end.
    @inline(__always)
    var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    @inline(__always)
    mutating func skipWhiteSpace() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    /// Steps over `expected` if it is here.
    @inline(__always)
    mutating func take(_ expected: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == expected else { return false }
        position += 1
        return true
    }

    /// Over a string, from its opening quote on; gives what is between the quotes.
    @inline(__always)
    mutating func string() -> Range<Int> {
        var isEscaped = false
        return string(&isEscaped)
    }

    /// The same; says besides when something in it is escaped.
    @inline(__always)
    mutating func string(_ isEscaped: inout Bool) -> Range<Int> {
        let start = min(position + 1, bytes.count)
        // A place of its own stays in a register; `position` may lie in memory.
        var place = start
        while place < bytes.count {
            // Eight bytes at a time: a top bit is set where a byte is a quote or a backslash, and the lowest one is right.
            if place + 8 <= bytes.count {
                let word = UInt64(
                    littleEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: place, as: UInt64.self))
                let ones: UInt64 = 0x0101_0101_0101_0101
                let quote = word ^ (ones &* 0x22)
                let backslash = word ^ (ones &* 0x5C)
                let special =
                    (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)) & (ones &* 0x80)
                place += special.trailingZeroBitCount >> 3
                if special == 0 { continue }
            }
            switch bytes[place] {
            case UInt8(ascii: "\""):
                position = place + 1
                return start..<place
            case UInt8(ascii: "\\"):
                isEscaped = true
                place = min(place + 2, bytes.count)
            default: place += 1
            }
        }
        position = place
        return start..<place
    }

    /// Over a value, from its first byte on; gives all of it, strings with their quotes.
    @inline(__always)
    mutating func value() -> Range<Int> {
        let start = position
        switch byte {
        case UInt8(ascii: "\""): _ = string()
        case UInt8(ascii: "{"), UInt8(ascii: "["): container()
        default: scalar()
        }
        return start..<position
    }

    /// Over a number or a literal.
    @inline(__always)
    mutating func scalar() {
        var place = position
        scan: while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), 0...0x20: break scan
            default: place += 1
            }
        }
        position = place
    }

    /// Over an array or an object, from its bracket or brace on.
    mutating func container() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): _ = string()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
                if depth == 0 { return }
            default: position += 1
            }
        }
    }
}
