import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Which inputs run after which sources were asked for.
@Suite(.limited) struct SourceRunnerTests {
    /// What inputs did, in their order: `+a1`, `-a1`.
    private actor Diary {
        private let loop: EventLoop
        private(set) var entries: [String] = []
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(on loop: EventLoop) { self.loop = loop }

        func note(_ entry: String) { entries.append(entry) }

        func take() -> [String] {
            defer { entries = [] }
            return entries
        }
    }

    /// One that does nothing until it is cancelled, or for a while.
    private struct IdleInput: Input {
        let name: String
        let diary: Diary
        let loop: EventLoop
        let life: Duration?

        func run() async throws(CancellationError) {
            await diary.note("+\(name)")
            do {
                try await loop.sleep(for: life ?? .seconds(1 << 30))
            } catch {
                await diary.note("-\(name)")
                throw error
            }
            await diary.note("=\(name)")
        }
    }

    /// A source whose `n` tells two of one name apart; one without a period ends by itself after `n` seconds.
    private static func source(_ name: String, _ n: Int = 1, isFinite: Bool = false) -> Source {
        .fibonacci(FibonacciSource(SourceDescription(name: name), n: n, every: isFinite ? nil : .seconds(1)))
    }

    private struct Place: Sendable {
        let loop: EventLoop
        let store: EventStore
        let polls: PollRequests
    }

