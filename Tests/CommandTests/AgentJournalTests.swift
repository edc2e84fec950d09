import Feed
import Glibc
import Inputs
import Journal
import Reactor
import Settings
import Synchronization
import TestSupport
import Testing

@testable import catwatch

/// The whole agent and its journal, in virtual time.
@Suite(.limited) struct AgentJournalTests {
    private static func machine(on loop: EventLoop) -> SimulatedMachine {
        SimulatedMachine(on: loop) { number, _ in
            HTTPAnswer(status: 200, body: Array(#"{"fact": "Cats sleep.", "length": \#(number)}"#.utf8))
        }
    }

    private static let watch = [
        "-u", "http://cats.test/fact", "--value", "/length", "-o", "ndjson", "--journal", "/x.db",
    ]

    private static func decoded(_ lines: [String]) throws -> [Line] {
        try lines.map { try LineDecoder.decode(Array($0.utf8)[...]) }
    }

    @Test func everyRunIsKeptWholeAndTheNextOneSaysHowItEnded() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            for seed in [1, 2] as [UInt64] {
                let agent = SimulatedProcess(on: machine, seed: seed)
                async let status = agent.run(Self.watch)
                try await loop.sleep(for: .seconds(45))
                agent.signal(SIGTERM)
                let ended = try await status
                #expect(ended == 0 && agent.errors == [])
                let runs = machine.journal(at: "/x.db").runs
                #expect(runs.count == Int(seed) && runs.last?.ended == "SIGTERM")
                // The greeting and the bye are a connection's.
                #expect(runs.last?.lines == agent.output.filter { $0.hasPrefix("{\"seq\"") })
                let lines = try Self.decoded(agent.output)
                guard case .restart(let restart)? = lines.first(where: { $0.seq == 1 })?.body else {
                    Issue.record("no restart: \(agent.output.prefix(3))")
                    return
                }
                let last = runs.count == 2 ? runs[0] : nil
                #expect(restart == Restart(lastRun: last?.name, lastSequence: last?.last, ended: last?.ended))
                let durable = lines.compactMap { line -> Int? in
                    guard case .agent(let agent) = line.body else { return nil }
                    return agent.outputs.first { $0.output == "journal:/x.db" }?.durable
                }
                #expect(durable.count > 3 && durable[0] == 0 && durable == durable.sorted() && durable.last ?? 0 > 30)
            }
        }
    }

    /// It fires since before what is read again, of which nothing would begin it, and what ends it began before the restart.
    @Test func theTimeOfAnEndGoesOnThroughARestart() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                HTTPAnswer(status: 200, body: Array((number <= 30 ? "7" : number <= 60 ? "4" : "1").utf8))
            }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            var (alerts, values): ([Alert], [(time: Timestamp, value: Double?)]) = ([], [])
            for (run, minutes) in [(1, 68), (2, 8)] {
                let agent = SimulatedProcess(on: machine, seed: UInt64(run), parts: parts)
                async let status = agent.run([
                    "http://cats.test/n", "-e", "1m", "-o", "ndjson", "--journal", path, "--alert",
                    "high: > 5 until < 3 for 10m",
                ])
                try await loop.sleep(for: .seconds(60 * minutes))
                agent.signal(SIGTERM)
                _ = try await status
                for line in try Self.decoded(agent.output) {
                    switch line.body {
                    case .alert(let alert): alerts.append(alert)
                    case .data(let data): values.append((line.time, data.value))
                    default: break
                    }
                }
            }
            let low = try #require(values.first { $0.value == 1 }).time
            #expect(alerts.map(\.state) == [.firing, .clearing, .resolved])
            #expect(alerts.last?.at == low + .seconds(600))
        }
    }

    /// Also when the journal has let go of the line.
    @Test func theNewestLineOfASeldomSourceOutlivesManyRuns() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                HTTPAnswer(status: number == 1 ? 200 : 500, body: Array("7".utf8))
            }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var settings = JournalSettings()
            settings.age = .seconds(600)
            var parts = SimulatedProcess.Parts()
            parts.journal = { [settings] _ in (SQLiteLineStore(path: path, settings), SQLiteHistory(path: path)) }
            for (run, seconds) in [(1, 3_700), (2, 1), (3, 3_700), (4, 10)] {
                let agent = SimulatedProcess(on: machine, seed: UInt64(run), parts: parts)
                async let status = agent.run([
                    "http://cats.test/n", "-e", "1d", "-o", "ndjson", "--journal", path, "--listen=/s\(run)",
                ])
                try await loop.sleep(for: .seconds(seconds))
                let reader = try machine.connect(to: "/s\(run)")
                async let lines = SimulatedProcess.lines(of: reader)
                try await loop.sleep(for: .milliseconds(500))
                agent.signal(SIGTERM)
                let values = try Self.decoded(try await lines).compactMap { line -> Double? in
                    guard case .kept(let kept) = line.body, case .data(let data) = kept.line.body else { return nil }
                    return data.value
                }
                #expect(values == [7] || run == 1, "run \(run)")
                _ = try await status
            }
            let query = JournalQuery(until: Timestamp(seconds: 600))
            #expect(try SQLiteHistory(path: path).page(query, behind: nil, bytes: 1) == nil)
        }
    }

    @Test func theSecondOnOneJournalIsRefused() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            machine.journals["/x.db"] = MemoryLineStore { _ in
                JournalFault(.taken, "/x.db is written by another catwatch already (process 12)")
            }
            let agent = SimulatedProcess(on: machine, seed: 1)
            let error = await #expect(throws: UsageError.self) { try await agent.run(Self.watch) }
            #expect(error?.description.contains("(process 12)") == true && agent.output == [])
        }
    }

    @Test func aJournalThatFailsAtTheEndIsSaidToBeShortBeforeTimeIsUp() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            let isFull = Atomic<Bool>(false)
            machine.journals["/x.db"] = MemoryLineStore { call in
                isFull.load(ordering: .relaxed) && call == .commit ? JournalFault(.disk, "no room") : nil
            }
            let agent = SimulatedProcess(on: machine, seed: 1)
            async let status = agent.run(Self.watch)
            try await loop.sleep(for: .seconds(15))
            isFull.store(true, ordering: .relaxed)
            agent.signal(SIGTERM)
            let ended = try await status
            #expect(ended == 0 && !machine.journal(at: "/x.db").isOpen)
            #expect(
                agent.errors
                    == ["tried again every second", "the last lines are not in it"].map {
                        "catwatch: /x.db: no room; \($0)"
                    })
        }
    }

    /// Its socket is there before the disk has answered.
    @Test func whoConnectsBeforeASlowJournalIsOpenIsToldOfTheEnd() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            let agent = SimulatedProcess(on: machine, seed: 1)
            machine.worker.time = { (before: .seconds(60), after: .zero) }
            async let status = agent.run(Self.watch + ["--listen=/s"])
            try await loop.sleep(for: .milliseconds(500))
            let reader = try machine.connect(to: "/s")
            try await loop.sleep(for: .milliseconds(100))
            agent.signal(SIGTERM)
            let lines = try Self.decoded(try await SimulatedProcess.lines(of: reader))
            #expect(
                lines.map(\.type).starts(with: ["hello", "stats", "restart"]) && lines.last?.type == "bye",
                "\(lines.map(\.type))")
            let ended = try await status
            #expect(ended == 0)
            machine.worker.time = nil
        }
    }
}
