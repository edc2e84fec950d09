/// The strings, numbers and literals of an input (RFC 8259 sections 3, 6 and 7, RFC 3629). Each function moves from a
/// token's start past its end, and adds flaws that some readers would not accept.
///
/// All reads are below `count`; words are read only where eight bytes are left.
struct JSONTokens {
    let base: UnsafePointer<UInt8>
    let count: Int

    /// The byte at `offset`; past the end a zero, which is never valid in JSON.
    @inline(__always)
    subscript(offset: Int) -> UInt8 { offset < count ? base[offset] : 0 }

    func fault(_ reason: JSONFault.Reason, at offset: Int) -> JSONFault { JSONFault(offset: offset, reason: reason) }

    /// The fault of another byte at `offset`, or of an input that ends there.
    func fault(expecting expectation: JSONFault.Expectation, at offset: Int) -> JSONFault {
        fault(offset < count ? .unexpected(base[offset], expectation) : .cutOff(expectation), at: offset)
    }

    // MARK: Strings

    /// Moves past a string, from just after its opening quote.
    @inline(__always)
    func string(from start: Int, _ flaws: inout JSONFlaws) throws(JSONFault) -> Int {
        let offset = plainEnd(from: start)
        return self[offset] == UInt8(ascii: "\"") ? offset &+ 1 : try anyString(from: offset, &flaws)
    }

    /// The end of plain ASCII, which has no special meaning in a string; checks eight bytes at a time.
    @inline(__always)
    func plainEnd(from start: Int) -> Int {
        var offset = start
        while offset &+ 8 <= count {
            let special = special(in: load(at: offset))
            if special != 0 { return offset &+ special.trailingZeroBitCount >> 3 }
            offset &+= 8
        }
        guard offset < count, count >= 8 else { return offset }
        // The last bytes, followed by zeros, which count as control characters and so end the run.
        let last = load(at: count &- 8) >> UInt64(truncatingIfNeeded: (offset &+ 8 &- count) &* 8)
        return offset &+ special(in: last).trailingZeroBitCount >> 3
    }

    /// Sets the top bit of each byte that is a quote, a backslash, below 0x20 or above 0x7F. A borrow can also set it
    /// wrongly, but only above a byte that has it rightly, and only the lowest one counts.
    @inline(__always)
    private func special(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = (word ^ (ones &* 0x22)) &- ones
        let backslash = (word ^ (ones &* 0x5C)) &- ones
        let control = word &- (ones &* 0x20)
        return (quote | backslash | control | word) & (ones &* 0x80)
    }

    /// Moves past the rest of a string.
    @inline(never)
    func anyString(from start: Int, _ flaws: inout JSONFlaws) throws(JSONFault) -> Int {
        var offset = start
        while true {
            guard offset < count else { throw fault(.cutOff(.closingQuote), at: offset) }
            switch base[offset] {
            case UInt8(ascii: "\""): return offset + 1
            case UInt8(ascii: "\\"): offset = try escape(from: offset, &flaws)
            case 0x80...: offset = try multibyte(from: offset)
            case let byte where byte < 0x20: throw fault(.controlCharacter(byte), at: offset)
            default: offset = plainEnd(from: offset + 1)
            }
        }
    }

    /// Moves past an escape, from its backslash.
    @inline(__always)
    private func escape(from start: Int, _ flaws: inout JSONFlaws) throws(JSONFault) -> Int {
        switch self[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            for offset in start + 2..<start + 6 where JSONText.hexValue(self[offset]) == nil {
                throw fault(expecting: .hexDigit, at: offset)
            }
            guard self[start + 2] | 0x20 == UInt8(ascii: "d"), self[start + 3] >= UInt8(ascii: "8") else {
                return start + 6
            }
            // Half of a surrogate pair; moves past the other half too if it follows.
            var end = start + 2
            let scalar = JSONText.scalar(in: UnsafeBufferPointer(start: base, count: count), at: &end)
            if scalar == "\u{FFFD}" { flaws.insert(.surrogate) }
            return end
        default: throw fault(expecting: .escape, at: start + 1)
        }
    }

