package import Reactor

/// Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]  // 1970 began on a Thursday
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The date to the second, rounded down.
    ///
    /// - Parameter time: from 1970 on; earlier times give 1970's start.
    package static func text(of time: Timestamp) -> String {
        let seconds = Int(max(0, time.microseconds) / 1_000_000)
        let day = seconds / 86_400
        var year = 1970
        var left = day
        while left >= length(ofYear: year) {
            left -= length(ofYear: year)
            year += 1
        }
        var month = 0
        while left >= length(ofMonth: month, year) {
            left -= length(ofMonth: month, year)
            month += 1
        }
        let clock = [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60].map(twoDigits).joined(separator: ":")
        return "\(days[day % 7]), \(twoDigits(left + 1)) \(months[month]) \(year) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func length(ofYear year: Int) -> Int { isLeap(year) ? 366 : 365 }

    private static func length(ofMonth month: Int, _ year: Int) -> Int {
        month == 1 && isLeap(year) ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
    }
}
