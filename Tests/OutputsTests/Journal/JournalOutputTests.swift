import Feed
import Glibc
import Journal
import Outputs
import Reactor
import Synchronization
import TestSupport
import Testing

/// A journal in memory, in virtual time but where a disk hangs.
@Suite(.limited) struct JournalOutputTests {
    /// What the output told, in order.
    private final class Told {
        var bodies: [Event.Body] = []

        var errors: [String] {
            bodies.compactMap { if case .error(let failure) = $0 { failure.message } else { nil } }
        }
        var recoveries: [Recovery] {
            bodies.compactMap { if case .recovered(let recovery) = $0 { recovery } else { nil } }
        }
        var restarts: [Restart] {
            bodies.compactMap { if case .restart(let restart) = $0 { restart } else { nil } }
        }
    }

    /// What is wrong with a disk, for a test to change.
    private final class Disk: Sendable {
        private let fault = Mutex<JournalFault?>(nil)
        private let onlyAt = Mutex<MemoryLineStore.Call?>(nil)

        func fail(_ kind: JournalFault.Kind?, _ reason: String = "no room", at call: MemoryLineStore.Call? = nil) {
            fault.withLock { $0 = kind.map { JournalFault($0, reason) } }
            onlyAt.withLock { $0 = call }
        }
        func fault(at call: MemoryLineStore.Call) -> JournalFault? {
            let only = onlyAt.withLock(\.self)
            return only == nil || only == call ? fault.withLock(\.self) : nil
        }
    }

