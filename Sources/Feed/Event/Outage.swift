package import Reactor

/// A time in which something cannot be had: how often it was tried, and what was said of it.
///
/// - Parameter Cause: what tells one thing that is said from another.
package struct Outage<Cause: Equatable & Sendable>: Sendable {
    /// When it began; nil while there is none.
    package private(set) var since: LoopInstant?
    /// Tries in a row that came to nothing.
    package private(set) var attempts = 0
    /// What was said of it last.
    private var told: Cause?

    package init() {}

    /// Notes a try that came to nothing.
    ///
    /// - Parameters:
    ///   - first: which try in a row is the first one worth a line.
    ///   - isBrief: whether the line is worth nothing once anything was said.
    /// - Returns: whether that is to be said: once, and again when it is something else.
    package mutating func fail(by cause: Cause, at now: LoopInstant, from first: Int = 1, isBrief: Bool = false) -> Bool
    {
        since = since ?? now
        attempts += 1
        guard attempts >= first, isBrief ? told == nil : told != cause else { return false }
        told = cause
        return true
    }

    /// It is over, if there is one.
    ///
    /// - Returns: what is to be said of it; nil when nothing was said before.
    package mutating func end(at now: LoopInstant) -> Recovery? {
        defer { self = Self() }
        guard let since, told != nil else { return nil }
        return Recovery(down: since.duration(to: now), attempts: attempts)
    }
}
