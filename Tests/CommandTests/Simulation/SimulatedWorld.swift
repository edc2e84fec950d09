import Feed
import Glibc
import Inputs
import Journal
import Outputs
import Reactor
import TestSupport

@testable import catwatch

/// One seeded life of an agent, and of those that come after it on the same machine, in a world that fails. After every step it
/// is looked whether all that must hold does.
final class SimulatedWorld: @unchecked Sendable {  // touched on one loop only
    /// What came of a life.
    struct Report: Sendable {
        var seed: UInt64
        /// What did not hold.
        var faults: [String] = []
        /// What happened, in order.
        var story: [String] = []
        /// Every byte of every run.
        var feeds: [[UInt8]] = []
        /// How often this and that has happened.
        var counts: [String: Int] = [:]
    }

    let seed: UInt64
    let loop: EventLoop
    private let machine: SimulatedMachine
    private let disk = SimulatedDisk()
    private var journal: SimulatedJournal
    private let hasJournal: Bool
    /// What the journal held when the agent was begun, and whether it could have said so at once.
    private var isJournalWell = true
    private let folder: TemporaryFolder
    private var random: SeededGenerator
    private let start: LoopInstant
    private var report: Report
    private var files: ReaderWitness
    private var pushed: ReaderWitness

    // The agent that lives.
    private var process: SimulatedProcess?
    private var feed: FeedWitness?
    private var gone: Wakeup
    private var isStopping = false
    private var incarnation = 0
    /// Those that have been, and what is left of them.
    private var former: [SimulatedProcess] = []
    private var records: [String: FeedRecord] = [:]

    private var clients: [SimulatedClient] = []
    private var isOver = false
    private var number = 0
    private var down: [String: LoopInstant] = [:]
    private var sources: [String] = []
    private var born = 0
    private var armedStep: Duration?
    private var unwritten: [UInt8] = []
    private var stalledUntil: LoopInstant
    private var lastSeen: (time: LoopInstant, next: Int, incarnation: Int)

    private static let width = Duration.seconds(1)
    private static let history = Duration.seconds(4)
    static let logBytes = 64 << 10
    private static let readers = 4
    /// No line waits longer than this for a reader that reads at once.
    private static let prompt = Duration.milliseconds(100)

    init(seed: UInt64, on loop: EventLoop, in folder: TemporaryFolder) {
        (self.seed, self.loop, self.folder) = (seed, loop, folder)
        machine = SimulatedMachine(on: loop)
        random = SeededGenerator(seed: seed)
        start = loop.clock.now
        report = Report(seed: seed)
        gone = Wakeup(loop: loop)
        stalledUntil = start
        lastSeen = (start, 0, 0)
        hasJournal = random.next() % 5 > 0
        journal = SimulatedJournal { _ in }
        files = ReaderWitness("the file", .file) { _ in }
        pushed = ReaderWitness("the peer", .push) { _ in }
        journal = SimulatedJournal { [unowned self] in accuse($0) }
        files = ReaderWitness("the file", .file) { [unowned self] in accuse($0) }
        pushed = ReaderWitness("the peer", .push) { [unowned self] in accuse($0) }
        pushed.oldest = { [unowned self] in oldest(of: $0) }
        clients = (0..<Self.readers).map { SimulatedClient($0, of: self, seed: seed &+ 1_000_003 &* UInt64($0 + 1)) }
    }

    /// What must have happened in a thousand lives.
    static let happenings = [
        "commits", "crashes", "crashes in a commit", "ends", "failures", "gaps", "gaps in the journal",
        "journal faults", "late values", "no room", "pushes", "recovered", "reloads", "restarts", "resumed",
        "revised", "steps ahead", "steps back", "windows",
    ]

    // MARK: What is told of it

    func accuse(_ fault: String) {
        note("FAULT \(fault)")
        if report.faults.count < 20 { report.faults.append(fault) }
    }

    func note(_ text: @autoclosure () -> String) {
        let now = start.duration(to: loop.clock.now)
        report.story.append("\(Int(now.milliseconds.rounded())) ms: \(text())")
    }

    func count(_ what: String, _ by: Int = 1) { report.counts[what, default: 0] += by }

