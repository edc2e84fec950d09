extension UInt8 {
    var isDecimalDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether it is an ASCII letter or digit.
    var isAlphanumeric: Bool { isDecimalDigit || (0x61...0x7A).contains(self | 0x20) }
}
