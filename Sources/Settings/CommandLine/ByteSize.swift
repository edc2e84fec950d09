/// Sizes as people write them: `64KiB`, `1MiB`, `1MB`, `2GiB`, and bare bytes; case does not matter.
package enum ByteSize {
    /// Reads a size in bytes.
    ///
    /// - Parameter range: the sizes that the option allows, both ends included.
    /// - Throws: `UsageError` when the text is not a size, is not a whole number of bytes, or is out of range.
    package static func parse(_ text: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let number = DecimalNumber(prefixOf: text.utf8), let unit = bytes(of: number.rest) else {
            throw UsageError("\(UsageError.quoted(text)) is not a size; write 64KiB, 1MiB, 1MB, or bare bytes")
        }
        guard let value = number.scaled(by: unit), let size = Int(exactly: value), range.contains(size) else {
            throw UsageError(
                "\(UsageError.quoted(text)) is out of range; "
                    + "write whole bytes, \(format(range.lowerBound)) to \(format(range.upperBound))")
        }
        return size
    }

    /// The shortest text that `parse` reads back as this size: `1MiB`, `1500B`.
    package static func format(_ size: Int) -> String {
        for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] where size != 0 && size % unit == 0 {
            return "\(size / unit)\(name)"
        }
        return "\(size)B"
    }

    private static func bytes(of unit: Substring.UTF8View) -> Int64? {
        switch String(Substring(unit)).lowercased() {
        case "", "b": 1
        case "kb": 1_000
        case "mb": 1_000_000
        case "gb": 1_000_000_000
        case "kib": 1 << 10
        case "mib": 1 << 20
        case "gib": 1 << 30
        default: nil
        }
    }
}
