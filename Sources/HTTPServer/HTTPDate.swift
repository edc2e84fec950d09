internal import Glibc
package import Reactor

/// Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
package enum HTTPDate {
    /// The date to the second, rounded down.
    ///
    /// - Parameter time: from 1970 on; earlier times give 1970's start.
    package static func text(of time: Timestamp) -> String {
        var seconds = time_t(max(0, time.microseconds) / 1_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        // In English, as the process has no locale.
        return String(unsafeUninitializedCapacity: 64) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                strftime(text.baseAddress, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            }
        }
    }
}
