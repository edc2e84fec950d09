import Feed
import Journal
import Reactor
import TestSupport
import Testing

@testable import Outputs

/// What one gets of a journal, without a loop.
@Suite(.limited) struct PastReadingTests {
    private static let time = Timestamp(seconds: 1_800_000_000)

    /// Everything that comes up to the end.
    private static func read(
        _ history: MemoryHistory, _ start: PastReading.Start, _ filter: LineFilter? = nil,
        as form: ReaderForm = .lines, atMost most: Int = .max, through known: Int? = nil, log: LineID? = nil
    ) throws -> [UInt8] {
        var reading = PastReading(from: start, filter, as: form, atMost: most, through: known)
        reading.log = log
        var bytes: [UInt8] = []
        for _ in 0..<10_000 {
            switch reading.advance(history, at: time) {
            case .bytes(let more): bytes += more
            case .last(let more): return bytes + more
            case .end(let fault?): throw fault
            case .end: return bytes
            }
        }
        Issue.record("no end")
        return bytes
    }

    // MARK: Columns

    private static func columns(
        _ history: MemoryHistory, width: Int64 = 10, from: Int = 0, until: Int = 1_000, as form: ReaderForm = .lines
    ) throws -> [UInt8] {
        let (from, until) = (FeedStage.start + .seconds(from), FeedStage.start + .seconds(until))
        let query = ColumnQuery(of: "fact", source: "fact", width: width * 1_000_000, from: from, until: until)
        return try read(
            history, .columns(query), LineFilter(types: nil, sources: ["fact"], from: from, until: until), as: form)
    }

