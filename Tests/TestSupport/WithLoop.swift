internal import Glibc
package import Reactor

/// Runs `body` as the root task of a new loop on a thread of its own, and returns what it returned. A test that is
/// cancelled, as by its time limit, cancels it.
///
/// All that happens on the loop, callbacks included, belongs to the task that calls this: what a test records there is its own.
///
/// - Parameter virtual: whether the loop's clock is virtual; then only simulated transports may be used.
package func withLoop<Value: Sendable>(
    virtual: Bool = false, _ body: @escaping @Sendable (EventLoop) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(virtual: virtual)
    let root = Root<Value>()
    let run = Task(executorPreference: OwnThread()) {
        try loop.run { try await root.start(Task(executorPreference: loop) { try await body(loop) }) }
    }
    return try await withTaskCancellationHandler {
        try await run.value
    } onCancel: {
        loop.post { root.cancel() }
    }
}

/// The task of a test, and whether it is to end. Unchecked: touched on its loop only.
private final class Root<Value: Sendable>: @unchecked Sendable {
    private var task: Task<Value, any Error>?
    private var isCancelled = false

    func start(_ task: Task<Value, any Error>) async throws -> Value {
        self.task = task
        if isCancelled { task.cancel() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    func cancel() {
        isCancelled = true
        task?.cancel()
    }
}

/// Runs each piece of a task on a new thread, which may block.
private final class OwnThread: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let retained = Unmanaged.passRetained(Work { job.runSynchronously(on: self.asUnownedTaskExecutor()) })
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                // `argument` is the retained pointer that was passed just below.
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, retained.toOpaque())
        precondition(code == 0, "pthread_create: \(SystemError(code: code, call: "pthread_create").reason)")
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
