import CLinux
internal import Glibc
internal import Synchronization

/// A loop with a thread of its own: for blocking work (disk, big numbers), and for tests.
package final class LoopThread: Sendable {
    package let loop: EventLoop
    private let stopped: Wakeup
    private let thread: pthread_t
    private let isStopped = Atomic<Bool>(false)

    /// Starts the thread. `name` is at most 15 bytes, as `ps -L` shows it.
    package init(name: String) throws(SystemError) {
        let loop = try EventLoop()
        let stopped = Wakeup(loop: loop)
        self.loop = loop
        self.stopped = stopped
        thread = try startThread(name: name) {
            try? loop.run { try await stopped.wait() }
        }
    }

    /// Ends the loop after its pending work; can be called repeatedly, but not on the thread itself.
    ///
    /// - Parameter waits: whether to wait for the thread's end, which blocking work may delay for ever.
    package func stop(waits: Bool = true) {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        precondition(!loop.isCurrent, "a thread cannot wait for its own end")
        let stopped = self.stopped
        loop.post { stopped.signal() }
        if waits { pthread_join(thread, nil) } else { pthread_detach(thread) }
    }
}

/// pthread_create(3) with a closure.
private func startThread(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) -> pthread_t {
    final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    let code = pthread_create(
        &thread, nil,
        { argument in
            // `argument` is the retained pointer that was passed just below.
            guard let argument else { return nil }
            let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
            _ = cw_set_thread_name(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    guard code == 0 else {
        start.release()
        throw SystemError(code: code, call: "pthread_create")
    }
    return thread
}
