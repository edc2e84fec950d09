import Feed
import Glibc
import Reactor
import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct ProcessSamplerTests {
    @Test func memoryIsWhatTheKernelSays() throws {
        let sample = try #require(ProcessSampler.memory())
        let text = try #require(Self.read("/proc/self/statm"))
        let pages = text.split(separator: " ").compactMap { Int($0) }
        try #require(pages.count >= 2)
        // The other tests of this process go on meanwhile: about the same, that is.
        let resident = pages[1] * Int(getpagesize())
        #expect(sample.resident > resident / 2 && sample.resident < resident * 2)
        #expect(sample.peak >= sample.resident)
        #expect(sample.privateBytes > 0 && sample.privateBytes <= sample.peak)
    }

    @Test func processorTimeGrowsWithWork() {
        // Whichever thread of this process works: the loop ends because the time grows.
        let before = ProcessSampler.processorTime()
        var after = before
        while after < before + 2 { after = ProcessSampler.processorTime() }
        #expect(before > 0 && after >= before + 2)
    }

    @Test(arguments: [Duration.seconds(1), .seconds(10), .milliseconds(500)])
    func everyWindowHasOneSample(interval: Duration) async throws {
        let lines = try await Self.lines(interval: interval, for: interval * 30 + .milliseconds(1))
        let memory = lines.filter { $0.type == "memory" }
        let agent = lines.filter { $0.type == "agent" }
        #expect(memory.count == agent.count && memory.allSatisfy { $0.source == "catwatch" })
        let windows = memory.map { Window.index(of: $0.time, width: interval.microseconds) }
        let first = try #require(windows.first)
        #expect(windows == Array(first...first + 29))
        #expect(zip(memory, agent).allSatisfy { $0.time == $1.time })
    }

    @Test func theLinesSayWhatWasSampled() async throws {
        let lines = try await Self.lines(interval: .seconds(10), for: .seconds(60))
        let samples = lines.compactMap { if case .memory(let sample) = $0.body { sample } else { nil } }
        #expect(samples.count == 7 || samples.count == 6)
        for sample in samples { #expect(sample.resident > 1 << 20 && sample.peak >= sample.resident) }
        let agents = lines.compactMap { if case .agent(let agent) = $0.body { agent } else { nil } }
        #expect(agents.allSatisfy { $0.cpu > 0 && $0.loopLag == 0 && $0.readers == 1 })
        #expect(zip(agents, agents.dropFirst()).allSatisfy { $0.cpu <= $1.cpu })
        let windows = lines.compactMap { if case .window(let window) = $0.body { window } else { nil } }
        #expect(windows.allSatisfy { $0.series == "memory:catwatch" && $0.count == 1 } && windows.count >= 5)
    }

    @Test func clockStepsNeitherStopNorFloodIt() async throws {
        let count = try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let sampler = ProcessSampler(store: store, on: loop, wall: wall, interval: .seconds(10))
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await sampler.run() }
                for step in [0, 3_600, -7_200, 5, -5, 86_400] {
                    wall.step(by: .seconds(step))
                    try? await loop.sleep(for: .seconds(100))
                }
                group.cancelAll()
            }
            return await store.counts.series
        }
        #expect(count == 1)
    }

    /// The numbered lines of a sampler that ran for so long, in virtual time.
    private static func lines(interval: Duration, for duration: Duration) async throws -> [Line] {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart + .milliseconds(137))
            var limits = FeedState.Limits()
            limits.interval = interval
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity, limits: limits)
            let (reader, _) = await store.open("test")
            let sampler = ProcessSampler(store: store, on: loop, wall: wall, interval: interval)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await sampler.run() }
                group.addTask { try? await store.run() }
                try? await loop.sleep(for: duration)
                group.cancelAll()
            }
            await store.finish("end")
            var lines: [Line] = []
            while case .lines(let span) = try await store.next(for: reader) {
                var splitter = LineSplitter()
                splitter.push(span.withUnsafeBytes { Array($0) }[...])
                while case .line(let line) = splitter.next() { lines.append(try LineDecoder.decode(line)) }
            }
            return lines
        }
    }

    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}

@Suite(.limited) struct ProcFileTests {
    @Test func readsAFileOfTheKernel() throws {
        let text = try #require(ProcFile.text("/proc/self/status"))
        #expect(text.hasPrefix("Name:\t") && text.contains("\nVmRSS:"))
        #expect(ProcFile.line("/proc/self/comm") != nil)
    }

    @Test(arguments: ["/proc/self/nothing", "", "/proc", "/nowhere/at/all"])
    func whatCannotBeReadIsNil(path: String) {
        #expect(ProcFile.text(path) == nil)
        #expect(ProcFile.line(path) == nil)
    }

    @Test(
        arguments: [
            ("VmHWM:\t    1234 kB\n", 1_263_616), ("VmPeak: 1 kB\nVmHWM: 2 kB\n", 2_048), ("VmHWM:\n", nil),
            ("VmHWM: many kB", nil), ("", nil), ("VmHWMs: 3 kB", nil), ("x VmHWM: 3 kB", nil),
        ] as [(String, Int?)])
    func findsANumberOfKilobytes(text: String, bytes: Int?) {
        #expect(ProcFile.kilobytes("VmHWM", in: text) == bytes)
    }

    @Test func aHugeFileIsCut() {
        #expect((ProcFile.text("/proc/kallsyms")?.utf8.count ?? 0) <= 16_384)
    }

    @Test func findsANumberThatFillsItsColumn() {
        #expect(ProcFile.kilobytes("VmRSS", in: "VmRSS:\t12345678 kB\n") == 12_345_678 * 1_024)
    }
}

@Suite(.limited) struct HostTests {
    @Test func theHostIsNamedInWords() throws {
        let host = AgentIdentity.Host.current()
        var names = utsname()
        try #require(uname(&names) == 0)
        #expect(!host.name.isEmpty && !host.os.isEmpty && !host.arch.isEmpty)
        #expect(host.kernel.hasPrefix("Linux "))
        let node = withUnsafeBytes(of: &names.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        #expect(host.name == node)
        for text in [host.name, host.device, host.os, host.kernel, host.arch] {
            #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
        }
        if let release = ProcessSamplerTests.read("/etc/os-release") { #expect(release.contains(host.os)) }
    }
}
