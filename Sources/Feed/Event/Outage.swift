package import Reactor

/// A period without success: its start, the failed attempts, and the last cause reported.
///
/// - Parameter Cause: distinguishes one report from another.
package struct Outage<Cause: Equatable & Sendable>: Sendable {
    /// The start of the outage; nil while there is none.
    package private(set) var since: LoopInstant?
    /// The number of failed attempts in a row.
    package private(set) var attempts = 0
    /// The last cause reported.
    package private(set) var told: Cause?

    package init() {}

    /// Records a failed attempt.
    ///
    /// - Parameters:
    ///   - first: the number in a row of the first failure to report.
    ///   - isBrief: whether to skip the report if any was made before.
    /// - Returns: whether to report it: once, and again when the cause changes.
    package mutating func fail(by cause: Cause, at now: LoopInstant, from first: Int = 1, isBrief: Bool = false) -> Bool
    {
        since = since ?? now
        attempts += 1
        guard attempts >= first, isBrief ? told == nil : told != cause else { return false }
        told = cause
        return true
    }

    /// Ends the outage, if there is one.
    ///
    /// - Returns: the recovery to report; nil when no failure was reported.
    package mutating func end(at now: LoopInstant) -> Recovery? {
        defer { self = Self() }
        guard let since, told != nil else { return nil }
        return Recovery(down: since.duration(to: now), attempts: attempts)
    }
}
