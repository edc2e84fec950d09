/// Strings (RFC 8259 section 7) and the UTF-8 in them (RFC 3629).
extension JSONScanner {
    /// From behind the opening quote to behind the closing one.
    @inline(__always)
    mutating func string() throws(JSONFault) {
        while true {
            skipPlain()
            guard position < count else { throw fault(.cutOff(.closingQuote)) }
            let byte = base[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return
            }
            if byte >= 0x80 {
                try multibyte()
            } else if byte == UInt8(ascii: "\\") {
                try escape()
            } else if byte < 0x20 {
                throw fault(.controlCharacter(byte))
            } else {
                position += 1
            }
        }
    }

    /// Over ASCII that means nothing in a string; near the input's end not over all of it.
    @inline(__always)
    private mutating func skipPlain() { position = plainEnd(from: position) }

    /// Over a string without escapes that is ASCII, from behind its opening quote, by a place that stays in a register:
    /// where it ends, or where `string` has to go on.
    @inline(__always)
    func plainString(from start: Int) -> (place: Int, isWhole: Bool) {
        let place = plainEnd(from: start)
        return place < count && base[place] == UInt8(ascii: "\"") ? (place + 1, true) : (place, false)
    }

    /// Where ASCII that means nothing in a string ends, looked at eight bytes at a time.
    @inline(__always)
    private func plainEnd(from start: Int) -> Int {
        var place = start
        while place + 8 <= count {
            let word = load(at: place)
            let ones: UInt64 = 0x0101_0101_0101_0101
            // A byte's top bit gets set where the byte is a quote, a backslash, below 0x20 or above 0x7F. A borrow can set
            // it wrongly too, but only above a byte where it is set rightly, and the lowest one is what counts.
            let quote = (word ^ (ones &* 0x22)) &- ones
            let backslash = (word ^ (ones &* 0x5C)) &- ones
            let control = word &- (ones &* 0x20)
            let special = (quote | backslash | control | word) & (ones &* 0x80)
            if special != 0 { return place + (special.trailingZeroBitCount >> 3) }
            place += 8
        }
        return place
    }

    /// Over an escape, from its backslash on.
    @inline(__always)
    private mutating func escape() throws(JSONFault) {
        position += 1
        guard position < count else { throw fault(.cutOff(.escape)) }
        switch base[position] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            for _ in 0..<4 {
                guard position < count, JSONText.hexValue(base[position]) != nil else {
                    throw fault(expecting: .hexDigit)
                }
                position += 1
            }
        case let byte: throw fault(.unexpected(byte, .escape))
        }
    }

    /// Over all characters from here on that are not ASCII.
    @inline(__always)
    private mutating func multibyte() throws(JSONFault) {
        repeat {
            guard position + 4 <= count else {
                try anyMultibyte()
                continue
            }
            let word = load32(at: position)
            if word & 0x00C0_C0F0 == 0x0080_80E0 {
                let scalar = (word & 0x0F) << 12 | (word >> 2) & 0x0FC0 | (word >> 16) & 0x3F
                guard scalar >= 0x800, scalar & 0xF800 != 0xD800 else { return try anyMultibyte() }
                position += 3
            } else if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
                position += 2
            } else {
                try anyMultibyte()
            }
        } while position < count && base[position] >= 0x80
    }

    /// Over one character that is not ASCII, slowly; finds the exact byte at fault.
    @inline(never)
    private mutating func anyMultibyte() throws(JSONFault) {
        // The second byte's range is what rules out overlong forms, surrogates and what is above U+10FFFF.
        let following: Int
        let second: ClosedRange<UInt8>
        switch base[position] {
        case 0xC2...0xDF: (following, second) = (1, 0x80...0xBF)
        case 0xE0: (following, second) = (2, 0xA0...0xBF)
        case 0xED: (following, second) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (following, second) = (2, 0x80...0xBF)
        case 0xF0: (following, second) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (following, second) = (3, 0x80...0xBF)
        case 0xF4: (following, second) = (3, 0x80...0x8F)
        default: throw fault(.invalidUTF8)
        }
        position += 1
        for index in 0..<following {
            guard position < count else { throw fault(.cutOff(.continuation)) }
            guard (index == 0 ? second : 0x80...0xBF).contains(base[position]) else { throw fault(.invalidUTF8) }
            position += 1
        }
    }
}
