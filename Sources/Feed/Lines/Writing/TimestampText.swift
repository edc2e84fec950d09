internal import Glibc
package import Reactor

/// Writes times as RFC 3339 in UTC with microseconds, always 27 bytes: `2026-11-20T12:52:56.123456Z`.
///
/// Caches the text of the last second: consecutive events mostly share it.
package struct TimestampText: Sendable {
    private var second = Int64.min
    /// `"YYYY-MM-DDTHH:MM:SS.`, the opening quote included.
    private var prefix: InlineArray<21, UInt8> = .init(repeating: 0)

    package init() {}

    /// Writes the time in quotes, 29 bytes. Times outside the years 0000 to 9999 are clamped to them.
    package mutating func write(_ time: Timestamp, to writer: inout LineWriter) {
        let clamped = min(max(time.microseconds, -62_167_219_200_000_000), 253_402_300_799_999_999)
        var (second, fraction) = clamped.quotientAndRemainder(dividingBy: 1_000_000)
        if fraction < 0 {
            second -= 1
            fraction += 1_000_000
        }
        if second != self.second { render(second) }
        prefix.span.withUnsafeBufferPointer { writer.raw($0) }
        var rest = UInt32(truncatingIfNeeded: fraction)
        let place = writer.next
        for offset in stride(from: 5, through: 0, by: -1) {
            place[offset] = UInt8(truncatingIfNeeded: rest % 10) &+ 48
            rest /= 10
        }
        place[6] = UInt8(ascii: "Z")
        place[7] = UInt8(ascii: "\"")
        writer = LineWriter(place + 8)
    }

    private mutating func render(_ second: Int64) {
        self.second = second
        var (time, parts) = (time_t(second), tm())
        gmtime_r(&time, &parts)
        prefix[0] = UInt8(ascii: "\"")
        put(parts.tm_year + 1_900, digits: 4, at: 1)
        prefix[5] = UInt8(ascii: "-")
        put(parts.tm_mon + 1, digits: 2, at: 6)
        prefix[8] = UInt8(ascii: "-")
        put(parts.tm_mday, digits: 2, at: 9)
        prefix[11] = UInt8(ascii: "T")
        put(parts.tm_hour, digits: 2, at: 12)
        prefix[14] = UInt8(ascii: ":")
        put(parts.tm_min, digits: 2, at: 15)
        prefix[17] = UInt8(ascii: ":")
        put(parts.tm_sec, digits: 2, at: 18)
        prefix[20] = UInt8(ascii: ".")
    }

    private mutating func put(_ value: Int32, digits: Int, at place: Int) {
        var rest = value
        for offset in stride(from: digits - 1, through: 0, by: -1) {
            prefix[place + offset] = UInt8(truncatingIfNeeded: rest % 10) + 48
            rest /= 10
        }
    }
}
