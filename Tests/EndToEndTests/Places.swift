/// Keeps tests from all running at once: two cores would have them wait for each other longer than they wait for anything.
actor Places {
    private static let shared = Places()
    private var free = 6
    private var queue: [CheckedContinuation<Void, Never>] = []

    static func taken(_ body: @Sendable () async throws -> Void) async throws {
        await shared.take()
        do {
            try await body()
        } catch {
            await shared.giveBack()
            throw error
        }
        await shared.giveBack()
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { queue.append($0) }
        }
    }

    private func giveBack() {
        if queue.isEmpty { free += 1 } else { queue.removeFirst().resume() }
    }
}
