internal import Reactor

/// Sizes as people write them: `64KiB`, `1MiB`, `1MB`, `2GiB`, and bare bytes; case does not matter.
package enum ByteSize {
    /// Reads a size in bytes.
    ///
    /// - Parameter range: the sizes that the option allows, both ends included.
    /// - Throws: `UsageError` when the text is not a size, is not a whole number of bytes, or is out of range.
    package static func parse(_ text: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let number = DecimalNumber(prefixOf: text.utf8), let unit = units[Substring(number.rest).lowercased()]
        else {
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

    private static let units: [String: Int64] = [
        "": 1, "b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "kib": 1 << 10, "mib": 1 << 20,
        "gib": 1 << 30,
    ]
}
