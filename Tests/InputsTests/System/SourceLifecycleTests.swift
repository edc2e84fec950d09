import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

/// Sources that come and go: nothing of them may stay. In a process of its own, as descriptors and memory are the process's.
@Suite(.limited) struct SourceLifecycleTests {
    @Test func tenThousandStartsAndStopsOfRealSourcesLeakNothing() async {
        await #expect(processExitsWith: .success) {
            let rounds = LongRun.rounds(short: 1_500, long: 10_000)
            try await CurlBench.run { bench in
                // None that the server, in this process too, waits with for long after its client has left.
                let targets = [
                    "/fact", "/fault/delay?delay=2", "/fault/close", "/fault/truncated", "http://127.0.0.1:1/",
                ]
                func round(_ number: Int) async {
                    // A store of its own: one store remembers every source that was ever registered with it.
                    let store = EventStore(on: bench.loop, wall: SystemWallClock(), identity: SimulatedFeed.identity)
                    let source = HTTPSource(
                        SourceDescription(name: "fact"), request: bench.request(targets[number % targets.count]),
                        every: .seconds(60))
                    let poller = HTTPPoller(
                        source, store: store, polls: PollRequests(on: bench.loop), transport: bench.transport,
                        on: bench.loop, wall: SystemWallClock())
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask { try? await poller.run() }
                        // Between nothing and a whole request: cancelled at every stage.
                        for _ in 0..<number % 23 { await Task.yield() }
                        if number % 50 == 0 { try? await bench.loop.sleep(for: .milliseconds(2)) }
                        group.cancelAll()
                    }
                }
                for number in 0..<2_000 { await round(number) }
                let descriptors = SourceLifecycleTests.openDescriptors()
                let timers = bench.loop.timerCount
                // The allocator takes some now and then; a leak grows each time.
                var grown = Int.max
                for _ in 0..<3 where grown >= 1 << 20 {
                    let memory = try #require(ProcessSampler.memory()).resident
                    for number in 0..<rounds { await round(number) }
                    grown = try #require(ProcessSampler.memory()).resident - memory
                }
                // A megabyte is 100 bytes a round; a leaked handle, task or reader is a kilobyte at least.
                #expect(grown < 1 << 20, "\(grown) bytes in \(rounds) rounds")
                #expect(SourceLifecycleTests.openDescriptors() <= descriptors + 16)
                #expect(bench.loop.timerCount <= timers + 1)
                let left = bench.transport.underWay
                #expect(left == 0)
            }
        }
    }

    /// How many descriptors this process has open.
    static func openDescriptors() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return -1 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }
}
