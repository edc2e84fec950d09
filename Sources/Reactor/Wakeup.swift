/// A place where one task waits until another part of the same loop calls it on.
///
/// A signal that nobody waits for is kept, once: the next wait returns at once. So "look, then wait" loses nothing.
/// A condition that stays (the end of a stream) is told by `open`, after which nobody waits here again.
package final class Wakeup: @unchecked Sendable {
    // Unchecked: all state is touched on the loop only (checked), and a cancellation from elsewhere is posted to it.
    private let loop: EventLoop
    private var waiter: UnsafeContinuation<Bool, Never>?
    private var isSignalled = false
    private var isOpen = false
    /// Counts the waits: a cancellation that comes late must not hit the task that waits here by then.
    private var ticket: UInt64 = 0

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

    /// Calls the waiting task on, and lets every later wait through.
    package func open() {
        isOpen = true
        signal()
    }

    /// Waits for a signal; one task at a time.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before the signal comes.
    package func wait() async throws(CancellationError) {
        loop.preconditionOnLoop()
        if takeSignal() { return }
        ticket += 1
        let ticket = ticket
        let wasSignalled = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                // Looked at again: the way here may take a turn of the loop, in which a signal can come.
                if takeSignal() {
                    continuation.resume(returning: true)
                } else if Task.isCancelled {
                    continuation.resume(returning: false)
                } else {
                    precondition(waiter == nil, "one task waits at a time")
                    waiter = continuation
                }
            }
        } onCancel: {
            if loop.isCurrent { cancelWaiter(ticket) } else { loop.post { self.cancelWaiter(ticket) } }
        }
        if !wasSignalled { throw CancellationError() }
    }

    private func takeSignal() -> Bool {
        guard isSignalled || isOpen else { return false }
        isSignalled = false
        return true
    }

    private func cancelWaiter(_ ticket: UInt64) {
        guard ticket == self.ticket, let waiter else { return }
        self.waiter = nil
        waiter.resume(returning: false)
    }
}
