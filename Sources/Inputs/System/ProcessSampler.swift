package import Feed
internal import Glibc
package import Reactor

/// Publishes the agent's own resource usage: a `memory` and an `agent` line at the start and once a window.
package struct ProcessSampler: Sendable {
    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    private let interval: Duration
    private let usage: @Sendable () -> Usage

    /// The process's usage: memory, nil where the system does not say, and processor time so far in milliseconds.
    package typealias Usage = (memory: MemorySample?, processorTime: Double)

    /// - Parameters:
    ///   - interval: the width of a window.
    ///   - usage: measures the usage.
    package init(
        store: EventStore, on loop: EventLoop, wall: any WallClock, interval: Duration,
        usage: @escaping @Sendable () -> Usage = { Self.usage() }
    ) {
        self.usage = usage
        self.store = store
        self.loop = loop
        self.wall = wall
        self.interval = interval
    }

    /// Samples until the task is cancelled.
    package func run() async throws(CancellationError) {
        let id = await store.agentSource
        while true {
            let now = wall.now
            var events: [Event] = []
            let usage = usage()
            if let memory = usage.memory { events.append(Event(time: now, source: id, body: .memory(memory))) }
            let agent = AgentSample(loopLag: loop.resetLag().milliseconds, cpu: usage.processorTime)
            events.append(Event(time: now, source: id, body: .agent(agent)))
            await store.publish(events)
            // In the middle of each window, so that every window gets one sample.
            let width = interval.microseconds
            let index = Window.index(of: now, width: width)
            let middle = Window.start(of: index + 1, width: width) + interval / 2
            try await loop.sleep(for: max(.milliseconds(1), middle - wall.now))
        }
    }

    package static func usage() -> Usage { (memory(), processorTime()) }

    /// This process's memory now; nil where /proc does not say. (proc(5): status, smaps_rollup.)
    package static func memory() -> MemorySample? {
        guard let status = ProcFile.text("/proc/self/status"),
            let resident = ProcFile.kilobytes("VmRSS", in: status),
            let peak = ProcFile.kilobytes("VmHWM", in: status)
        else { return nil }
        let rollup = ProcFile.text("/proc/self/smaps_rollup") ?? ""
        let clean = ProcFile.kilobytes("Private_Clean", in: rollup)
        let dirty = ProcFile.kilobytes("Private_Dirty", in: rollup)
        // Where the kernel has no smaps_rollup, the anonymous part comes close.
        let anonymous = ProcFile.kilobytes("RssAnon", in: status) ?? 0
        let privateBytes = clean.flatMap { clean in dirty.map { clean + $0 } } ?? anonymous
        return MemorySample(resident: resident, peak: peak, privateBytes: privateBytes)
    }

    /// Processor time used so far, user and system, in milliseconds. (clock_gettime(2).)
    package static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
    }
}
