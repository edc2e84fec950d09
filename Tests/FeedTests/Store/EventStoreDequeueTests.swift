import Feed
import Reactor
import TestSupport
import Testing

/// Readers that are called, and take what there is without suspending.
@Suite(.limited) struct EventStoreDequeueTests {
    /// Counts calls, and takes what there is when told to. Unchecked: touched on one loop only.
    private final class Reader: @unchecked Sendable {
        private let store: EventStore
        private var id: ReaderID?
        private(set) var calls = 0
        var transcript = Transcript(decodes: false)
        /// What it does when it is called.
        var whenCalled: () -> Void = {}

        init(_ store: EventStore) {
            self.store = store
            let (id, _) = store.assumeIsolated { $0.open(nil) { self.call() } }
            self.id = id
        }

        private func call() {
            calls += 1
            whenCalled()
        }

        /// Takes one thing; false when there is none.
        @discardableResult
        func dequeue() -> Bool {
            guard let id, let delivery = store.assumeIsolated({ $0.dequeue(for: id) }) else { return false }
            transcript.add(delivery, at: LoopInstant(nanoseconds: 0))
            return true
        }

        func dequeueAll() { while transcript.bye == nil, dequeue() {} }

        func close() {
            if let id { store.assumeIsolated { $0.close(id) } }
        }
    }

