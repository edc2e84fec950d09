import Feed
import Glibc
import Inputs
import Journal
import Reactor
import TestSupport
import Testing

/// Recordings played back in virtual time.
@Suite(.limited) struct ReplayInputTests {
    private static func play(
        _ text: String, speed: ReplaySpeed = .most, from: Timestamp? = nil, piece: Int = .max,
        reading pause: Duration = .zero,
        _ adjust: @escaping @Sendable (inout FeedState.Limits) -> Void = { _ in },
        beside body: @escaping @Sendable (ReplayStage) async throws -> Void = { _ in }
    ) async throws -> ReplayStage {
        try await withLoop(virtual: true) { loop in
            let stage = ReplayStage(on: loop, speed: speed, adjust)
            async let beside: Void = body(stage)
            try await stage.play(ByteSource(Array(text.utf8), piece: piece), from: from, reading: pause)
            try await beside
            return stage
        }
    }

    // MARK: What comes through

    @Test(arguments: [1, 7, 100, Int.max]) func numberedLinesComeByteForByteHoweverTheyAreRead(piece: Int) async throws
    {
        let lines = (1...40).map {
            $0 % 3 == 0 ? Recorded.latency($0, at: Double($0)) : Recorded.data($0, at: Double($0))
        }
        let stage = try await Self.play(
            Recorded.hello() + lines.joined() + Recorded.bye(at: 41, last: 40), piece: piece)
        #expect(stage.numbered.map { $0.text + "\n" } == lines && stage.said.isEmpty)
        #expect(stage.runs == ["\"r1\""] && stage.gaps.isEmpty)
        #expect(stage.got.last?.raw("last_seq") == "40" && stage.got.last?.raw("run") == "\"r1\"")
    }

    @Test func runsComeOneAfterTheOtherAndNothingOfTheFirstIsLostToASlowOutput() async throws {
        let first = (1...3_000).map { Recorded.data($0, at: Double($0)) }
        let second = (1...20).map { Recorded.data($0, at: Double(4_000 + $0)) }
        let text =
            Recorded.hello("a") + first.joined() + Recorded.bye("a", at: 3_001, last: 3_000)
            + Recorded.hello("b", at: 4_000) + second.joined()
        let stage = try await Self.play(text, reading: .milliseconds(50)) { $0.logCapacity = 1 << 17 }
        #expect(stage.numbered.map { $0.text + "\n" } == first + second)
        #expect(stage.runs == ["\"a\"", "\"b\""] && stage.gaps.isEmpty)
    }

    @Test func whatIsMissingIsNamedAndWhatIsThereTwiceComesOnce() async throws {
        let text =
            Recorded.hello() + Recorded.data(1, at: 1) + Recorded.data(5, at: 2)
            + "{\"type\":\"gap\",\"time\":\(Recorded.time(3)),\"from\":6,\"to\":9,\"reason\":\"slow_reader\"}\n"
            + Recorded.hello(at: 3) + Recorded.data(5, at: 2) + Recorded.data(10, at: 4)
        let stage = try await Self.play(text)
        #expect(stage.numbered.compactMap(\.seq) == [1, 5, 10] && stage.gaps == ["2-4", "6-9"])
        #expect(stage.runs.count == 1)
    }

    @Test func linesWithoutAHelloGetOneThatBeginsWithTheFirst() async throws {
        let stage = try await Self.play(
            Recorded.bye(at: 0, last: 1) + Recorded.data(7, at: 1) + Recorded.latency(8, at: 2))
        #expect(stage.runs == ["\"replay\""] && stage.numbered.compactMap(\.seq) == [7, 8] && stage.gaps.isEmpty)
        let hello = try #require(stage.got.first { $0.text.hasPrefix("{\"type\":\"hello\"") })
        #expect(hello.raw("first_seq") == "7")
    }

    // MARK: Pace

    @Test(arguments: [(1_000, 30), (10_000, 3), (100, 300)])
    func linesComeWhenTheirTurnIs(thousandths: Int, total: Int64) async throws {
        let lines = (0...3).map { Recorded.data($0 + 1, at: Double($0) * 10) }.joined()
        let stage = try await Self.play(Recorded.hello() + lines, speed: .thousandths(thousandths))
        let times = stage.numbered.map(\.after)
        for (index, time) in times.enumerated() {
            #expect(abs((time - .seconds(total) * index / 3).seconds) < 0.001, "\(times)")
        }
        // Whoever looks at the wall clock sees when it was recorded.
        let clocks = stage.numbered.map { ($0.clock - ReplayStage.began).seconds }
        #expect(zip(clocks, [0.0, 10, 20, 30]).allSatisfy { abs($0 - $1) < 0.001 }, "\(clocks)")
    }

