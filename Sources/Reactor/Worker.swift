/// Where work is done that would hold a loop up: one piece after the other, in the order it was asked for.
package protocol Worker: AnyObject, Sendable {
    /// Gets ready, if it is not.
    ///
    /// - Returns: false when no thread can be started; work is then done on the loop that asks for it.
    func start() -> Bool

    /// Has work done.
    ///
    /// - Parameters:
    ///   - loop: the loop that asks, which calls this.
    ///   - done: gets what the work returned, on that loop; nil when nobody waits for it.
    func perform<Value: Sendable>(
        for loop: EventLoop, _ work: @escaping @Sendable () -> Value, then done: (@Sendable (Value) -> Void)?)

    /// Ends its thread, if it has one, after the work it has; does not wait for it, as that may be for ever.
    func stop()
}

/// What has no thread of its own to start or to end.
extension Worker {
    package func start() -> Bool { true }
    package func stop() {}
}

/// A worker with a thread of its own, which is started when the first work comes.
package final class WorkerThread: Worker {
    private let name: String
    private let thread = Locked<LoopThread?>(nil)

    /// - Parameter name: at most 15 bytes, as `ps -L` shows it.
    package init(name: String) { self.name = name }

    private var loop: EventLoop? {
        thread.withLock { thread in
            if thread == nil { thread = try? LoopThread(name: name) }
            return thread?.loop
        }
    }

    package func start() -> Bool { loop != nil }

    package func perform<Value: Sendable>(
        for loop: EventLoop, _ work: @escaping @Sendable () -> Value, then done: (@Sendable (Value) -> Void)?
    ) {
        (self.loop ?? loop).perform(for: loop, work, then: done)
    }

    package func stop() { thread.withLock(\.self)?.stop(waits: false) }
}
