package import Reactor

/// Times as text: `2026-07-30T09:15:00.123456Z` (RFC 3339).
package enum RFC3339 {
    /// Parses a time; nil unless all of `text` is a date and time of RFC 3339 section 5.6.
    ///
    /// Accepts `Z` and numeric offsets, letters of either case, and fractions of 1 to 9 digits, cut to microseconds. A
    /// leap second, which is possible only at 23:59:60 UTC, becomes the second after it.
    package static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Timestamp? {
        // The shortest form is 1970-01-01T00:00:00Z, the longest has nine digits and a numeric offset.
        guard 20...35 ~= text.count, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] | 0x20 == UInt8(ascii: "t"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let century = pair(text, 0), let yearOfCentury = pair(text, 2), let month = pair(text, 5),
            let day = pair(text, 8), let hour = pair(text, 11), let minute = pair(text, 14), let second = pair(text, 17)
        else { return nil }
        let year = century * 100 + yearOfCentury
        guard 1...12 ~= month, 1...days(in: month, of: year) ~= day, hour < 24, minute < 60, second <= 60 else {
            return nil
        }
        var position = 19
        guard let micros = fraction(text, &position), let offset = offset(text, position) else { return nil }
        let seconds = daysSinceEpoch(year, month, day) * 86_400 + Int64(hour * 3_600 + minute * 60 + second) - offset
        // The second after a leap second is the first of a day.
        guard second < 60 || seconds.quotientAndRemainder(dividingBy: 86_400).remainder == 0 else { return nil }
        return Timestamp(microseconds: seconds * 1_000_000 + micros)
    }

    /// Parses a time; nil unless all of `text` is a date and time of RFC 3339 section 5.6.
    package static func parse(_ text: Bytes) -> Timestamp? { text.withUnsafeBufferPointer { parse($0) } }

    /// Parses two digits.
    @inline(__always)
    private static func pair(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Int? {
        let tens = text[position] &- UInt8(ascii: "0")
        let ones = text[position + 1] &- UInt8(ascii: "0")
        return tens < 10 && ones < 10 ? Int(tens * 10 + ones) : nil
    }

    /// The microseconds of an optional fraction at `position`, which moves past it.
    private static func fraction(_ text: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Int64? {
        guard text[position] == UInt8(ascii: ".") else { return 0 }
        position += 1
        var value: Int64 = 0
        var digits = 0
        while position < text.count, text[position] &- UInt8(ascii: "0") < 10 {
            if digits < 6 { value = value * 10 + Int64(text[position] - UInt8(ascii: "0")) }
            digits += 1
            position += 1
        }
        guard 1...9 ~= digits else { return nil }
        for _ in min(digits, 6)..<6 { value *= 10 }
        return value
    }

    /// The seconds by which local time is ahead of UTC; nil unless the text ends with this offset.
    private static func offset(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Int64? {
        let rest = text.count - position
        guard rest > 0 else { return nil }
        let sign = text[position]
        if sign | 0x20 == UInt8(ascii: "z") { return rest == 1 ? 0 : nil }
        guard rest == 6, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            text[position + 3] == UInt8(ascii: ":"),
            let hours = pair(text, position + 1), let minutes = pair(text, position + 4), hours < 24, minutes < 60
        else { return nil }
        let seconds = Int64(hours * 3_600 + minutes * 60)
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Years start in March, so that a leap day is the last of its
    /// year.
    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        // Counted from 400 years before, so that none is negative.
        let marchYear = year + (month > 2 ? 400 : 399)
        let monthFromMarch = (month + 9) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        // From March, months have 31, 30, 31, 30 and 31 days, repeatedly: 153 in five.
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        // 400 years have 146,097 days; 719,468 lie between 0000-03-01 and 1970-01-01.
        return Int64(marchYear * 365 + leapDays + dayOfYear - 146_097 - 719_468)
    }
}