    @Test func atTheGreatestSpeedNothingIsWaitedForAndTheClockIsAtTheNewestLine() async throws {
        let stage = try await Self.play(Recorded.hello() + Recorded.data(1, at: 0) + Recorded.data(2, at: 3_000))
        #expect(stage.got.allSatisfy { $0.after == .zero })
        #expect(stage.clock.now == ReplayStage.began + .seconds(3_000) && stage.clock.rate == 0)
    }

    @Test func aPauseStopsTheClockAndTheLinesUntilItIsOver() async throws {
        let text = Recorded.hello() + Recorded.data(1, at: 0) + Recorded.data(2, at: 10)
        let stage = try await Self.play(text, speed: .usual) { _ in
        } beside: { stage in
            try await stage.loop.sleep(for: .seconds(4))
            stage.clock.togglePause()
            let time = stage.clock.now
            try await stage.loop.sleep(for: .seconds(3_600))
            #expect(stage.clock.now == time && stage.clock.rate == 0)
            // Who comes now gets what there is: it does not grow old while time stands still.
            let (_, greeting) = await stage.store.open(nil)
            #expect(String(decoding: greeting, as: UTF8.self).contains(#""first_seq":1,"#))
            stage.clock.togglePause()
        }
        #expect(abs((try #require(stage.numbered.last).after - .seconds(3_610)).seconds) < 0.01)
    }

    @Test func anotherSpeedHoldsFromThenOnAndAKeyLeapsToTheNextLine() async throws {
        let text = Recorded.hello() + (0...3).map { Recorded.data($0 + 1, at: Double($0) * 100) }.joined()
        let stage = try await Self.play(text, speed: .usual) { _ in
        } beside: { stage in
            try await stage.loop.sleep(for: .seconds(50))
            stage.clock.changeSpeed(isFaster: true)  // 2x: 25 s more
            try await stage.loop.sleep(for: .seconds(30))
            stage.clock.skip()  // at 80 s; the third line
            stage.clock.changeSpeed(isFaster: false)
            try await stage.loop.sleep(for: .seconds(1))
            stage.clock.changeSpeed(isFaster: false)  // 0.5x: 99 s of the last 100 s are left
        }
        let times = stage.numbered.map { $0.after.seconds }
        #expect(zip(times, [0, 75, 80, 279]).allSatisfy { abs($0 - $1) < 0.01 }, "\(times)")
    }

    @Test func aCenturyOfSilenceIsLeaptOverAndSaid() async throws {
        let text =
            Recorded.hello() + Recorded.data(1, at: 0) + Recorded.data(2, at: 3_155_760_000)
            + Recorded.data(3, at: 3_155_763_600)
        let stage = try await Self.play(text, speed: .usual)
        #expect(stage.numbered.map { Int($0.after.seconds.rounded()) } == [0, 0, 3_600])
        #expect(stage.said.count == 1 && stage.said[0].contains("876600 h"), "\(stage.said)")
    }

    @Test func outputsThatHoldItUpAreWaitedForByTheClockToo() async throws {
        let text = Recorded.hello() + (1...2_000).map { Recorded.data($0, at: Double($0) * 0.01) }.joined()
        let stage = try await Self.play(text, speed: .usual, reading: .seconds(5)) { $0.logCapacity = 1 << 16 }
        #expect(stage.numbered.count == 2_000 && stage.gaps.isEmpty)
        // Twenty recorded seconds take as long as the reader, and the clock is not ahead of what was passed on.
        #expect(try #require(stage.got.last).after > .seconds(60))
        #expect(abs((stage.clock.now - ReplayStage.began).seconds - 20) < 1)
    }

    // MARK: From a time on

    @Test func itBeginsAtTheFirstLineOfThatTimeOrLater() async throws {
        let text =
            Recorded.hello("a") + Recorded.data(1, at: 1) + Recorded.hello("b", at: 100)
            + "{\"type\":\"stats\",\"time\":\(Recorded.time(100)),\"as_of\":0,\"endpoints\":[],\"sources\":[{\"source\":\"fact\",\"state\":\"starting\",\"since\":\(Recorded.time(100))}]}\n"
            + (1...50).map { Recorded.data($0, at: 100 + Double($0)) }.joined()
        let stage = try await Self.play(text, speed: .usual, from: ReplayStage.began + .seconds(140))
        #expect(stage.numbered.compactMap(\.seq) == Array(40...50) && stage.gaps.isEmpty && stage.runs == ["\"b\""])
        #expect(abs(try #require(stage.numbered.last).after.seconds - 10) < 0.01)
        #expect(stage.got.contains { $0.text.contains(#""sources":[{"source":"fact""#) })
    }

