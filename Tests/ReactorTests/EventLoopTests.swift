import Glibc
import Reactor
import Testing

@Suite struct EventLoopTests {
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
            let order = Log()
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

    @Test func spendsAVirtualDayAtOnceAndExactly() async throws {
        let passed = try await withLoop(virtual: true) { loop in
            let start = loop.clock.now
            for _ in 0..<1_440 { try await loop.sleep(for: .seconds(60)) }
            return start.duration(to: loop.clock.now)
        }
        #expect(passed == .seconds(86_400))
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
            let log = Log()
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

    @Test func takesClosuresAndJobsFromOtherThreads() async throws {
        let thread = try LoopThread(name: "other")
        let counter = Counter(on: thread.loop)
        for _ in 0..<1_000 { await counter.increment() }
        #expect(await counter.count == 1_000)
        thread.stop()
    }

    /// Touched on one loop only.
    private final class Log: @unchecked Sendable {
        var entries: [Int] = []
    }
}

@Suite struct WatchTests {
    @Test func reportsThatAPipeCanBeRead() async throws {
        try await withLoop { loop in
            let pipe = try Descriptor.pipe()
            let wakeup = Wakeup(loop: loop)
            let watch = try loop.watch(pipe.read.number, interest: .read) { readiness in
                if readiness.contains(.read) { wakeup.signal() }
            }
            try systemCall("write") { write(pipe.write.number, "x", 1) }
            try await wakeup.wait()
            watch.cancel()
        }
    }

    @Test func dropsTheEventsOfADescriptorThatWasClosedAndReusedInTheSameTurn() async throws {
        try await withLoop { loop in
            let state = Reuse()
            let first = try Descriptor.pipe()
            let second = try Descriptor.pipe()
            let other = try Descriptor.pipe()
            state.pipes = [try first.read.duplicate().release(), try second.read.duplicate().release()]
            let numbers = state.pipes
            let done = Wakeup(loop: loop)
            // Whichever handler runs first closes the other one's descriptor and registers a new file under its number.
            for index in 0..<2 {
                state.watches.append(
                    try loop.watch(numbers[index], interest: .read) { _ in
                        state.calls += 1
                        let victim = 1 - index
                        state.watches[victim].cancel()
                        close(state.pipes[victim])
                        dup2(other.read.number, state.pipes[victim])
                        state.reused = try? loop.watch(state.pipes[victim], interest: .read) { _ in
                            state.strayCalls += 1
                        }
                        state.watches[index].cancel()
                        done.signal()
                    })
            }
            try systemCall("write") { write(first.write.number, "x", 1) }
            try systemCall("write") { write(second.write.number, "x", 1) }
            try await done.wait()
            try await loop.sleep(for: .milliseconds(5))
            #expect(state.calls == 1)
            #expect(state.strayCalls == 0)
            #expect(state.reused != nil)
            state.reused?.cancel()
            for number in state.pipes { close(number) }
        }
    }

    private final class Reuse: @unchecked Sendable {  // touched on one loop only
        var pipes: [Int32] = []
        var watches: [Watch] = []
        var reused: Watch?
        var calls = 0
        var strayCalls = 0
    }

    @Test func refusesARegularFile() async throws {
        try await withLoop { loop in
            let file = try Descriptor.open("/proc/self/exe", flags: O_RDONLY)
            #expect(throws: SystemError(code: EPERM, call: "epoll_ctl")) {
                _ = try loop.watch(file.number, interest: .read) { _ in }
            }
        }
    }
}

@Suite struct WakeupTests {
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
}

extension WakeupTests {
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

@Suite struct SteppedWallClockTests {
    @Test func followsItsLoopAndTakesStepsInBothDirections() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_000))
            try await loop.sleep(for: .seconds(2))
            #expect(wall.now == Timestamp(seconds: 1_002))
            wall.step(by: .seconds(-500))
            #expect(wall.now == Timestamp(seconds: 502))
        }
    }
}
