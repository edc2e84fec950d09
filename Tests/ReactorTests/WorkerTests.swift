import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct WorkerTests {
    @Test func allWorkIsDoneOnOneThreadBeforeItEnds() async throws {
        let worker = Worker(name: "worker")
        let own = UInt(pthread_self())
        let pipe = try Descriptor.pipe(nonblocking: false)
        let (near, far) = (pipe.read.number, pipe.write.number)
        let first = try #require(worker.loop)
        for _ in 0..<3 {
            let loop = try #require(worker.loop)
            #expect(loop === first)
            loop.post {
                usleep(1_000)
                var thread = UInt(pthread_self())
                #expect(write(far, &thread, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size)
            }
        }
        worker.stop()
        var seen: Set<UInt> = []
        for _ in 0..<3 {
            var thread: UInt = 0
            #expect(read(near, &thread, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size)
            seen.insert(thread)
        }
        #expect(seen.count == 1 && !seen.contains(own))
        withExtendedLifetime(pipe) {}
    }

    @Test func workThatNeverEndsIsNotWaitedFor() async throws {
        let pipe = try Descriptor.pipe(nonblocking: false)
        let (near, far) = (pipe.read.number, pipe.write.number)
        let worker = Worker(name: "worker")
        try await withLoop { loop in
            let work = try #require(worker.loop)
            let asking = Task(executorPreference: loop) {
                try await loop.offload(to: work) {
                    var byte: UInt8 = 0
                    return read(near, &byte, 1)
                }
            }
            try await loop.sleep(for: .milliseconds(5))
            asking.cancel()
            await #expect(throws: CancellationError.self) { try await asking.value }
            // Nor is any done for who is cancelled already.
            await #expect(throws: CancellationError.self) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { () async throws -> Void in
                        try await loop.offload(to: work) { _ = Issue.record("it was done") }
                    }
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
        }
        worker.stop()
        #expect(write(far, [1], 1) == 1)
    }

    @Test func oneThatWasNeverAskedHasNothingToEnd() {
        Worker(name: "worker").stop()
    }

    @Test func aSimulatedOneIsTheLoopItself() throws {
        let loop = try EventLoop(virtual: true)
        let worker = Worker(simulatedOn: loop)
        #expect(worker.loop === loop)
        worker.stop()
    }
}
