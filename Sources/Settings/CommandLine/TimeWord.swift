internal import Feed
package import Reactor

/// A point of time as people say it: `2026-11-22T08:00:00Z`, `2026-11-22`, `2026-11-22 08:00`, `-1h`, `today`.
package struct TimeWord: Sendable, Equatable {
    /// As it was said.
    let text: String
    private let meaning: Meaning

    private enum Meaning: Equatable {
        case at(Timestamp)
        /// So long ago.
        case ago(Duration)
        /// When the clocks here showed what UTC's show at that time.
        case here(Timestamp)
        /// When today began here, or so many days before.
        case midnight(daysAgo: Int)
    }

    /// What may be said to be ago.
    private static let span = Duration.zero...Duration.seconds(100 * 366 * 86_400)

    /// - Throws: `UsageError`.
    package init(_ text: String) throws(UsageError) {
        self.text = text
        switch text {
        case "now": meaning = .ago(.zero)
        case "today": meaning = .midnight(daysAgo: 0)
        case "yesterday": meaning = .midnight(daysAgo: 1)
        default:
            // A space for the T is RFC 3339's as well; what has no offset is here.
            let words = text.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "T")
            if let time = Self.time(words) {
                meaning = .at(time)
            } else if let time = ["T00:00:00Z", ":00Z", "Z"].lazy.compactMap({ Self.time(words + $0) }).first {
                meaning = .here(time)
            } else if let unit = text.utf8.last, !unit.isDecimalDigit,
                let ago = try? DurationText.parse(text.hasPrefix("-") ? String(text.dropFirst()) : text, in: Self.span)
            {
                meaning = .ago(ago)
            } else {
                throw UsageError(
                    "\(UsageError.quoted(text)) is no time; write 2026-11-22T08:00:00Z, 2026-11-22, -1h, today or "
                        + "yesterday")
            }
        }
    }

    private static func time(_ text: String) -> Timestamp? { RFC3339.parse(Array(text.utf8)[...]) }

    /// When that is.
    ///
    /// - Parameter offset: how many seconds local time is ahead of UTC at a time.
    package func time(now: Timestamp, offset: (Timestamp) -> Int) -> Timestamp {
        switch meaning {
        case .at(let time): return time
        case .ago(let duration): return now - duration
        case .here(let shown): return Self.utc(shown, offset)
        case .midnight(let days):
            let shown = (now + .seconds(offset(now))).microseconds
            let day: Int64 = 86_400_000_000
            let midnight = (shown >= 0 ? shown : shown - day + 1) / day - Int64(days)
            return Self.utc(Timestamp(microseconds: midnight * day), offset)
        }
    }

    /// When clocks here show what UTC's show at `shown`; where they show it twice, or never, one hour off at the most.
    private static func utc(_ shown: Timestamp, _ offset: (Timestamp) -> Int) -> Timestamp {
        let guess = shown - .seconds(offset(shown))
        return shown - .seconds(offset(guess))
    }
}
