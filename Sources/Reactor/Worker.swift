/// A loop for work that would hold others up, with a thread of its own that is started when the first work comes.
package final class Worker: Sendable {
    private let name: String
    private let simulated: EventLoop?
    private let thread = Locked<LoopThread?>(nil)

    /// - Parameter name: at most 15 bytes, as `ps -L` shows it.
    package init(name: String) {
        self.name = name
        simulated = nil
    }

    /// One without a thread, for virtual time: `loop` does the work itself, in the order it was asked for.
    package init(simulatedOn loop: EventLoop) {
        name = ""
        simulated = loop
    }

    /// Where the work is done; nil when no thread can be started.
    package var loop: EventLoop? {
        simulated
            ?? thread.withLock { thread in
                if thread == nil { thread = try? LoopThread(name: name) }
                return thread?.loop
            }
    }

    /// Ends the thread, if there is one, after the work it has; does not wait for it, as that may be for ever.
    package func stop() { thread.withLock(\.self)?.stop(waits: false) }
}
