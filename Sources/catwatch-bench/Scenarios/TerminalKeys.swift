internal import CLinux
internal import Feed
internal import Glibc
internal import Reactor
internal import Terminal

/// The terminal view on a pseudo-terminal, in this process: time to the first frame, key to frame, and CPU.
enum TerminalKeys: Scenario {
    static let name = "terminal-keys"
    static let summary = "the view on a pseudo-terminal: first frame, keys under 1,000 events a second, CPU at rest"
    static let defaultRuns = 3

    private static let series = 100

    static func measure(_ setting: Setting) throws -> [Figure] {
        var first = Figure(
            name: "first frame over a local feed of two minutes", unit: "ms", runs: [], limit: .atMost(100))
        var p50 = Figure(name: "key to frame, p50", unit: "ms", runs: [])
        var p99 = Figure(name: "key to frame, p99", unit: "ms", runs: [], limit: .atMost(30))
        var cost = Figure(
            name: "CPU, 100 series updating each second, feed included", unit: "%", runs: [], limit: .atMost(1))
        for _ in 0..<setting.runs {
            let loop = try EventLoop()
            let run = try loop.run { try await Run(on: loop).measure() }
            first.runs.append(run.first)
            p50.runs.append(run.delays[run.delays.count / 2])
            p99.runs.append(run.delays[run.delays.count * 99 / 100])
            cost.runs.append(run.cost)
        }
        return [first, p99, p50, cost]
    }

    private struct Outcome: Sendable {
        var first = 0.0
        /// Ascending, in milliseconds.
        var delays: [Double] = []
        var cost = 0.0
    }

    /// One session from start to end.
    private actor Run {
        let loop: EventLoop
        let wall = SystemWallClock()
        let store: EventStore
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private var source: SourceID?
        private var value = 0
        /// The user's side of the terminal.
        private var screen: DescriptorStream?

        init(on loop: EventLoop) {
            self.loop = loop
            store = EventStore(on: loop, wall: wall, identity: AgentIdentity(run: "r", version: "1", started: wall.now))
        }

        func measure() async throws -> Outcome {
            source = await store.register(SourceDescription(name: "cats"))
            let start = wall.now
            for second in 0..<120 { await publish(0..<TerminalKeys.series, at: start - .seconds(120 - second)) }
            var ends: (screen: Int32, shell: Int32) = (-1, -1)
            var size = winsize(ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
            guard openpty(&ends.screen, &ends.shell, nil, nil, &size) == 0 else {
                throw BenchError("no pseudo-terminal")
            }
            _ = cw_set_status_flags(ends.screen, O_RDWR | O_NONBLOCK)
            let shell = ends.shell
            defer { close(shell) }
            screen = try DescriptorStream(owning: Descriptor(owning: ends.screen), on: loop)
            defer { screen?.close() }
            let view = TerminalView(size: ScreenSize(columns: 120, rows: 40), connection: .open)
            let terminal = ControllingTerminal(input: shell, output: shell)
            let begin = loop.clock.now
            let session = TerminalSession(
                view, capabilities: TerminalCapabilities(depth: .full), store: store, on: loop, wall: wall,
                device: terminal
            ) { _ in nil }
            return try await withThrowingTaskGroup(of: Outcome?.self) { group in
                group.addTask { [store] in
                    try await store.run()
                    return nil
                }
                group.addTask {
                    _ = try await session.run()
                    return nil
                }
                var outcome = Outcome()
                // The first frame is the first output of this size; the terminal's modes come before it.
                try await waitForBytes(atLeast: 1_000)
                outcome.first = begin.duration(to: loop.clock.now).milliseconds
                outcome.delays = try await pressKeys().sorted()
                outcome.cost = try await rest()
                group.cancelAll()
                return outcome
            }
        }

        /// Publishes 100 values each second and presses no keys; returns the CPU usage in percent.
        private func rest() async throws -> Double {
            let (clock, cpu) = (loop.clock.now, ThreadTime.now)
            for _ in 0..<5 {
                await publish(0..<TerminalKeys.series, at: wall.now)
                for _ in 0..<10 {
                    try await loop.sleep(for: .milliseconds(100))
                    _ = try drain()
                }
            }
            return (ThreadTime.now - cpu) / clock.duration(to: loop.clock.now).milliseconds * 100
        }

        /// Moves the mark by keys while 1,000 events a second come; returns the milliseconds from each key to its
        /// frame.
        private func pressKeys() async throws -> [Double] {
            var delays: [Double] = []
            for number in 0..<200 {
                // At changing points between two frames.
                for _ in 0..<10 + number % 7 {
                    await publish(number % TerminalKeys.series..<number % TerminalKeys.series + 1, at: wall.now)
                    try await loop.sleep(for: .milliseconds(1))
                }
                _ = try drain()
                let pressed = loop.clock.now
                let key = number % 2 == 0 ? "j" : "k"
                _ = try key.utf8.withContiguousStorageIfAvailable { try screen?.write(UnsafeRawBufferPointer($0)) }
                // The mark is drawn nowhere else.
                try await waitForBytes(holding: "▸")
                delays.append(pressed.duration(to: loop.clock.now).milliseconds)
            }
            return delays
        }

        private func publish(_ indices: Range<Int>, at time: Timestamp) async {
            guard let source else { return }
            var events: [Event] = []
            for index in indices {
                value += 1
                let datum = Datum(key: Array("cat-\(index)".utf8)[...], value: Double((value &* 7_919) % 1_000))
                events.append(Event(time: time, source: source, body: .data(datum)))
            }
            await store.publish(events)
        }

        private func drain() throws -> [UInt8] {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while let count = try buffer.withUnsafeMutableBytes({ try screen?.read(into: $0) }), count > 0 {
                bytes += buffer[..<count]
            }
            return bytes
        }

        private func waitForBytes(atLeast least: Int = 1, holding part: String? = nil)
            async throws
        {
            var bytes: [UInt8] = []
            let limit = loop.clock.now.advanced(by: .seconds(5))
            while true {
                bytes += try drain()
                if bytes.count >= least, part.map({ String(decoding: bytes, as: UTF8.self).holds($0) }) ?? true {
                    return
                }
                guard loop.clock.now < limit else { throw BenchError("the terminal showed nothing for 5 s") }
                try await screen?.waitUntilReadable()
            }
        }
    }
}