    private func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }
    private func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .microseconds(Int64.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &random))
    }

    // MARK: Servers

    func isDown(_ source: String) -> Bool { down[source].map { $0 > loop.clock.now } ?? false }

    func note(failureOf source: String) {
        feed?.note(failureOf: source, at: loop.clock.now)
        count("failures")
    }

    /// A document that nobody has had before.
    func document(of source: String, isAnswer: Bool) -> String {
        if isAnswer { stepClock() }
        number += 1
        feed?.note(answer: number, of: source, at: loop.clock.now)
        let value = Int.random(in: 0...999, using: &random)
        let pad = chance(3) ? Int.random(in: 0...2_500, using: &random) : 20
        let text = #"{"n":\#(number),"v":\#(value),"pad":"\#(String(repeating: "a", count: pad))""#
        return text + (isAnswer ? #","at":\#(moment())}"# : "}")
    }

    /// When something happened, in seconds: now, or some time ago, in a window that is not about to be past.
    private func moment() -> String {
        let now = machine.wall.now.microseconds
        let isNearEdge = !(100_000...900_000).contains(now % 1_000_000)
        guard chance(6), !isNearEdge else { return "\(now / 1_000_000).\(Self.sixDigits(now % 1_000_000))" }
        let then = now - Int64.random(in: 0...5_900_000, using: &random)
        return "\(then / 1_000_000).\(Self.sixDigits(then % 1_000_000))"
    }

    private static func sixDigits(_ number: Int64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Steps the wall clock if that is to be done, and at this moment everything that was published was seen: what follows is
    /// published at this moment.
    private func stepClock() {
        guard let step = armedStep, let feed, let store = process?.agent?.store else { return }
        drain()
        guard store.assumeIsolated({ $0.nextSequence }) == feed.record.last + 1 else { return }
        armedStep = nil
        feed.noteStep(from: machine.wall.now)
        machine.wall.step(by: step)
        count(step > .zero ? "steps ahead" : "steps back")
        note("the clock is stepped by \(Int(step.milliseconds)) ms")
        stalledUntil = max(stalledUntil, loop.clock.now.advanced(by: .seconds(2)))
    }

    // MARK: Agents

    private var configuration: String {
        let polled = sources.map {
            #"{"name": "\#($0)", "url": "http://cats.test/\#($0)", "every": "\#(periods[$0] ?? 300)ms", "timeout": "500ms", "#
                + #""value": "/v", "text": null, "time": "/at"}"#
        }
        let all = polled + [#"{"name": "piped", "kind": "stdin", "value": "/v", "text": null}"#]
        return "{\"sources\": [\(all.joined(separator: ", "))]}"
    }
    private var periods: [String: Int] = [:]

    private func addSource() {
        born += 1
        sources.append("s\(born)")
        periods["s\(born)"] = [200, 300, 500, 1_000].randomElement(using: &random)
    }

    private func runAgents() async {
        await withDiscardingTaskGroup { group in
            while !isOver {
                let process = begin()
                let number = incarnation
                group.addTask { await self.live(process, number) }
                group.addTask { await self.watch(process, number) }
                group.addTask { await Self.drop(process.standard(2)) }
                try? await gone.wait()
                if !isOver { try? await loop.sleep(for: milliseconds(0...400)) }
            }
        }
    }

    private func begin() -> SimulatedProcess {
        incarnation += 1
        let seed = random.next()
        var parts = SimulatedProcess.Parts()
        parts.logBytes = Self.logBytes
        parts.makeTransport = { [unowned self] in SimulatedServers(of: self, for: $0, seed: seed) }
        parts.file = { [disk] process, _ in disk.file(of: process) }
        parts.journal = { [journal] in (journal.lines(of: $0), journal.history(of: $0)) }
        let process = SimulatedProcess(on: machine, seed: seed, parts: parts)
        self.process = process
        isStopping = false
        feed = FeedWitness(incarnation, on: loop.clock, width: Self.width, history: Self.history) { [unowned self] in
            accuse($0)
        }
        if hasJournal {
            isJournalWell = journal.fault == nil && !slowDisk
            feed?.onRestart = { [unowned self] in look(restart: $0) }
            feed?.onDurable = { [unowned self] durable, run in
                let kept = journal.last(of: run)
                if durable > kept { accuse("\(durable) is said to be durable, and the journal has \(kept)") }
            }
        }
        try? folder.write(configuration, to: "config.jsonc")
        note("agent \(incarnation) starts")
        return process
    }

    /// The first line says how the run before ended, and how far it is kept.
    private func look(restart line: LineScan) {
        let before = journal.run(before: feed?.run ?? "")
        guard let name = line.text("\"last_run\":\"") else {
            if before != nil, isJournalWell { accuse("restart knows of no run before: \(line.text)") }
            return
        }
        count("restarts")
        if name != before?.name || line.integer("\"last_seq\":") != before?.last
            || line.text("\"ended\":\"") != before?.ended
        {
            accuse("restart is not about \(before?.name ?? "") up to \(before?.last ?? 0): \(line.text)")
        }
    }

    private func live(_ process: SimulatedProcess, _ number: Int) async {
        let arguments =
            [
                "-c", folder.path("config.jsonc"), "--output=ndjson", "--interval=1s", "--history=4s",
                "--listen=/feed.sock",
                "--output-file=/feed.ndjson", "--connect=unix:/peer?control=true", "--reader-timeout=2s",
            ] + (hasJournal ? ["--journal=/journal"] : [])
        do {
            let status = try await process.watch(arguments)
            if status != 0, !process.isDead { accuse("agent \(number) ends with \(status)") }
        } catch {
            accuse("agent \(number) ends by \(error)")
        }
        note("agent \(number) has ended")
        if process === self.process {
            if !isStopping { accuse("agent \(number) ends by itself") }
            lose()
        }
    }

    /// The agent that lives does so no more.
    private func lose() {
        guard let process else { return }
        former.append(process)
        self.process = nil
        unwritten = []
        gone.signal()
    }

    /// Reads an agent's output as it comes.
    private func watch(_ process: SimulatedProcess, _ number: Int) async {
        guard let feed else { return }
        let stream = process.standard(1)
        let buffer = ReadBuffer()
        while true {
            if case .end = read(stream, buffer, into: feed) { break }
            do { try await stream.waitUntilReadable() } catch { break }
        }
        feed.end(isOrderly: !process.isDead)
        records[feed.run] = feed.record
        report.feeds.append(feed.record.bytes)
        count("windows", feed.windows.told)
        count("revised", feed.windows.revised)
        count("late values", feed.windows.late)
        count("recovered", feed.recoveries)
        count("lines", feed.record.last)
    }

    private enum Reading { case nothing, end }

    private func read(_ stream: SimulatedStream, _ buffer: ReadBuffer, into feed: FeedWitness) -> Reading {
        while let count = try? stream.read(into: buffer.memory) {
            if count == 0 { return .end }
            feed.take(
                UnsafeRawBufferPointer(rebasing: buffer.memory[..<count]), now: machine.wall.now, records: records)
        }
        records[feed.run] = feed.record
        return .nothing
    }

    /// Reads what there is of the feed.
    private func drain() {
        guard let process, let feed else { return }
        _ = read(process.standard(1), scratch, into: feed)
    }
    private let scratch = ReadBuffer()

    /// Reads a stream to its end, and nobody cares.
    private static func drop(_ stream: SimulatedStream) async { _ = try? await SimulatedProcess.lines(of: stream) }

    private func crash() {
        guard let process, !isStopping else { return }
        note("agent \(incarnation) crashes")
        count("crashes")
        process.crash()
        lose()
    }

    private func stop() {
        guard let process, !isStopping else { return }
        note("agent \(incarnation) is to end")
        count("ends")
        isStopping = true
        process.signal(SIGTERM)
    }

    // MARK: Steps

    /// Lives, and says what came of it.
    func live() async -> Report {
        for _ in 0...random.next() % 2 { addSource() }
        loop.simulatedWork = { [unowned self] in workTime() }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runAgents() }
            group.addTask { await self.runPeer() }
            for client in clients { group.addTask { await client.live() } }
            let steps = 25 + random.next() % 20
            for _ in 0..<steps {
                step()
                try? await loop.sleep(for: chance(8) ? milliseconds(0...1_500) : milliseconds(0...250))
                check()
            }
            await end()
            group.cancelAll()
        }
        loop.simulatedWork = nil
        // What calls readers together does so within this time, whoever is left.
        try? await loop.sleep(for: .milliseconds(25))
        settle()
        await lookForTimers()
        return report
    }

    private var slowDisk = false

    private func workTime() -> (before: Duration, after: Duration) {
        isJournalWell = isJournalWell && !slowDisk
        guard slowDisk else { return (.zero, .zero) }
        return (milliseconds(0...150), milliseconds(0...150))
    }

    private func step() {
        writeMore()
        switch random.next() % 24 {
        case 0, 1:
            guard let source = sources.randomElement(using: &random) else { return }
            down[source] = loop.clock.now.advanced(by: milliseconds(100...4_000))
            note("\(source) is down")
        case 2:
            disk.isFull.toggle()
            note("the disk is \(disk.isFull ? "full" : "free")")
        case 3: slowDisk.toggle()
        case 4, 5: armedStep = milliseconds(chance(2) ? -6_000...6_000 : -1_200...1_200)
        case 6, 7: reload()
        case 8: loop.schedule(after: milliseconds(0...200)) { [self] in crash() }
        case 16:
            let isAfter = chance(2)
            journal.onCommit = { [unowned self] in
                guard $0 == isAfter else { return }
                journal.onCommit = nil
                note("in the middle of a commit, \(isAfter ? "when it is made" : "which is not made"):")
                count("crashes in a commit")
                crash()
            }
        case 17:
            journal.fault = journal.fault == nil ? [.disk, .held, .corrupt].randomElement(using: &random) : nil
            if journal.fault != nil { isJournalWell = false }
            note("the journal is \(journal.fault.map { "\($0)" } ?? "well")")
        case 9: if chance(3) { stop() }
        case 10...14: pipe(Int(random.next() % 40))
        case 15: process?.signal(SIGQUIT)
        default: break
        }
    }

    private func pipe(_ lines: Int) {
        guard process != nil, !isStopping, unwritten.isEmpty else { return }
        for _ in 0..<lines { unwritten += Array("\(document(of: "piped", isAnswer: false))\n".utf8) }
        writeMore()
    }

    private func writeMore() {
        guard let process, !unwritten.isEmpty else { return }
        let written = (try? unwritten.withUnsafeBytes { try process.standard(0).write($0) }) ?? 0
        unwritten.removeFirst(written)
        // What was written only now has been waiting for longer.
        let patience: Duration = unwritten.isEmpty ? .milliseconds(500) : .seconds(2)
        stalledUntil = max(stalledUntil, loop.clock.now.advanced(by: patience))
    }

    private func reload() {
        guard let process, !isStopping else { return }
        switch random.next() % 4 {
        case 0: addSource()
        case 1 where sources.count > 1: sources.remove(at: Int(random.next() % UInt64(sources.count)))
        case 2:
            if let source = sources.randomElement(using: &random) { periods[source] = Int(100 + random.next() % 900) }
        default: break
        }
        if sources.count > 3 { sources.removeFirst() }
        try? folder.write(chance(8) ? "{" : configuration, to: "config.jsonc")
        note("reload of \(sources.joined(separator: ", "))")
        count("reloads")
        feed?.noteReload(until: loop.clock.now.advanced(by: .seconds(3)))
        process.signal(SIGHUP)
    }

    /// Everything works again, and after a while the agent is to end.
    private func end() async {
        (disk.isFull, slowDisk, armedStep, down) = (false, false, nil, [:])
        (journal.fault, journal.onCommit) = (nil, nil)
        note("all is well")
        try? await loop.sleep(for: .milliseconds(3_500))
        writeMore()
        check()
        while process?.agent?.store == nil { try? await loop.sleep(for: .milliseconds(50)) }
        isOver = true
        for client in clients { client.isWelcome = true }
        stop()
        let patience = loop.clock.now.advanced(by: .seconds(30))
        while process != nil, loop.clock.now < patience { try? await loop.sleep(for: .milliseconds(100)) }
        guard process != nil else { return }
        accuse("agent \(incarnation) does not end")
        // The loop may have nothing to wait for from here on, and stop the tests.
        print("seed \(seed): agent \(incarnation) does not end")
        process?.crash()
        lose()
    }

    // MARK: What must hold

    private func check() {
        drain()
        let now = loop.clock.now
        guard let process, let feed, let store = process.agent?.store else { return }
        if disk.isFull || slowDisk || journal.fault != nil {
            stalledUntil = max(stalledUntil, now.advanced(by: .seconds(3)))
        }
        let (next, memory, counts) = store.assumeIsolated { ($0.nextSequence, $0.logMemory, $0.counts) }
        if memory > Self.logBytes + 8_192 { accuse("the log takes \(memory) bytes") }
        if counts.readers > Self.readers * 2 + 8 { accuse("there are \(counts.readers) readers") }
        if lastSeen.incarnation == incarnation, lastSeen.time.duration(to: now) > Self.prompt {
            if feed.record.last < lastSeen.next - 1 { accuse("stdout has not got \(lastSeen.next - 1)") }
            for client in clients {
                client.check(lastSeen.next, of: feed.run, since: lastSeen.time, isHeld: now < stalledUntil)
            }
        }
        if lastSeen.incarnation != incarnation || lastSeen.time.duration(to: now) > Self.prompt {
            lastSeen = (now, next, incarnation)
        }
        if !isStopping { feed.check(at: now, now: machine.wall.now, isHeld: now < stalledUntil) }
        let appended = disk.takeAppended()
        appended.withUnsafeBytes { files.take($0, records) }
        journal.settle(records)
        files.settle(records)
        pushed.settle(records)
        for client in clients { client.witness.settle(records) }
    }

    func live(for client: SimulatedClient) -> (run: String, isStopping: Bool)? {
        process == nil ? nil : (feed?.run ?? "", isStopping)
    }

    /// Looks for what is left over, at the end.
    private func settle() {
        let appended = disk.takeAppended()
        appended.withUnsafeBytes { files.take($0, records) }
        for witness in [files, pushed] + clients.map(\.witness) {
            witness.settle(records)
            count("gaps", witness.gaps)
            count("resumed", witness.resumed)
            count("lines read", witness.lines)
        }
        if !files.isOver { accuse("the file has no end") }
        if let feed, files.run != feed.run || files.next != feed.record.last + 1 {
            accuse("the file ends before \(files.next), the feed with \(feed.record.last)")
        }
        journal.settle(records)
        if hasJournal, let feed {
            let last = journal.last(of: feed.run)
            if last != feed.record.last || journal.runs.last?.ended != "SIGTERM" {
                accuse("the journal ends with \(last), and the feed with \(feed.record.last)")
            }
        }
        count("commits", journal.commits)
        count("journal faults", journal.refusals)
        count("gaps in the journal", journal.missing)
        for (index, process) in former.enumerated() {
            if process.holdsStreams { accuse("agent \(index + 1) has left streams open") }
            if process.agent != nil || process.store != nil { accuse("something of agent \(index + 1) is left over") }
        }
        count("no room", disk.refusals)
    }

    /// Looks for timers that are left over, and says until when.
    private func lookForTimers() async {
        let (count, end) = (loop.timerCount, loop.clock.now)
        guard count > 0 else { return }
        while loop.timerCount > 0, end.duration(to: loop.clock.now) < .seconds(120) {
            try? await loop.sleep(for: .milliseconds(10))
        }
        accuse("\(count) timers are left over, for \(Int(end.duration(to: loop.clock.now).milliseconds)) ms")
    }

    // MARK: Readers

    func connect(capacity: Int) -> SimulatedStream? { try? machine.connect(to: "/feed.sock", capacity: capacity) }

    var feeds: [String: FeedRecord] {
        drain()
        return records
    }

    /// The oldest line that the agent's log holds.
    func oldest(of run: String) -> Int? {
        guard let process, feed?.run == run, let store = process.agent?.store else { return nil }
        return store.assumeIsolated { $0.firstSequence }
    }

    var hasEnded: Bool { isOver }

    /// Whoever the agent pushes to: it comes and goes as well.
    private func runPeer() async {
        var random = SeededGenerator(seed: seed &+ 77)
        let buffer = ReadBuffer()
        while !Task.isCancelled {
            let listener = machine.listen(at: "/peer")
            guard let stream = try? await listener.accept() else { return }
            pushed.connect()
            let leaves = loop.clock.now.advanced(by: .milliseconds(Int64.random(in: 50...6_000, using: &random)))
            let timer = isOver ? nil : loop.schedule(at: leaves) { if !self.isOver { stream.close() } }
            while let count = try? stream.read(into: buffer.memory) ?? -1, count != 0 {
                if count > 0 {
                    pushed.take(UnsafeRawBufferPointer(rebasing: buffer.memory[..<count]), feeds)
                } else if (try? await stream.waitUntilReadable()) == nil {
                    break
                }
            }
            if let timer { loop.cancel(timer) }
            stream.close()
            listener.close()
            pushed.disconnect(mayCut: true)
            count("pushes")
            guard (try? await loop.sleep(for: .milliseconds(Int64.random(in: 0...500, using: &random)))) != nil else {
                break
            }
        }
        machine.listen(at: "/peer").close()
    }
}
