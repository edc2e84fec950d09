internal import Feed
package import Reactor

/// Numbers, amounts and times as short text for people.
package enum NumberText {
    /// With exactly `decimals` (0 to 9) digits behind the point; as `1.20e20` where it would have too many digits.
    package static func fixed(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite else { return value.isNaN ? "–" : value < 0 ? "-∞" : "∞" }
        let decimals = min(max(decimals, 0), 9)
        let scale = powers[decimals]
        let scaled = (abs(value) * scale).rounded()
        guard scaled < 9e15 else { return scientific(value) }
        let whole = Int64(scaled)
        let sign = value < 0 && whole > 0 ? "-" : ""
        guard decimals > 0 else { return sign + String(whole) }
        let (units, fraction) = whole.quotientAndRemainder(dividingBy: Int64(scale))
        let digits = String(fraction)
        return sign + String(units) + "." + String(repeating: "0", count: decimals - digits.count) + digits
    }

    /// With about four significant digits: `106`, `12345`, `1.234`, `0.0012`, `12.35M`, `3.74e20`.
    package static func short(_ value: Double) -> String {
        let size = abs(value)
        if size >= 1e15 || (size < 1e-4 && size > 0) { return value.isFinite ? scientific(value) : fixed(value, 0) }
        if size >= 1e6 {
            let (unit, letter) = size >= 1e12 ? (1e12, "T") : size >= 1e9 ? (1e9, "G") : (1e6, "M")
            return fixed(value / unit, size / unit >= 100 ? 1 : 2) + letter
        }
        if value == value.rounded() || size >= 10_000 { return fixed(value, 0) }
        if size >= 100 { return trimmed(value, 1) }
        if size >= 10 { return trimmed(value, 2) }
        if size >= 0.1 { return trimmed(value, 3) }
        return trimmed(value, 5)
    }

    /// A duration in milliseconds: `0.31`, `9.87`, `41.0`, `132`, always in milliseconds.
    package static func milliseconds(_ value: Double) -> String {
        let size = abs(value)
        return fixed(value, size < 10 ? 2 : size < 100 ? 1 : 0)
    }

    /// An amount of memory and its unit: `14.1`, `MiB`.
    package static func bytes(_ value: Double) -> (text: String, unit: String) {
        let size = abs(value)
        let (divisor, unit) =
            size >= 1_073_741_824
            ? (1_073_741_824.0, "GiB")
            : size >= 1_048_576 ? (1_048_576, "MiB") : size >= 1_024 ? (1_024, "KiB") : (1, "B")
        let amount = value / divisor
        return (fixed(amount, divisor == 1 || abs(amount) >= 100 ? 0 : 1), unit)
    }

    /// A time since an event, in at most six columns: `3s`, `1m41s`, `5h07m`, `3d12h`, `100d`; never negative.
    package static func age(_ duration: Duration) -> String {
        let seconds = max(0, Int(duration.seconds))
        func text(_ large: (size: Int, name: String), _ small: (size: Int, name: String)) -> String {
            let rest = seconds % large.size / small.size
            return "\(seconds / large.size)\(large.name)\(rest < 10 ? "0" : "")\(rest)\(small.name)"
        }
        if seconds < 60 { return "\(seconds)s" }
        if seconds < 3_600 { return text((60, "m"), (1, "s")) }
        if seconds < 86_400 { return text((3_600, "h"), (60, "m")) }
        return seconds < 8_640_000 ? text((86_400, "d"), (3_600, "h")) : "\(seconds / 86_400)d"
    }

    /// A span, as for keys and axes: `10 s`, `2 m`, `6 h`, `7 d`, `1.5 s`.
    package static func span(_ duration: Duration) -> String {
        let seconds = duration.seconds
        for (unit, letter) in [(86_400.0, "d"), (3_600, "h")]
        where seconds >= 2 * unit && seconds.truncatingRemainder(dividingBy: unit) == 0 {
            return "\(Int(seconds / unit)) \(letter)"
        }
        if seconds >= 120, seconds.truncatingRemainder(dividingBy: 60) == 0 { return "\(Int(seconds) / 60) m" }
        return trimmed(seconds, 2) + " s"
    }

    /// A running time: `41 s`, `2 m 03 s`, `5 h 12 m`, `3 d 4 h`.
    package static func uptime(_ duration: Duration) -> String {
        let seconds = max(0, Int(duration.seconds))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3_600 { return "\(seconds / 60) m \(two(seconds % 60)) s" }
        if seconds < 172_800 { return "\(seconds / 3_600) h \(two(seconds % 3_600 / 60)) m" }
        return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
    }

    /// A duration: `250 ms`, `2.3 s`, `2 m 03 s`.
    package static func length(_ duration: Duration) -> String {
        duration < .seconds(60) ? duration.shortText : uptime(duration)
    }

    /// The time of day, `offset` seconds ahead of UTC, with up to three digits of the second's fraction.
    package static func clock(_ time: Timestamp, offset: Int, decimals: Int = 0) -> String {
        let (product, overflow) = Int64(offset).multipliedReportingOverflow(by: 1_000_000)
        let local = overflow ? time.microseconds : time.microseconds &+ product
        let day: Int64 = 86_400_000_000
        let micros = ((local % day) + day) % day
        let seconds = micros / 1_000_000
        var text = "\(two(seconds / 3_600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        if decimals > 0 {
            let digits = String(micros % 1_000_000 + 1_000_000).dropFirst()
            text += "." + digits.prefix(decimals)
        }
        return text
    }

    /// A time as a person names it: `14:03`, or `11-21 14:03` when that is a day ago or more.
    static func moment(_ time: Timestamp, now: Timestamp, offset: Int) -> String {
        let minute = String(clock(time, offset: offset).dropLast(3))
        return now - time < .seconds(86_400) ? minute : date(time, offset: offset) + " " + minute
    }

    /// The time until something happens: `in 3 s`, `in 1m41s`, in whole seconds that have begun; `now`.
    static func countdown(_ rest: Duration) -> String {
        guard rest > .zero else { return "now" }
        let seconds = rest.components.seconds + (rest.components.attoseconds > 0 ? 1 : 0)
        return "in " + (seconds < 60 ? "\(seconds) s" : age(.seconds(seconds)))
    }

    /// `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`
    static func ordinal(_ number: Int) -> String {
        let endings = ["th", "st", "nd", "rd"]
        let isTeen = 11...13 ~= number % 100
        return "\(number)" + (isTeen || number % 10 > 3 || number < 0 ? "th" : endings[number % 10])
    }

    private static func two(_ number: some BinaryInteger) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// The month and the day, `offset` seconds ahead of UTC: `11-21`.
    static func date(_ time: Timestamp, offset: Int) -> String {
        var writer = TimestampText()
        let text = LineWriter.bytes(atMost: 32) { writer.write(time + .seconds(offset), to: &$0) }
        return String(decoding: text[6..<11], as: UTF8.self)
    }

    /// Like `fixed`, without trailing zeros.
    static func trimmed(_ value: Double, _ decimals: Int) -> String {
        var text = fixed(value, decimals)
        guard text.utf8.contains(UInt8(ascii: ".")), !text.utf8.contains(UInt8(ascii: "e")) else { return text }
        while text.utf8.last == UInt8(ascii: "0") { text.removeLast() }
        if text.utf8.last == UInt8(ascii: ".") { text.removeLast() }
        return text
    }

    private static func scientific(_ value: Double) -> String {
        var exponent = 0
        var mantissa = abs(value)
        // At most 324 steps, and only for extreme numbers.
        while mantissa >= 10 {
            mantissa /= 10
            exponent += 1
        }
        while mantissa < 1, mantissa > 0 {
            mantissa *= 10
            exponent -= 1
        }
        if mantissa >= 9.995 {
            mantissa /= 10
            exponent += 1
        }
        return (value < 0 ? "-" : "") + fixed(mantissa, 2) + "e" + String(exponent)
    }

    private static let powers: [Double] = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
}

/// A value of a series as text, with its unit.
struct Quantity: Equatable {
    var text: String
    /// Empty for none.
    var unit: String

    /// - Parameter unit: the unit of the source's values.
    init(_ value: Double, _ kind: SeriesKind, unit: String?) {
        switch kind {
        case .latency: (text, self.unit) = (NumberText.milliseconds(value), "ms")
        case .memory: (text, self.unit) = NumberText.bytes(value)
        case .count: (text, self.unit) = (NumberText.short(value), "")
        case .data, .text, .alert:
            text = unit == "ms" ? NumberText.milliseconds(value) : NumberText.short(value)
            self.unit = unit ?? ""
        }
    }

    /// A word in place of a number.
    init(word: String) { (text, unit) = (word, "") }

    /// `106`, `41.0 ms`
    var whole: String { unit.isEmpty ? text : text + " " + unit }
}
