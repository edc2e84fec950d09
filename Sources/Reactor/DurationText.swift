/// Durations as people write them: `500ms`, `10s`, `1.5s`, `2m`, `1h`, `7d`, and bare seconds.
package enum DurationText {
    /// Why a text is no duration.
    package enum Fault: Error {
        /// It is no number with a unit.
        case form
        /// It is finer than nanoseconds, or longer than 292 years.
        case range
    }

    /// Reads a duration, which is not negative.
    package static func parse(_ text: String) throws(Fault) -> Duration {
        guard let number = DecimalNumber(prefixOf: text.utf8), let unit = units[String(Substring(number.rest))] else {
            throw .form
        }
        guard let value = number.scaled(by: unit) else { throw .range }
        return .nanoseconds(value)
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
