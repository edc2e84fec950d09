import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct WorkerTests {
    @Test func allWorkIsDoneOnOneThreadBeforeItEnds() async throws {
        let worker = WorkerThread(name: "worker")
        let own = UInt(pthread_self())
        let pipe = try Descriptor.pipe(nonblocking: false)
        let (near, far) = (pipe.read.number, pipe.write.number)
        try await withLoop { loop in
            for _ in 0..<3 {
                #expect(worker.start())
                loop.leave(to: worker) {
                    usleep(1_000)
                    var thread = UInt(pthread_self())
                    #expect(write(far, &thread, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size)
                }
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
        let worker = WorkerThread(name: "worker")
        try await withLoop { loop in
            let asking = Task(executorPreference: loop) {
                try await loop.offload(to: worker) {
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
                        try await loop.offload(to: worker) { _ = Issue.record("it was done") }
                    }
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
        }
        worker.stop()
        #expect(write(far, [1], 1) == 1)
    }

    @Test func aSimulatedOneTakesItsTimeForOnePieceAfterTheOther() async throws {
        try await withLoop(virtual: true) { loop in
            let worker = SimulatedWorker()
            let log = Log<String>()
            let start = loop.clock.now
            @Sendable func note(_ what: String) {
                log.entries.append("\(what) \(start.duration(to: loop.clock.now).milliseconds)")
            }
            worker.time = { (before: .milliseconds(20), after: .milliseconds(5)) }
            async let first: Void = loop.offload(to: worker) { note("first") }
            async let second: Void = loop.offload(to: worker) { note("second") }
            try await first
            note("first is known")
            try await second
            loop.leave(to: worker) { note("left") }
            worker.time = nil
            try await loop.offload(to: worker) { note("at once") }
            try await loop.sleep(for: .seconds(1))
            #expect(
                log.entries == [
                    "first 20.0", "first is known 25.0", "second 45.0", "left 70.0", "at once 75.0",
                ])
        }
    }
}
