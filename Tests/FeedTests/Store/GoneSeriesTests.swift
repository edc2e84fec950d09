import Reactor
import TestSupport
import Testing

@testable import Feed

/// Series that a complete answer of their source does not have any more.
@Suite(.limited) struct GoneSeriesTests {
    private static func event(
        _ source: SourceID, _ key: String?, value: Double? = nil, text: String? = nil, at time: Timestamp
    ) -> Event {
        let datum = Datum(key: key.map { Bytes($0.utf8) }, value: value, text: text.map { Bytes($0.utf8) })
        return Event(time: time, source: source, body: .data(datum))
    }

    /// A board of what a reader gets, which may go on reading.
    private struct View {
        var board = Board()
        let reader: ReaderID
        var lines: [RelayedLine] = []

        init(of store: EventStore) async throws {
            let (reader, greeting) = await store.open(nil, keptAfter: 0)
            self.reader = reader
            try add(greeting)
            try await read(store)
        }

        mutating func read(_ store: EventStore) async throws {
            while let delivery = await store.dequeue(for: reader) {
                if let bytes = delivery.piece?.withUnsafeBytes({ [UInt8]($0) }) { try add(bytes) }
            }
        }

        private mutating func add(_ bytes: [UInt8]) throws {
            for line in bytes.split(separator: 0x0A) {
                let decoded = try LineDecoder.decode(line[...])
                board.apply(decoded)
                lines.append(RelayedLine(decoded, bytes: line[...]))
            }
        }

        /// The keys of a source's series, by whether they are gone; not of those that only a window line names, which may
        /// come when they are gone already.
        func keys(of source: String, areGone: Bool) -> Set<String> {
            Set(
                board.series.filter { $0.source == source && $0.event != nil && ($0.goneAt != nil) == areGone }
                    .compactMap { series in
                        series.name.utf8.count > source.utf8.count
                            ? String(decoding: series.name.utf8.dropFirst(source.utf8.count + 1), as: UTF8.self) : nil
                    })
        }

        /// The keys that the lines so far say are gone, one set for each line that does.
        func gone(behind count: Int = 0) -> [[String]] {
            lines.dropFirst(count).compactMap { line in
                guard case .progress(let progress) = line.line.body, !progress.gone.isEmpty else { return nil }
                return progress.gone
            }
        }
    }

    /// The keys of the series in `/metrics`.
    private static func values(_ store: EventStore, of source: String) async -> Set<String> {
        let some = await store.series.filter { $0.kind == .data && $0.source == source }
        return Set(some.compactMap { $0.key.map { String(decoding: $0, as: UTF8.self) } })
    }