    /// Moves past all non-ASCII characters from here.
    @inline(__always)
    private func multibyte(from start: Int) throws(JSONFault) -> Int {
        var offset = start
        repeat {
            guard offset &+ 4 <= count else {
                offset = try anyMultibyte(from: offset)
                continue
            }
            let word = load32(at: offset)
            if word & 0x00C0_C0F0 == 0x0080_80E0 {
                let scalar = (word & 0x0F) << 12 | (word >> 2) & 0x0FC0 | (word >> 16) & 0x3F
                guard scalar >= 0x800, scalar & 0xF800 != 0xD800 else { return try anyMultibyte(from: offset) }
                offset &+= 3
            } else if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
                offset &+= 2
            } else {
                offset = try anyMultibyte(from: offset)
            }
        } while self[offset] >= 0x80
        return offset
    }

    /// Moves past one non-ASCII character, slowly; finds the exact faulty byte.
    @inline(never)
    private func anyMultibyte(from start: Int) throws(JSONFault) -> Int {
        let length = UTF8Scalar.length(base + start, count - start)
        guard length < 0 else { return start + length }
        guard 0xC2...0xF4 ~= base[start] else { throw fault(.invalidUTF8, at: start) }
        let offset = start - length
        throw offset < count ? fault(.invalidUTF8, at: offset) : fault(.cutOff(.continuation), at: offset)
    }

    // MARK: Names

    /// The start of a name, if a comma and a quote are here, or for the first name only the quote; nil otherwise.
    @inline(__always)
    func memberStart(isFirst: Bool, at offset: Int) -> Int? {
        let start = offset &+ (isFirst ? 1 : 2)
        guard start <= count, base[start &- 1] == UInt8(ascii: "\"") else { return nil }
        return isFirst || base[offset] == UInt8(ascii: ",") ? start : nil
    }

    /// Whether a quote, a colon and a byte that is not white space are here.
    @inline(__always)
    func isNameEnd(at offset: Int) -> Bool {
        guard offset &+ 4 <= count else { return false }
        let word = load32(at: offset)
        return word & 0xFFFF == 0x3A22 && word & 0xFF_0000 > 0x20_0000
    }

    // MARK: Numbers and literals

    /// Moves past a number, from its `-` or first digit.
    @inline(__always)
    func number(from start: Int, _ flaws: inout JSONFlaws) throws(JSONFault) -> Int {
        var offset = start
        if base[offset] == UInt8(ascii: "-") { offset &+= 1 }
        let first = offset
        offset = try digits(from: offset)
        if base[first] == UInt8(ascii: "0"), offset > first &+ 1 { throw fault(.leadingZero, at: first + 1) }
        // This many digits without an exponent never exceed a double.
        let isShort = offset &- first <= JSONNumber.longestFinite
        if self[offset] == UInt8(ascii: ".") { offset = try digits(from: offset &+ 1) }
        if isShort, self[offset] | 0x20 != UInt8(ascii: "e") { return offset }
        return try longNumber(from: first, to: offset, isShort: isShort, &flaws)
    }

    /// Moves past the rest of a number that has an exponent, or very many digits.
    @inline(never)
    private func longNumber(
        from start: Int, to end: Int, isShort: Bool, _ flaws: inout JSONFlaws
    ) throws(JSONFault) -> Int {
        var offset = end
        if self[offset] | 0x20 == UInt8(ascii: "e") {
            let sign = self[offset + 1]
            offset = try digits(from: offset + (sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") ? 2 : 1))
            if isShort, sign == UInt8(ascii: "-") { return offset }
        }
        let token = UnsafeBufferPointer(start: base + start, count: offset - start)
        if JSONNumber.overflows(token) { flaws.insert(.overflow) }
        return offset
    }

    /// Moves past one or more digits.
    @inline(__always)
    private func digits(from start: Int) throws(JSONFault) -> Int {
        var offset = start
        while offset < count, base[offset] &- UInt8(ascii: "0") < 10 { offset &+= 1 }
        guard offset > start else { throw fault(expecting: .digit, at: offset) }
        return offset
    }

    /// Moves past `true`, `false` or `null`; `word` is its last four letters, the first one lowest.
    @inline(__always)
    func literal(_ word: UInt32, _ name: JSONFault.Expectation, from start: Int) throws(JSONFault) -> Int {
        let end = start &+ (name == .false ? 5 : 4)
        guard end <= count, load32(at: end &- 4) == word else { throw misspelt(name, from: start) }
        return end
    }

    /// The fault of a token that starts like a literal but is not one.
    private func misspelt(_ name: JSONFault.Expectation, from start: Int) -> JSONFault {
        let right = name.rawValue.utf8.enumerated().prefix { self[start + $0.offset] == $0.element }
        return fault(expecting: name, at: start + right.count)
    }

    // MARK: Words

    /// Eight bytes as a little-endian integer; needs `offset + 8 <= count`.
    @inline(__always)
    func load(at offset: Int) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self))
    }

    /// Four bytes as a little-endian integer; needs `offset + 4 <= count`.
    @inline(__always)
    private func load32(at offset: Int) -> UInt32 {
        UInt32(littleEndian: UnsafeRawPointer(base + offset).loadUnaligned(as: UInt32.self))
    }
}
