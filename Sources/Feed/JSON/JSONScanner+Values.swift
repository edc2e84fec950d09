/// Numbers and literals (RFC 8259 sections 3 and 6).
extension JSONScanner {
    /// From a `-` or a digit to behind the number.
    @inline(__always)
    mutating func number() throws(JSONFault) {
        if let end = plainNumberEnd() {
            position = end
            return
        }
        if base[position] == UInt8(ascii: "-") { position += 1 }
        if position < count, base[position] == UInt8(ascii: "0") {
            position += 1
            if position < count, isDigit(base[position]) { throw fault(.leadingZero) }
        } else {
            try digits()
        }
        guard position < count else { return }
        if base[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
            guard position < count else { return }
        }
        if base[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < count, base[position] == UInt8(ascii: "+") || base[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
    }

    /// Where a number ends that has no exponent and is not the input's last; nil for others, and for what is none. By a place
    /// that stays in a register.
    @inline(__always)
    private func plainNumberEnd() -> Int? {
        var place = position
        if base[place] == UInt8(ascii: "-") { place += 1 }
        let first = place
        while place < count, isDigit(base[place]) { place += 1 }
        guard place < count, place > first, place == first + 1 || base[first] != UInt8(ascii: "0") else { return nil }
        if base[place] == UInt8(ascii: ".") {
            place += 1
            let fraction = place
            while place < count, isDigit(base[place]) { place += 1 }
            guard place < count, place > fraction else { return nil }
        }
        return base[place] | 0x20 == UInt8(ascii: "e") ? nil : place
    }

    /// One digit or more.
    @inline(__always)
    private mutating func digits() throws(JSONFault) {
        guard position < count, isDigit(base[position]) else { throw fault(expecting: .digit) }
        position += 1
        while position < count, isDigit(base[position]) { position += 1 }
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// `true` or `null`: `word` is its four letters, the first one lowest.
    @inline(__always)
    mutating func literal(_ word: UInt32, _ name: JSONFault.Expectation) throws(JSONFault) {
        guard position + 4 <= count, load32(at: position) == word else { throw misspelt(name) }
        position += 4
    }

    @inline(__always)
    mutating func falseLiteral() throws(JSONFault) {
        // "alse": the `f` brought us here.
        guard position + 5 <= count, load32(at: position + 1) == 0x6573_6C61 else { throw misspelt(.false) }
        position += 5
    }

    /// Four bytes as a number whose lowest byte comes first; `position + 4 <= count`.
    @inline(__always)
    func load32(at position: Int) -> UInt32 {
        UInt32(littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt32.self))
    }

    /// The fault of something that starts like a literal and is none.
    private func misspelt(_ name: JSONFault.Expectation) -> JSONFault {
        var scanner = self
        for letter in name.rawValue.utf8 {
            guard scanner.position < count, base[scanner.position] == letter else { break }
            scanner.position += 1
        }
        return scanner.fault(expecting: name)
    }
}