    @Test func columnsAreThoseOfAllLinesHoweverManyAreReadAtOnce() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...10)
        history.begin("B")
        history.add(1...100, from: FeedStage.start + .seconds(5))
        history.addGap(101...120, at: FeedStage.start + .seconds(50))
        for (count, pages) in [(1, 98...106), (3, 33...40), (16, 7...9), (1_000, 2...2)] {
            history.mostCounted = count
            let before = history.pages
            let lines = try Self.columns(history, from: 3, until: 100).split(separator: 0x0A)
            #expect(pages ~= history.pages - before, "\(history.pages - before)")
            guard case .hello(let hello) = try LineDecoder.decode(lines[0]).body,
                case .bye(let bye) = try LineDecoder.decode(lines[lines.count - 1]).body
            else {
                Issue.record("no hello or no bye")
                return
            }
            #expect(hello.run == "B" && hello.filtered && hello.firstSeq == 121 && hello.nextSeq == 121)
            #expect(bye.run == "B" && bye.lastSeq == 120 && bye.reason == "until" && bye.oldest == FeedStage.start)
            let columns = lines.dropFirst(2).dropLast().compactMap { Column($0) }.filter {
                $0.values != nil || $0.gaps > 0
            }
            #expect(columns.count == 10 && columns.map { $0.values?.count } == [12] + Array(repeating: 10, count: 9))
            #expect(columns.map(\.gaps) == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0])
            #expect(columns.map { $0.start - FeedStage.start } == (0..<10).map { .seconds($0 * 10) })
        }
    }

    /// Clients leave an agent that is silent for 20 s, and a step may take 10 s.
    @Test func aLongSearchIsNotSilent() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...300)
        history.mostCounted = 1
        let query = ColumnQuery(
            of: "fact/rare", source: "fact", width: 100_000_000, from: FeedStage.start,
            until: FeedStage.start + .seconds(300))
        var reading = PastReading(from: .columns(query), nil, as: .lines)
        var bytes: [UInt8] = []
        while case .bytes(let more) = reading.advance(history, at: Self.time) {
            #expect(!more.isEmpty)
            bytes += more
        }
        let columns = bytes.split(separator: 0x0A).compactMap { Column($0) }
        #expect(columns.count > 200 && columns.allSatisfy { $0.values == nil && $0.errors == 0 && $0.gaps == 0 })
        #expect(columns.map(\.start) == columns.map(\.start).sorted())
    }

    /// An own line follows the one that says that the search goes on.
    @Test func columnsAreTheSameAfterALongSearch() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...100)
        history.mostCounted = 1
        let (from, until) = (FeedStage.start, FeedStage.start + .seconds(100))
        let query = ColumnQuery(of: "fact", source: "fact", width: 50_000_000, from: from, until: until)
        var reading = PastReading(from: .columns(query), nil, as: .lines)
        var bytes: [UInt8] = []
        while case .bytes(let more) = reading.advance(history, at: Self.time) { bytes += more }
        let counts = bytes.split(separator: 0x0A).compactMap { Column($0) }.map { $0.values?.count ?? 0 }
        #expect(counts.filter { $0 > 0 } == [50] && counts.count > 10)
    }

    @Test func columnsAreEventsToo() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...20)
        let text = String(decoding: try Self.columns(history, as: .events), as: UTF8.self)
        let lines = text.split(separator: "\n")
        #expect(lines.count == 5 && lines.allSatisfy { $0.hasPrefix("data: {\"type\":") })
    }

    @Test func columnsOfAnEmptyOrAFaultyJournalAreNone() throws {
        #expect(throws: JournalFault(.disk, "there is nothing in it yet")) { try Self.columns(MemoryHistory()) }
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...100)
        history.failsAfter = 3
        #expect(throws: JournalFault(.disk, "no disk")) { try Self.columns(history) }
        // A time without a line has no columns.
        history.failsAfter = nil
        let lines = try Self.columns(history, from: 2_000, until: 3_000).split(separator: 0x0A)
        #expect(lines.count == 3)
    }

    /// Its journal has the rest of a run only.
    @Test func whatIsBeforeAllThatIsKeptOfARunIsAGap() throws {
        let history = MemoryHistory()
        history.begin("r1", base: 100)
        history.add(100...110)
        let bytes = try Self.read(history, .after(50, run: "r1"))
        #expect(try Self.summary(bytes) == "r1(100,111): !51…99 100…110")
    }

    /// A reader gets the kept lines from there on.
    @Test func whereTheFirstLinesAreMissingIsRemembered() throws {
        let history = MemoryHistory()
        history.begin("r1")
        for numbers in [1...10, 20...30, 41...50] { history.add(numbers) }
        var reading = PastReading(from: .after(5, run: "r1"), nil, as: .lines)
        while case .bytes = reading.advance(history, at: Self.time) {}
        #expect(reading.lastBeforeMissing == 10 && reading.next == LineID("r1", 51))
    }

    /// `A:3…5` for lines of a run, `!4…9` for a gap, in their order.
    static func summary(_ bytes: [UInt8]) throws -> String {
        var parts: [String] = []
        var range: ClosedRange<Int>?
        func end() {
            if let range { parts.append("\(range.lowerBound)…\(range.upperBound)") }
            range = nil
        }
        for line in bytes.split(separator: 0x0A) {
            let decoded = try LineDecoder.decode(line)
            if let sequence = decoded.seq {
                if let known = range, known.upperBound + 1 == sequence {
                    range = known.lowerBound...sequence
                } else {
                    end()
                    range = sequence...sequence
                }
                continue
            }
            end()
            switch decoded.body {
            case .hello(let hello): parts.append("\(hello.run)(\(hello.firstSeq),\(hello.nextSeq)):")
            case .gap(let gap): parts.append("!\(gap.from)…\(gap.to)")
            case .stats: break
            case .bye(let bye): parts.append("bye(\(bye.run ?? ""),\(bye.lastSeq ?? -1))")
            default: parts.append(decoded.type)
            }
        }
        end()
        return parts.joined(separator: " ")
    }

    private static func three() -> MemoryHistory {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...10, text: 200)
        history.begin("B")
        history.add(1...5, from: FeedStage.start + .seconds(100), text: 200)
        history.begin("C")
        history.add(1...700, from: FeedStage.start + .seconds(200), text: 200)
        return history
    }

    @Test(
        arguments: [
            (8, "A", "A(9,11): 9…10 B(1,6): 1…5 C(1,701): 1…700"),
            (0, "A", "A(1,11): 1…10 B(1,6): 1…5 C(1,701): 1…700"),
            (10, "A", "B(1,6): 1…5 C(1,701): 1…700"), (99, "A", "B(1,6): 1…5 C(1,701): 1…700"),
            (Int.max, "A", "B(1,6): 1…5 C(1,701): 1…700"), (699, "C", "C(700,701): 700…700"), (700, "C", ""),
            (3, "nobody", ""),
        ])
    func goesFromRunToRun(sequence: Int, run: String, summary: String) throws {
        let history = Self.three()
        #expect(try Self.summary(Self.read(history, .after(sequence, run: run))) == summary)
        #expect(history.mostBytes <= PastReading.pageBytes)
    }

    @Test func namesWhatTheJournalHasLetGoOf() throws {
        let history = Self.three()
        history.drop(4)
        #expect(
            try Self.summary(Self.read(history, .after(1, run: "A")))
                == "A(5,11): !2…4 5…10 B(1,6): 1…5 C(1,701): 1…700")
    }

    @Test func passesOnWhatTheJournalItselfHasMissed() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...3)
        history.addGap(4...9)
        history.add(10...12)
        // A hole that nobody has named, and a line that is there twice.
        history.add(20...21)
        history.add(MemoryHistory.line(20, FeedStage.start), 22, FeedStage.start)
        history.add(23...24)
        #expect(
            try Self.summary(Self.read(history, .after(1, run: "A")))
                == "A(2,25): 2…3 !4…9 10…12 !13…19 20…21 !22…22 23…24")
        let filter = LineFilter(types: ["dog"], sources: nil)
        #expect(
            try Self.summary(Self.read(history, .after(1, run: "A"), filter))
                == "A(2,25): !4…9 !13…19 !22…22")
    }

    @Test func choosesByTypeSourceAndTime() throws {
        let history = Self.three()
        let (from, until) = (FeedStage.start + .seconds(7), FeedStage.start + .seconds(202))
        let start = PastReading.Start.time(from, until: until)
        let filter = LineFilter(types: nil, sources: nil, from: from, until: until)
        #expect(try Self.summary(Self.read(history, start, filter)) == "A(8,11): 8…10 B(1,6): 1…5 C(1,701): 1…2")
        let none = LineFilter(types: ["dog"], sources: ["fact"], from: from, until: until)
        #expect(try Self.summary(Self.read(history, start, none)) == "A(8,11): B(1,6): C(1,701):")
        let late = PastReading.Start.time(FeedStage.start + .seconds(10_000), until: nil)
        #expect(try Self.summary(Self.read(history, late)) == "")
        // What lies in between by number, and not by time.
        history.begin("D")
        history.add(1...1, from: from)
        history.add(2...2, from: FeedStage.start)
        history.add(3...3, from: from)
        #expect(
            try Self.summary(
                Self.read(history, .time(until, until: nil), LineFilter(types: nil, sources: nil, from: until)))
                == "C(3,701): 3…700 D(1,4):")
        #expect(
            try Self.summary(Self.read(history, start, filter))
                == "A(8,11): 8…10 B(1,6): 1…5 C(1,701): 1…2 D(1,4): 1…1 3…3")
    }

    @Test func givesTheNewestThatFit() throws {
        let history = Self.three()
        let size = MemoryHistory.line(100, FeedStage.start, text: 200).count + 1
        for most in [100_000, 150_000, 180_000] {
            let bytes = try Self.read(history, .after(8, run: "A"), atMost: most)
            let summary = try Self.summary(bytes)
            let first = try #require(numbers(bytes).first)
            #expect(summary == "A(9,11): !9…10 C(\(first),701): \(first)…700", "\(most)")
            #expect((most - PastReading.pageBytes - size)...most ~= (701 - first) * size, "\(most)")
            // To the byte.
            for (bytes, fits) in [((701 - first) * size, true), ((701 - first) * size - 1, false)] {
                let newest = numbers(try Self.read(history, .after(8, run: "A"), atMost: bytes)).first
                #expect((newest == first) == fits, "\(most)")
            }
            let inside = try Self.summary(Self.read(history, .after(5, run: "C"), atMost: most))
            #expect(inside == "C(\(first),701): !6…\(first - 1) \(first)…700")
        }
        let all = try Self.read(history, .after(8, run: "A"), atMost: 1 << 20)
        #expect(try Self.summary(all) == "A(9,11): 9…10 B(1,6): 1…5 C(1,701): 1…700")
        // Only what is asked for is counted.
        let filter = LineFilter(types: ["dog"], sources: nil)
        #expect(
            try Self.summary(Self.read(history, .after(8, run: "A"), filter, atMost: 1_000))
                == "A(9,11): B(1,6): C(1,701):")
        let until = FeedStage.start + .seconds(500)
        let interval = LineFilter(types: nil, sources: nil, until: until)
        let newest = try Self.summary(
            Self.read(history, .time(nil, until: until), interval, atMost: 1_000 + PastReading.pageBytes))
        #expect(newest.hasPrefix("C(") && newest.hasSuffix("…300"), "\(newest)")
    }

    /// A log may be larger than what is given at once.
    @Test func givesTheNewestThatFitWhereTheLogHasMore() throws {
        let history = Self.three()
        for log in [LineID("C", 1), LineID("C", 200)] {
            let bytes = try Self.read(history, .time(nil, until: nil), atMost: 100_000, log: log)
            let first = try #require(numbers(bytes).first)
            #expect(first > 200 && bytes.count < 100_000)
            #expect(try Self.summary(bytes) == "C(\(first),701): \(first)…700")
            let behind = try Self.read(history, .after(5, run: "C"), atMost: 100_000, log: log)
            #expect(try Self.summary(behind) == "C(\(first),701): !6…\(first - 1) \(first)…700")
        }
    }

    /// Whoever was told of more than the journal has of a run gets that named before another one comes.
    @Test func namesWhatIsKnownOfARunBeyondTheJournals() throws {
        let history = Self.three()
        #expect(
            try Self.summary(Self.read(history, .after(5, run: "A"), through: 20))
                == "A(6,11): 6…10 !11…20 B(1,6): 1…5 C(1,701): 1…700")
        #expect(
            try Self.summary(Self.read(history, .after(5, run: "A"), through: 10))
                == "A(6,11): 6…10 B(1,6): 1…5 C(1,701): 1…700")
        let old = MemoryHistory()
        old.begin("A")
        old.add(1...10)
        var reading = PastReading(from: .after(5, run: "A"), nil, as: .lines, through: 20)
        for _ in 0..<3 { _ = reading.advance(old, at: Self.time) }
        #expect(try Self.summary(reading.leave(because: nil, for: "B", at: Self.time).gap) == "!11…20")
    }

    /// Behind the end of the interval nothing is read but a page of each run, to see that it is over: the number of pages says so.
    @Test func endsWithTheIntervalsLastLine() throws {
        let history = Self.three()
        let until = FeedStage.start + .seconds(3)
        let filter = LineFilter(types: nil, sources: nil, until: until)
        #expect(try Self.summary(Self.read(history, .time(nil, until: until), filter)) == "A(1,11): 1…3")
        #expect(history.pages < 8)
    }

    /// The `gap` of a hole is written when it is over.
    @Test(arguments: [
        (5, 15, "A(6,701): 6…10 !11…20"), (12, 15, "A(11,701): !11…20"), (12, 26, "A(11,701): !11…20 21…21"),
        (400, 402, "A(396,701): 396…397"),
    ])
    func namesWhatIsMissingWhereTheIntervalEnds(from: Int, until: Int, expected: String) throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...10, text: 200)
        history.addGap(11...20, at: FeedStage.start + .seconds(25))
        history.add(21...700, from: FeedStage.start + .seconds(25), text: 200)
        let (from, until) = (FeedStage.start + .seconds(from), FeedStage.start + .seconds(until))
        let filter = LineFilter(types: nil, sources: nil, from: from, until: until)
        let bytes = try Self.read(history, .time(from, until: until), filter)
        #expect(try Self.summary(bytes) == expected)
    }

    /// What the journal has behind the interval is not missing: a `gap` of the log's begins behind it.
    @Test func goesOnBehindAllThatThereIsWhereTheIntervalEnds() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...20)
        let until = FeedStage.start + .seconds(3)
        let filter = LineFilter(types: nil, sources: nil, until: until)
        var reading = PastReading(from: .time(nil, until: until), filter, as: .lines)
        while reading.advance(history, at: Self.time) != .end(nil) {}
        #expect(reading.next == LineID("A", 21))
    }

    /// What the run has behind the interval is not missing, though it was not read.
    @Test func whatIsBehindTheIntervalIsNotMissing() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...1_000, text: 200)
        let until = FeedStage.start + .seconds(3)
        let filter = LineFilter(types: nil, sources: nil, until: until)
        var reading = PastReading(from: .time(nil, until: until), filter, as: .lines)
        while reading.advance(history, at: Self.time) != .end(nil) {}
        #expect(try #require(reading.next).sequence < 1_000)
        #expect(reading.leave(because: nil, for: "B", at: Self.time) == ([], []))
    }

    @Test func eachLineHasItsIDAcrossRuns() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...3)
        history.begin("B")
        history.add(1...2)
        let bytes = try Self.read(history, .after(1, run: "A"), as: .events)
        let events = EventStream(bytes).events
        #expect(events.map(\.id) == ["", "", "A-2", "A-3", "A-3", "A-3", "B-1", "B-2"])
        let lines = try Self.read(history, .after(1, run: "A"))
        #expect(events.map(\.data) == lines.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) })
    }

    /// A file says what it likes; what comes of it is whole lines in order, or a fault.
    @Test func takesNothingForALineThatIsNone() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...2)
        let bad = [
            "{\"seq\":3", "", "nonsense", "{\"seq\":3,\"time\":1,\"type\":\"x\"}", "{\"type\":\"bye\",\"time\":\"x\"}",
            "{\"seq\":9223372036854775807,\"time\":\"2026-01-01T00:00:00.000000Z\",\"type\":\"x\"}",
            "{\"seq\":-3,\"time\":\"2026-01-01T00:00:00.000000Z\",\"type\":\"x\"}", "\u{1B}[2J",
            "{\"type\":\"gap\",\"time\":\"2026-01-01T00:00:00.000000Z\",\"from\":1,\"to\":9223372036854775807,\"reason\":\"x\"}",
            String(repeating: "[", count: 100_000), "{\"seq\":3,\"time\":\"2026-01-01T00:00:00.000000Z\"}\n{\"seq\":4",
        ]
        for (index, text) in bad.enumerated() { history.add(Array(text.utf8), 3 + index, FeedStage.start) }
        history.add(20...21)
        #expect(try Self.summary(Self.read(history, .after(0, run: "A"))) == "A(1,22): 1…2 !3…19 20…21")
    }

    @Test(arguments: ["", "nonsense", "{\"type\":\"stats\"}", "\u{1B}"])
    func aRunThatBeginsWithNothingIsAFault(hello: String) throws {
        let history = MemoryHistory()
        history.begin("A", hello: Array(hello.utf8))
        history.add(1...2)
        #expect(throws: JournalFault.self) { try Self.read(history, .after(0, run: "A")) }
    }

    @Test func aRunThatHasNoNameIsAFault() throws {
        let history = MemoryHistory()
        history.begin("A")
        history.add(1...2)
        history.begin("a b\"")
        history.add(1...2)
        #expect(throws: JournalFault.self) { try Self.read(history, .after(0, run: "A")) }
    }

    @Test func statsThatAreNoneAreReplaced() throws {
        let good = ControlLine.stats(time: FeedStage.start, asOf: 7, endpoints: [], sources: [])
        for (stats, asOf) in [(nil, 1), (good, 7), (Array("{\n}\n".utf8), 1), (good + good, 7), ([0x0A], 1)] {
            let history = MemoryHistory()
            history.begin("A", stats: stats)
            history.add(1...3)
            let lines = try Self.read(history, .after(1, run: "A")).split(separator: 0x0A)
            guard case .stats(let found) = try LineDecoder.decode(lines[1]).body else {
                Issue.record("no stats")
                continue
            }
            #expect(lines.count == 4 && found.asOf == asOf)
        }
    }

    @Test(arguments: [false, true]) func aFleetsRunIsThatOfAFleet(isFleet: Bool) throws {
        let hello = ControlLine.hello(
            time: FeedStage.start, identity: AgentIdentity(run: "A", version: "1", started: FeedStage.start),
            isFiltered: false, interval: .seconds(10), history: .seconds(120), firstSequence: 1, nextSequence: 1,
            isFleet: isFleet)
        let history = MemoryHistory()
        history.begin("A", hello: hello)
        history.add(1...3)
        let lines = try Self.read(history, .after(1, run: "A")).split(separator: 0x0A)
        guard case .hello(let told) = try LineDecoder.decode(lines[0]).body else {
            Issue.record("no hello")
            return
        }
        #expect(told.isFleet == isFleet)
    }

    @Test func saysWhatIsMissingWhenTheJournalFails() throws {
        let history = Self.three()
        var reading = PastReading(from: .after(8, run: "A"), nil, as: .lines)
        for _ in 0..<4 { _ = reading.advance(history, at: Self.time) }
        // A, B and the first page of C.
        let next = try #require(reading.next?.sequence)
        #expect(reading.next?.run == "C" && next < 700)
        let fault = JournalFault(.disk, "gone")
        #expect(reading.leave(because: fault, for: "C", at: Self.time) == ([], []))
        let (gap, refusal) = reading.leave(because: fault, for: "D", at: Self.time)
        #expect(try Self.summary(gap) == "!\(next)…700" && !refusal.isEmpty)
        #expect(reading.leave(because: nil, for: "D", at: Self.time) == ([], []))
    }

    /// In the new file another run has the number of the one that is read, and a line behind the place in it.
    @Test(arguments: 1...4) func aFileThatIsReplacedMeanwhileEndsTheReading(steps: Int) throws {
        let (former, new) = (MemoryHistory(), MemoryHistory())
        for (history, run) in [(former, "A"), (new, "B")] {
            history.begin(run)
            history.add(1...700, text: 200)
        }
        new.files = 2
        var reading = PastReading(from: .after(0, run: "A"), nil, as: .events)
        for _ in 0..<steps { _ = reading.advance(former, at: Self.time) }
        let next = reading.next
        #expect(next?.run == "A")
        let step = reading.advance(new, at: Self.time)
        #expect(step == .end(JournalFault(.disk, "it was replaced while it was read")))
        #expect(reading.next == next)
    }
}

/// The numbers of lines.
private func numbers(_ bytes: [UInt8]) -> [Int] {
    bytes.split(separator: 0x0A).compactMap { FeedTranscript.number(Array($0)) }
}
