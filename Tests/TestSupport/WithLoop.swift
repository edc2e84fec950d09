internal import Glibc
package import Reactor

/// Runs `body` as the root task of a new loop on a thread of its own, and returns what it returned. A test that is
/// cancelled, as by its time limit, cancels it.
///
/// - Parameter virtual: whether the loop's clock is virtual; then only simulated transports may be used.
package func withLoop<Value: Sendable>(
    virtual: Bool = false, _ body: @escaping @Sendable (EventLoop) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(virtual: virtual)
    let root = Root<Value>()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    with: Result {
                        try loop.run { try await root.start(Task(executorPreference: loop) { try await body(loop) }) }
                    })
            }
            if let error = thread.start() { continuation.resume(throwing: error) }
        }
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
        return try await task.value
    }

    func cancel() {
        isCancelled = true
        task?.cancel()
    }
}

/// pthread_create(3) with a closure, for a thread that nobody waits for.
private final class Thread: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func start() -> SystemError? {
        var thread = pthread_t()
        let retained = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { argument in
                // `argument` is the retained pointer that was passed just below.
                if let argument { Unmanaged<Thread>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, retained.toOpaque())
        guard code == 0 else {
            retained.release()
            return SystemError(code: code, call: "pthread_create")
        }
        pthread_detach(thread)
        return nil
    }
}
