package import Reactor

extension DurationText {
    /// Reads a duration.
    ///
    /// - Parameter range: the durations that the option allows, both ends included.
    /// - Throws: `UsageError` when the text is not a duration, is finer than nanoseconds, or is out of range.
    package static func parse(_ text: String, in range: ClosedRange<Duration>) throws(UsageError) -> Duration {
        do throws(Fault) {
            let duration = try parse(text)
            guard range.contains(duration) else { throw .range }
            return duration
        } catch {
            switch error {
            case .form:
                throw UsageError(
                    "\(UsageError.quoted(text)) is not a duration; write 500ms, 10s, 2m, 1h, or bare seconds")
            case .range:
                throw UsageError(
                    "\(UsageError.quoted(text)) is out of range; "
                        + "write \(format(range.lowerBound)) to \(format(range.upperBound))")
            }
        }
    }
}
