/// A place where one task waits until another part of the same loop calls it on.
///
/// A signal that nobody waits for is kept, once: the next wait returns at once. So "look, then wait" loses nothing.
package final class Wakeup: @unchecked Sendable {
    // Unchecked: all state is touched on the loop only (checked), and a cancellation from elsewhere is posted to it.
    private let loop: EventLoop
    private var waiter: CheckedContinuation<Bool, Never>?
    private var isSignalled = false

    package init(loop: EventLoop) { self.loop = loop }

    /// Whether a task is waiting here now.
    package var hasWaiter: Bool { waiter != nil }

    /// Calls the waiting task on, or lets the next one through.
    package func signal() {
        loop.preconditionOnLoop()
        if let waiter {
            self.waiter = nil
            waiter.resume(returning: true)
        } else {
            isSignalled = true
        }
    }

    /// Waits for a signal.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before the signal comes.
    package func wait() async throws(CancellationError) {
        loop.preconditionOnLoop()
        if isSignalled {
            isSignalled = false
            return
        }
        let wasSignalled = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Looked at again: the way here may have been a suspension, and the signal have come in the meantime.
                if isSignalled {
                    isSignalled = false
                    continuation.resume(returning: true)
                } else if Task.isCancelled {
                    continuation.resume(returning: false)
                } else {
                    precondition(waiter == nil, "one task waits at a time")
                    waiter = continuation
                }
            }
        } onCancel: {
            if loop.isCurrent { cancelWaiter() } else { loop.post { self.cancelWaiter() } }
        }
        if !wasSignalled { throw CancellationError() }
    }

    private func cancelWaiter() {
        guard let waiter else { return }
        self.waiter = nil
        waiter.resume(returning: false)
    }
}