    /// Runs an output while `body` runs, then ends the feed and waits for the output, which tells what it has to tell in the feed.
    private static func keep(
        in journal: MemoryLineStore, logCapacity: Int = 8 << 20, batch: Int = 1 << 20, isRelay: Bool = false,
        isFleet: Bool = false,
        _ body: @escaping @Sendable (FeedStage, JournalOutput) async throws -> Void
    ) async throws -> [Event.Body] {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop, isRelay: isRelay, isFleet: isFleet) { $0.logCapacity = logCapacity }
            let told = LoopBound(Told())
            let output = JournalOutput(
                "x.db", keeping: journal, store: stage.store, on: loop, worker: stage.worker, wall: stage.wall,
                capacity: batch
            ) { body in
                told.value.bodies.append(body)
                guard !isRelay else { return }
                stage.store.assumeIsolated {
                    $0.publish([Event(time: stage.wall.now, source: $0.agentSource, body: body)])
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await output.run() }
                group.addTask {
                    try await output.waitUntilBegun()
                    try await body(stage, output)
                    await stage.store.finish("end")
                }
                try await group.waitForAll()
            }
            #expect(await stage.store.counts.readers == 0 && !journal.isOpen && loop.timerCount == 0)
            return told.value.bodies
        }
    }

    private static func told(_ bodies: [Event.Body]) -> Told {
        let told = Told()
        told.bodies = bodies
        return told
    }

    private static func lines(_ run: MemoryLineStore.Run) throws -> [Line] {
        try run.lines.map { try LineDecoder.decode(Array($0.utf8)[...]) }
    }

    /// The numbers of the lines, and of those that gaps name.
    private static func numbers(_ run: MemoryLineStore.Run) throws -> (kept: [Int], missed: [Int]) {
        var (kept, missed): ([Int], [Int]) = ([], [])
        for line in try lines(run) {
            if case .gap(let gap) = line.body { missed += gap.from...gap.to } else { kept.append(line.seq ?? 0) }
        }
        return (kept, missed)
    }

    // MARK: Commits

    @Test func keepsEveryLineOnceAndHowItEnded() async throws {
        let journal = MemoryLineStore()
        for run in 0..<2 {
            let bodies = try await Self.keep(in: journal) { stage, _ in
                for round in 0..<50 {
                    await stage.publish(3, text: round * 5)
                    try await stage.loop.sleep(for: .milliseconds(10))
                }
            }
            #expect(bodies.count == 1)
            let last = run == 0 ? Restart() : Restart(lastRun: "r1", lastSequence: 151, ended: "end")
            #expect(Self.told(bodies).restarts == [last])
        }
        // The second is called as the first, so it is that one, once more.
        let numbers = try Self.numbers(journal.runs[0])
        #expect(numbers.missed.isEmpty && numbers.kept == Array(1...151) + Array(1...151))
        #expect(journal.runs.count == 1 && journal.runs[0].ended == "end")
        #expect(try Self.lines(journal.runs[0])[0].type == "restart")
    }

    /// Once earlier runs are known: every ten minutes, and at the end.
    @Test func storesTheStateForLaterRuns() async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal) { stage, output in
            await stage.publish(1, text: 1)
            try await stage.loop.sleep(for: .seconds(601))
            #expect(journal.states.isEmpty)
            await output.beginStates()
            await stage.publish(1, text: 2)
            try await stage.loop.sleep(for: .seconds(599))
            #expect(journal.states.isEmpty)
            await stage.publish(1, text: 3)
            try await stage.loop.sleep(for: .seconds(2))
            await stage.publish(1, text: 4)
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.states.count == 1)
        }
        #expect(journal.states.count == 2)
        for state in journal.states {
            let types = try state.split(separator: "\n").map { try LineDecoder.decode(Bytes($0.utf8)).type }
            #expect(types.starts(with: ["hello", "stats", "kept"]), "\(types)")
        }
    }

    @Test func commitsATenthOfASecondAfterTheFirstLineAndNeverOtherwise() async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            let before = journal.commits.count
            #expect(stage.loop.timerCount == 1)  // this one
            for _ in 0..<5 {
                try await stage.loop.sleep(for: .seconds(60))
                for _ in 0..<9 {
                    await stage.publish(2)
                    try await stage.loop.sleep(for: .milliseconds(10))
                }
            }
            try await stage.loop.sleep(for: .seconds(1))
            let commits = journal.commits[before...]
            // From the second on with the line of the window before.
            #expect(commits.map(\.lines) == [18, 19, 19, 19, 19])
            let times = commits.map { $0.time - FeedStage.start }
            #expect(zip(times.dropFirst(), times).map { $0 - $1 } == Array(repeating: .milliseconds(60_090), count: 4))
        }
        #expect(journal.commits.last?.lines == 0)  // the bye
    }

    @Test func doesNotWaitForMoreThan4096Lines() async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            let before = journal.commits.count
            let time = stage.wall.now
            await stage.publish(4_095)
            try await stage.loop.sleep(for: .milliseconds(1))
            #expect(journal.commits.count == before)
            await stage.publish(1)
            try await stage.loop.sleep(for: .milliseconds(1))
            #expect(journal.commits[before...].map(\.lines) == [4_096])
            #expect(journal.commits.last.map { $0.time - time } == .milliseconds(1))
        }
    }

    @Test func aCommitHoldsOnToNoMoreThanItsShareOfBytes() async throws {
        let journal = MemoryLineStore()
        let disk = Disk()
        let slow = MemoryLineStore { disk.fault(at: $0) }
        for store in [journal, slow] {
            _ = try await Self.keep(in: store, batch: 1 << 16) { stage, _ in
                if store === slow { disk.fail(.disk) }
                for _ in 0..<20 {
                    await stage.publish(8, text: 4_000)
                    try await stage.loop.sleep(for: .milliseconds(1))
                }
                disk.fail(nil)
                try await stage.loop.sleep(for: .seconds(3))
            }
            // Besides what fills it, the rest of that chunk.
            #expect(store.commits.allSatisfy { $0.lines < 33 })
            #expect(try Self.numbers(store.runs[0]).kept.count > 160)
        }
    }

    @Test func letsGoOfWhatIsTooMuchAsLongAsThereIsMoreAndNothingToKeep() async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            let before = journal.count(of: .tidy)
            journal.makeUntidy(5)
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.count(of: .tidy) - before == 5)
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.count(of: .tidy) - before == 6)
        }
    }

    @Test(arguments: [(count: 9_000, length: 0, most: 8_191), (900, 4_000, 540)])
    func aCommitHasNoMoreThanAJournalLetsGoOfAtOnce(count: Int, length: Int, most: Int) async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal, logCapacity: 32 << 20, batch: 8 << 20) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            await stage.publish(count, text: length)
            try await stage.loop.sleep(for: .seconds(1))
        }
        let lines = journal.commits.map(\.lines)
        #expect(lines.allSatisfy { $0 <= most } && lines.reduce(0, +) > count, "\(lines)")
    }

    // MARK: What agent lines and hello say

    @Test func saysUpToWhereLinesAreDurableAndFromWhereOnTheyAreThere() async throws {
        let disk = Disk()
        let store = MemoryLineStore { disk.fault(at: $0) }
        _ = try await Self.keep(in: store) { stage, _ in
            #expect(await stage.agentLine()?.outputs.map(\.durable) == [0])
            try await stage.loop.sleep(for: .seconds(1))
            // The restart, and the agent line before.
            #expect(await stage.agentLine()?.outputs.map(\.durable) == [2])
            disk.fail(.disk, at: .commit)
            await stage.publish(5)
            try await stage.loop.sleep(for: .milliseconds(500))
            let stuck = await stage.agentLine()?.outputs.first
            #expect(stuck?.output == "journal:x.db" && stuck?.state == "no room" && stuck?.durable == 2)
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
            let next = await stage.store.nextSequence
            #expect(await stage.agentLine()?.outputs.map(\.durable) == [next - 1])
            let greeting = await stage.store.greeting(isFiltered: false)
            guard case .hello(let hello) = try LineDecoder.decode(greeting.prefix { $0 != 0x0A }).body else {
                Issue.record("no hello comes first")
                return
            }
            #expect(hello.journalFirstSeq == 1)
        }
    }

    // MARK: Faults

    @Test func saysOnceThatTheDiskIsFullTriesEverySecondAndLosesNothing() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(.disk, at: .commit)
            let before = journal.count(of: .commit)
            for _ in 0..<80 {
                await stage.publish(text: 100)
                try await stage.loop.sleep(for: .milliseconds(100))
            }
            #expect(8...9 ~= journal.count(of: .commit) - before)
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["no room"])
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["ok"])
        }
        let told = Self.told(bodies)
        #expect(told.errors == ["x.db: no room; tried again every second"])
        #expect(told.recoveries.map(\.attempts) == [8] && told.recoveries[0].down == .seconds(8))
        let numbers = try Self.numbers(journal.runs[0])
        #expect(numbers.missed.isEmpty && numbers.kept == Array(1...numbers.kept.count))
        #expect(journal.runs.count == 1)
    }

    @Test func opensAnewWhatFailsAgain() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        _ = try await Self.keep(in: journal) { stage, _ in
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(.disk, at: .commit)
            await stage.publish()
            try await stage.loop.sleep(for: .milliseconds(1_050))
            #expect(journal.count(of: .open) == 1)
            try await stage.loop.sleep(for: .milliseconds(2_000))
            #expect(journal.count(of: .open) == 2)
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
        }
        #expect(journal.runs.count == 1 && journal.runs[0].ended == "end")
    }

    @Test func aNoticeIsNotAFailureAfterWhichItOpensAnew() async throws {
        let disk = Disk()
        let journal = MemoryLineStore {
            disk.fault(at: $0)
        } notice: {
            "moved aside"
        }
        disk.fail(.disk, at: .commit)
        _ = try await Self.keep(in: journal) { stage, _ in
            await stage.publish()
            try await stage.loop.sleep(for: .milliseconds(1_500))
            #expect(journal.count(of: .commit) == 2 && journal.count(of: .open) == 1)
            try await stage.loop.sleep(for: .milliseconds(1_000))
            #expect(journal.count(of: .open) == 2)
            disk.fail(nil)
        }
    }

    @Test func goesOnInAnotherFileWhenWhatIsThereMakesNoSense() async throws {
        let disk = Disk()
        let isNew = Atomic<Bool>(false)
        let journal = MemoryLineStore {
            disk.fault(at: $0)
        } notice: {
            isNew.load(ordering: .relaxed) ? "moved aside" : nil
        }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(.corrupt, "malformed", at: .tidy)
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.count(of: .open) == 1)
            disk.fail(nil)
            isNew.store(true, ordering: .relaxed)
            await stage.publish()
            try await stage.loop.sleep(for: .milliseconds(150))
            #expect(journal.count(of: .open) == 2)
        }
        let told = Self.told(bodies)
        #expect(told.errors == ["x.db: moved aside"] && told.recoveries.count == 1)
        #expect(try Self.numbers(journal.runs[0]).kept == Array(1...6))
    }

    @Test func whatMakesNoSenseIsOpenedAnewAlsoWhenThatIsFoundWhileNothingComes() async throws {
        let tidied = Atomic<Int>(0)
        let journal = MemoryLineStore { call in
            // Behind the first line, behind the next one, and then by itself.
            guard call == .tidy, tidied.add(1, ordering: .relaxed).newValue == 3 else { return nil }
            return JournalFault(.corrupt, "malformed")
        }
        _ = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            journal.makeUntidy(3)
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.count(of: .tidy) == 3 && journal.count(of: .open) == 1)
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.count(of: .open) == 2)
        }
        #expect(try Self.numbers(journal.runs[0]).kept == Array(1...3))
    }

    @Test func whatACommitFindsCorruptIsOpenedAnewAtOnceAndToldByWhatBecameOfIt() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { call in
            let fault = disk.fault(at: call)
            // Mended by being opened.
            if call == .open, fault != nil { disk.fail(.held, "moved aside", at: .tidy) }
            return call == .open ? nil : fault
        } notice: {
            disk.fault(at: .tidy)?.reason
        }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            let before = stage.wall.now
            disk.fail(.corrupt, "malformed")
            await stage.publish()
            try await stage.loop.sleep(for: .milliseconds(500))
            #expect(journal.commits.last.map { $0.time - before <= .milliseconds(400) } == true)
            disk.fail(nil)
        }
        #expect(Self.told(bodies).errors == ["x.db: moved aside"])
        #expect(journal.count(of: .open) == 2)
    }

    @Test func whatSomebodyHoldsUpIsTriedAgainAsItIs() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(.held, "held up", at: .commit)
            await stage.publish()
            try await stage.loop.sleep(for: .milliseconds(5_500))
            // Anew it would be taken for one that nobody holds up.
            #expect(journal.count(of: .open) == 1)
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
        }
        let told = Self.told(bodies)
        #expect(told.errors == ["x.db: held up; tried again every second"] && told.recoveries.count == 1)
    }

    @Test func anotherFaultThanTheOneThatWasToldIsTold() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            for reason in ["no room", "gone"] {
                disk.fail(.disk, reason)
                await stage.publish()
                try await stage.loop.sleep(for: .seconds(3))
            }
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
        }
        let told = Self.told(bodies)
        #expect(told.errors == ["no room", "gone"].map { "x.db: \($0); tried again every second" })
        #expect(told.recoveries.map(\.attempts) == [6])
        // Since the first of them.
        #expect(told.recoveries.map { $0.down.seconds.rounded() } == [6])
    }

    @Test func aNewFileIsGreetedAsTheFeedIsByThen() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        _ = try await Self.keep(in: journal) { stage, _ in
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            _ = await stage.store.register(SourceDescription(name: "added", type: "fact"))
            await stage.store.greetAll()
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(.corrupt, "malformed", at: .tidy)
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(nil)
            let before = journal.greetings.count
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.count(of: .open) == 2 && journal.greetings.count == before + 1)
            #expect(journal.greetings.last?.contains(#""added""#) == true)
        }
    }

    // MARK: Who waits

    /// Publishes more than half of a log of 64 KiB.
    private static func fill(_ stage: FeedStage) async { await stage.publish(70, text: 300) }

    private static func isLetIn(_ stage: FeedStage) async throws -> Bool {
        try await stage.store.admit(until: stage.loop.clock.now.advanced(by: .milliseconds(1)))
    }

    @Test func inputsWaitForWhatIsDurableAndNotForWhatWasTaken() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        _ = try await Self.keep(in: journal, logCapacity: 1 << 16) { stage, _ in
            await Self.fill(stage)
            try await stage.loop.sleep(for: .seconds(1))
            #expect(try await Self.isLetIn(stage))
            disk.fail(.disk, at: .commit)
            await Self.fill(stage)
            try await stage.loop.sleep(for: .seconds(5))
            let behind = try #require(await stage.agentLine()?.outputs.first?.behind)
            #expect(behind < 4)  // it has taken nearly all
            #expect(try await !Self.isLetIn(stage))
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
            #expect(try await Self.isLetIn(stage))
        }
        #expect(try Self.numbers(journal.runs[0]).missed.isEmpty)
    }

    @Test(arguments: [(JournalFault.Kind.disk, 10), (.held, 0)])
    func inputsAreLetGoOfAndWhatIsOvertakenIsAGap(kind: JournalFault.Kind, seconds: Int) async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        let bodies = try await Self.keep(in: journal, logCapacity: 1 << 16, batch: 1 << 13) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(kind, at: .commit)
            await Self.fill(stage)
            let start = stage.loop.clock.now
            // The first commit fails a tenth of a second later.
            try await stage.store.admit()
            let waited = start.duration(to: stage.loop.clock.now)
            #expect(.seconds(seconds) <= waited && waited <= .seconds(seconds) + .milliseconds(200), "\(waited)")
            for _ in 0..<4 {
                await Self.fill(stage)
                try await stage.loop.sleep(for: .milliseconds(100))
                #expect(try await Self.isLetIn(stage))
            }
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["ok"])
            // It waits for the journal again.
            disk.fail(.disk, at: .commit)
            await Self.fill(stage)
            #expect(try await !Self.isLetIn(stage))
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
        }
        #expect(Self.told(bodies).errors.count == 2 && Self.told(bodies).recoveries.count == 2)
        let numbers = try Self.numbers(journal.runs[0])
        #expect(!numbers.missed.isEmpty && (numbers.kept + numbers.missed).sorted() == Array(1...journal.runs[0].last))
        #expect(numbers.kept == numbers.kept.sorted())
    }

    @Test func aDiskThatHangsWhileItIsTidiedUpHoldsInputsUpForNoLonger() async throws {
        let journal = MemoryLineStore()
        let bodies = try await Self.keep(in: journal, logCapacity: 1 << 16) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            let before = journal.count(of: .tidy)
            journal.makeUntidy(2)
            // The commit has one of its own.
            stage.worker.time = {
                (before: journal.count(of: .tidy) > before ? .seconds(600) : .zero, after: .zero)
            }
            await stage.publish()
            try await stage.loop.sleep(for: .seconds(1))
            await Self.fill(stage)
            let start = stage.loop.clock.now
            try await stage.store.admit()
            let waited = start.duration(to: stage.loop.clock.now)
            #expect(.seconds(8) <= waited && waited <= .seconds(10), "\(waited)")
            stage.worker.time = nil
            try await stage.loop.sleep(for: .seconds(700))
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["ok"])
        }
        #expect(Self.told(bodies).errors.count == 1 && Self.told(bodies).recoveries.count == 1)
    }

    // MARK: The start

    @Test func theFirstLineOfARunSaysWhatThereIsOfTheRunBefore() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        disk.fail(.disk)
        let bodies = try await Self.keep(in: journal) { stage, _ in
            await stage.publish(3)
            try await stage.loop.sleep(for: .milliseconds(2_500))
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(1))
        }
        // A disk that says nothing of it is no reason not to begin, and what came meanwhile is not lost.
        guard case .restart(let restart)? = bodies.first else {
            Issue.record("\(bodies)")
            return
        }
        #expect(restart == Restart() && Self.told(bodies).errors.count == 1)
        #expect(try Self.numbers(journal.runs[0]).kept == Array(1...6))
    }

    /// Agents are not waited for any longer, and what that means is said.
    @Test(arguments: [true, false])
    func aFleetWhoseJournalCannotBeOpenedReadsOnWithoutIt(isFleet: Bool) async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        disk.fail(.disk)
        let bodies = try await Self.keep(in: journal, isFleet: isFleet) { stage, _ in
            let start = stage.loop.clock.now
            try await stage.store.waitForPositions()
            #expect(start.duration(to: stage.loop.clock.now) == .seconds(isFleet ? 10 : 0))
            try await stage.loop.sleep(for: .seconds(20))
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
        }
        let failure = "x.db: no room; tried again every second"
        let means =
            "; agents are read without it: what it has of them may be in it twice, and what streams have for longer than a --history is left out"
        #expect(
            Self.told(bodies).errors.filter { $0.hasPrefix("x.db") } == [failure] + (isFleet ? [failure + means] : []))
        #expect(Self.told(bodies).recoveries.count == 1)
    }

    /// As a mount that comes a moment later: what it has of agents is not given up.
    @Test func aJournalThatOpensAtTheFifthTryIsWaitedFor() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        disk.fail(.disk)
        let bodies = try await Self.keep(in: journal, isFleet: true) { stage, _ in
            let start = stage.loop.clock.now
            async let wait: Void = stage.store.waitForPositions()
            try await stage.loop.sleep(for: .milliseconds(3_500))
            disk.fail(nil)
            try await wait
            #expect(start.duration(to: stage.loop.clock.now) == .seconds(4))
            try await stage.loop.sleep(for: .seconds(20))
        }
        #expect(Self.told(bodies).errors == ["x.db: no room; tried again every second"])
    }

    /// As on a full disk that comes a moment later.
    @Test func aJournalThatOpensIsWellOnceItTakesLines() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        disk.fail(.disk)
        let bodies = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .milliseconds(2_500))
            disk.fail(.disk, at: .commit)
            try await stage.loop.sleep(for: .seconds(3))
            #expect(journal.isOpen)
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["no room"])
            disk.fail(nil)
            try await stage.loop.sleep(for: .seconds(2))
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["ok"])
        }
        let told = Self.told(bodies)
        #expect(told.errors == ["x.db: no room; tried again every second"] && told.recoveries.count == 1)
    }

    @Test func whoComesSecondIsToldSoAndSaysNothing() async throws {
        let journal = MemoryLineStore { _ in JournalFault(.taken, "x.db is written by another catwatch already") }
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let output = JournalOutput(
                "x.db", keeping: journal, store: stage.store, on: loop, worker: stage.worker, wall: stage.wall
            ) {
                Issue.record("told \($0)")
            }
            try await running {
                try await output.run()
            } while: {
                let fault = await #expect(throws: JournalFault.self) { try await output.waitUntilBegun() }
                #expect(fault?.kind == .taken)
            }
            #expect(await stage.store.counts.readers == 0)
        }
    }

    /// A disk that answers when it is told to, waited for in real time.
    @Test func aDiskThatDoesNotAnswerHoldsNothingUpForLong() async throws {
        let answers = try Descriptor.pipe(nonblocking: false)
        let number = answers.read.number
        let disk = Disk()
        disk.fail(.disk)
        let journal = MemoryLineStore { call in
            var byte: UInt8 = 0
            if disk.fault(at: call) != nil { _ = read(number, &byte, 1) }
            return nil
        }
        let thread = try LoopThread(name: "disk")
        // One that waits for an answer is left behind.
        defer { thread.stop(waits: false) }
        let told = try await withLoop { [writer = answers.write.number] loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = 1 << 16 }
            let told = LoopBound(Told())
            var pace = JournalOutput.Pace()
            (pace.start, pace.patience) = (.milliseconds(10), .milliseconds(50))
            let output = JournalOutput(
                "x.db", keeping: journal, store: stage.store, on: loop, worker: thread.loop, wall: stage.wall, at: pace
            ) {
                told.value.bodies.append($0)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await output.run() }
                group.addTask {
                    try await output.waitUntilBegun()
                    await Self.fill(stage)
                    try await stage.store.admit()
                    let state = await stage.agentLine()?.outputs.first?.state
                    #expect(state?.hasPrefix("the disk has not answered for ") == true)
                    disk.fail(nil)
                    write(writer, "x", 1)
                    while await stage.agentLine()?.outputs.first?.state != "ok" {
                        try await loop.sleep(for: .milliseconds(5))
                    }
                    await stage.store.finish("end")
                }
                try await group.waitForAll()
            }
            return told.value.bodies
        }
        _ = answers.read.number  // open up to here
        // On a busy machine it is slow more than once.
        #expect(Self.told(told).restarts == [Restart()] && !Self.told(told).errors.isEmpty)
        #expect(Self.told(told).errors.allSatisfy { $0.hasPrefix("x.db: the disk has not answered for ") })
        #expect(Self.told(told).recoveries.count == Self.told(told).errors.count)
        let numbers = try Self.numbers(journal.runs[0])
        #expect((numbers.kept + numbers.missed).sorted() == Array(1...journal.runs[0].last))
    }

    // MARK: The end

    @Test func aJournalThatFailsToTheEndIsGivenUpAndSaidToBeShort() async throws {
        let disk = Disk()
        let journal = MemoryLineStore { disk.fault(at: $0) }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .seconds(1))
            disk.fail(.disk, at: .commit)
            await stage.publish(3)
        }
        #expect(
            Self.told(bodies).errors == [
                "x.db: no room; tried again every second", "x.db: no room; the last lines are not in it",
            ])
        #expect(journal.runs[0].ended == nil && 4...5 ~= journal.count(of: .commit) - journal.commits.count)
    }

    @Test func aJournalThatWasNeverOpenIsGivenUpAtTheEnd() async throws {
        let journal = MemoryLineStore { $0 == .open ? JournalFault(.disk, "it is not a file") : nil }
        let bodies = try await Self.keep(in: journal) { stage, _ in
            try await stage.loop.sleep(for: .milliseconds(1_500))
            await stage.publish(3)
        }
        #expect(Self.told(bodies).errors.last == "x.db: it is not a file; nothing of this run is in it")
        // At 0, 1 and 2 s.
        #expect(journal.count(of: .open) == 3)
    }

    /// All lines are in the file by then, and nothing else ends a wait for it.
    @Test func aDiskThatHangsWhenItIsClosedIsGivenUp() async throws {
        try await withLoop(virtual: true) { loop in
            let journal = MemoryLineStore()
            let stage = await FeedStage(on: loop)
            let told = LoopBound(Told())
            let output = JournalOutput(
                "x.db", keeping: journal, store: stage.store, on: loop, worker: stage.worker, wall: stage.wall
            ) {
                told.value.bodies.append($0)
            }
            stage.worker.time = { (before: journal.runs.first?.ended != nil ? .seconds(3_600) : .zero, after: .zero) }
            let waited = await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await output.run() }
                try? await output.waitUntilBegun()
                await stage.publish(3)
                await stage.store.finish("end")
                let start = loop.clock.now
                await group.waitForAll()
                return start.duration(to: loop.clock.now)
            }
            #expect(.seconds(3) <= waited && waited <= .milliseconds(3_200), "\(waited)")
            #expect(
                told.value.errors == [
                    "x.db: the disk has not answered for 3 s; its lines are kept, and it was not closed"
                ])
            #expect(journal.isOpen)
            try await loop.sleep(for: .seconds(10_000))
            #expect(!journal.isOpen && loop.timerCount == 0)
            stage.worker.time = nil
        }
    }

    /// In an hour it answers.
    @Test(arguments: [(hangs: Duration.milliseconds(1), end: Duration.seconds(13)), (.seconds(60), .seconds(3))])
    func aDiskThatHangsAtTheEndIsGivenUpAndSaidToBeShort(hangs: Duration, end: Duration) async throws {
        try await withLoop(virtual: true) { loop in
            let journal = MemoryLineStore()
            let stage = await FeedStage(on: loop)
            let told = LoopBound(Told())
            let output = JournalOutput(
                "x.db", keeping: journal, store: stage.store, on: loop, worker: stage.worker, wall: stage.wall
            ) {
                told.value.bodies.append($0)
            }
            let waited = await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await output.run() }
                try? await output.waitUntilBegun()
                stage.worker.time = { (before: .seconds(3_600), after: .zero) }
                await stage.publish(3)
                try? await loop.sleep(for: .milliseconds(200) + hangs)
                await stage.store.finish("end")
                let start = loop.clock.now
                await group.waitForAll()
                return start.duration(to: loop.clock.now)
            }
            #expect(end - .seconds(1) <= waited && waited <= end + .milliseconds(1_100), "\(waited)")
            let silence = "x.db: the disk has not answered for 10"
            let errors = told.value.errors
            #expect(errors.count == 2 && errors.allSatisfy { $0.hasPrefix(silence) }, "\(errors)")
            #expect(errors.last?.hasSuffix("; nothing of this run is in it") == true)
            #expect(await stage.store.counts.readers == 0 && journal.isOpen)
            try await loop.sleep(for: .seconds(10_000))
            // Behind what it was given before.
            #expect(journal.commits.last?.lines == 3 && !journal.isOpen && loop.timerCount == 0)
        }
    }

    @Test func whoIsCancelledLeavesNoJournalOpen() async throws {
        try await withLoop(virtual: true) { loop in
            let disk = Disk()
            let journal = MemoryLineStore { disk.fault(at: $0) }
            let stage = await FeedStage(on: loop)
            let output = JournalOutput(
                "x.db", keeping: journal, store: stage.store, on: loop, worker: stage.worker, wall: stage.wall
            ) { _ in
            }
            try await running {
                try await output.run()
            } while: {
                try await output.waitUntilBegun()
                disk.fail(.disk, at: .commit)
                await stage.publish()
                try await loop.sleep(for: .milliseconds(1_500))
                #expect(journal.isOpen)
            }
            try await loop.sleep(for: .milliseconds(1))
            #expect(await stage.store.counts.readers == 0 && !journal.isOpen && loop.timerCount == 0)
        }
    }

    // MARK: Another agent's feed

    /// Another agent's run: `hello`, and the lines 7 to 9.
    private static func run(_ run: String) -> [[UInt8]] {
        let hello = ControlLine.hello(
            time: FeedStage.start, identity: AgentIdentity(run: run, version: "1", started: FeedStage.start),
            isFiltered: false, interval: .seconds(10), history: .seconds(120), firstSequence: 7, nextSequence: 10)
        return [hello]
            + (7..<10).map {
                let text =
                    #"{"seq":\#($0),"time":"2026-03-01T12:00:00.000000Z","type":"fact","source":"s","series":"s"}"#
                return Array((text + "\n").utf8)
            }
    }

    private static func relay(_ lines: [[UInt8]], _ stage: FeedStage) async throws {
        await stage.store.relay(
            try lines.map { RelayedLine(try LineDecoder.decode($0[...]), bytes: $0.dropLast()) })
    }

    private static func bye(_ run: String, _ reason: String) -> [UInt8] {
        ControlLine.bye(time: FeedStage.start, run: run, lastSequence: 9, reason: reason)
    }

    @Test func keepsAnotherAgentsRunsSideBySide() async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal, isRelay: true) { stage, _ in
            for run in ["a", "b"] {
                try await Self.relay(Self.run(run), stage)
                if run == "a" { try await Self.relay([Self.bye("a", "SIGTERM")], stage) }
                // What it has not seen of a run is gone with that.
                try await stage.loop.sleep(for: .milliseconds(1))
            }
        }
        #expect(journal.runs.map(\.name) == ["a", "b"])
        for run in journal.runs { #expect(try Self.numbers(run).kept == [7, 8, 9]) }
        // Not why this agent ended.
        #expect(journal.runs.map(\.ended) == ["SIGTERM", nil])
    }

    @Test func keepsWhatItMissedOfRunsThatEndedWithThem() async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal, isRelay: true) { stage, _ in
            try await Self.relay(["a", "b", "c"].flatMap { Self.run($0) }, stage)
            try await stage.loop.sleep(for: .seconds(1))
        }
        #expect(journal.runs.map(\.name) == ["a", "b", "c"])
        #expect(try journal.runs.map { try Self.numbers($0).missed } == [[7, 8, 9], [7, 8, 9], []])
        #expect(try journal.runs.last.map { try Self.numbers($0).kept } == [7, 8, 9])
    }

    @Test(arguments: [false, true])
    func aRunEndsAsItsOwnAgentSaysAndNotWhenItGoesOnAllTheSame(atOnce: Bool) async throws {
        let journal = MemoryLineStore()
        _ = try await Self.keep(in: journal, isRelay: true) { stage, _ in
            for run in ["b", "a"] {
                try await Self.relay(Self.run(run), stage)
                try await stage.loop.sleep(for: .seconds(1))
            }
            // Of another run than the one that is here, which an agent does not say.
            try await Self.relay([Self.bye("b", "count")], stage)
            try await stage.loop.sleep(for: .seconds(1))
            #expect(journal.runs.map(\.ended) == [nil, nil] && journal.greetings.count == 2)
            if atOnce {
                try await Self.relay([Self.bye("a", "count")] + Self.run("a"), stage)
            } else {
                try await Self.relay([Self.bye("a", "count")], stage)
                try await stage.loop.sleep(for: .seconds(1))
                #expect(journal.runs.map(\.ended) == [nil, "count"])
                try await Self.relay(Self.run("a"), stage)
            }
            try await stage.loop.sleep(for: .seconds(1))
            // With which a journal knows that it goes on.
            #expect(journal.greetings.count == 3)
        }
        #expect(journal.runs.map(\.ended) == [nil, atOnce ? nil : "count"])
    }

    @Test func aCommitOfARunThatIsOverSaysNothingOfTheNext() async throws {
        _ = try await Self.keep(in: MemoryLineStore(), isRelay: true) { stage, _ in
            func first() async throws -> Int? {
                let greeting = await stage.store.greeting(isFiltered: false)
                guard case .hello(let hello) = try LineDecoder.decode(greeting.prefix { $0 != 0x0A }).body else {
                    Issue.record("no hello comes first")
                    return nil
                }
                return hello.journalFirstSeq
            }
            try await Self.relay(Self.run("a"), stage)
            stage.worker.time = { (before: .milliseconds(100), after: .zero) }
            // Its commit begins behind 100 ms.
            try await stage.loop.sleep(for: .milliseconds(150))
            try await Self.relay(Self.run("b"), stage)
            try await stage.loop.sleep(for: .milliseconds(100))
            #expect(try await first() == nil)
            try await stage.loop.sleep(for: .seconds(1))
            #expect(try await first() == 7)
            stage.worker.time = nil
        }
    }
}
