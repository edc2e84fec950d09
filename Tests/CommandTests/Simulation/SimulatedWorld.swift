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

    /// How far the feed was at some time.
    private struct Sight {
        var time: LoopInstant
        var next = 0
        var incarnation = 0
    }

    let seed: UInt64
    let loop: EventLoop
    private let tellsAtOnce: Bool
    private let machine: SimulatedMachine
    private let folder: TemporaryFolder
    private var random: SeededGenerator
    private let start: LoopInstant
    private var report: Report
    private let disk = SimulatedDisk()
    private var slowDisk = false
    private let hasJournal: Bool
    private let mostRows: Int
    private lazy var journal = SimulatedJournal(keeping: mostRows) { [unowned self] in accuse($0) }
    private lazy var sources = SimulatedSources(on: loop.clock, wall: machine.wall, seed: seed &+ 5)
    private lazy var main = SimulatedAgent("agent", servingAt: Self.socket, on: machine, in: self, seed: seed &+ 11)
    /// One that is attached to that, in some lives.
    private lazy var attached =
        seed % 3 == 0 ? AttachedAgent(to: main, at: Self.socket, on: machine, in: self, seed: seed &+ 17) : nil
    private lazy var peer = SimulatedPeer(on: machine, in: self, seed: seed &+ 77)
    private lazy var files = ReaderWitness("the file", .file) { [unowned self] in accuse($0) }
    private lazy var clients = Self.readers.enumerated().map { [unowned self] index, kind in
        SimulatedClient("reader \(index)", kind, of: main, in: self, seed: seed &+ 1_000_003 &* UInt64(index + 1))
    }

    /// What came out of the agent that lives, and of all that have.
    private var feed: FeedWitness?
    private var records: [String: FeedRecord] = [:]
    /// Whether the journal could have said at once what it held, when the agent was begun.
    private var isJournalWell = true
    private var armedStep: Duration?
    private var unwritten: [UInt8] = []
    private var stalledUntil: LoopInstant
    /// How far it was some time ago, and some more.
    private var lastSeen: Sight
    private var seenBefore: Sight
    /// The agent that was told to end before all was well, by its number.
    private var toldEarly: Int?
    /// Whether the last agent has been told to end.
    private(set) var hasEnded = false

    private static let socket = "/feed.sock"
    private static let width = Duration.seconds(1)
    static let logBytes = 64 << 10
    private static let readers: [ReaderWitness.Kind] = [.socket, .socket, .events, .socket, .events]
    /// No line waits longer than this for a reader that reads at once.
    private static let prompt = Duration.milliseconds(100)
    /// No life takes so long: what takes longer waits for something that never comes.
    private static let longest = Duration.seconds(240)

    /// - Parameter tellsAtOnce: whether the story is printed as it happens, as of a life that ends the process.
    init(seed: UInt64, on loop: EventLoop, in folder: TemporaryFolder, tellsAtOnce: Bool = false) {
        (self.seed, self.loop, self.folder, self.tellsAtOnce) = (seed, loop, folder, tellsAtOnce)
        machine = SimulatedMachine(on: loop)
        random = SeededGenerator(seed: seed)
        start = loop.clock.now
        report = Report(seed: seed)
        stalledUntil = start
        lastSeen = Sight(time: start)
        seenBefore = lastSeen
        hasJournal = random.next() % 5 > 0
        mostRows = random.next() % 2 == 0 ? .max : Int.random(in: 50...600, using: &random)
    }

    /// What must have happened in a thousand lives.
    static let happenings = [
        "commits", "crashes", "crashes in a commit", "crashes of an attached agent", "crossings", "ends",
        "failed readings", "failures", "forgotten sources", "gaps", "gaps in the journal", "journal faults",
        "journals moved aside", "kept lines", "kept windows", "late values", "lines of the past", "lost attachments",
        "no room", "pages of the journal", "pushes", "recovered", "reloads", "restarts", "resumed",
        "rows let go of", "steps ahead", "steps back", "windows",
    ]

    // MARK: What is told of it

    func accuse(_ fault: String) {
        note("FAULT \(fault)")
        if report.faults.count < 20 { report.faults.append(fault) }
    }

    func note(_ text: @autoclosure () -> String) {
        let now = start.duration(to: loop.clock.now)
        let line = "\(Int(now.milliseconds.rounded())) ms: \(text())"
        report.story.append(line)
        if tellsAtOnce { print(line) }
    }

    func count(_ what: String, _ by: Int = 1) { report.counts[what, default: 0] += by }

    private func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }
    private func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .microseconds(Int64.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &random))
    }

    // MARK: Servers

    func isDown(_ source: String) -> Bool { sources.isDown(source) }
    func isWatched(_ source: String) -> Bool { sources.isWatched(source) }
    /// The run that goes on; an agent that has crashed has left no kept lines.
    var run: String? { feed?.run }

    func note(failureOf source: String) {
        feed?.note(failureOf: source, at: loop.clock.now)
        count("failures")
    }

    /// A document that nobody has had before.
    func document(of source: String, isAnswer: Bool) -> String {
        if isAnswer { stepClock(before: source) }
        let (number, text) = sources.document(isAnswer: isAnswer)
        feed?.note(answer: number, of: source, at: loop.clock.now)
        return text
    }

    /// Steps the wall clock if that is to be done, and at this moment everything that was published was seen: what follows is
    /// published at this moment.
    private func stepClock(before source: String) {
        guard let step = armedStep, let feed, let store = main.store else { return }
        main.drain()
        guard store.assumeIsolated({ $0.nextSequence }) == feed.record.last + 1 else { return }
        armedStep = nil
        feed.noteStep(from: machine.wall.now, by: step, before: source)
        for client in clients { client.witness.owedWindows = [:] }
        machine.wall.step(by: step)
        count(step > .zero ? "steps ahead" : "steps back")
        note("the clock is stepped by \(Int(step.milliseconds)) ms")
        stalledUntil = max(stalledUntil, loop.clock.now.advanced(by: .seconds(2)))
    }

    // MARK: Agents

    private func begin(_ incarnation: Int) -> SimulatedAgent.Beginning {
        let seed = random.next()
        var parts = SimulatedProcess.Parts()
        parts.logBytes = Self.logBytes
        parts.servesEvents = true
        parts.makeTransport = { [unowned self] in SimulatedServers(of: self, for: $0, seed: seed) }
        parts.file = { [disk] process, _ in disk.file(of: process) }
        parts.journal = { [journal] in (journal.lines(of: $0), journal.history(of: $0)) }
        unwritten = []
        let feed = FeedWitness(incarnation, on: loop.clock, width: Self.width, after: feed) { [sources] in
            sources.period(of: $0)
        } accuse: { [unowned self] in
            accuse($0)
        }
        self.feed = feed
        if hasJournal {
            isJournalWell = journal.fault == nil && !journal.isDamaged && !slowDisk
            feed.onRestart = { [unowned self] in look(restart: $0) }
            feed.onDurable = { [unowned self] durable, run in
                let kept = journal.durable(of: run)
                if durable > kept { accuse("\(durable) is said to be durable, and the journal has \(kept)") }
            }
        }
        try? folder.write(sources.configuration, to: "config.jsonc")
        let arguments =
            [
                "-c", folder.path("config.jsonc"), "--output=ndjson", "--interval=1s", "--history=4s",
                "--output-file=/feed.ndjson", "--connect=unix:\(SimulatedPeer.path)?control=true",
                "--reader-timeout=2s",
            ] + (hasJournal ? ["--journal=/journal"] : [])
        return SimulatedAgent.Beginning(arguments: arguments, parts: parts, seed: seed) { [unowned self] in
            feed.take($0, now: machine.wall.now, records: records)
            records[feed.run] = feed.record
        } end: { [unowned self] in
            end(feed, isOrderly: $0)
        }
    }

    private func end(_ feed: FeedWitness, isOrderly: Bool) {
        feed.end(isOrderly: isOrderly)
        records[feed.run] = feed.record
        report.feeds.append(feed.record.bytes)
        for windows in feed.windows.values {
            count("windows", windows.told)
            count("late values", windows.late)
        }
        count("recovered", feed.recoveries)
        count("lines", feed.record.last)
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

    // MARK: Steps

    /// Lives, and says what came of it; also of a life that comes to no end.
    func live() async -> Report {
        let over = Wakeup(loop: loop)
        let life = Task(executorPreference: loop) {
            await self.liveToTheEnd()
            over.open()
        }
        let limit = loop.schedule(after: Self.longest) {
            self.accuse("it comes to no end")
            life.cancel()
            over.open()
        }
        try? await over.wait()
        loop.cancel(limit)
        if report.faults.isEmpty { await lookForTimers() }
        return report
    }

    private func liveToTheEnd() async {
        machine.worker.time = { [unowned self] in workTime() }
        main.past = { [unowned self] in timeWitness($0, $1, reaching: $2, for: $3) }
        for client in clients { join(client) }
        peer.witness.oldest = { [unowned self] in main.oldest(of: $0) }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.main.run { self.begin($0) } }
            group.addTask { await self.peer.live() }
            for client in clients { group.addTask { await client.live() } }
            if let attached { group.addTask { await attached.live() } }
            let steps = 25 + random.next() % 20
            for _ in 0..<steps {
                step()
                try? await loop.sleep(for: chance(8) ? milliseconds(0...1_500) : milliseconds(0...250))
                check()
            }
            await end()
            group.cancelAll()
        }
        machine.worker.time = nil
        // What calls readers together does so within this time, whoever is left.
        try? await loop.sleep(for: .milliseconds(25))
        settle()
    }

    private func workTime() -> (before: Duration, after: Duration) {
        isJournalWell = isJournalWell && !slowDisk
        guard slowDisk else { return (.zero, .zero) }
        return (milliseconds(0...150), milliseconds(0...150))
    }

    private func step() {
        writeMore()
        switch random.next() % 26 {
        case 0, 1:
            if let source = sources.fail(for: milliseconds(100...4_000)) { note("\(source) is down") }
        case 2:
            disk.isFull.toggle()
            note("the disk is \(disk.isFull ? "full" : "free")")
        case 3:
            slowDisk.toggle()
            note("the disk is \(slowDisk ? "slow" : "fast")")
        case 4, 5: armedStep = milliseconds(chance(2) ? -6_000...6_000 : -1_200...1_200)
        case 6, 7: reload()
        case 8: loop.schedule(after: milliseconds(0...200)) { [self] in main.crash() }
        case 9: if chance(3) { main.stop() }
        case 10...14: pipe(Int(random.next() % 40))
        case 15: main.process?.signal(SIGQUIT)
        case 16:
            let isAfter = chance(2)
            journal.onCommit = { [unowned self] in
                guard $0 == isAfter else { return }
                journal.onCommit = nil
                note("in the middle of a commit, \(isAfter ? "when it is made" : "which is not made"):")
                count("crashes in a commit")
                main.crash()
            }
        case 17:
            journal.fault = journal.fault == nil ? [.disk, .held, .corrupt].randomElement(using: &random) : nil
            if journal.fault != nil { isJournalWell = false }
            note("the journal is \(journal.fault.map { "\($0)" } ?? "well")")
        case 18:
            guard chance(3) else { return }
            journal.damage()
            isJournalWell = false
            note("the journal is damaged")
        case 19: if chance(2) { attached?.crash() }
        default: break
        }
    }

    private func pipe(_ lines: Int) {
        guard main.isStopping == false, unwritten.isEmpty else { return }
        for _ in 0..<lines { unwritten += Array("\(document(of: "piped", isAnswer: false))\n".utf8) }
        writeMore()
    }

    private func writeMore() {
        guard let process = main.process, !unwritten.isEmpty else { return }
        let written = (try? unwritten.withUnsafeBytes { try process.standard(0).write($0) }) ?? 0
        unwritten.removeFirst(written)
        // What was written only now has been waiting for longer.
        let patience: Duration = unwritten.isEmpty ? .milliseconds(500) : .seconds(2)
        stalledUntil = max(stalledUntil, loop.clock.now.advanced(by: patience))
    }

    private func reload() {
        guard let process = main.process, main.isStopping == false else { return }
        let names = sources.change()
        try? folder.write(chance(8) ? "{" : sources.configuration, to: "config.jsonc")
        note("reload of \(names)")
        count("reloads")
        feed?.noteReload(until: loop.clock.now.advanced(by: .seconds(3)))
        process.signal(SIGHUP)
    }

    /// Everything works again, and after a while the agent is to end.
    private func end() async {
        (disk.isFull, slowDisk, armedStep) = (false, false, nil)
        sources.mendAll()
        (journal.fault, journal.onCommit) = (nil, nil)
        note("all is well")
        if main.isStopping == true { toldEarly = main.incarnation }
        try? await loop.sleep(for: .milliseconds(3_500))
        writeMore()
        check()
        while main.store == nil { try? await loop.sleep(for: .milliseconds(50)) }
        hasEnded = true
        for client in clients { client.isWelcome = true }
        main.stop()
        await main.waitUntilGone()
        await attached?.end()
    }

    // MARK: What must hold

    private func check() {
        main.drain()
        let now = loop.clock.now
        guard let feed, let store = main.store else { return }
        if disk.isFull || slowDisk || journal.fault != nil || journal.isDamaged {
            stalledUntil = max(stalledUntil, now.advanced(by: .seconds(3)))
        }
        let (next, memory, counts) = store.assumeIsolated { ($0.nextSequence, $0.logMemory, $0.counts) }
        if memory > Self.logBytes + 8_192 { accuse("the log takes \(memory) bytes") }
        if counts.readers > Self.readers.count * 2 + 8 { accuse("there are \(counts.readers) readers") }
        takeAppended()
        if lastSeen.incarnation == main.incarnation, lastSeen.time.duration(to: now) > Self.prompt {
            checkLiveness(of: feed, isHeld: now < stalledUntil)
        }
        if lastSeen.incarnation != main.incarnation || lastSeen.time.duration(to: now) > Self.prompt {
            seenBefore = lastSeen
            lastSeen = Sight(time: now, next: next, incarnation: main.incarnation)
        }
        if main.isStopping == false { feed.check(at: now, now: machine.wall.now, isHeld: now < stalledUntil) }
        settleLines()
    }

    /// Nothing that was there some time ago is still on its way to who reads at once.
    private func checkLiveness(of feed: FeedWitness, isHeld: Bool) {
        let (next, run, since) = (lastSeen.next, feed.run, lastSeen.time)
        if feed.record.last < next - 1 { accuse("stdout has not got \(next - 1)") }
        for client in clients { client.check(next, of: run, since: since, isHeld: isHeld) }
        attached?.check(next, of: run, main.incarnation, since: since, isHeld: isHeld)
        guard !isHeld, main.isStopping == false else { return }
        peer.check(next, of: run, since: since)
        if files.run != run || files.next < next { accuse("the file has not got \(next - 1), only \(files.next - 1)") }
        guard hasJournal, seenBefore.incarnation == main.incarnation else { return }
        let kept = journal.last(of: run)
        if kept < seenBefore.next - 1 { accuse("the journal has not got \(seenBefore.next - 1), only \(kept)") }
    }

    private func takeAppended() {
        let appended = disk.takeAppended()
        appended.withUnsafeBytes { files.take($0, records) }
    }

    private func settleLines() {
        journal.settle(records)
        for witness in [files, peer.witness] + clients.map(\.witness) { witness.settle(records) }
        attached?.settle(records)
    }

    /// Looks for what is left over, at the end.
    private func settle() {
        takeAppended()
        settleLines()
        for witness in [files, peer.witness] + clients.map(\.witness) + (attached?.witnesses ?? []) {
            count("gaps", witness.gaps)
            count("failed readings", witness.warnings)
            count("resumed", witness.resumed)
            count("crossings", witness.crossings)
            count("lines read", witness.lines)
            count("kept lines", witness.keptLines)
            count("kept windows", witness.keptWindows)
        }
        if !files.isOver { accuse("the file has no end") }
        if let feed, files.run != feed.run || files.next != feed.record.last + 1 {
            accuse("the file ends before \(files.next), the feed with \(feed.record.last)")
        }
        if hasJournal, let feed {
            let last = journal.last(of: feed.run)
            // At its end, an agent gives up a journal that it could never open.
            let isGivenUp = last == 0 && !isJournalWell && toldEarly == main.incarnation
            if !isGivenUp, last != feed.record.last || journal.runs.last?.ended != "SIGTERM" {
                accuse("the journal ends with \(last), and the feed with \(feed.record.last)")
            }
        }
        count("commits", journal.commits)
        count("journal faults", journal.refusals)
        count("gaps in the journal", journal.missing)
        count("journals moved aside", journal.movedAside)
        count("pages of the journal", journal.pages)
        count("rows let go of", journal.dropped)
        count("no room", disk.refusals)
        main.checkRemains()
        attached?.checkRemains()
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

    var feeds: [String: FeedRecord] {
        main.drain()
        return records
    }

    /// Has a reader's lines held against what the journal has, and the agent.
    private func join(_ client: SimulatedClient) {
        let witness = client.witness
        witness.before = { [unowned self] in before() }
        witness.leftOut = { [unowned self, unowned client] place, next in
            guard client.troubles == journal.troubles else { return nil }
            return journal.leftOut(behind: place, before: next, isPrompt: !client.wasHeld)
        }
        witness.kept = { [unowned self, unowned client] missing, run in
            client.troubles == journal.troubles ? journal.line(in: missing, of: run) : nil
        }
    }

    /// What there is when a reader comes: see `ReaderWitness.before`.
    private func before() -> (forgotten: Set<String>, windows: [String: [Int64: Int]]) {
        main.drain()
        guard let feed, let store = main.store else { return ([], [:]) }
        var forgotten = Set(feed.record.newest.values.map(\.source))
        store.assumeIsolated {
            for source in $0.sources { forgotten.remove(source.name) }
        }
        count("forgotten sources", forgotten.count)
        return (forgotten, feed.closedWindows(at: machine.wall.now, where: isWatched))
    }

    /// What may have kept the journal from answering; grows with it.
    var troubles: Int { journal.troubles }
    /// Whether it may be behind.
    var isHeld: Bool { loop.clock.now < stalledUntil }

    /// What a reader has to get that asks for the lines of some time.
    private func timeWitness(
        _ name: String, _ kind: ReaderWitness.Kind, reaching back: Duration, for span: Duration
    ) -> TimeWitness {
        main.drain()
        let from = machine.wall.now - back
        let until = from + span
        var wanted: [LineID] = []
        let troubles = journal.troubles
        if journal.fault != .disk, journal.fault != .corrupt, !journal.isDamaged {
            journal.forEach(from: from, until: until) { wanted.append($0) }
        }
        if let run = feed?.run, let record = records[run], let oldest = main.oldest(of: run), oldest <= record.last {
            for sequence in oldest...record.last {
                if let time = record.time(of: sequence), time >= from, time < until {
                    wanted.append(LineID(run, sequence))
                }
            }
        }
        count("lines of the past", wanted.count)
        return TimeWitness(
            name, isEvents: kind == .events, from: from, until: until, wanted: wanted
        ) { [unowned self] sequence, run in
            troubles == journal.troubles && journal.line(in: sequence...sequence, of: run) != nil
        } isHeld: { [unowned self] sequence, run in
            main.oldest(of: run).map { $0 <= sequence } ?? false
        } accuse: { [unowned self] in
            accuse($0)
        }
    }
}