    private static func run(
        _ first: [Source], _ body: @escaping @Sendable (Place, SourceRunner, Diary) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let place = Place(loop: loop, store: store, polls: PollRequests(on: loop))
            let diary = Diary(on: loop)
            let runner = SourceRunner(store: store, polls: place.polls, on: loop) { source, _ in
                guard case .fibonacci(let source) = source else { preconditionFailure("made above") }
                let life = source.every == nil ? Duration.seconds(source.n) : nil
                return IdleInput(
                    name: "\(source.description.name)\(source.n)", diary: diary, loop: loop, life: life)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await runner.run(first)
                    await diary.note(".")
                }
                try await loop.sleep(for: .seconds(1))
                try await body(place, runner, diary)
                group.cancelAll()
            }
        }
    }

    @Test func equalSourcesAreNotTouched() async throws {
        try await Self.run([Self.source("a"), Self.source("b")]) { place, runner, diary in
            #expect(Set(await diary.take()) == ["+a1", "+b1"])
            let changes = await runner.replace(with: [Self.source("b"), Self.source("c"), Self.source("a")])
            try await place.loop.sleep(for: .seconds(1))
            #expect(changes == SourceRunner.Changes(added: 1, kept: 2))
            #expect(await diary.take() == ["+c1"])
        }
    }

    @Test func aChangedSourceEndsBeforeItsSuccessorBegins() async throws {
        try await Self.run([Self.source("a")]) { place, runner, diary in
            _ = await diary.take()
            #expect(await runner.replace(with: [Self.source("a", 2)]) == SourceRunner.Changes(changed: 1))
            // Before the first of them has even noticed.
            #expect(await runner.replace(with: [Self.source("a", 3)]) == SourceRunner.Changes(changed: 1))
            try await place.loop.sleep(for: .seconds(1))
            #expect(await diary.take() == ["-a1", "+a3"])
        }
    }

    private static func timeliness(_ place: Place) async -> [Timeliness] {
        await place.store.sources.map(\.timeliness)
    }

    @Test func theStoreIsToldOfASourceThatHasComeToItsEnd() async throws {
        try await Self.run([Self.source("a"), Self.source("b", 5, isFinite: true)]) { place, runner, _ in
            #expect(await Self.timeliness(place) == [.starting, .starting])
            try await place.loop.sleep(for: .seconds(5))
            #expect(await Self.timeliness(place) == [.starting, .ended])
            // Another one of that name has not.
            await runner.replace(with: [Self.source("a"), Self.source("b", 6, isFinite: true)])
            #expect(await Self.timeliness(place) == [.starting, .starting])
        }
    }

    @Test func aRemovedSourceIsRetiredAndMayComeBack() async throws {
        try await Self.run([Self.source("a"), Self.source("b")]) { place, runner, diary in
            _ = await diary.take()
            #expect(await runner.replace(with: [Self.source("b")]) == SourceRunner.Changes(removed: 1, kept: 1))
            try await place.loop.sleep(for: .seconds(1))
            #expect(await diary.take() == ["-a1"])
            #expect(await place.store.sourceStates.map(\.source) == ["b"])
            #expect(
                await runner.replace(with: [Self.source("a"), Self.source("b")])
                    == SourceRunner.Changes(added: 1, kept: 1))
            #expect(await place.store.sourceStates.map(\.source) == ["a", "b"])
            try await place.loop.sleep(for: .seconds(1))
            #expect(await diary.take() == ["+a1"])
        }
    }

    @Test func theRunEndsWithItsLastInput() async throws {
        try await Self.run([Self.source("a", 5, isFinite: true), Self.source("b", 10, isFinite: true)]) {
            place, runner, diary in
            try await place.loop.sleep(for: .seconds(20))
            #expect(await diary.take() == ["+a5", "+b10", "=a5", "=b10", "."])
            #expect(await runner.replace(with: [Self.source("c")]) == SourceRunner.Changes())
            try await place.loop.sleep(for: .seconds(1))
            #expect(await diary.take() == [])
        }
    }

    @Test func aSourceThatIsThroughDoesNotRunAgainUnlessItChanges() async throws {
        let endless = Self.source("z")
        try await Self.run([Self.source("a", 2, isFinite: true), endless]) { place, runner, diary in
            try await place.loop.sleep(for: .seconds(10))
            #expect(await diary.take() == ["+a2", "+z1", "=a2"])
            await runner.replace(with: [Self.source("a", 2, isFinite: true), endless])
            try await place.loop.sleep(for: .seconds(10))
            #expect(await diary.take() == [])
            await runner.replace(with: [Self.source("a", 3, isFinite: true), endless])
            try await place.loop.sleep(for: .seconds(10))
            #expect(await diary.take() == ["+a3", "=a3"])
        }
    }

    /// An HTTP source that becomes standard input is not due any more, or the watchdog would end the agent.
    @Test func nothingIsExpectedOfASuccessorThatSaysNothing() async throws {
        try await Self.run([Self.source("a")]) { place, runner, _ in
            await place.polls.expect("a", by: place.loop.clock.now.advanced(by: .seconds(1)))
            await place.polls.allowPolling(of: "a") { _ in nil }
            await runner.replace(with: [Self.source("a", 2)])
            try await place.loop.sleep(for: .seconds(5))
            #expect(await place.polls.isOnTime)
            #expect(await place.polls.requestPoll(of: "a") != nil)
        }
    }

    @Test(arguments: [UInt64](1...20)) func randomReloadsLeaveWhatWasAskedFor(seed: UInt64) async throws {
        try await Self.run([]) { _, _, _ in }  // nothing to run ends at once
        try await Self.run([Self.source("a"), Self.source("b")]) { place, runner, diary in
            var random = SeededGenerator(seed: seed)
            var running: Set<String> = ["a1", "b1"]
            for _ in 0..<50 {
                let names = ["a", "b", "c", "d", "e"].filter { _ in Bool.random(using: &random) }
                let sources = (names.isEmpty ? ["z"] : names).map {
                    Self.source($0, Int.random(in: 1...2, using: &random))
                }
                await runner.replace(with: sources)
                if Bool.random(using: &random) { continue }
                try await place.loop.sleep(for: .milliseconds(1))
                for entry in await diary.take() {
                    let name = String(entry.dropFirst())
                    if entry.hasPrefix("+") { running.insert(name) } else { running.remove(name) }
                }
                let wanted = Set(
                    sources.compactMap { source -> String? in
                        guard case .fibonacci(let source) = source else { return nil }
                        return "\(source.description.name)\(source.n)"
                    })
                #expect(running == wanted, "seed \(seed)")
                #expect(
                    Set(await place.store.sourceStates.map(\.source)) == Set(sources.map(\.description.name)),
                    "seed \(seed)")
            }
        }
    }

    /// Their inputs have ended, so nothing more can come: a reload is not paid for as long as the program runs.
    @Test func sourcesThatWereTakenOutAreForgotten() async throws {
        try await Self.run([Self.source("a")]) { place, runner, _ in
            let first = await place.store.register(SourceDescription(name: "b0"))
            for round in 0..<3_000 {
                _ = await runner.replace(with: [Self.source("a"), Self.source("b\(round)")])
                try await place.loop.sleep(for: .milliseconds(10))
            }
            _ = await runner.replace(with: [Self.source("a")])
            try await place.loop.sleep(for: .milliseconds(10))
            // Those that are remembered, and a few that have not ended yet: which of their places is free next is chance.
            #expect(await place.store.register(SourceDescription(name: "new")).index < first.index + 1_100)
            #expect(await place.store.sourceStates.map(\.source) == ["a", "new"])
        }
    }
}
