/// Lets one task wait until another part of the same loop signals it.
///
/// A signal without a waiting task is kept, once: the next wait returns at once. So "check, then wait" misses nothing.
/// A lasting condition (the end of a stream) is signalled by `open`, after which every wait returns at once.
package final class Wakeup: @unchecked Sendable {
    // Unchecked: all state is used on the loop only (checked); a cancellation from elsewhere is posted to it.
    private let loop: EventLoop
    private var waiter: UnsafeContinuation<Bool, Never>?
    private var isSignalled = false
    private var isOpen = false
    /// The number of waits: a late cancellation must not hit a later wait.
    private var ticket: UInt64 = 0

    package init(loop: EventLoop) { self.loop = loop }

    /// Whether a task is waiting now.
    package var hasWaiter: Bool { waiter != nil }

    /// Resumes the waiting task, or lets the next wait return at once.
    package func signal() {
        loop.preconditionOnLoop()
        if let waiter = waiter.take() {
            waiter.resume(returning: true)
        } else {
            isSignalled = true
        }
    }

    /// Resumes the waiting task, and lets every later wait return at once.
    package func open() {
        isOpen = true
        signal()
    }

    /// Waits for a signal; one task at a time.
    ///
    /// - Parameter isolation: the caller's actor. The operation below captures it, or it would begin and end with a job
    ///   of the loop.
    /// - Throws: `CancellationError` when the task is cancelled before the signal comes.
    package func wait(isolation: isolated (any Actor)? = #isolation) async throws(CancellationError) {
        loop.preconditionOnLoop()
        if consumeSignal() { return }
        ticket += 1
        let ticket = ticket
        let wasSignalled = await withTaskCancellationHandler {
            _ = isolation
            return await withUnsafeContinuation { continuation in
                // Checked again: a signal may have come, because reaching this point may take a turn of the loop for a
                // caller without an actor.
                if consumeSignal() {
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

    /// Waits for a signal; without one, until `deadline`.
    ///
    /// - Parameter deadline: nil for no limit.
    /// - Throws: like `wait()`.
    package func wait(until deadline: LoopInstant?) async throws(CancellationError) {
        let timer = deadline.map { loop.schedule(at: $0) { self.signal() } }
        defer { if let timer { loop.cancel(timer) } }
        try await wait()
    }

    private func consumeSignal() -> Bool {
        guard isSignalled || isOpen else { return false }
        isSignalled = false
        return true
    }

    private func cancelWaiter(_ ticket: UInt64) {
        if ticket == self.ticket { waiter.take()?.resume(returning: false) }
    }
}
