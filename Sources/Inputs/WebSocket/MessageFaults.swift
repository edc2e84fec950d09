internal import Feed
internal import Reactor

/// What was wrong with messages, told at most once a second and with how many there were.
struct MessageFaults {
    private var count = 0
    private var first: Failure?
    private var notBefore: LoopInstant?

    static let pause = Duration.seconds(1)

    /// When there is something to tell; nil while there is not.
    var due: LoopInstant? { count > 0 ? notBefore ?? LoopInstant(nanoseconds: 0) : nil }

    /// Notes what was wrong with a message.
    mutating func note(_ failure: Failure) {
        count += 1
        first = first ?? failure
    }

    /// What to tell; nil when it is not time, or nothing was wrong.
    ///
    /// - Parameter isLast: whether there will be no other time.
    mutating func take(at now: LoopInstant, isLast: Bool = false) -> Failure? {
        guard var failure = first, let due, due <= now || isLast else { return nil }
        failure.message = (count == 1 ? "in a message: " : "in \(count) messages, the first one: ") + failure.message
        first = nil
        count = 0
        notBefore = now.advanced(by: Self.pause)
        return failure
    }
}
