/// The strings, numbers and literals of an input (RFC 8259 sections 3, 6 and 7, RFC 3629). Each function moves from a
/// token's start past its end, and adds flaws that some readers would not accept.
///
/// All reads are below `count`; words are read only where eight bytes are left.
struct JSONTokens {
    let base: UnsafePointer<UInt8>
    let count: Int

    /// The byte at `place`; past the end a zero, which is never valid in JSON.
    @inline(__always)
    subscript(place: Int) -> UInt8 { place < count ? base[place] : 0 }

    func fault(_ reason: JSONFault.Reason, at place: Int) -> JSONFault { JSONFault(offset: place, reason: reason) }

    /// The fault of another byte at `place`, or of an input that ends there.
    func fault(expecting expectation: JSONFault.Expectation, at place: Int) -> JSONFault {
        fault(place < count ? .unexpected(base[place], expectation) : .cutOff(expectation), at: place)
    }

    // MARK: Strings

    /// Moves past a string, from just after its opening quote.
    @inline(__always)
    func string(from start: Int, _ flaws: inout JSONFlaws) throws(JSONFault) -> Int {
        let place = plainEnd(from: start)
        return self[place] == UInt8(ascii: "\"") ? place &+ 1 : try anyString(from: place, &flaws)
    }

    /// The end of plain ASCII, which has no special meaning in a string; checks eight bytes at a time.
    @inline(__always)
    func plainEnd(from start: Int) -> Int {
        var place = start
        while place &+ 8 <= count {
            let special = special(in: load(at: place))
            if special != 0 { return place &+ special.trailingZeroBitCount >> 3 }
            place &+= 8
        }
        guard place < count, count >= 8 else { return place }
        // The last bytes, followed by zeros, which count as control characters and so end the run.
        let last = load(at: count &- 8) >> UInt64(truncatingIfNeeded: (place &+ 8 &- count) &* 8)
        return place &+ special(in: last).trailingZeroBitCount >> 3
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
        var place = start
        while true {
            guard place < count else { throw fault(.cutOff(.closingQuote), at: place) }
            switch base[place] {
            case UInt8(ascii: "\""): return place + 1
            case UInt8(ascii: "\\"): place = try escape(from: place, &flaws)
            case 0x80...: place = try multibyte(from: place)
            case let byte where byte < 0x20: throw fault(.controlCharacter(byte), at: place)
            default: place = plainEnd(from: place + 1)
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
            for place in start + 2..<start + 6 where JSONText.hexValue(self[place]) == nil {
                throw fault(expecting: .hexDigit, at: place)
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
        var place = start
        repeat {
            guard place &+ 4 <= count else {
                place = try anyMultibyte(from: place)
                continue
            }
            let word = load32(at: place)
            if word & 0x00C0_C0F0 == 0x0080_80E0 {
                let scalar = (word & 0x0F) << 12 | (word >> 2) & 0x0FC0 | (word >> 16) & 0x3F
                guard scalar >= 0x800, scalar & 0xF800 != 0xD800 else { return try anyMultibyte(from: place) }
                place &+= 3
            } else if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
                place &+= 2
            } else {
                place = try anyMultibyte(from: place)
            }
        } while self[place] >= 0x80
        return place
    }

    /// Moves past one non-ASCII character, slowly; finds the exact faulty byte.
    @inline(never)
    private func anyMultibyte(from start: Int) throws(JSONFault) -> Int {
        let length = UTF8Scalar.length(base + start, count - start)
        guard length < 0 else { return start + length }
        guard 0xC2...0xF4 ~= base[start] else { throw fault(.invalidUTF8, at: start) }
        let place = start - length
        throw place < count ? fault(.invalidUTF8, at: place) : fault(.cutOff(.continuation), at: place)
    }

    // MARK: Names

    /// The start of a name, if a comma and a quote are here, or for the first name only the quote; nil otherwise.
    @inline(__always)
    func memberStart(isFirst: Bool, at place: Int) -> Int? {
        let start = place &+ (isFirst ? 1 : 2)
        guard start <= count, base[start &- 1] == UInt8(ascii: "\"") else { return nil }
        return isFirst || base[place] == UInt8(ascii: ",") ? start : nil
    }

    /// Whether a quote, a colon and a byte that is not white space are here.
    @inline(__always)
    func isNameEnd(at place: Int) -> Bool {
        guard place &+ 4 <= count else { return false }
        let word = load32(at: place)
        return word & 0xFFFF == 0x3A22 && word & 0xFF_0000 > 0x20_0000
    }

    // MARK: Numbers and literals

    /// Moves past a number, from its `-` or first digit.
    @inline(__always)
    func number(from start: Int, _ flaws: inout JSONFlaws) throws(JSONFault) -> Int {
        var place = start
        if base[place] == UInt8(ascii: "-") { place &+= 1 }
        let first = place
        place = try digits(from: place)
        if base[first] == UInt8(ascii: "0"), place > first &+ 1 { throw fault(.leadingZero, at: first + 1) }
        // This many digits without an exponent never exceed a double.
        let isShort = place &- first <= JSONNumber.longestFinite
        if self[place] == UInt8(ascii: ".") { place = try digits(from: place &+ 1) }
        if isShort, self[place] | 0x20 != UInt8(ascii: "e") { return place }
        return try longNumber(from: first, to: place, isShort: isShort, &flaws)
    }

    /// Moves past the rest of a number that has an exponent, or very many digits.
    @inline(never)
    private func longNumber(
        from start: Int, to end: Int, isShort: Bool, _ flaws: inout JSONFlaws
    ) throws(JSONFault) -> Int {
        var place = end
        if self[place] | 0x20 == UInt8(ascii: "e") {
            let sign = self[place + 1]
            place = try digits(from: place + (sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") ? 2 : 1))
            if isShort, sign == UInt8(ascii: "-") { return place }
        }
        let token = UnsafeBufferPointer(start: base + start, count: place - start)
        if JSONNumber.overflows(token) { flaws.insert(.overflow) }
        return place
    }

    /// Moves past one or more digits.
    @inline(__always)
    private func digits(from start: Int) throws(JSONFault) -> Int {
        var place = start
        while place < count, base[place] &- UInt8(ascii: "0") < 10 { place &+= 1 }
        guard place > start else { throw fault(expecting: .digit, at: place) }
        return place
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

    /// Eight bytes as a little-endian integer; needs `place + 8 <= count`.
    @inline(__always)
    func load(at place: Int) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(base + place).loadUnaligned(as: UInt64.self))
    }

    /// Four bytes as a little-endian integer; needs `place + 4 <= count`.
    @inline(__always)
    private func load32(at place: Int) -> UInt32 {
        UInt32(littleEndian: UnsafeRawPointer(base + place).loadUnaligned(as: UInt32.self))
    }
}
