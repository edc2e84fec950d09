import Glibc
import Reactor
import TestSupport
import Testing

/// What other threads hand in, and what is left when a loop ends.
@Suite(.limited) struct EventLoopLoadTests {
    @Test func losesNoPostOfManyThreadsAndKeepsTheOrderOfEach() async throws {
        let threads = 4
        let each = 25_000
        let producers = try (0..<threads).map { try LoopThread(name: "producer \($0)") }
        let lists = try await withLoop { loop in
            let log = Log<[Int]>()
            log.entries = Array(repeating: [], count: threads)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, producer) in producers.enumerated() {
                    group.addTask {
                        try await loop.offload(to: producer.loop) {
                            for number in 0..<each { loop.post { log.entries[index].append(number) } }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Each thread's answer came after all it had posted.
            return log.entries
        }
        for producer in producers { producer.stop() }
        for list in lists { #expect(list == Array(0..<each)) }
    }

    @Test func runsJobsFromManyThreadsWhileItWorks() async throws {
        let thread = try LoopThread(name: "loop")
        let counter = EventLoopTests.Counter(on: thread.loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<1_000 { await counter.increment() } }
            }
        }
        #expect(await counter.count == 8_000)
        thread.stop()
    }

    @Test func runsWhatItsLastJobsPost() throws {
        let loop = try EventLoop()
        let log = Log<Int>()
        _ = try loop.run {
            // Unstructured: nobody waits for it, and it posts when the root task has ended already.
            _ = Task(executorPreference: loop) {
                for number in 0..<5 {
                    await Task.yield()
                    loop.post { log.entries.append(number) }
                }
                loop.post { loop.post { log.entries.append(5) } }
            }
        }
        #expect(log.entries == [0, 1, 2, 3, 4, 5])
    }

    @Test func canBeRunAgainAndTakesWhatCameInBetween() throws {
        let loop = try EventLoop()
        let log = Log<Int>()
        #expect(try loop.run { 1 } == 1)
        #expect(!loop.isCurrent)
        loop.post { log.entries.append(2) }
        #expect(log.entries.isEmpty)
        #expect(try loop.run { log.entries } == [2])
    }

    @Test func isGivenBackWhenItHasEnded() throws {
        weak var freed: EventLoop?
        do {
            let loop = try EventLoop()
            freed = loop
            try loop.run {
                let ends = try StreamKind.socket.open(on: loop)
                try await loop.sleep(for: .microseconds(1))
                ends.writer.close()
                ends.reader.close()
            }
        }
        #expect(freed == nil)
    }

    @Test func aWatchMayOutliveIt() throws {
        let pipe = try Descriptor.pipe()
        let number = pipe.read.number
        let kept = Log<Watch>()
        do {
            let loop = try EventLoop()
            try loop.run { kept.entries = [try loop.watch(number, interest: .read) { _ in }] }
        }
        try kept.entries[0].update([.read, .write])
        kept.entries[0].cancel()
    }

    @Test func passesTheErrorOfOffloadedWorkOn() async throws {
        let worker = try LoopThread(name: "worker")
        let workerLoop = worker.loop
        try await withLoop(virtual: true) { loop in
            await #expect(throws: SystemError(code: ENOSPC, call: "write")) {
                try await loop.offload(to: workerLoop) { throw SystemError(code: ENOSPC, call: "write") }
            }
            try #expect(await loop.offload(to: workerLoop) { workerLoop.isCurrent && !loop.isCurrent })
            #expect(loop.isCurrent)
        }
        worker.stop()
    }
}
