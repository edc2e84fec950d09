import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite(.limited) struct WorkerTests {
    @Test func allWorkIsDoneOnOneThreadBeforeItEnds() throws {
        let worker = Worker(name: "worker")
        let own = UInt(pthread_self())
        let threads = Mutex<[UInt]>([])
        let first = try #require(worker.loop)
        for _ in 0..<3 {
            let loop = try #require(worker.loop)
            #expect(loop === first)
            loop.post {
                usleep(1_000)
                threads.withLock { $0.append(UInt(pthread_self())) }
            }
        }
        worker.stop()
        let seen = threads.withLock(\.self)
        #expect(seen.count == 3 && Set(seen).count == 1 && !seen.contains(own))
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
