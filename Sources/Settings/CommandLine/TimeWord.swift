internal import Feed
package import Reactor

/// A point of time as people write it: `2026-11-22T08:00:00Z`, `2026-11-22`, `2026-11-22 08:00`, `08:00`, `yesterday
/// 08:00`, `-1h`, `1h ago`, `today`.
package struct TimeWord: Sendable, Equatable {
    /// The text as it was written.
    let text: String
    private let meaning: Meaning

    private enum Meaning: Equatable {
        case at(Timestamp)
        /// This long before now.
        case ago(Duration)
        /// The moment when local clocks showed this time, which is stored as if it were UTC.
        case here(Timestamp)
        /// When local clocks showed this time since midnight, that many days before today; nil for the latest time they
        /// did.
        case clock(Duration, daysAgo: Int?)
    }

    /// The durations that may be written as "ago".
    private static let span = Duration.zero...Duration.seconds(100 * 366 * 86_400)

    /// - Throws: `UsageError`.
    package init(_ text: String) throws(UsageError) {
        self.text = text
        switch text {
        case "now": meaning = .ago(.zero)
        case "today": meaning = .clock(.zero, daysAgo: 0)
        case "yesterday": meaning = .clock(.zero, daysAgo: 1)
        default:
            // RFC 3339 also allows a space for the T; a time without an offset is local.
            let words = text.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "T")
            if let time = Self.time(words) {
                meaning = .at(time)
            } else if let time = ["T00:00:00Z", ":00Z", "Z"].lazy.compactMap({ Self.time(words + $0) }).first {
                meaning = .here(time)
            } else if let clock = Self.clock(text) {
                meaning = clock
            } else if let ago = Self.ago(text) {
                meaning = .ago(ago)
            } else {
                throw UsageError(
                    "\(UsageError.quoted(text)) is no time; write 08:00, 'yesterday 08:00', '2026-11-22 08:00', 2026-11-22, "
                        + "2026-11-22T08:00:00Z, -1h, '1h ago', today, yesterday or now")
            }
        }
    }

    private static func clock(_ text: String) -> Meaning? {
        let days = ["today ": 0, "yesterday ": 1]
        let day = days.first { text.hasPrefix($0.key) }
        let shown = "1970-01-01T" + text.dropFirst(day?.key.count ?? 0)
        guard let time = [":00Z", "Z"].lazy.compactMap({ Self.time(shown + $0) }).first else { return nil }
        return .clock(.microseconds(time.microseconds), daysAgo: day?.value)
    }

    private static func ago(_ text: String) -> Duration? {
        let span =
            text.hasSuffix(" ago") ? text.dropLast(" ago".count) : text.hasPrefix("-") ? text.dropFirst() : text[...]
        // A number without a unit may be a year.
        guard let unit = span.utf8.last, !unit.isDecimalDigit else { return nil }
        return try? DurationText.parse(String(span), in: Self.span)
    }

    private static func time(_ text: String) -> Timestamp? { RFC3339.parse(Array(text.utf8)[...]) }

    /// Returns the point of time.
    ///
    /// - Parameter offset: returns the seconds that local time is ahead of UTC at a given time.
    package func time(now: Timestamp, offset: (Timestamp) -> Int) -> Timestamp {
        switch meaning {
        case .at(let time): return time
        case .ago(let duration): return now - duration
        case .here(let shown): return Self.utc(shown, offset)
        case .clock(let clock, let daysAgo):
            let shown = (now + .seconds(offset(now))).microseconds
            let day: Int64 = 86_400_000_000
            let today = (shown >= 0 ? shown : shown - day + 1) / day
            func time(daysAgo: Int) -> Timestamp {
                Self.utc(Timestamp(microseconds: (today - Int64(daysAgo)) * day) + clock, offset)
            }
            if let daysAgo { return time(daysAgo: daysAgo) }
            let last = time(daysAgo: 0)
            return last <= now ? last : time(daysAgo: 1)
        }
    }

    /// When local clocks show the time that `shown` is in UTC; at most an hour off where they show it twice or never.
    private static func utc(_ shown: Timestamp, _ offset: (Timestamp) -> Int) -> Timestamp {
        let guess = shown - .seconds(offset(shown))
        return shown - .seconds(offset(guess))
    }
}
