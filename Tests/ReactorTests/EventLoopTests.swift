import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct EventLoopTests {
    actor Counter {
        private let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private(set) var count = 0

        init(on loop: EventLoop) { self.loop = loop }

        func increment() {
            loop.preconditionOnLoop()
            count += 1
        }
    }

    /// A default actor: it stays on the loop because its caller prefers it.
    actor Plain {
        func isOn(_ loop: EventLoop) -> Bool { loop.isCurrent }
    }

    @Test func runsItsActorsGroupsChildrenAndDefaultActorsOnItsOwnThread() async throws {
        let count = try await withLoop { loop in
            #expect(loop.isCurrent)
            let counter = Counter(on: loop)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        #expect(loop.isCurrent)
                        await counter.increment()
                    }
                }
            }
            async let child = loop.isCurrent
            #expect(await child)
            #expect(await Plain().isOn(loop))
            return await counter.count
        }
        #expect(count == 100)
    }

    @Test func passesTheErrorOfItsRootTaskOn() async {
        await #expect(throws: CancellationError.self) {
            try await withLoop { _ in throw CancellationError() }
        }
    }

    @Test func firesTimersInTheOrderOfTheirDeadlinesAndThenOfTheirSetting() async throws {
        let order = try await withLoop(virtual: true) { loop in
            let order = Log<Int>()
            let start = loop.clock.now
            for (name, delay) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
                loop.schedule(at: start.advanced(by: .milliseconds(delay))) { order.entries.append(name) }
            }
            let cancelled = loop.schedule(after: .milliseconds(15)) { order.entries.append(99) }
            loop.cancel(cancelled)
            try await loop.sleep(for: .seconds(1))
            #expect(loop.timerCount == 0)
            return order.entries
        }
        #expect(order == [2, 4, 3, 1])
    }

    @Test func comesBackFromASleepThatIsCancelledAndLeavesNoTimer() async throws {
        try await withLoop(virtual: true) { loop in
            let started = loop.clock.now
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do {
                        try await loop.sleep(for: .seconds(3_600))
                        return false
                    } catch { return true }
                }
                group.addTask {
                    try? await loop.sleep(for: .seconds(1))
                    return true
                }
                #expect(await group.next() == true)
                group.cancelAll()
                #expect(await group.next() == true)
            }
            #expect(started.duration(to: loop.clock.now) == .seconds(1))
            #expect(loop.timerCount == 0)
        }
    }

    @Test func virtualTimeWaitsForWorkOnTheBlockingLoop() async throws {
        let worker = try LoopThread(name: "worker")
        defer { worker.stop() }
        let workerLoop = worker.loop
        try await withLoop(virtual: true) { loop in
            let log = Log<Int>()
            loop.schedule(after: .milliseconds(1)) { log.entries.append(2) }
            let answer = try await loop.offload(to: workerLoop) {
                usleep(20_000)
                return 42
            }
            log.entries.append(1)
            #expect(answer == 42)
            try await loop.sleep(for: .milliseconds(5))
            #expect(log.entries == [1, 2])
        }
    }
}
