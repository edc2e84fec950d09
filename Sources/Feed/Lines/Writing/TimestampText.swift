package import Reactor

/// Writes times as RFC 3339 in UTC with microseconds, always 27 bytes: `2026-11-20T12:52:56.123456Z`.
///
/// Caches the text of the last time: consecutive events mostly share it, or its second.
package struct TimestampText: Sendable {
    private var microseconds: Int64?
    private var second = Int64.min
    /// `"YYYY-MM-DDTHH:MM:SS.ffffffZ"`
    private var text: InlineArray<29, UInt8> = .init(repeating: UInt8(ascii: "\""))

    package init() {}

    /// Writes the time in quotes, 29 bytes. Times outside the years 0000 to 9999 are clamped to them.
    package mutating func write(_ time: Timestamp, to writer: inout LineWriter) {
        if time.microseconds != microseconds { render(time.microseconds) }
        text.span.withUnsafeBufferPointer { writer.raw($0) }
    }

    @inline(never)
    private mutating func render(_ microseconds: Int64) {
        self.microseconds = microseconds
        let clamped = min(max(microseconds, -62_167_219_200_000_000), 253_402_300_799_999_999)
        var (second, fraction) = clamped.quotientAndRemainder(dividingBy: 1_000_000)
        if fraction < 0 {
            second -= 1
            fraction += 1_000_000
        }
        if second != self.second { render(second: second) }
        put(Int(fraction), digits: 6, at: 21)
    }

    private mutating func render(second: Int64) {
        self.second = second
        let days = (second >= 0 ? second : second - 86_399) / 86_400
        let ofDay = Int(second - days * 86_400)
        let (year, month, day) = Self.civil(days: Int(days))
        put(year, digits: 4, at: 1)
        text[5] = UInt8(ascii: "-")
        put(month, digits: 2, at: 6)
        text[8] = UInt8(ascii: "-")
        put(day, digits: 2, at: 9)
        text[11] = UInt8(ascii: "T")
        put(ofDay / 3_600, digits: 2, at: 12)
        text[14] = UInt8(ascii: ":")
        put(ofDay / 60 % 60, digits: 2, at: 15)
        text[17] = UInt8(ascii: ":")
        put(ofDay % 60, digits: 2, at: 18)
        text[20] = UInt8(ascii: ".")
        text[27] = UInt8(ascii: "Z")
    }

    private mutating func put(_ value: Int, digits: Int, at start: Int) {
        var rest = value
        for offset in stride(from: digits - 1, through: 0, by: -1) {
            text[start + offset] = UInt8(truncatingIfNeeded: rest % 10) + 48
            rest /= 10
        }
    }

    /// The proleptic Gregorian date of a day counted from 1970-01-01, in years from 1 March and eras of 400 years.
    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468  // since 0000-03-01
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Timestamp {
    /// The time in UTC, as lines write it.
    package var text: String {
        let quoted = LineWriter.bytes(atMost: 29) { writer in
            var text = TimestampText()
            text.write(self, to: &writer)
        }
        return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
    }
}
