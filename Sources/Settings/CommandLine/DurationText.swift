/// Durations as people write them: `500ms`, `10s`, `1.5s`, `2m`, `1h`, `7d`, and bare seconds.
package enum DurationText {
    /// Reads a duration.
    ///
    /// - Parameter range: the durations that the option allows, both ends included.
    /// - Throws: `UsageError` when the text is not a duration, is finer than nanoseconds, or is out of range.
    package static func parse(_ text: String, in range: ClosedRange<Duration>) throws(UsageError) -> Duration {
        guard let number = DecimalNumber(prefixOf: text.utf8), let unit = units[String(Substring(number.rest))] else {
            throw UsageError(
                "\(UsageError.quoted(text)) is not a duration; write 500ms, 10s, 2m, 1h, or bare seconds")
        }
        guard let value = number.scaled(by: unit), case let duration = Duration.nanoseconds(value),
            range.contains(duration)
        else {
            throw UsageError(
                "\(UsageError.quoted(text)) is out of range; "
                    + "write \(format(range.lowerBound)) to \(format(range.upperBound))")
        }
        return duration
    }

    /// The shortest text that `parse` reads back as this duration: `2m`, `500ms`, `1.5s`; exact to the nanosecond.
    package static func format(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = attoseconds / 1_000_000_000
        if nanoseconds == 0 {
            for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "m")] as [(Int64, String)]
            where seconds != 0 && seconds % unit == 0 {
                return "\(seconds / unit)\(name)"
            }
            return "\(seconds)s"
        }
        if seconds == 0 && nanoseconds % 1_000_000 == 0 { return "\(nanoseconds / 1_000_000)ms" }
        var fraction = String(nanoseconds)
        fraction = String(repeating: "0", count: 9 - fraction.count) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(seconds).\(fraction)s"
    }

    /// In nanoseconds.
    private static let units: [String: Int64] = [
        "ms": 1_000_000, "s": 1_000_000_000, "": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000,
        "d": 86_400_000_000_000,
    ]
}
