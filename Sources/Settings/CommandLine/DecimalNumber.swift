/// A non-negative decimal number at the front of a text, kept exactly: digits, then optionally a point and digits.
struct DecimalNumber {
    /// The text after the number: its unit.
    let rest: Substring.UTF8View
    private let whole: Substring.UTF8View
    private let fraction: Substring.UTF8View

    /// Returns nil when the text does not begin with a digit, or no digit follows a point.
    init?(prefixOf text: String.UTF8View) {
        let text = text[...]
        whole = text.prefix(while: \.isDecimalDigit)
        guard !whole.isEmpty else { return nil }
        let tail = text[whole.endIndex...]
        guard tail.first == UInt8(ascii: ".") else {
            fraction = tail.prefix(0)
            rest = tail
            return
        }
        fraction = tail.dropFirst().prefix(while: \.isDecimalDigit)
        guard !fraction.isEmpty else { return nil }
        rest = text[fraction.endIndex...]
    }

    /// The number times `unit`; nil when that overflows or is not whole.
    func scaled(by unit: Int64) -> Int64? {
        guard let units = Int64(Substring(whole)) else { return nil }
        let (product, overflow) = units.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        guard let part = scaledFraction(by: unit) else { return nil }
        let (sum, carried) = product.addingReportingOverflow(part)
        return carried ? nil : sum
    }

    /// The digits after the point times `unit`; nil when the result has a fraction of its own.
    private func scaledFraction(by unit: Int64) -> Int64? {
        var digits = fraction
        while digits.last == UInt8(ascii: "0") { digits = digits.dropLast() }
        guard !digits.isEmpty else { return 0 }
        // 18 digits fit into Int64, and no unit has more factors of ten than that.
        guard digits.count <= 18, let numerator = Int64(Substring(digits)) else { return nil }
        var denominator: Int64 = 1
        for _ in digits { denominator *= 10 }
        let product = numerator.multipliedFullWidth(by: unit)
        // numerator < denominator, so the quotient is below `unit` and fits.
        let (quotient, remainder) = denominator.dividingFullWidth(product)
        return remainder == 0 ? quotient : nil
    }
}

extension UInt8 {
    var isDecimalDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether it is an ASCII letter or digit.
    var isAlphanumeric: Bool { isDecimalDigit || (0x61...0x7A).contains(self | 0x20) }
}
