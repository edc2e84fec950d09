/// A non-negative decimal number at the front of a text, kept exactly: digits, then optionally a point and digits.
package struct DecimalNumber {
    /// The text after the number: its unit.
    package let rest: Substring.UTF8View
    private let whole: Substring.UTF8View
    private let fraction: Substring.UTF8View

    /// Returns nil when the text does not begin with a digit, or no digit follows a point.
    package init?(prefixOf text: String.UTF8View) {
        whole = text.prefix(while: \.isDecimalDigit)
        let tail = text[whole.endIndex...]
        let hasPoint = tail.first == UInt8(ascii: ".")
        fraction = hasPoint ? tail.dropFirst().prefix(while: \.isDecimalDigit) : tail.prefix(0)
        rest = text[fraction.endIndex...]
        if whole.isEmpty || hasPoint && fraction.isEmpty { return nil }
    }

    /// The number times `unit`; nil when that overflows or is not whole.
    package func scaled(by unit: Int64) -> Int64? {
        var digits = fraction
        while digits.last == UInt8(ascii: "0") { digits = digits.dropLast() }
        // No unit has more than 18 factors of ten.
        guard digits.count <= 18, let number = Int128(String(Substring(whole)) + String(Substring(digits))) else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: Int128(unit))
        let (quotient, remainder) = product.quotientAndRemainder(
            dividingBy: digits.reduce(1) { power, _ in power * 10 })
        return overflow || remainder != 0 ? nil : Int64(exactly: quotient)
    }
}

extension UInt8 {
    /// Whether it is an ASCII digit.
    package var isDecimalDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether it is an ASCII letter or digit.
    package var isAlphanumeric: Bool { isDecimalDigit || (0x61...0x7A).contains(self | 0x20) }
}
