import Feed
import Journal
import Reactor
import TestSupport
import Testing

@testable import Outputs

/// Readers of a socket and by HTTP that ask for lines older than the log's.
@Suite(.limited) struct PastReaderTests {
    /// A feed whose log holds little, with a journal beside it that has as much of it as a test says.
    struct Stage: Sendable {
        let feed: FeedStage
        let history: MemoryHistory
        let queue: JournalQueue

        init(on loop: EventLoop, run: String = "r1", logCapacity: Int = 1 << 16, isRelay: Bool = false) async {
            feed = await FeedStage(on: loop, run: run, isRelay: isRelay) {
                ($0.logCapacity, $0.history) = (logCapacity, .seconds(1_000_000))
            }
            history = MemoryHistory()
            queue = JournalQueue(history, on: loop, worker: loop, wall: feed.wall)
        }

        /// Publishes events, and has the journal keep what there is new, but for what `isKept` says no to.
        func publish(
            _ count: Int, text: Int = 100, of source: SourceID? = nil, isKept: (Int) -> Bool = { _ in true }
        ) async {
            let first = await feed.store.nextSequence
            let (reader, _) = await feed.store.open(nil, from: .newest)
            var left = count
            while left > 0 {
                await feed.publish(min(left, 20), text: text, of: source)
                left -= 20
                while case .lines(let span)? = await feed.store.dequeue(for: reader) {
                    var sequence = span.sequences.lowerBound
                    span.withUnsafeBytes { bytes in
                        bytes.forEachLine { line in
                            if isKept(sequence) { history.add(Array(line), sequence, feed.wall.now) }
                            sequence += 1
                        }
                    }
                }
            }
            await feed.store.close(reader)
            #expect(await feed.store.nextSequence >= first + count)
        }

        /// Serves the feed while `body` runs.
        func serving<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
            let (feed, queue) = (feed, queue)
            return try await running {
                try await queue.run()
            } while: {
                try await feed.serving(history: queue) { _ in try await body() }
            }
        }

        /// The number of the oldest line in the log.
        var firstHeld: Int {
            get async throws {
                let greeting = await feed.store.greeting(isFiltered: false)
                guard case .hello(let hello) = try LineDecoder.decode(greeting.prefix { $0 != 0x0A }).body else {
                    return 0
                }
                return hello.firstSeq
            }
        }