    @Test func oneCallForEachTimeThatNothingWasFound() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let reader = Reader(harness.store)
            await harness.publish()
            #expect(reader.calls == 0, "it has not looked yet")
            #expect(reader.dequeue() && !reader.dequeue())
            for _ in 0..<3 {
                await harness.publish()
                try await loop.sleep(for: .seconds(1))
            }
            #expect(reader.calls == 1)
            // There is more than it takes: no call is due.
            #expect(reader.dequeue())
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            #expect(reader.calls == 1)
            reader.dequeueAll()
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            #expect(reader.calls == 2)
            reader.dequeueAll()
            await harness.store.finish("end")
            #expect(reader.calls == 3)
            reader.dequeueAll()
            #expect(reader.transcript.numbers == Array(1...6) && reader.transcript.bye != nil)
        }
    }

    @Test func isCalledForGreetingsAsWell() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (id, _) = await harness.store.open(nil) {}
            #expect(await harness.store.dequeue(for: id) == nil)
            let reader = Reader(harness.store)
            #expect(!reader.dequeue())
            await harness.store.greetAll()
            #expect(reader.calls == 1)
            guard case .greeting? = await harness.store.dequeue(for: id) else {
                Issue.record("no greeting")
                return
            }
        }
    }

    @Test func anInterruptionReachesWhoWaitsAtOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let (id, _) = await harness.store.open("file")
            async let time = {
                guard case .interrupted = try await harness.store.next(for: id) else { return LoopInstant?.none }
                return loop.clock.now
            }()
            try await loop.sleep(for: .seconds(1))
            let asked = loop.clock.now
            await harness.store.interrupt(id)
            try await loop.sleep(for: .seconds(1))
            await harness.publish()
            #expect(try await time == asked)
        }
    }

    /// Lines come at any moment, in the middle of a call as well; nobody looks unless called.
    @Test(arguments: 1...UInt64(LongRun.rounds(short: 3, long: 200)))
    func nobodyWhoLooksWhenCalledMissesALine(seed: UInt64) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            var random = SeededGenerator(seed: seed)
            let readers = (0..<Int.random(in: 1...600, using: &random)).map { _ in Reader(harness.store) }
            for reader in readers {
                var own = SeededGenerator(seed: random.next())
                reader.whenCalled = { [unowned reader] in
                    // At once, or a little later.
                    if own.next() % 2 == 0 { return reader.dequeueAll() }
                    loop.schedule(after: .microseconds(Int64(own.next() % 3_000))) { reader.dequeueAll() }
                }
                reader.dequeueAll()
            }
            for _ in 0..<200 {
                await harness.publish(Int(random.next() % 3))
                if random.next() % 2 == 0 { try await loop.sleep(for: .microseconds(Int64(random.next() % 5_000))) }
                if random.next() % 20 == 0 { readers.randomElement(using: &random)?.dequeueAll() }
            }
            try await loop.sleep(for: .seconds(1))
            let last = await harness.store.nextLine(of: harness.store.open(nil, from: .newest).0).sequence - 1
            await harness.store.finish("end")
            try await loop.sleep(for: .seconds(1))
            for reader in readers {
                #expect(reader.transcript.fault == nil && reader.transcript.bye?.lastSeq == last, "seed \(seed)")
                #expect(reader.transcript.numbers == Array(1...last), "seed \(seed)")
            }
        }
    }

    @Test func whoLeavesWhileOthersWaitTakesNobodysPlace() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let readers = (0..<5).map { _ in Reader(harness.store) }
            for reader in readers { reader.dequeueAll() }
            // The last one, too, which has the place of the one before by then.
            for place in [1, 4, 0] { readers[place].close() }
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            #expect(readers.map(\.calls) == [0, 0, 1, 1, 0])
        }
    }

    @Test func whoHasYetToLookCountsForThePauseBeforeTheNextCall() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let readers = (0..<500).map { _ in Reader(harness.store) }
            for reader in readers { reader.dequeueAll() }
            let eager = readers[0]
            eager.whenCalled = { [unowned eager] in eager.dequeueAll() }
            try await loop.sleep(for: .seconds(1))
            await harness.publish()
            try await loop.sleep(for: .milliseconds(1))
            await harness.publish()
            // 20 µs for each of the 500.
            try await loop.sleep(for: .milliseconds(8))
            #expect(eager.calls == 1)
            try await loop.sleep(for: .milliseconds(2))
            #expect(eager.calls == 2 && eager.transcript.numbers == [1, 2])
        }
    }

    // MARK: The walk

    @Test func aWalkOverManyGoesOnInTheNextTurns() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let readers = (0..<1_000).map { _ in Reader(harness.store) }
            for reader in readers { reader.dequeueAll() }
            try await loop.sleep(for: .seconds(1))
            await harness.publish()
            var seen = [readers.count { $0.calls > 0 }]
            while seen[seen.count - 1] < 1_000, seen.count < 100 {
                try await loop.sleep(for: .zero)  // somebody else's turn
                seen.append(readers.count { $0.calls > 0 })
            }
            #expect(seen[0] > 0 && seen.count >= 4 && seen[seen.count - 1] == 1_000, "\(seen)")
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $1 - $0 <= 256 }, "\(seen)")
            #expect(readers.allSatisfy { $0.calls == 1 })
        }
    }

    @Test func aReaderThatLeavesDuringAWalkIsNotCalled() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let readers = (0..<1_000).map { _ in Reader(harness.store) }
            for reader in readers { reader.dequeueAll() }
            // Of this slice, of a later one, and itself.
            let gone: Set = [0, 1, 100, 500, 999]
            readers[0].whenCalled = { for place in gone { readers[place].close() } }
            try await loop.sleep(for: .seconds(1))
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            for (place, reader) in readers.enumerated() {
                #expect(reader.calls == (place == 0 || !gone.contains(place) ? 1 : 0), "\(place)")
                reader.dequeueAll()
            }
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            #expect(readers.enumerated().allSatisfy { gone.contains($0.offset) || $0.element.calls == 2 })
            #expect(await harness.store.counts.readers == 995)
        }
    }

    @Test func whoLooksDuringAWalkIsCalledForWhatComesAfterwards() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let readers = (0..<600).map { _ in Reader(harness.store) }
            for reader in readers { reader.dequeueAll() }
            readers[0].whenCalled = { readers[550].dequeueAll() }
            try await loop.sleep(for: .seconds(1))
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            #expect(readers[550].calls == 0 && readers[550].transcript.numbers == [1])
            await harness.publish()
            try await loop.sleep(for: .seconds(1))
            #expect(readers[550].calls == 1 && readers[549].calls == 1)
        }
    }
}
