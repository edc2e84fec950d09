internal import CCurl
package import Reactor

/// The `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date.
package enum RetryAfter {
    /// The longest time that a server can make us wait.
    package static let longest = Duration.seconds(300)
    /// The end of the year 9999, after which there are no HTTP dates; libcurl reads years that overflow a `Timestamp`.
    private static let lastDate = 253_402_300_799

    /// The time to wait by this header, clamped to 0…5 minutes; nil when it cannot be parsed.
    package static func delay(_ text: String, now: Timestamp) -> Duration? {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return Int64(text).map { min(longest, .seconds(min($0, 86_400))) } ?? longest
        }
        // All three date forms of RFC 9110, section 5.6.7.
        guard text.utf8.count <= 64, case let date = curl_getdate(text, nil), (0...lastDate).contains(date) else {
            return nil
        }
        return max(.zero, min(longest, Timestamp(seconds: Int64(date)) - now))
    }
}
