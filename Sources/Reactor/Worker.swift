/// Does work that would block a loop: one piece after the other, in the order of the requests.
package protocol Worker: AnyObject, Sendable {
    /// Starts the worker if needed.
    ///
    /// - Returns: false when no thread can be started; work is then done on the requesting loop.
    func start() -> Bool

    /// Does a piece of work.
    ///
    /// - Parameters:
    ///   - loop: the requesting loop, which calls this.
    ///   - done: called with the work's result, on that loop; nil when it is not needed.
    func perform<Value: Sendable>(
        for loop: EventLoop, _ work: @escaping @Sendable () -> Value, then done: (@Sendable (Value) -> Void)?)

    /// Ends the worker's thread, if it has one, after its pending work; does not wait, because that may take for ever.
    func stop()
}

/// For workers without a thread of their own.
extension Worker {
    package func start() -> Bool { true }
    package func stop() {}
}

/// A worker with its own thread, which is started by the first work.
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
