internal import Glibc
package import Reactor

/// The time zone of this machine's user (`TZ`, /etc/localtime).
package enum LocalTime {
    /// The offset of local time from UTC at `time`, in seconds, positive to the east.
    package static func offset(at time: Timestamp) -> Int {
        var seconds = time_t(time.microseconds / 1_000_000)
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }
}
