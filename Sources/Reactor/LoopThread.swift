import CLinux
internal import Glibc
internal import Synchronization

/// A loop with a thread of its own: for blocking work (disk, big numbers), and for tests.
package final class LoopThread: Sendable {
    package let loop: EventLoop
    private let stopRequest: StopRequest
    private let thread: pthread_t
    private let isStopped = Atomic<Bool>(false)

    /// Starts the thread. `name` is at most 15 bytes, as `ps -L` shows it.
    package init(name: String) throws(SystemError) {
        let loop = try EventLoop()
        let stopRequest = StopRequest()
        self.loop = loop
        self.stopRequest = stopRequest
        thread = try startThread(name: name) {
            try? loop.run { await stopRequest.wait(on: loop) }
        }
    }

    /// Ends the loop after its pending work; can be called repeatedly, but not on the thread itself.
    ///
    /// - Parameter waits: whether to wait for the thread's end, which blocking work may delay for ever.
    package func stop(waits: Bool = true) {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        precondition(!loop.isCurrent, "a thread cannot wait for its own end")
        let stopRequest = self.stopRequest
        let loop = self.loop
        loop.post { stopRequest.signal(on: loop) }
        if waits { pthread_join(thread, nil) } else { pthread_detach(thread) }
    }

    /// Ends the root task of the thread's loop. Unchecked: used on the loop only.
    private final class StopRequest: @unchecked Sendable {
        private var wakeup: Wakeup?

        private func theWakeup(of loop: EventLoop) -> Wakeup {
            let wakeup = self.wakeup ?? Wakeup(loop: loop)
            self.wakeup = wakeup
            return wakeup
        }

        func wait(on loop: EventLoop) async { try? await theWakeup(of: loop).wait() }

        func signal(on loop: EventLoop) { theWakeup(of: loop).signal() }
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
