internal import Glibc
internal import Reactor

/// Formats numbers for people, and writes text.
enum Text {
    /// Three significant digits, without an exponent: `0.0123`, `4.56`, `17.3`, `1234`.
    static func number(_ value: Double) -> String {
        guard value != 0, value.isFinite else { return value == 0 ? "0" : "\(value)" }
        let digits = max(0, min(6, 2 - Int(log10(abs(value)).rounded(.down))))
        return fixed(value, digits)
    }

    /// A number with this many digits after the point.
    static func fixed(_ value: Double, _ digits: Int) -> String {
        let scale = pow(10, Double(digits))
        let scaled = Int((abs(value) * scale).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(scaled)" }
        let unit = Int(scale)
        return "\(sign)\(scaled / unit).\(padded(Int64(scaled % unit), digits))"
    }

    /// A whole number with leading zeros.
    static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// `2026-01-02T03:04:05Z`
    static func utc(_ time: Timestamp) -> String {
        var seconds = time_t(time.microseconds / 1_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { padded(Int64(value), 2) }
        let date = "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        return "\(date)T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }

    /// A cell of a table.
    static func cell(_ text: String, _ width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        return right ? blanks + text : text + blanks
    }

    /// Prints a message on stderr.
    static func say(_ text: String) { write("catwatch-bench: \(text)\n", to: 2) }

    static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                if count <= 0 { return }
                written += count
            }
        }
    }
}
