package import Reactor

/// A worker in virtual time: the loop that asks does the work itself, one piece after the other as a thread would.
package final class SimulatedWorker: Worker, @unchecked Sendable {  // touched on one loop only
    /// How long each piece takes: until it is done, and until that is known on the loop. Without it, no time.
    package var time: (() -> (before: Duration, after: Duration))?
    /// When it is done with what it has.
    private var busyUntil = LoopInstant(nanoseconds: 0)

    package init() {}

    package func perform<Value: Sendable>(
        for loop: EventLoop, _ work: @escaping @Sendable () -> Value, then done: (@Sendable (Value) -> Void)?
    ) {
        guard time != nil || loop.clock.now < busyUntil else { return loop.perform(for: loop, work, then: done) }
        let time = time?() ?? (before: .zero, after: .zero)
        let end = max(loop.clock.now, busyUntil).advanced(by: time.before)
        busyUntil = end.advanced(by: time.after)
        loop.schedule(at: end) {
            let value = work()
            if let done { loop.schedule(after: time.after) { done(value) } }
        }
    }
}
