import Reactor
import TestSupport
import Testing

@Suite(.limited) struct WakeupTests {
    @Test func keepsASignalThatNobodyWaitsForButOnlyOne() async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            wakeup.signal()
            wakeup.signal()
            try await wakeup.wait()
            let started = loop.clock.now
            loop.schedule(after: .seconds(7)) { wakeup.signal() }
            try await wakeup.wait()
            #expect(started.duration(to: loop.clock.now) == .seconds(7))
        }
    }

    @Test func letsEverybodyThroughOnceItIsOpen() async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            loop.schedule(after: .seconds(7)) { wakeup.open() }
            for _ in 0..<3 { try await wakeup.wait() }
            #expect(!wakeup.hasWaiter)
        }
    }

    @Test func waitsUntilTheDeadlineAtMost() async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            let started = loop.clock.now
            loop.schedule(after: .seconds(2)) { wakeup.signal() }
            // The signal comes first; then its deadline is gone; one in the past is over at once.
            for (deadline, end) in [(5, 2), (7, 7), (3, 7)] {
                try await wakeup.wait(until: started.advanced(by: .seconds(deadline)))
                #expect(started.duration(to: loop.clock.now) == .seconds(end))
            }
        }
    }

    @Test func throwsWhenItsTaskIsCancelledAndKeepsTheNextSignal() async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            let task = Task(executorPreference: loop) { try await wakeup.wait() }
            await letOthersRun()
            #expect(wakeup.hasWaiter)
            task.cancel()
            #expect(!wakeup.hasWaiter)
            await #expect(throws: CancellationError.self) { try await task.value }
            wakeup.signal()
            try await wakeup.wait()
        }
    }

    @Test func throwsAtOnceInATaskThatIsCancelledAlready() async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            let task = Task(executorPreference: loop) { try await wakeup.wait() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func isCancelledFromAnotherThread() async throws {
        let worker = try LoopThread(name: "worker")
        defer { worker.stop() }
        let workerLoop = worker.loop
        try await withLoop { loop in
            let wakeup = Wakeup(loop: loop)
            for _ in 0..<200 {
                let task = Task(executorPreference: loop) { try await wakeup.wait() }
                try await loop.offload(to: workerLoop) { task.cancel() }
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(!wakeup.hasWaiter)
            }
        }
    }

    /// The first task has been called on but has not run yet, the second waits already: cancelling the first, which no
    /// longer waits, must leave the second alone.
    @Test func aLateCancellationLeavesTheNextWaiterAlone() async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            let first = Task(executorPreference: loop) { try await wakeup.wait() }
            await letOthersRun()
            let second = Task(executorPreference: loop) { try await wakeup.wait() }
            await Task.yield()  // now its next step is to wait, and comes before the first's
            let log = Log<Bool>()
            let canceller = Task(executorPreference: loop) {
                log.entries.append(wakeup.hasWaiter)
                first.cancel()
                log.entries.append(wakeup.hasWaiter)
            }
            wakeup.signal()
            await canceller.value
            #expect(log.entries == [true, true])
            try await first.value
            loop.schedule(after: .seconds(1)) { wakeup.signal() }
            try await second.value
        }
    }

    /// A wait takes more than one step of the loop, and the signal comes in between.
    @Test(arguments: 0...4) func losesNoSignalWhileATaskIsOnItsWayToWait(steps: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let wakeup = Wakeup(loop: loop)
            let task = Task(executorPreference: loop) { try await wakeup.wait() }
            for _ in 0..<steps { await Task.yield() }
            wakeup.signal()
            try await task.value
            #expect(!wakeup.hasWaiter)
        }
    }

    /// Entering a wait may itself be a suspension, so other tasks signal at every moment of it.
    @Test func losesNoSignalOfOtherTasks() async throws {
        try await withLoop(virtual: true) { loop in
            let ping = Wakeup(loop: loop)
            let pong = Wakeup(loop: loop)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for _ in 0..<1_000 {
                        pong.signal()
                        try? await ping.wait()
                    }
                }
                group.addTask {
                    for _ in 0..<1_000 {
                        try? await pong.wait()
                        ping.signal()
                    }
                }
            }
        }
    }
}
