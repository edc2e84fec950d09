import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct VirtualTimeTests {
    @Test func livesThroughADayOfTicksExactly() async throws {
        try await withLoop(virtual: true) { loop in
            let start = loop.clock.now
            let ticks = Log<Int>()
            ticks.entries = [0]
            func tick() {
                ticks.entries[0] += 1
                let due = start.advanced(by: .seconds(ticks.entries[0]))
                if loop.clock.now != due { ticks.entries.append(ticks.entries[0]) }
                if ticks.entries[0] < 86_400 { loop.schedule(after: .seconds(1), tick) }
            }
            loop.schedule(after: .seconds(1), tick)
            try await loop.sleep(until: start.advanced(by: .seconds(86_400)))
            // The last tick is set after this sleep, at the same time: it has its turn, too.
            await letOthersRun()
            try await loop.sleep(for: .zero)
            #expect(ticks.entries == [86_400], "late at \(ticks.entries.dropFirst().prefix(3))")
            #expect(loop.timerCount == 0)
        }
    }

    @Test func standsStillWhileThereIsWork() async throws {
        try await withLoop(virtual: true) { loop in
            let start = loop.clock.now
            let log = Log<String>()
            loop.schedule(after: .nanoseconds(1)) { log.entries.append("timer") }
            for _ in 0..<5_000 { await Task.yield() }
            loop.post { log.entries.append("post") }
            async let sleeper: Void = loop.sleep(for: .seconds(1))
            #expect(loop.clock.now == start)
            try await sleeper
            #expect(log.entries == ["post", "timer"])
            #expect(start.duration(to: loop.clock.now) == .seconds(1))
        }
    }

    @Test func aTimerThatSetsItselfForNowStarvesNobody() async throws {
        try await withLoop(virtual: true) { loop in
            let rounds = Log<Int>()
            let isStopped = Log<Bool>()
            func again() {
                rounds.entries.append(0)
                if isStopped.entries.isEmpty { loop.schedule(after: .zero, again) }
            }
            again()
            for _ in 0..<100 { await Task.yield() }
            loop.post { isStopped.entries.append(true) }
            try await loop.sleep(for: .seconds(1))
            #expect(isStopped.entries == [true])
            #expect(!rounds.entries.isEmpty)
        }
    }

    @Test(arguments: 1...5) func sleepersOfAGroupWakeInTheOrderOfTheirDeadlines(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let delays = (0..<500).map { _ in Int.random(in: 0...50, using: &random) * 1_000 }
        let woken = try await withLoop(virtual: true) { loop in
            let start = loop.clock.now
            let woken = Log<Int>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, delay) in delays.enumerated() {
                    group.addTask {
                        try await loop.sleep(until: start.advanced(by: .milliseconds(delay)))
                        #expect(start.duration(to: loop.clock.now) == .milliseconds(delay), "seed \(seed)")
                        woken.entries.append(number)
                    }
                }
                try await group.waitForAll()
            }
            return woken.entries
        }
        // Equal deadlines in the order in which they were set.
        #expect(woken == delays.indices.sorted { (delays[$0], $0) < (delays[$1], $1) }, "seed \(seed)")
    }

    @Test func workElsewhereHoldsTimeUpAndTimersComeAfterIt() async throws {
        let worker = try LoopThread(name: "worker")
        let workerLoop = worker.loop
        try await withLoop(virtual: true) { loop in
            let start = loop.clock.now
            let log = Log<Int>()
            for round in 0..<100 {
                let timer = loop.schedule(after: .nanoseconds(1)) { log.entries.append(round) }
                loop.schedule(after: .zero) { log.entries.append(-1) }
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<4 {
                        group.addTask { try await loop.offload(to: workerLoop) { number } }
                    }
                    var sum = 0
                    while let number = try await group.next() { sum += number }
                    #expect(sum == 6)
                }
                #expect(loop.clock.now == start)
                loop.cancel(timer)
            }
            try await loop.sleep(for: .seconds(1))
            #expect(log.entries == Array(repeating: -1, count: 100))
        }
        worker.stop()
    }
}