    /// Any answers, against a twin that only has two sets; what is gone is told to the board of a reader that is there
    /// from the start, to one that comes late, to `/metrics`, and by an agent that is attached.
    @Test(arguments: [1, 2] as [UInt64]) func everybodyKnowsWhatIsThere(seed: UInt64) async throws {
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            let harness = await StoreHarness.withSmallLog(on: loop)
            let store = harness.store
            let other = await store.register(SourceDescription(name: "other"))
            let all = [
                "#", "1", "2", "10", "K\"öln", "a/b", "", "*", "x", "y", "z", String(repeating: "k", count: 900),
            ]
            var (there, gone, withValue): (Set<String>, Set<String>, Set<String>) = ([], [], [])
            var otherKeys: Set<String> = []
            var early = try await View(of: store)
            var limits = FeedState.Limits()
            limits.logCapacity = 1 << 16
            let relay = EventStore(
                on: loop, wall: harness.wall,
                identity: AgentIdentity(run: "relay", version: "", started: StoreHarness.start), limits: limits,
                isRelay: true)
            var relayed = 0
            for round in 0..<LongRun.rounds(short: 40, long: 300) {
                let at: Comment = "seed \(seed), round \(round)"
                let before = early.lines.count
                var events: [Event] = []
                var (answer, valued): (Set<String>, Set<String>) = ([], [])
                for key in all where Int.random(in: 0..<3, using: &random) > 0 {
                    for _ in 0...Int.random(in: 0..<2, using: &random) {
                        let value: Double? = Bool.random(using: &random) ? 1 : nil
                        let text = String(repeating: "t", count: Int.random(in: 0..<800, using: &random))
                        events.append(Self.event(harness.source, key, value: value, text: text, at: harness.wall.now))
                        if value != nil { valued.insert(key) }
                    }
                    answer.insert(key)
                }
                let stream = "s\(Int.random(in: 0..<5, using: &random))"
                otherKeys.insert(stream)
                await store.publish([Self.event(other, stream, value: 1, at: harness.wall.now)])
                var expected: Set<String> = []
                switch Int.random(in: 0..<6, using: &random) {
                case 0: break  // 304
                case 1:  // not complete
                    await store.publish(events)
                    there.formUnion(answer)
                    withValue.formUnion(valued)
                case 2 where round % 5 == 0:  // a reload describes the source anew
                    _ = await store.register(SourceDescription(name: "fact", type: "fact", unit: "m"))
                    fallthrough
                default:
                    await store.answer(events, of: harness.source)
                    expected = there.subtracting(answer)
                    there = answer
                    gone.formUnion(expected)
                    withValue.formUnion(valued)
                    withValue.subtract(expected)
                }
                gone.subtract(there)
                try await early.read(store)
                let told = early.gone(behind: before)
                #expect(Set(told.joined()) == expected, at)
                #expect(told.joined().count == expected.count, at)
                #expect(early.keys(of: "fact", areGone: false) == there, at)
                #expect(early.keys(of: "fact", areGone: true) == gone, at)
                #expect(early.keys(of: "other", areGone: false) == otherKeys, at)
                let values = await Self.values(store, of: "fact")
                #expect(values == withValue, at)
                await relay.relay(Array(early.lines[relayed...]))
                relayed = early.lines.count
                if Int.random(in: 0..<3, using: &random) == 0 {
                    try await loop.sleep(for: .seconds(Int64.random(in: 0..<300, using: &random)))
                }
                for store in [store, relay] {
                    let late = try await View(of: store)
                    await store.close(late.reader)
                    #expect(late.keys(of: "fact", areGone: false) == there, at)
                    #expect(late.keys(of: "fact", areGone: true).isSubset(of: gone), at)
                    #expect(late.keys(of: "other", areGone: false) == otherKeys, at)
                    let values = await Self.values(store, of: "fact")
                    #expect(values == withValue, at)
                }
            }
            await store.close(early.reader)
        }
    }

    /// Keys that take more than a line may have come in further lines, of which the first one counts the items.
    @Test func manyThatAreGoneTakeSomeLines() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop) { $0.logCapacity = 8 << 20 }
            let long = String(repeating: "\u{1}", count: 1_000)
            let keys = (0..<2_500).map { "\($0)" } + (0..<100).map { "\(long)\($0)" }
            await harness.store.answer(
                keys.map { Self.event(harness.source, $0, text: "t", at: harness.wall.now) }, of: harness.source)
            var view = try await View(of: harness.store)
            await harness.store.answer([], of: harness.source, items: 0)
            try await view.read(harness.store)
            let lines = view.gone()
            #expect(lines.joined().elementsEqual(keys))
            #expect(lines.map(\.count).prefix(2) == [1_000, 1_000])
            for line in lines { #expect(line.count <= 1_000 && line.reduce(0) { $0 + $1.utf8.count } <= 64 << 10) }
            #expect(view.lines.allSatisfy { $0.bytes.count < 1 << 20 })
            let items = view.lines.compactMap { line -> Int?? in
                if case .progress(let progress) = line.line.body { .some(progress.items) } else { nil }
            }
            #expect(items.count == lines.count && items.first == 0 && items.dropFirst().allSatisfy { $0 == nil })
            #expect(view.keys(of: "fact", areGone: false) == [])
        }
    }

    @Test func theNumberOfItemsIsASeries() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop)
            try await harness.store.whileRunning {
                for count in [3, 0, 5] {
                    await harness.store.answer(
                        (0..<count).map { Self.event(harness.source, "\($0)", value: 1, at: harness.wall.now) },
                        of: harness.source, items: count)
                    try await loop.sleep(for: .seconds(10))
                }
                let early = try await View(of: harness.store)
                let windows = early.lines.compactMap { line -> Double? in
                    guard case .window(let window) = line.line.body, window.series == "count:fact" else { return nil }
                    return window.last
                }
                #expect(windows == [3, 0, 5])
                #expect(early.board.series(.count, of: "fact").map { early.board.series[$0].newest?.value } == 5)
                try await loop.sleep(for: .seconds(1_000))
                let late = try await View(of: harness.store)
                let index = try #require(late.board.series(.count, of: "fact"))
                #expect(late.board.series[index].newest?.value == 5 && late.board.series[index].kind == .count)
                #expect(late.keys(of: "fact", areGone: false) == ["0", "1", "2", "3", "4"])
                // As it is kept, also by an agent that is attached.
                let relay = EventStore(
                    on: loop, wall: harness.wall,
                    identity: AgentIdentity(run: "relay", version: "", started: StoreHarness.start),
                    limits: FeedState.Limits(), isRelay: true)
                await relay.relay(late.lines)
                let relayed = try await View(of: relay)
                #expect(relayed.board.series(.count, of: "fact").map { relayed.board.series[$0].newest?.value } == 5)
            }
        }
    }

    @Test func itemsThatAreRenamedAgainAndAgainFindRoom() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness.withSmallLog(on: loop) { $0.series = 4 }
            var view = try await View(of: harness.store)
            for round in 0..<10 {
                await harness.store.answer(
                    ["a", "b"].map { Self.event(harness.source, "\($0)\(round)", value: 1, at: harness.wall.now) },
                    of: harness.source)
                try await view.read(harness.store)
                try await loop.sleep(for: .seconds(2))
            }
            #expect(await harness.store.counts.refusedSeries == 0)
            // None goes without its windows.
            let windows = view.lines.compactMap { line -> String? in
                if case .window(let window) = line.line.body { window.series } else { nil }
            }
            #expect(Set(windows).isSuperset(of: (0..<8).flatMap { ["fact/a\($0)", "fact/b\($0)"] }))
        }
    }

    // MARK: A fleet

    // MARK: Lines

    @Test(
        arguments: [
            #"["a",1]"#, #""a""#, #"{"a":1}"#, #"[["a"]]"#, #"[null]"#,
            "[" + Array(repeating: "\"\"", count: 1_001).joined(separator: ",") + "]",
            "[\"" + String(repeating: "a", count: (64 << 10) + 1) + "\"]",
        ])
    func whatIsNoListOfKeysIsAFault(_ gone: String) {
        let line = #"{"seq":1,"time":"2026-03-01T12:00:00Z","type":"progress","source":"s","done":1,"gone":\#(gone)}"#
        #expect(throws: LineFault.self) { try LineDecoder.decode(Bytes(line.utf8)) }
    }

    @Test func aLineHasAsManyKeysAsItMay() throws {
        let keys = (0..<1_000).map { "\($0)\u{1}" }
        let progress = Progress(done: 2, total: nil, page: 3, items: 0, gone: keys)
        var encoder = LineEncoder()
        let most = encoder.most(progress, source: "s")
        let bytes = LineWriter.bytes(atMost: most) {
            $0 = encoder.line(progress, sequence: 1, time: StoreHarness.start, source: "s", to: $0)
        }
        #expect(try LineDecoder.decode(bytes.dropLast()[...]).body == .progress(progress))
        let plain = Progress(done: 2, total: 4, page: 3, items: 7)
        let text = LineWriter.bytes(atMost: 1_024) {
            $0 = encoder.line(plain, sequence: 1, time: StoreHarness.start, source: "s", to: $0)
        }
        #expect(String(decoding: text, as: UTF8.self).hasSuffix(#""done":2,"total":4,"page":3,"items":7}"# + "\n"))
        // Room for keys that are nothing but quotes.
        let empty = Progress(done: 0, total: 0, page: 1, gone: Array(repeating: "", count: 1_000))
        let short = LineWriter.bytes(atMost: encoder.most(empty, source: "s")) {
            $0 = encoder.line(empty, sequence: 1, time: StoreHarness.start, source: "s", to: $0)
        }
        #expect(try LineDecoder.decode(short.dropLast()[...]).body == .progress(empty))
    }
}
