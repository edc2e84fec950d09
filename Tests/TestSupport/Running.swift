/// Runs `work` beside `body`, and cancels it afterwards.
package func running<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Void, while body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask {
            do { try await work() } catch {}
            return nil
        }
        group.addTask { try await body() }
        while let value = try await group.next() {
            guard let value else { continue }
            group.cancelAll()
            return value
        }
        throw CancellationError()
    }
}