    // MARK: What is none

    @Test func linesThatAreNoneAreCountedAndSaidOnce() async throws {
        var text = Recorded.hello() + "nonsense\n\n  \r\n"
        text += Recorded.data(1, at: 1) + "\u{0}\u{0}\n{\"a\":1}\n[[[[\n"
        text += "\"" + String(repeating: "x", count: 3 << 20) + "\"\n"
        text += Recorded.data(2, at: 2) + "{\"seq\":3,\"time\":\"2020-"
        let stage = try await Self.play(text)
        #expect(stage.numbered.compactMap(\.seq) == [1, 2] && !stage.isCutShort)
        let said = try #require(stage.said.first)
        #expect(stage.said.count == 1, "\(stage.said)")
        #expect(said.hasPrefix("the file: 6 lines are no lines of a feed, the first of them line 2: "), "\(said)")
    }

    @Test func theGreatestNumberIsNoLines() async throws {
        let gap = #"{"type":"gap","time":\#(Recorded.time(3)),"from":2,"to":\#(Int.max),"reason":"x"}"# + "\n"
        let stage = try await Self.play(
            Recorded.hello() + Recorded.data(1, at: 1) + Recorded.data(Int.max, at: 2) + gap
                + Recorded.data(2, at: 4))
        #expect(stage.numbered.compactMap(\.seq) == [1, 2] && stage.gaps.isEmpty)
        let said = try #require(stage.said.first)
        #expect(stage.said.count == 1 && said.contains("2 lines are no lines of a feed"), "\(stage.said)")
        #expect(said.hasSuffix("its number is \(Int.max), which is no number of a line"), "\(stage.said)")
    }

    @Test func aByteOrderMarkBeforeItIsPassedOver() async throws {
        let text = "\u{FEFF}" + Recorded.hello() + Recorded.data(1, at: 1) + "\u{FEFF}" + Recorded.data(2, at: 1)
        let stage = try await Self.play(text)
        #expect(stage.runs == ["\"r1\""] && stage.numbered.count == 2 && stage.said.isEmpty)
    }

    @Test func aLastLineWithoutANewlineIsOne() async throws {
        let stage = try await Self.play(String((Recorded.hello() + Recorded.data(1, at: 1)).dropLast()))
        #expect(stage.numbered.compactMap(\.seq) == [1] && stage.said.isEmpty)
    }

    @Test(
        arguments: [([0x1F, 0x8B, 8, 0, 10, 1], "zcat"), ([0x28, 0xB5, 0x2F, 0xFD, 0], "zstdcat")]
            as [([UInt8], String)])
    func compressedBytesSayWhatReadsThem(bytes: [UInt8], tool: String) async throws {
        let stage = try await withLoop(virtual: true) { loop in
            let stage = ReplayStage(on: loop, speed: .most)
            try await stage.play(ByteSource(bytes, piece: 3))
            return stage
        }
        #expect(stage.isCutShort && stage.said == ["the file: it is compressed: \(tool) FILE | catwatch --replay -"])
    }

    @Test func aJournalThroughAPipeAndAFileThatBreaksOffAreSaid() async throws {
        let said = try await withLoop(virtual: true) { loop in
            let journal = ReplayStage(on: loop, speed: .most)
            try await journal.play(ByteSource(Array("SQLite format 3\0\u{10}\0".utf8)))
            let broken = ReplayStage(on: loop, speed: .most)
            try await broken.play(
                ByteSource(
                    Array((Recorded.hello() + Recorded.data(1, at: 1)).utf8), end: SystemError(code: EIO, call: "read"))
            )
            #expect(journal.isCutShort && broken.isCutShort && broken.numbered.count == 1)
            return journal.said + broken.said
        }
        #expect(said.count == 2 && said[0].contains("a journal is read from its file"))
        #expect(said[1].contains("Input/output error"), "\(said)")
    }

    @Test func aMillionHolesAndBackwardNumbersHoldNothingUp() async throws {
        let text = Recorded.hello() + (1...300).map { Recorded.data($0 * 1_000_000, at: Double($0)) }.joined()
        let stage = try await Self.play(text + Recorded.data(5, at: 400)) { $0.logCapacity = 1 << 20 }
        #expect(stage.numbered.count == 300 && stage.gaps.count == 300)
    }

