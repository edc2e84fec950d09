extension EventLoop {
    /// Suspends the calling task until `deadline`; comes back at once, with an error, when the task is cancelled.
    package func sleep(until deadline: LoopInstant) async throws(CancellationError) {
        preconditionOnLoop()
        let wakeup = Wakeup(loop: self)
        let timer = schedule(at: deadline) { wakeup.signal() }
        defer { cancel(timer) }
        try await wakeup.wait()
    }

    /// Suspends the calling task for `duration`; comes back at once, with an error, when the task is cancelled. For no time
    /// at all, it comes back after everything else on the loop had its turn, descriptors that are ready too.
    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: clock.now.advanced(by: duration))
    }
}
