import Feed
import Reactor
import TestSupport
import Testing

/// What readers are told of the runs of an attached agent that end before they have read all of them.
@Suite(.limited) struct EndedRunsTests {
    /// The feed of an attached agent, and one reader of it.
    private struct Stage {
        let store: EventStore
        private let reader: ReaderID

        init(on loop: EventLoop, logCapacity: Int = 1 << 20) async {
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            var limits = FeedState.Limits()
            limits.logCapacity = logCapacity
            store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isRelay: true)
            (reader, _) = await store.open("reader") {}
        }

        /// Relays the beginning of a run, and some of its lines.
        ///
        /// - Parameter announced: the number of the last line that its `stats` count.
        func begin(
            _ run: String, _ lines: Range<Int>, text: Int = 0, announced: Int? = nil, isFleet: Bool = false
        ) async throws {
            let time = #""time":"2001-09-09T01:46:40.000000Z""#
            let first = lines.lowerBound
            let numbers = #""first_seq":\#(first),"next_seq":\#(first)"#
            let feed = #""format":1,"run":"\#(run)","interval_s":7,"fleet":\#(isFleet),\#(numbers)"#
            try await relay(#"{"type":"hello",\#(time),\#(feed)}"#)
            if let announced {
                let sources = #"[{"source":"s","state":"ok"}]"#
                try await relay(
                    #"{"type":"stats",\#(time),"as_of":\#(announced),"endpoints":[],"sources":\#(sources)}"#)
            }
            try await publish(lines, text: text)
        }

        func publish(_ lines: Range<Int>, text: Int = 0) async throws {
            let event = #""type":"fact","source":"s","text":"\#(String(repeating: "x", count: text))""#
            for number in lines {
                try await relay(#"{"seq":\#(number),"time":"2001-09-09T01:46:40.000000Z",\#(event)}"#)
            }
        }

        /// Relays the `bye` of a run with this last line.
        func end(_ run: String, _ last: Int) async throws {
            let time = #""time":"2001-09-09T01:46:40.000000Z""#
            try await relay(#"{"type":"bye",\#(time),"run":"\#(run)","last_seq":\#(last),"reason":"end"}"#)
        }

        private func relay(_ text: String) async throws {
            let bytes = Bytes(text.utf8)
            await store.relay([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
        }

        func move(to start: ReaderStart, isFiltered: Bool = false, replaying most: Int = .max) async -> [UInt8] {
            await store.move(reader, to: start, isFiltered: isFiltered, replaying: most)
        }

        func hasReached(_ sequence: Int) async -> Bool { await store.hasReached(sequence, by: reader) }
        var nextLine: LineID { get async { await store.nextLine(of: reader) } }

        /// The next thing that the reader gets, as a short text; nil for nothing.
        func next() async throws -> String? {
            switch await store.dequeue(for: reader) {
            case .lines(let span): "\(span.sequences.lowerBound)-\(span.sequences.upperBound)"
            case .gap(let line):
                Line.Gap(line[...]).map { "gap \($0.from)-\($0.to)" } ?? "no gap"
            case .greeting(let lines): "hello " + (try Self.greeting(of: lines).hello.run)
            case .ended(let lines, let run): try Self.text(of: lines, run)
            case nil: nil
            default: "something else"
            }
        }

        func rest() async throws -> [String] {
            var all: [String] = []
            while let next = try await next() { all.append(next) }
            return all
        }

        private struct NoGreeting: Error {}

        private static func greeting(of lines: [UInt8]) throws -> (hello: Line.Hello, stats: Line.Stats) {
            let parts = lines.split(separator: 0x0A)
            guard parts.count == 2, case .hello(let hello) = try LineDecoder.decode(parts[0]).body,
                case .stats(let stats) = try LineDecoder.decode(parts[1]).body
            else { throw NoGreeting() }
            return (hello, stats)
        }

        private static func text(of lines: [UInt8], _ run: String) throws -> String {
            let (hello, stats) = try greeting(of: lines)
            #expect(hello.run == run && hello.interval == .seconds(7))
            #expect(stats.asOf == hello.firstSeq - 1 && stats.sources.isEmpty)
            let signs = [
                hello.filtered ? " filtered" : "", hello.isFleet ? " fleet" : "",
                stats.moreSources > 0 ? " without \(stats.moreSources) sources" : "",
            ]
            return "ended \(run) \(hello.firstSeq)..<\(hello.nextSeq)" + signs.joined()
        }
    }

    /// Whether a gap and what comes behind it have these numbers, each once.
    private static func areNext(_ gap: String, _ rest: String, in numbers: ClosedRange<Int>) -> Bool {
        let found = (gap + "-" + rest).split { !$0.isNumber }.compactMap { Int($0) }
        return gap.hasPrefix("gap") && found.count == 4 && found[0] == numbers.lowerBound
            && found[1] + 1 == found[2] && found[3] == numbers.upperBound
    }

    @Test func aReaderThatIsBlockedIsToldOfEachRun() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            try await stage.begin("r1", 1..<4)
            #expect(try await stage.rest() == ["hello r1", "1-3"])
            try await stage.publish(4..<6)
            #expect(await stage.nextLine == LineID("r1", 4))
            try await stage.begin("r2", 1..<5)
            // Nothing is missing of a run without lines.
            try await stage.begin("r3", 1..<1)
            try await stage.begin("r4", 8..<10)
            try await stage.begin("r5", 1..<1)
            #expect(await stage.nextLine == LineID("r1", 4))
            #expect(await !stage.hasReached(1), "it does not know of the run")
            #expect(try await stage.next() == "gap 4-5")
            #expect(await stage.nextLine == LineID("r2", 1))
            #expect(try await stage.next() == "ended r2 1..<5")
            // Another one ends meanwhile.
            try await stage.publish(1..<3)
            try await stage.begin("r6", 1..<3)
            let expected = ["gap 1-4", "ended r4 8..<10", "gap 8-9", "ended r5 1..<3", "gap 1-2", "hello r6", "1-2"]
            #expect(try await stage.rest() == expected)
            #expect(await stage.hasReached(3))
            #expect(await !stage.hasReached(4))
        }
    }

    private static let after = [
        ("r1", 3, ["gap 4-5", "gap 1-4", "gap 8-9"]), ("r1", 5, ["gap 1-4", "gap 8-9"]),
        ("r2", 0, ["gap 1-4", "gap 8-9"]), ("r2", -5, ["gap 1-4", "gap 8-9"]),
        // Also what the agent had let go of before the feed's run began here.
        ("r4", -5, ["gap 1-9"]), ("r4", 3, ["gap 4-9"]), ("r4", 8, ["gap 9-9"]), ("r4", 9, []),
        ("r4", .max, []), ("r9", 3, []),
    ]

    @Test(arguments: after, [false, true])
    func aReaderThatComesBackIsToldOfEachRun(after: (run: String, sequence: Int, gaps: [String]), isJoin: Bool)
        async throws
    {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            for (run, lines) in [("r1", 1..<6), ("r2", 1..<5), ("r3", 1..<1), ("r4", 8..<10), ("r5", 1..<3)] {
                try await stage.begin(run, lines)
            }
            _ = try await stage.rest()
            let next = LineID(after.run, after.sequence.addingSaturated(1))
            let greeting = await stage.move(
                to: isJoin ? .at(next) : .after(after.sequence, run: after.run), isFiltered: true)
            let rest = try await stage.rest()
            #expect(rest.filter { $0.hasPrefix("gap") } == after.gaps)
            // The greeting of the feed's run comes behind those of the ended ones.
            #expect(greeting.isEmpty == !after.gaps.isEmpty)
            #expect(rest.last == "1-2" && rest.count == after.gaps.count * 2 + (after.gaps.isEmpty ? 1 : 2), "\(rest)")
            #expect(rest.allSatisfy { !$0.hasPrefix("ended") || $0.hasSuffix("filtered") })
        }
    }

    /// Lines that a reader does not want again are not told of under `hello` of a later run.
    @Test(arguments: [3, 5])
    func whatIsNotReplayedIsNamedBehindTheGreeting(after sequence: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            try await stage.begin("r1", 1..<6)
            try await stage.begin("r2", 1..<101, text: 100)
            _ = try await stage.rest()
            let greeting = await stage.move(to: .after(sequence, run: "r1"), replaying: 1_000)
            var rest = try await stage.rest()
            if sequence == 3 {
                #expect(rest.prefix(3) == ["ended r1 4..<6", "gap 4-5", "hello r2"])
                rest.removeFirst(3)
            }
            #expect(greeting.isEmpty == (sequence == 3))
            #expect(rest.count == 2 && Self.areNext(rest[0], rest[1], in: 1...100), "\(rest)")
            // If its run ends before, it is told of that run first.
            _ = await stage.move(to: .after(sequence, run: "r1"), replaying: 1_000)
            try await stage.begin("r3", 1..<2)
            let all = try await stage.rest().filter { $0 != "gap 4-5" }
            let gaps = all.filter { $0.hasPrefix("gap") }
            #expect(gaps.count == 2 && Self.areNext(gaps[0], gaps[1], in: 1...100), "\(all)")
            #expect(all.filter { $0.hasPrefix("ended r2") }.count == (sequence == 3 ? 1 : 0))
        }
    }

    /// The `hello` of a run may announce more than comes of it.
    @Test func whatWasAnnouncedAndNeverCameIsNamed() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            try await stage.begin("r1", 1..<4, announced: 9)
            try await stage.begin("r2", 1..<2)
            let ended = "ended r1 1..<10 without 1 sources"
            #expect(try await stage.rest() == [ended, "gap 1-9", "hello r2", "1-1"])
        }
    }

    @Test(arguments: [2, 3])
    func whatTheLogHasDroppedOfTheFeedsRunIsNamedAsWell(after sequence: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop, logCapacity: 1 << 16)
            try await stage.begin("r1", 1..<4)
            try await stage.begin("r2", 5..<1_005, text: 1_000)
            _ = try await stage.rest()
            let greeting = await stage.move(to: .after(sequence, run: "r1"))
            let rest = try await stage.rest().drop { $0 != "hello r2" }
            #expect(greeting.isEmpty == (sequence == 2) && greeting.isEmpty == !rest.isEmpty)
            _ = await stage.move(to: .after(sequence, run: "r1"))
            let all = try await stage.rest().filter {
                !$0.hasPrefix("hello") && !$0.hasPrefix("ended") && $0 != "gap 3-3"
            }
            #expect(all.first?.hasPrefix("gap 5-") == true && all.last?.hasSuffix("-1004") == true, "\(all)")
        }
    }

    @Test func theNewestSixteenRunsAreNamed() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            for number in 1...20 { try await stage.begin("r\(number)", 1..<number + 2) }
            let rest = try await stage.rest()
            #expect(rest.count == 2 * 16 + 2 && rest.first == "ended r4 1..<6" && rest[1] == "gap 1-5")
            #expect(await !stage.move(to: .after(1, run: "r3")).isEmpty)
            #expect(try await stage.rest() == ["1-21"])
            #expect(await stage.move(to: .after(1, run: "r4")).isEmpty)
            let again = try await stage.rest()
            #expect(again.count == 2 * 16 + 2 && again[..<2] == ["ended r4 2..<6", "gap 2-5"])
        }
    }
}
