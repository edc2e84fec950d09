import TestSupport
import Testing

@testable import Reactor

@Suite(.limited) struct JobQueueTests {
    /// An executor that only collects what it is to run. Unchecked: used by one test, on one thread.
    private final class Collector: SerialExecutor, TaskExecutor, @unchecked Sendable {
        var queue = JobQueue()

        func enqueue(_ job: consuming ExecutorJob) { queue.append(UnownedJob(job)) }

        func runFirst() {
            queue.popFirst()?.runSynchronously(
                isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }
    }

    @Test(arguments: 1...6) func keepsTheOrderOfItsJobsWhileItGrowsAndWraps(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let collector = Collector()
        let log = Log<Int>()
        var added = 0
        let total = LongRun.rounds(short: 3_000, long: 100_000)
        while added < total {
            // More come than go, so that the ring grows again and again with its head anywhere.
            for _ in 0..<Int.random(in: 0...9, using: &random) {
                let number = added
                Task(executorPreference: collector) { log.entries.append(number) }
                added += 1
            }
            for _ in 0..<Int.random(in: 0...7, using: &random) { collector.runFirst() }
            #expect(collector.queue.count == added - log.entries.count, "seed \(seed)")
        }
        while !collector.queue.isEmpty { collector.runFirst() }
        #expect(log.entries == Array(0..<added), "seed \(seed)")
        #expect(collector.queue.popFirst() == nil)
    }
}
