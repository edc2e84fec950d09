extension EventLoop {
    /// Suspends the calling task until `deadline`; throws at once when the task is cancelled.
    package func sleep(until deadline: LoopInstant) async throws(CancellationError) {
        preconditionOnLoop()
        try await Wakeup(loop: self).wait(until: deadline)
    }

    /// Suspends the calling task for `duration`; throws at once when the task is cancelled. With zero, it resumes after
    /// everything else on the loop has had a turn, including ready descriptors.
    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: clock.now.advanced(by: duration))
    }
}