    @Test func itEndsAfterSoManyEvents() async throws {
        let text = Recorded.hello() + (1...100).map { Recorded.data($0, at: 0) }.joined()
        let stage = try await Self.play(text) {
            $0.data = 10
        } beside: { stage in
            try await stage.store.waitForLimit()
            await stage.store.finish("count")
        }
        #expect(stage.numbered.count == 10)
    }

    // MARK: Journals

    /// Keeps runs in a journal as an agent would.
    ///
    /// - Parameter state: stored behind the first run; empty for none.
    static func journal(
        _ runs: [(name: String, lines: [String])], at path: String, stats: String = "", state: String = ""
    ) throws {
        let store = SQLiteLineStore(path: path)
        _ = try store.open()
        for run in runs {
            var log = LineLog()
            var numbers: [Int] = []
            for line in run.lines {
                let number = try #require(try LineDecoder.decode(Bytes(line.utf8)).seq)
                if number > log.nextSequence { log.skip(to: number) }
                numbers.append(number)
                log.append(atMost: line.utf8.count, at: LoopInstant(nanoseconds: 0)) { _, start in
                    var writer = start
                    Array(line.utf8).withUnsafeBufferPointer { writer.raw($0) }
                    return writer
                }
            }
            var next = try #require(numbers.first)
            let hello = Recorded.hello(run.name, first: next)
            var pieces = [JournalPiece.greeting(Array((hello + stats).utf8))]
            while case .lines(let span) = log.read(from: next) {
                pieces.append(.lines(span))
                next = span.sequences.upperBound + 1
            }
            if run.name == runs[0].name, !state.isEmpty { pieces.append(.state(Array(state.utf8))) }
            try store.commit(pieces, at: ReplayStage.began)
        }
        store.close()
    }

    @Test(arguments: [nil, 1_500]) func aJournalIsPlayedBackRunAfterRun(from: Int?) async throws {
        let folder = try TestSupport.TemporaryFolder()
        let path = folder.path("j.db")
        let first = (100...2_100).map { Recorded.data($0, at: Double($0 - 100)) }
        let second = (1...30).map { Recorded.data($0, at: 2_500 + Double($0)) }
        try Self.journal([("a", first), ("b", second)], at: path)
        #expect(JournalStream.isJournal(path) && !JournalStream.isJournal(folder.path("none")))
        let stage = try await withLoop(virtual: true) { loop in
            let stage = ReplayStage(on: loop, speed: .most)
            let start = from.map { ReplayStage.began + .seconds($0) }
            let stream = JournalStream(SQLiteHistory(path: path), from: start, on: loop, worker: loop)
            try await stage.play(stream, from: start)
            return stage
        }
        #expect(stage.numbered.map { $0.text + "\n" } == Array(first[(from ?? 0)...]) + second)
        #expect(stage.runs == ["\"a\"", "\"b\""] && stage.gaps.isEmpty && stage.said.isEmpty, "\(stage.said)")
    }

    @Test func aPipeIsNoJournalAndLosesNothingWhenItIsLookedAt() throws {
        let folder = try TestSupport.TemporaryFolder()
        let path = folder.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let text = Array("SQLite format 3\0 and more".utf8)
        let pipe = try Descriptor.open(path, flags: O_RDWR | O_NONBLOCK)
        try text.withUnsafeBytes { try Descriptor.write($0, to: pipe.number) }
        #expect(!JournalStream.isJournal(path))
        var left = [UInt8](repeating: 0, count: 100)
        #expect(read(pipe.number, &left, left.count) == text.count && Array(left[..<text.count]) == text)
    }

    @Test func aJournalWithoutSuchATimeAndOneThatIsNoneAreSaid() async throws {
        let folder = try TestSupport.TemporaryFolder()
        try Self.journal([("a", [Recorded.data(1, at: 1)])], at: folder.path("j.db"))
        try folder.write("SQLite format 3\0 and then nothing of the kind", to: "broken.db")
        let said = try await withLoop(virtual: true) { loop in
            let late = ReplayStage(on: loop, speed: .most)
            let from = ReplayStage.began + .seconds(5)
            try await late.play(
                JournalStream(SQLiteHistory(path: folder.path("j.db")), from: from, on: loop, worker: loop), from: from)
            let broken = ReplayStage(on: loop, speed: .most)
            try await broken.play(
                JournalStream(SQLiteHistory(path: folder.path("broken.db")), from: nil, on: loop, worker: loop))
            #expect(!late.isCutShort && broken.isCutShort)
            return late.said + broken.said
        }
        #expect(
            said.count == 2 && said[0].contains("no line of that time")
                && said[1].contains("cannot be read any further"), "\(said)")
    }
}
