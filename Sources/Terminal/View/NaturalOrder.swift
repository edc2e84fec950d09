/// The order in which people count: `dogs/2` before `dogs/10`.
package enum NaturalOrder {
    /// Whether `left` comes before `right`: byte by byte, with adjacent digits as one number of any length.
    ///
    /// A strict weak order: names that differ only in leading zeros are compared as plain text.
    package static func isBefore(_ left: String, _ right: String) -> Bool {
        let (one, other) = (left.utf8.span, right.utf8.span)
        var (i, j) = (0, 0)
        while i < one.count, j < other.count {
            guard isDigit(one[i]), isDigit(other[j]) else {
                if one[i] != other[j] { return one[i] < other[j] }
                i += 1
                j += 1
                continue
            }
            let (number, another) = (digits(one, from: i), digits(other, from: j))
            if number.count != another.count { return number.count < another.count }
            for (index, counterpart) in zip(number, another) where one[index] != other[counterpart] {
                return one[index] < other[counterpart]
            }
            (i, j) = (number.upperBound, another.upperBound)
        }
        if (i < one.count) != (j < other.count) { return i == one.count }
        return left < right
    }

    /// The range of the digits of the number at `start`, without leading zeros.
    private static func digits(_ text: Span<UInt8>, from start: Int) -> Range<Int> {
        var first = start
        while first < text.count, text[first] == UInt8(ascii: "0") { first += 1 }
        var end = first
        while end < text.count, isDigit(text[end]) { end += 1 }
        return first..<end
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
}