        /// Connects and asks, and skips what comes before the `hello` that answers.
        func ask(_ request: String, capacity: Int = 1 << 20) async throws -> (FeedReader, Line.Hello) {
            let reader = try feed.connect(capacity: capacity)
            try await reader.ask(request)
            var hellos = 0
            while let line = try await reader.next() {
                guard case .hello(let hello) = line.body else { continue }
                hellos += 1
                if hellos == 2 { return (reader, hello) }
            }
            throw CancellationError()
        }
    }

    private static func withStage(
        logCapacity: Int = 1 << 16, _ body: @escaping @Sendable (Stage) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop, logCapacity: logCapacity)
            try await stage.serving { try await body(stage) }
        }
    }

    /// What came up to the end of the feed, as `PastReadingTests.summary` says it.
    private static func summary(_ stage: Stage, _ request: String) async throws -> String {
        let reader = try stage.feed.connect(capacity: 1 << 20)
        try await reader.ask(request)
        try await stage.feed.loop.sleep(for: .seconds(1))
        await stage.feed.publish(2)
        await stage.feed.store.finish("end")
        return try await rest(of: reader)
    }

    private static func rest(of reader: FeedReader) async throws -> String {
        var bytes: [UInt8] = []
        var hellos = 0
        while let line = try await reader.line() {
            if line.starts(with: "{\"type\":\"hello\"".utf8) { hellos += 1 }
            // The greeting and what came before the answer.
            if hellos > 1 { bytes += line + [0x0A] }
        }
        return try PastReadingTests.summary(bytes)
    }

    /// Columns of the journal's lines, and nothing of the log's: what a view has of these lies behind `last_seq`.
    @Test func columnsAreTheJournalsAndSayUpToWhichLine() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(50) { $0 <= 40 }
            let time = { (seconds: Int) in
                var text = TimestampText()
                let time = FeedStage.start + .seconds(seconds)
                return String(decoding: LineWriter.bytes(atMost: 64) { text.write(time, to: &$0) }, as: UTF8.self)
            }
            let request =
                #"{"from":\#(time(-100)),"until":\#(time(100)),"sources":["fact"],"series":"fact","width":10}"#
            let (reader, hello) = try await stage.ask(request)
            #expect(hello.filtered && hello.run == "r1" && hello.nextSeq == 41)
            _ = try await reader.line()
            var columns: [Column] = []
            while let line = try await reader.line() {
                guard let column = Column(line[...]) else {
                    guard case .bye(let bye) = try LineDecoder.decode(line[...]).body else { continue }
                    #expect(bye.lastSeq == 40 && bye.run == "r1")
                    break
                }
                columns.append(column)
            }
            #expect(columns.compactMap { $0.values?.count } == [40])
            #expect(try await reader.line() == nil)
        }
    }

    @Test func whoLeavesEndsTheReadingOfColumns() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            stage.history.add(1...10_000)
            stage.history.mostCounted = 1
            let request =
                #"{"from":"2000-01-01T00:00:00Z","until":"2030-01-01T00:00:00Z","sources":["fact"],"series":"fact","width":31622400}"#
            let (reader, _) = try await stage.ask(request)
            let pages = stage.history.pages
            reader.stream.close()
            try await stage.feed.loop.sleep(for: .seconds(10))
            #expect(stage.history.pages < pages + 100)
        }
    }

    @Test func manyGraphsDoNotDelayAReaderOfLines() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            stage.history.begin("r1")
            stage.history.add(1...100)
            let query = ColumnQuery(
                of: "fact", source: "fact", width: 1_000_000, from: FeedStage.start,
                until: FeedStage.start + .seconds(100))
            let answered = Locked([String]())
            let ask = { @Sendable (start: PastReading.Start, name: String) in
                _ = await stage.queue.ask(PastReading(from: start, nil, as: .lines)) { _, _ in
                    answered.withLock { $0.append(name) }
                }
            }
            for _ in 0..<4 { await ask(.columns(query), "columns") }
            for _ in 0..<2 { await ask(.after(5, run: "r1"), "lines") }
            try await stage.serving { try await loop.sleep(for: .seconds(1)) }
            #expect(
                answered.withLock { $0 } == ["lines", "columns", "lines", "columns", "columns", "columns"]
                    || answered.withLock { $0 } == ["columns", "lines", "columns", "lines", "columns", "columns"])
        }
    }

    @Test func columnsWithoutAJournalAreRefused() async throws {
        try await withLoop(virtual: true) { loop in
            let feed = await FeedStage(on: loop)
            try await feed.serving { _ in
                let reader = try feed.connect()
                try await reader.skip(2)
                let request =
                    #"{"from":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z","sources":["fact"],"series":"fact","width":60}"#
                try await reader.ask(request)
                guard case .refusal(let failure)? = try await reader.next()?.body else {
                    Issue.record("no refusal")
                    return
                }
                #expect(failure == Failure(.protocol, "there is no journal (--journal) with columns of a series"))
                // Nothing else has changed.
                await feed.publish()
                #expect(try await reader.next()?.seq == 1)
            }
        }
    }

    @Test func whatTheLogHasLetGoOfComesFromTheJournal() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(2_000)
            let summary = try await Self.summary(stage, #"{"since":5,"run":"r1"}"#)
            // The log's own part is told by its own greeting, behind which the next line stands.
            #expect(summary.hasPrefix("r1(6,2001): 6…") && !summary.contains("!"), "\(summary)")
            #expect(Self.covers(summary, 6...2_002), "\(summary)")
        }
    }

    @Test func whatAJournalHasLessThanTheLogComesFromTheLog() async throws {
        for begins in ["r1", "r0"] {
            try await Self.withStage { stage in
                if begins == "r0" {
                    stage.history.begin("r0")
                    stage.history.add(1...30)
                }
                stage.history.begin("r1")
                await stage.publish(2_000)
                let held = try await stage.firstHeld
                // As `--journal-age` may be shorter than `--history`, and a damaged file begins anew.
                stage.history.drop(held + 49 + (begins == "r0" ? 30 : 0))
                let summary = try await Self.summary(stage, "{\"since\":5,\"run\":\"\(begins)\"}")
                if begins == "r1" {
                    #expect(summary.contains("!6…\(held - 1)") && Self.covers(summary, 6...2_002), "\(summary)")
                } else {
                    #expect(Self.covers(summary, held...2_002), "\(summary)")
                }
            }
        }
    }

    /// Whether the ranges of a summary follow on each other.
    private static func covers(_ summary: String, _ range: ClosedRange<Int>) -> Bool {
        var next = range.lowerBound
        for part in summary.split(separator: " ") where part.contains("…") {
            let ends = part.drop { $0 == "!" }.split(separator: "…").compactMap { Int($0) }
            guard ends.count == 2, ends[0] == next else { return false }
            next = ends[1] + 1
        }
        return next == range.upperBound + 1
    }

    @Test func whatTheLogHasIsNotAskedOfTheJournal() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(10)
            let summary = try await Self.summary(stage, #"{"since":0}"#)
            #expect(summary == "r1(1,11): 1…12 bye(r1,12)")
            #expect(stage.history.pages == 0)
        }
    }

    @Test func withoutAJournalAllIsAsBefore() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = 1 << 16 }
            await stage.publish(2_000, text: 100)
            try await stage.serving { _ in
                let reader = try stage.connect(capacity: 1 << 20)
                try await reader.ask(#"{"since":5,"run":"r1"}"#)
                try await loop.sleep(for: .seconds(1))
                await stage.store.finish("end")
                let summary = try await Self.rest(of: reader)
                #expect(summary.contains(" !6…") && Self.covers(summary, 6...2_000), "\(summary)")
            }
        }
    }

    /// The journal's end is where the log begins, before it, or behind it; each line comes once, or in a gap.
    @Test(arguments: [0, 5, 300, 1_000, 1_500, 1_999]) func goesOverIntoTheLogWithoutAHole(kept: Int) async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(2_000) { $0 <= kept }
            let held = try await stage.firstHeld
            let summary = try await Self.summary(stage, #"{"since":5,"run":"r1"}"#)
            #expect(Self.covers(summary, 6...2_002), "\(summary)")
            let expected: [String] = kept + 1 < held ? ["!\(max(6, kept + 1))…\(held - 1)"] : []
            let gaps = summary.split(separator: " ").filter { $0.hasPrefix("!") }.map(String.init)
            #expect(gaps == expected)
        }
    }

    /// The line of a source that is polled seldom is in neither the log nor the journal, or in the journal.
    @Test(arguments: [(last: 5, dropped: 0), (50, 40), (2_010, 40), (2_010, 0)])
    func keptLinesTellWhatTheJournalLacks(last: Int, dropped: Int) async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(5)
            let seldom = await stage.feed.store.register(SourceDescription(name: "seldom", type: "seldom"))
            await stage.publish(1, of: seldom) { $0 <= last }
            await stage.publish(2_000) { $0 <= last }
            stage.history.drop(dropped)
            let reader = try stage.feed.connect(capacity: 1 << 20)
            try await reader.ask(#"{"since":5,"run":"r1"}"#)
            try await stage.feed.loop.sleep(for: .seconds(1))
            await stage.feed.store.finish("end")
            var (kept, lines): ([Int?], [Int]) = ([], [])
            var hellos = 0
            while let line = try await reader.next() {
                if case .hello = line.body { hellos += 1 }
                // Before the answer come the kept lines of a reader that asks for everything.
                if hellos > 1, case .kept(let line) = line.body { kept.append(line.line.seq) }
                if hellos > 1, line.source == "seldom", let sequence = line.seq { lines.append(sequence) }
            }
            let isInJournal = last >= 6 && dropped < 6
            #expect(kept == (isInJournal ? [] : [6]) && lines == (isInJournal ? [6] : []))
        }
    }

    @Test func goesFromARunThatIsOverIntoTheOneThatIs() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...30)
            stage.history.begin("r1")
            await stage.publish(2_000)
            let summary = try await Self.summary(stage, #"{"since":20,"run":"r0"}"#)
            #expect(summary.hasPrefix("r0(21,31): 21…30 r1(1,2001): 1…"), "\(summary)")
            #expect(Self.covers(String(summary.dropFirst("r0(21,31): 21…30 ".count)), 1...2_002), "\(summary)")
        }
    }

    /// Within the first moments of a run the journal knows nothing of it.
    @Test func goesIntoARunThatTheJournalDoesNotHaveYet() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...30)
            await stage.feed.publish(5)
            let summary = try await Self.summary(stage, #"{"since":20,"run":"r0"}"#)
            #expect(summary == "r0(21,31): 21…30 r1(1,6): 1…7 bye(r1,7)")
        }
    }

    @Test func aRunThatNobodyKnowsIsAnsweredByTheLog() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(5)
            let summary = try await Self.summary(stage, #"{"since":20,"run":"other"}"#)
            #expect(summary == "r1(1,6): 1…7 bye(r1,7)")
        }
    }

    @Test func aJournalThatFailsLeavesAGap() async throws {
        for pages in 0..<6 {
            try await Self.withStage { stage in
                stage.history.begin("r0")
                stage.history.add(1...600, text: 200)
                stage.history.begin("r1")
                await stage.publish(2_000)
                stage.history.failsAfter = pages
                let summary = try await Self.summary(stage, #"{"since":20,"run":"r0"}"#)
                // What is missing may have no end that is known, but in the run that is now.
                let failures = summary.split(separator: " ").filter { $0 == "error" }.count
                #expect(failures == (pages < 5 ? 1 : 0), "\(pages): \(summary)")
                if pages == 0 {
                    #expect(!summary.contains("r0") && summary.hasPrefix("r1("), "\(summary)")
                    return
                }
                #expect(summary.contains("!"), "\(pages): \(summary)")
                let parts = summary.split(separator: " r1(", maxSplits: 1).map(String.init)
                if summary.hasPrefix("r0") { #expect(Self.covers(parts[0], 21...600), "\(pages): \(summary)") }
                #expect(Self.covers(parts.last ?? "", 1...2_002), "\(pages): \(summary)")
            }
        }
    }

    /// Nobody reads what is asked for: a disk that does not answer.
    @Test func aJournalThatDoesNotAnswerIsWaitedForTenSeconds() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            stage.history.begin("r1")
            await stage.publish(2_000)
            try await stage.feed.serving(history: stage.queue) { _ in
                let reader = try stage.feed.connect(capacity: 1 << 20)
                try await reader.ask(#"{"since":5,"run":"r1"}"#)
                try await loop.sleep(for: .seconds(9))
                #expect(await stage.queue.waiting == 1)
                try await loop.sleep(for: .seconds(2))
                #expect(await stage.queue.waiting == 0)
                await stage.feed.store.finish("end")
                let summary = try await Self.rest(of: reader)
                #expect(summary.contains(" !6…") && Self.covers(summary, 6...2_000), "\(summary)")
            }
        }
    }

    @Test func whoLeavesOrAsksAnewIsNotReadForAnyMore() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop)
            stage.history.begin("r1")
            await stage.publish(2_000)
            try await stage.feed.serving(history: stage.queue) { server in
                let leaving = try stage.feed.connect(capacity: 1 << 20)
                let staying = try stage.feed.connect(capacity: 1 << 20)
                for reader in [leaving, staying] { try await reader.ask(#"{"since":5,"run":"r1"}"#) }
                try await loop.sleep(for: .seconds(1))
                #expect(await stage.queue.waiting == 2)
                leaving.stream.close()
                try await staying.ask(#"{"since":1990}"#)
                try await loop.sleep(for: .seconds(1))
                #expect(await stage.queue.waiting == 0)
                #expect(await server.readerCount == 1)
                await stage.feed.store.finish("end")
                #expect(try await Self.rest(of: staying).hasSuffix("1991…2000 bye(r1,2000)"))
            }
        }
    }

    /// One page for each of them is all that is read ahead for who takes nothing.
    @Test func whoTakesNothingHoldsNobodyUp() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            await stage.publish(3_000)
            var slow: [FeedReader] = []
            for _ in 0..<20 {
                slow.append(try stage.feed.connect(capacity: 500))
                try await slow[slow.count - 1].ask(#"{"since":5,"run":"r1"}"#)
            }
            // They take the greeting, and then the beginning of what they have asked for.
            for reader in slow { for _ in 0..<40 { _ = try await reader.line() } }
            let pages = stage.history.pages
            let (quick, _) = try await stage.ask(#"{"since":5,"run":"r1"}"#)
            var next = 6
            while next <= 3_000, let line = try await quick.line() {
                guard let number = FeedTranscript.number(line) else { continue }
                #expect(number == next)
                next += 1
            }
            #expect(next == 3_001 && pages < 200)
            #expect(await stage.queue.waiting == 0)
        }
    }

    @Test func aFilterHoldsInTheJournalToo() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            for sequence in 1...50 {
                let type = sequence % 10 == 0 ? "dog" : "fact"
                let line = MemoryHistory.line(sequence, FeedStage.start, type: type)
                stage.history.add(line, sequence, FeedStage.start)
            }
            await stage.feed.publish(5)
            let summary = try await Self.summary(stage, #"{"since":20,"run":"r0","types":["dog"]}"#)
            #expect(summary == "r0(21,51): 30…30 40…40 50…50 r1(1,6): bye(r1,7)")
        }
    }

    // MARK: Times

    @Test func fromGoesOnIntoWhatIsNew() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...30, from: FeedStage.start - .seconds(60))
            stage.history.begin("r1")
            await stage.publish(2_000)
            let summary = try await Self.summary(stage, #"{"from":"2023-11-14T22:12:40Z"}"#)
            #expect(summary.hasPrefix("r0(21,31): 21…30 r1(1,2001): 1…"), "\(summary)")
            #expect(Self.covers(String(summary.dropFirst("r0(21,31): 21…30 ".count)), 1...2_002), "\(summary)")
        }
    }

    @Test(
        arguments: [
            (#"{"from":"2023-11-14T22:12:30Z","until":"2023-11-14T22:12:40Z"}"#, "r0(11,31): 11…20 bye(r0,30)"),
            (#"{"until":"2023-11-14T22:12:22+00:00"}"#, "r0(1,31): 1…2 bye(r0,30)"),
            (
                #"{"from":"2023-11-14T22:12:48Z","until":"2029-01-01T00:00:00Z"}"#,
                "r0(29,31): 29…30 r1(1,9): 1…8 bye(r1,8)"
            ),
            (#"{"from":"2030-01-01T00:00:00Z","until":"2031-01-01T00:00:00Z"}"#, "r1(1,9): bye(r1,8)"),
            (#"{"until":"0000-01-01T00:00:00Z"}"#, "r1(1,9): bye(r1,8)"),
            (#"{"types":["dog"],"until":"9999-12-31T23:59:59-23:59"}"#, "r0(1,31): bye(r0,30)"),
        ])
    func untilEndsTheConnection(request: String, expected: String) async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...30, from: FeedStage.start - .seconds(60))
            // The journal has nothing of the run that is now, but the log has.
            await stage.feed.publish(8)
            let reader = try stage.feed.connect(capacity: 1 << 20)
            try await reader.ask(request)
            #expect(try await Self.rest(of: reader) == expected)
        }
    }

    /// Runs that have ended since are not told of either.
    @Test func untilEndsInItsRun() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await Stage(on: loop, run: "unknown", isRelay: true)
            stage.history.begin("r0")
            stage.history.add(1...30, from: FeedStage.start - .seconds(60))
            try await stage.serving {
                for (run, last) in [("r0", 30), ("r1", 4), ("r2", 8)] { try await stage.feed.relay(run, 1...last) }
                let reader = try stage.feed.connect(capacity: 1 << 20)
                try await reader.ask(#"{"from":"2023-11-14T22:12:30Z","until":"2023-11-14T22:12:40Z"}"#)
                #expect(try await Self.rest(of: reader) == "r0(11,31): 11…20 bye(r0,30)")
            }
        }
    }

    /// The log has let go of what came right behind the time asked for; the journal has it, and nobody asked for it.
    @Test(arguments: [
        (#"{"from":"2023-11-14T22:12:30Z","until":"2023-11-14T22:12:40Z"}"#, "r0(11,31): 11…20 bye(r0,30)"),
        (#"{"from":"2023-11-14T22:13:00Z","until":"2023-11-14T22:13:25Z"}"#, "r1(1,2032): 1…30 bye(r1,2031)"),
    ])
    func whatIsBehindTheTimeAskedForIsNotMissing(request: String, expected: String) async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...30, from: FeedStage.start - .seconds(60))
            stage.history.begin("r1")
            await stage.publish(30)
            try await stage.feed.loop.sleep(for: .seconds(10))
            await stage.publish(2_000)
            let reader = try stage.feed.connect(capacity: 1 << 20)
            try await reader.ask(request)
            #expect(try await Self.rest(of: reader) == expected)
        }
    }

    /// The journal ends with an event that is ahead of its time, and the log has let go of what came behind that.
    @Test(arguments: [1, 1_400]) func whatIsMissingBehindALineThatIsAheadIsTold(ahead: Int) async throws {
        try await Self.withStage { stage in
            stage.history.begin("r1")
            stage.history.add(1...30)
            stage.history.add(31...30 + ahead, from: FeedStage.start + .seconds(3_600))
            await stage.feed.publish(2_000, text: 100)
            let first = try await stage.firstHeld
            let reader = try stage.feed.connect(capacity: 1 << 20)
            try await reader.ask(#"{"from":"2023-11-14T22:13:00Z","until":"2023-11-14T23:00:00Z"}"#)
            let gap = ahead == 1 ? " !32…\(first - 1)" : ""
            let rest = try await Self.rest(of: reader)
            #expect(rest == "r1(1,\(31 + ahead)): 1…30\(gap) \(first)…2000 bye(r1,2000)")
        }
    }

    /// Who gets an end takes what came for all there is.
    @Test(arguments: [0, 1, 2, 3, 4, 5], [false, true])
    func aJournalThatFailsLeavesNoEndToWhatIsAskedForByTimes(pages: Int, isEvents: Bool) async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...600, from: FeedStage.start - .seconds(1_000), text: 200)
            await stage.feed.publish(8)
            stage.history.failsAfter = pages
            let words = "the journal cannot be read: no disk"
            if isEvents {
                let text = try await String(
                    decoding: Self.http(stage, .events) { $0.until = FeedStage.start }, as: UTF8.self)
                #expect(text.contains("\ndata: {\"type\":\"error\"") && text.contains(words), "\(text.suffix(300))")
                #expect(!text.contains("\"type\":\"bye\""))
                return
            }
            let reader = try stage.feed.connect(capacity: 1 << 20)
            try await reader.ask(#"{"until":"2023-11-14T22:13:20Z"}"#)
            let transcript = try await reader.transcript(on: stage.feed.loop)
            #expect(transcript.refusals == [Failure(.disk, words)] && transcript.bye == nil && !transcript.isTorn)
        }
    }

    @Test func timesChooseAmongWhatTheLogHas() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            for _ in 0..<5 {
                await stage.publish()
                try await loop.sleep(for: .seconds(1))
            }
            try await stage.serving { _ in
                let reader = try stage.connect()
                try await reader.ask(#"{"from":"2023-11-14T22:13:21Z","until":"2023-11-14T22:13:23Z"}"#)
                #expect(try await Self.rest(of: reader) == "r1(1,6): 2…3 bye(r1,5)")
            }
        }
    }

    /// A journal that fails before a line has come leaves no gap to tell of: it is said in words, behind the greeting.
    @Test(arguments: [#"{"since":20,"run":"r0"}"#, #"{"from":"2023-11-14T22:13:00Z"}"#])
    func aJournalThatCannotBeReadIsSaidInWords(request: String) async throws {
        for pages in 0..<2 {
            try await Self.withStage { stage in
                stage.history.begin("r0")
                stage.history.add(1...30)
                await stage.feed.publish(5)
                stage.history.failsAfter = pages
                let (reader, answer) = try await stage.ask(request)
                #expect(answer.run == "r1")
                try await reader.skip(1)
                guard case .refusal(let failure)? = try await reader.next()?.body else {
                    Issue.record("nothing is said")
                    return
                }
                #expect(failure.code == .disk && failure.message.contains("no disk"))
                #expect(try await reader.next()?.seq == 1)
                stage.history.failsAfter = pages
                for form in [ReaderForm.lines, .events] {
                    let bytes = try await Self.http(stage, form) { ($0.since, $0.run) = (28, "r0") }
                    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap {
                        $0.split(separator: "\"type\":\"").dropFirst().first?.prefix { $0 != "\"" }
                    }
                    #expect(lines.prefix(4) == ["hello", "stats", "error", "fact"], "\(pages) \(form): \(lines)")
                }
            }
        }
    }

    /// An attached agent may know nothing of its feed yet, but keep a journal.
    @Test func whatComesOfAJournalBeforeTheFeedIsKnownIsAnAnswer() async throws {
        try await withLoop(virtual: true) { loop in
            let relay = await Stage(on: loop, run: "unknown", isRelay: true)
            relay.history.begin("r0")
            relay.history.add(1...30)
            try await relay.serving {
                let (reader, answer) = try await relay.ask(#"{"since":20,"run":"r0"}"#)
                #expect(answer.run == "r0")
                try await reader.skip(1)
                #expect(try await reader.next()?.seq == 21)
                relay.history.failsAfter = 0
                let lost = try relay.feed.connect()
                try await lost.ask(#"{"since":20,"run":"r0"}"#)
                try await loop.sleep(for: .seconds(1))
                await relay.feed.store.finish("end")
                let types = try await [lost.next()?.type, lost.next()?.type, lost.next()?.type, lost.next()?.type]
                #expect(types == ["hello", "stats", "hello", "stats"])
                #expect(try await lost.next()?.type == "error")
            }
        }
    }

    // MARK: HTTP

    private static func http(
        _ stage: Stage, _ form: ReaderForm, _ adjust: (inout ReaderRequest.Wish) -> Void
    ) async throws -> [UInt8] {
        var wish = ReaderRequest.Wish()
        adjust(&wish)
        let readers = FeedReaders(
            store: stage.feed.store, polls: stage.feed.polls, on: stage.feed.loop, limits: ReaderLimits(),
            seats: ReaderSeats(), history: stage.queue)
        let (client, server) = SimulatedStream.pair(capacity: 32 << 20, on: stage.feed.loop)
        readers.admit(server, behind: Array("head\n".utf8), as: form, try wish.terms())
        try await stage.feed.loop.sleep(for: .seconds(1))
        readers.closeAll()
        var bytes: [UInt8] = []
        let buffer = ReadBuffer(count: 1 << 20)
        while let count = try client.read(into: buffer.memory), count > 0 {
            bytes += UnsafeRawBufferPointer(rebasing: buffer.memory[..<count])
        }
        return bytes
    }

    @Test func anEventIDLeadsFromRunToRun() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...30)
            stage.history.begin("r1")
            await stage.publish(1_000)
            let bytes = try await Self.http(stage, .events) { ($0.since, $0.run) = (28, "r0") }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasPrefix("head\nretry: 2000\ndata: {\"type\":\"hello\""))
            let stream = EventStream(bytes.dropFirst(5))
            let ids = stream.events.filter { $0.data.hasPrefix("{\"seq\"") }.map(\.id)
            #expect(ids == ["r0-29", "r0-30"] + (1...1_000).map { "r1-\($0)" })
            #expect(!stream.isTorn)
        }
    }

    @Test(.enabled(if: !ThreadSanitizer.isOn, "each byte of 8 MiB is looked at"))
    func aReaderByHTTPGetsTheNewestThatFit() async throws {
        try await Self.withStage { stage in
            stage.history.begin("r0")
            stage.history.add(1...150, text: 60_000)
            await stage.feed.publish(3)
            let bytes = try await Self.http(stage, .lines) { ($0.since, $0.run) = (2, "r0") }
            #expect(bytes.count <= FeedReaders.mostReplayed + 2_000)
            // Long lines are only counted: to read them all takes seconds.
            var long: [Int] = []
            var short: [UInt8] = []
            bytes.dropFirst(5).withUnsafeBytes { bytes in
                bytes.forEachLine { line in
                    if line.count > 60_000 {
                        long.append(LineHead(line)?.sequence ?? 0)
                    } else {
                        short += line + [0x0A]
                    }
                }
            }
            let first = try #require(long.first)
            // What is greeted takes a part of it, and pages are whole.
            let most = FeedReaders.mostReplayed / 60_000
            #expect(long == Array(first...150) && (150 - most...150 - most + 4).contains(first))
            let summary = try PastReadingTests.summary(short)
            #expect(summary == "r0(\(first),151): !3…\(first - 1) r1(1,4): 1…3")
        }
    }

    /// Reads to the end what comes behind a number, over all greetings.
    private static func follow(
        _ stage: Stage, _ request: String, capacity: Int, _ since: Int, _ wanted: String
    ) async throws -> (end: Int, gaps: Int, hole: String?) {
        let (reader, answer) = try await stage.ask(request, capacity: capacity)
        var (run, gaps) = (answer.run, 0)
        var next = run == wanted ? since + 1 : answer.firstSeq
        while let line = try await reader.next() {
            switch line.body {
            case .hello(let hello):
                if hello.run != run { (run, next) = (hello.run, 1) }
            case .gap(let gap):
                // Of the run that is now, where the journal fails before anything has come.
                if gap.from == 1, next == answer.firstSeq, run != wanted { next = 1 }
                if gap.from != next { return (0, gaps, "gap from \(gap.from) where \(next) was due") }
                next = gap.to + 1
                gaps += 1
            case .bye(let bye): return (next - 1, gaps, bye.lastSeq == next - 1 ? nil : "the end comes early")
            default:
                guard let sequence = line.seq else { continue }
                if sequence != next { return (0, gaps, "\(run)-\(sequence) came where \(next) was due") }
                next += 1
            }
        }
        return (0, gaps, "no end")
    }

    /// What comes and goes at random, with a journal that is late, fails and comes back.
    @Test func everyLineComesOnceOrInAGap() async throws {
        for seed in 1...UInt64(LongRun.rounds(short: ThreadSanitizer.isOn ? 3 : 6, long: 500)) {
            try await Self.withStage { stage in
                var random = SeededGenerator(seed: seed)
                let fails = seed % 3 == 0
                stage.history.begin("r0")
                stage.history.add(1...Int(50 + random.next() % 150), text: 100)
                stage.history.begin("r1")
                var waiting: [(Int, [UInt8])] = []
                let (keeper, _) = await stage.feed.store.open(nil)
                var readers: [Task<(end: Int, gaps: Int, hole: String?), any Error>] = []
                for round in 0..<30 {
                    await stage.feed.publish(Int(random.next() % 40), text: Int(random.next() % 200))
                    while case .lines(let span)? = await stage.feed.store.dequeue(for: keeper) {
                        var sequence = span.sequences.lowerBound
                        span.withUnsafeBytes { bytes in
                            bytes.forEachLine { line in
                                waiting.append((sequence, Array(line)))
                                sequence += 1
                            }
                        }
                    }
                    let kept = Int(random.next() % UInt64(waiting.count + 1))
                    stage.history.keep(waiting[..<kept].map { (number: $0.0, bytes: $0.1) })
                    waiting.removeFirst(kept)
                    if fails { stage.history.failsAfter = random.next() % 4 == 0 ? stage.history.pages + 1 : nil }
                    if round % 6 == 0 {
                        let last = await stage.feed.store.nextSequence
                        let run = random.next() % 2 == 0 ? "r0" : "r1"
                        let since = Int(random.next() % (run == "r0" ? 60 : UInt64(last)))
                        let request = #"{"since":\#(since),"run":"\#(run)"}"#
                        let capacity = Int(500 + random.next() % 60_000)
                        readers.append(
                            Task(executorPreference: stage.feed.loop) {
                                try await Self.follow(stage, request, capacity: capacity, since, run)
                            })
                    }
                    try await stage.feed.loop.sleep(for: .milliseconds(Int64(random.next() % 300)))
                }
                await stage.feed.store.finish("end")
                let last = await stage.feed.store.nextSequence - 1
                for reader in readers {
                    let got = try await reader.value
                    #expect(got.hole == nil && got.end == last, "seed \(seed): \(got.hole ?? "")")
                    if !fails { #expect(got.gaps == 0, "seed \(seed)") }
                }
            }
        }
    }
}
