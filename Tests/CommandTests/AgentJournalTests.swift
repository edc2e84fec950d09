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

    /// Also through a second restart, whose kept line is one of the run before.
    @Test func aWordGoesOnThroughRestarts() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                HTTPAnswer(status: 200, body: Array(#"{"s": "\#(number < 4 ? "up" : "down")"}"#.utf8))
            }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            var changed: Timestamp?
            for seed in [1, 2, 3] as [UInt64] {
                let agent = SimulatedProcess(on: machine, seed: seed, parts: parts)
                async let status = agent.run([
                    "-u", "http://cats.test/s", "--value", "/s", "--states", "up,down", "-o", "ndjson", "--journal",
                    path,
                ])
                try await loop.sleep(for: .seconds(15))
                agent.signal(SIGTERM)
                let ended = try await status
                #expect(ended == 0)
                let lines = try Self.decoded(agent.output).compactMap { line -> (time: Timestamp, data: Line.Data)? in
                    if case .data(let data) = line.body { (line.time, data) } else { nil }
                }
                #expect(lines.count > 5)
                changed = changed ?? lines.first { $0.data.word == "down" }?.time
                // The first poll may be over before the journal is read.
                for (time, data) in lines.dropFirst(seed == 1 ? 0 : 1) where data.word == "down" {
                    #expect(data.value == 1 && data.since == changed, "run \(seed), \(time)")
                }
                if seed == 1 { #expect(lines.first?.data.since == lines.first?.time && changed != lines.first?.time) }
            }
        }
    }

    /// An agent that is ended before it has read its journal: once, or a second time as that takes too long.
    @Test(arguments: [1, 2]) func aRunThatEndsAtOnceHasAlertsToo(signals: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                HTTPAnswer(status: 200, body: Array((number == 1 ? "7" : "1").utf8))
            }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            var told: [[String]] = []
            for run in [1, 2] as [UInt64] {
                if run == 2 { machine.worker.time = { (before: .milliseconds(300), after: .zero) } }
                let agent = SimulatedProcess(on: machine, seed: run, parts: parts)
                async let status = agent.run([
                    "http://cats.test/n", "-e", "1h", "-o", "ndjson", "--journal", path, "--alert", "high: > 5",
                ])
                while await machine.transport.requests < run { try await loop.sleep(for: .milliseconds(100)) }
                try await loop.sleep(for: .milliseconds(100))
                let asked = loop.clock.now
                for _ in 0..<(run == 1 ? 1 : signals) { agent.signal(SIGTERM) }
                let ended = try await status
                #expect(ended == 0 && asked.duration(to: loop.clock.now) < .seconds(signals == 1 ? 15 : 6))
                told.append(
                    try Self.decoded(agent.output).compactMap { line in
                        if case .alert(let alert) = line.body { alert.state.rawValue } else { nil }
                    })
            }
            #expect(told == [["firing"], signals == 1 ? ["resolved"] : []])
        }
    }

    /// Alerts are waited for at the end, but not with inputs that go on.
    @Test(arguments: [nil, ["-d", "500ms"], ["-n", "3"]])
    func nothingIsPolledWhileTheEndWaitsForAlerts(_ ending: [String]?) async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 200, body: Array("7".utf8)) }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            machine.worker.time = { (before: .milliseconds(500), after: .zero) }
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            let agent = SimulatedProcess(on: machine, seed: 1, parts: parts)
            async let status = agent.run(
                [
                    "http://cats.test/n", "-e", "100ms", "-o", "ndjson", "--journal", path, "--alert", "high: > 5",
                ] + (ending ?? []))
            while await machine.transport.requests < 3 { try await loop.sleep(for: .milliseconds(10)) }
            if ending == nil { agent.signal(SIGTERM) }
            #expect(try await status == 0)
            #expect(await machine.transport.requests < 8)
            let lines = try Self.decoded(agent.output)
            let alerts = lines.filter { if case .alert = $0.body { true } else { false } }
            #expect(alerts.count == 1)
            guard case .bye(let bye)? = lines.last?.body else {
                Issue.record("it ends with \(agent.output.suffix(2))")
                return
            }
            #expect(bye.lastSeq == lines.compactMap(\.seq).max())
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
            #expect(alerts.map(\.state) == [.firing, .resolved])
            #expect(alerts.last?.at == low + .seconds(600))
        }
    }

    /// Each step hides the one before from who reads back by the time of a condition.
    @Test func whatIsPendingGoesOnThroughStepsOfTheClock() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 200, body: Array("7".utf8)) }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            var alerts: [Alert] = []
            for run in 1...2 {
                let agent = SimulatedProcess(on: machine, seed: UInt64(run), parts: parts)
                async let status = agent.run([
                    "http://cats.test/n", "-e", "10s", "-o", "ndjson", "--journal", path, "--alert",
                    "high: > 5 for 30m",
                ])
                for _ in 0..<6 {
                    try await loop.sleep(for: .seconds(100))
                    if run == 1 { machine.wall.step(by: .seconds(3_600)) }
                }
                try await loop.sleep(for: .seconds(660))
                agent.signal(SIGTERM)
                _ = try await status
                alerts += try Self.decoded(agent.output).compactMap { line in
                    if case .alert(let alert) = line.body { alert } else { nil }
                }
            }
            let start = Timestamp(seconds: 1_800_000_000)
            #expect(alerts.map(\.state) == [.firing])
            #expect(alerts.first?.at == start + .seconds(6 * 3_600 + 30 * 60) + .milliseconds(40), "\(alerts)")
        }
    }

    /// By its time, what fires began before the first line that is read again; it did not.
    @Test func aClockThatIsSetBackHidesNoBeginning() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                HTTPAnswer(status: number < 4 ? 500 : 200, body: Array((number < 10 ? "1" : "7").utf8))
            }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            var counted: [Timestamp] = []
            var start: Timestamp?
            for run in [1, 2] as [UInt64] {
                let agent = SimulatedProcess(on: machine, seed: run, parts: parts)
                async let status = agent.run([
                    "http://cats.test/n", "-e", "1s", "-o", "ndjson", "--journal", path, "--alert", "high: > 5",
                    "--alert", "many: count over 60s > 1",
                ])
                try await loop.sleep(for: .seconds(12))
                if run == 1 { machine.wall.step(by: .seconds(-3_600)) }
                try await loop.sleep(for: .seconds(run == 1 ? 15 : 60))
                agent.signal(SIGTERM)
                _ = try await status
                for line in try Self.decoded(agent.output) {
                    switch line.body {
                    case .data: start = start ?? line.time
                    case .alert(let alert) where alert.condition == "many": counted.append(alert.at)
                    default: break
                    }
                }
            }
            // A minute after the first value, of which the clock goes back by an hour.
            let due = try #require(start) + .seconds(60 - 3_600)
            #expect(counted.count == 1)
            #expect(try due..<due + .seconds(1) ~= #require(counted.first))
        }
    }

    /// Whoever saw it begin learns of its end, also from the run after.
    @Test func whatFiresIsToldAgainInAJournalThatBeginsAnew() async throws {
        try await withLoop(virtual: true) { loop in
            let values = SimulatedValues()
            let machine = SimulatedMachine(on: loop) { _, _ in
                HTTPAnswer(status: 200, body: Array("\(values.value)".utf8))
            }
            let folder = try TemporaryFolder()
            let path = folder.path("x.db")
            var parts = SimulatedProcess.Parts()
            parts.journal = { _ in (SQLiteLineStore(path: path), SQLiteHistory(path: path)) }
            var told: [(state: Alert.State, id: String)] = []
            for run in [1, 2] as [UInt64] {
                let agent = SimulatedProcess(on: machine, seed: run, parts: parts)
                async let status = agent.run([
                    "http://cats.test/n", "-e", "2s", "-o", "ndjson", "--journal", path, "--alert",
                    "high: > 100 until < 50",
                ])
                try await loop.sleep(for: .seconds(10))
                if run == 1 { for name in folder.names where name.hasPrefix("x.db") { unlink(folder.path(name)) } }
                values.value = run == 1 ? 80 : 20
                try await loop.sleep(for: .seconds(20))
                agent.signal(SIGTERM)
                _ = try await status
                for line in try Self.decoded(agent.output) {
                    if case .alert(let alert) = line.body { told.append((alert.state, alert.id)) }
                }
            }
            #expect(told.map(\.state) == [.firing, .reminder, .resolved] && Set(told.map(\.id)).count == 1)
        }
    }

    @Test func theJournalSaysFromTheFirstLineOnWhatTheSourcesAre() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            let agent = SimulatedProcess(on: machine, seed: 1)
            async let status = agent.run(["-u", "http://cats.test/fact", "--journal", "/x.db", "-o", "ndjson"])
            try await loop.sleep(for: .seconds(15))
            agent.signal(SIGTERM)
            let ended = try await status
            let greetings = try machine.journal(at: "/x.db").greetings.map { greeting -> [SourceStatus] in
                let line = try LineDecoder.decode(Array(greeting.utf8).split(separator: 0x0A)[1])
                guard case .stats(let stats) = line.body else { return [] }
                return stats.sources
            }
            // Once more when it is known where the value is.
            #expect(ended == 0 && greetings.count == 2)
            for sources in greetings {
                let own = sources.first { $0.source == "fact" }
                #expect(own?.rhythm == .every(.seconds(2)))
            }
            #expect(greetings.map { $0.first { $0.source == "fact" }?.valuePointer } == [nil, "/length"])
        }
    }

    @Test(arguments: [false, true])
    func anAttachedAgentKeepsTheOthersRunAndAddsNothing(endsFirst: Bool) async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            let agent = SimulatedProcess(on: machine, seed: 1)
            let attached = SimulatedProcess(on: machine, seed: 2)
            async let status = agent.run(Self.watch + ["--listen=/s"])
            try await loop.sleep(for: .seconds(15))
            async let attachedStatus = attached.run(
                ["--attach=/s", "-o", "ndjson", "--no-reconnect", "--journal", "/y.db"])
            try await loop.sleep(for: .seconds(15))
            (endsFirst ? attached : agent).signal(SIGTERM)
            let lost = try await attachedStatus
            if endsFirst { agent.signal(SIGTERM) }
            let ended = try await status
            #expect(ended == 0 && lost == (endsFirst ? 0 : 1))
            let (own, theirs) = (machine.journal(at: "/x.db").runs, machine.journal(at: "/y.db").runs)
            #expect(own.count == 1 && theirs.count == 1)
            #expect(theirs[0].lines.count > 20 && own[0].lines.starts(with: theirs[0].lines))
            #expect(own[0].name == theirs[0].name && (endsFirst || own[0].lines.count == theirs[0].lines.count))
            #expect(own[0].ended == "SIGTERM" && theirs[0].ended == (endsFirst ? nil : "SIGTERM"))
            #expect(theirs[0].lines.filter { $0.contains("\"type\":\"restart\"") }.count == 1)
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

    @Test func aJournalThatCannotBeHadKeepsNothingFromBeingWatched() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            machine.journals["/x.db"] = MemoryLineStore { $0 == .open ? JournalFault(.disk, "Permission denied") : nil }
            let agent = SimulatedProcess(on: machine, seed: 1)
            let status = try await agent.run(Self.watch + ["-d", "15s"])
            #expect(status == 0 && agent.output.contains { $0.contains(#""type":"fact""#) })
            #expect(
                agent.errors == [
                    "catwatch: /x.db: Permission denied; tried again every second",
                    "catwatch: /x.db: Permission denied; nothing of this run is in it",
                ])
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

    /// The same of its port. On a clock that is not virtual, which the library behind it does not follow.
    @Test func whoAsksBeforeASlowJournalIsOpenIsToldOfTheEnd() async throws {
        try await withLoop { loop in
            let command = try Command.parse(["--http=127.0.0.1:0"])
            guard case .watch(let options) = command, let port = try ListeningPort.claim(options) else {
                Issue.record("there is no port")
                return
            }
            let machine = Self.machine(on: loop)
            let agent = SimulatedProcess(on: machine, seed: 1, parts: .init(port: port))
            machine.worker.time = { (before: .milliseconds(300), after: .zero) }
            async let status = agent.run(Self.watch)
            let client = try ClientThread(RawClient(port: port.port ?? 0), besides: loop)
            defer { client.stop() }
            let readers = try await client.talk { client in
                try ["/feed", "/events", "/events?types=agent"].map { path in
                    let reader = try client.connect()
                    try client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n", to: reader)
                    return reader
                }
            }
            while !agent.hasBegun { try await loop.sleep(for: .milliseconds(1)) }
            agent.signal(SIGTERM)
            for reader in readers {
                let answer = try await client.talk { client in
                    defer { RawClient.leave(reader) }
                    return try WireAnswer(client.receive(from: reader))
                }
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(text.contains(#"{"type":"hello""#) && text.contains(#"{"type":"bye""#), "\(text)")
            }
            machine.worker.time = nil
            let ended = try await status
            #expect(ended == 0)
        }
    }

    /// Whose feed is pushed ends, and begins anew, while the one that is pushed to stays.
    @Test func whoIsPushedToGetsRunBehindRunOverOneConnection() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Self.machine(on: loop)
            let peer = machine.listen(at: "/peer")
            let attached = SimulatedProcess(on: machine, seed: 9)
            async let attachedStatus = attached.run(
                ["--attach=/s", "-o", "none", "--journal", "/y.db", "--connect", "unix:/peer?control=true"],
                isRead: false)
            let stream = try await LoopBound(peer.accept())
            async let pushed = SimulatedProcess.lines(of: stream.value)
            for seed in [1, 2] as [UInt64] {
                let agent = SimulatedProcess(on: machine, seed: seed)
                async let status = agent.run(Self.watch + ["--listen=/s"])
                try await loop.sleep(for: .seconds(45))
                agent.signal(SIGTERM)
                let ended = try await status
                #expect(ended == 0)
            }
            try await loop.sleep(for: .seconds(5))
            attached.signal(SIGTERM)
            let ended = try await attachedStatus
            #expect(ended == 0)
            let lines = try await pushed
            let runs = machine.journal(at: "/x.db").runs
            #expect(lines.filter { $0.hasPrefix("{\"seq\"") } == runs.flatMap(\.lines) && runs.count == 2)
            let hellos = try Self.decoded(lines).compactMap { line -> String? in
                if case .hello(let hello) = line.body { hello.run } else { nil }
            }
            // The same one again as its `stats` come; never one of its own.
            #expect(hellos.reduce(into: []) { if $0.last != $1 { $0.append($1) } } == runs.map(\.name))
            #expect(machine.journal(at: "/y.db").runs.map(\.lines) == runs.map(\.lines))
        }
    }

    @Test func anAgentWithoutAJournalSaysNothingOfOne() async throws {
        try await withLoop(virtual: true) { loop in
            let agent = SimulatedProcess(on: Self.machine(on: loop), seed: 1)
            let status = try await agent.run(["-u", "http://cats.test/fact", "-o", "ndjson", "-d", "15s"])
            #expect(status == 0)
            #expect(
                !agent.output.contains { $0.contains("restart") || $0.contains("durable") || $0.contains("journal") })
        }
    }
}

/// What a simulated source says.
///
/// Unchecked: used on one loop only.
private final class SimulatedValues: @unchecked Sendable {
    var value = 150
}
