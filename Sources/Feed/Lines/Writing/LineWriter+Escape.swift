extension LineWriter {
    /// Appends the escaped form of `count` bytes at `start`: eight at a time as long as none of them needs an escape.
    ///
    /// Uses plain integers, because comparing `SIMD16<UInt8>` compiled to one branch per byte (measured: 8 times
    /// slower).
    mutating func escape(_ start: UnsafePointer<UInt8>, _ count: Int) {
        let raw = UnsafeRawPointer(start)
        var index = 0
        while index < count {
            // In bounds: eight bytes are loaded only where eight are left, and stored where six times as many fit.
            while count - index >= 8 {
                let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                guard Self.isPlain(word) else { break }
                UnsafeMutableRawPointer(next).storeBytes(of: word, as: UInt64.self)
                advance(8)
                index += 8
            }
            let end = min(count, index + 8)
            while index < end {
                let byte = start[index]
                if byte >= 0x80 {
                    index += scalar(start + index, count - index)
                } else {
                    escape(byte)
                    index += 1
                }
            }
        }
    }

    /// Whether all eight bytes are ASCII from 0x20 on, without `"` and `\`.
    ///
    /// Each term has a byte's top bit set when that byte is special (or follows one that is).
    @inline(__always)
    private static func isPlain(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let special =
            word | ((word &- ones &* 0x20) & ~word) | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
        return special & tops == 0
    }

    @inline(__always)
    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x22: self.raw("\\\"")
        case 0x5C: self.raw("\\\\")
        case 0x20...: self.byte(byte)
        case 0x0A: self.raw("\\n")
        case 0x0D: self.raw("\\r")
        case 0x09: self.raw("\\t")
        case 0x08: self.raw("\\b")
        case 0x0C: self.raw("\\f")
        default:
            self.raw("\\u00")
            self.byte(48 + byte >> 4)
            let low = byte & 15
            self.byte(low < 10 ? 48 + low : 87 + low)
        }
    }

    /// Copies one multi-byte scalar, or writes U+FFFD for the longest valid start of a broken one (Unicode 15, table
    /// 3-7).
    ///
    /// - Returns: the number of input bytes consumed, at least 1.
    private mutating func scalar(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        let length = UTF8Scalar.length(start, count)
        guard length > 0 else {
            self.raw("\u{FFFD}")
            return -length
        }
        self.raw(UnsafeBufferPointer(start: start, count: length))
        return length
    }

    @inline(__always)
    private mutating func advance(_ count: Int) {
        self = LineWriter(next + count)
    }
}

/// The well-formed byte sequences of UTF-8 (Unicode 15, table 3-7).
package enum UTF8Scalar {
    /// The length of the scalar at `start`; for a broken one, minus the length of its longest valid start (at least 1).
    package static func length(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        let first = start[0]
        let needed: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch first {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: needed = 2
        case 0xE0: (needed, second) = (3, 0xA0...0xBF)
        case 0xED: (needed, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: needed = 3
        case 0xF0: (needed, second) = (4, 0x90...0xBF)
        case 0xF4: (needed, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: needed = 4
        default: return -1
        }
        for index in 1..<needed {
            guard index < count, (index == 1 ? second : 0x80...0xBF).contains(start[index]) else { return -index }
        }
        return needed
    }
}
