import Nats
import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Outputs

/// Without servers, a store or a loop: a test says what has happened, and when.
@Suite(.limited) struct NatsStepsTests {
    private typealias Step = NatsSteps.Step

    /// Servers that accept everything, as long as `faults` has none for them, and a feed of `deliveries`.
    private struct Stage {
        var steps: NatsSteps
        var now = LoopInstant(nanoseconds: 1_000_000_000)
        var deliveries: [Delivery] = []
        var run = "r1"
        var isFleet = false
        /// Whether the reader was greeted for the feed's run, as it is by the next greeting.
        var isCurrent = true
        var most = 1 << 20
        var stream = NatsStream()
        /// How many kept lines there are from a cursor on; nil stands for the first one.
        var kept: [(cursor: KeptCursor?, count: Int)] = []
        /// The answers to the next messages; nil when the stream knew the message's id before.
        var faults: [NatsFault.Kind?] = []
        /// The steps since the last call of `go`, and all messages that were sent.
        var performed: [Step] = []
        var sent: [NatsMessage] = []

        init(sendsLines: Bool = false) {
            var settings = NatsSettings(to: NatsServers([NatsAddress(host: "h")]))
            settings.sendsLines = sendsLines
            stream.subjects = [NatsSubject.all]
            steps = NatsSteps(as: "web1", of: "h1", settings, random: SeededGenerator(seed: 1), at: now)
            steps.read(.greeting([]), of: run, isFleet: false, at: now)
        }

        var moment: Moment { Moment(wall: Timestamp(seconds: 1_700_000_000), now: now) }
        mutating func pass(_ time: Duration) { now = now.advanced(by: time) }
        mutating func news() -> [String] {
            steps.takeNews().map {
                switch $0 {
                case .error(let failure): failure.message
                case .recovered(let recovery): "recovered after \(recovery.attempts)"
                default: "?"
                }
            }
        }

        /// Performs steps up to one that takes time, and returns that.
        @discardableResult
        mutating func go(_ deliveries: Delivery...) -> Step {
            self.deliveries += deliveries
            performed = []
            for _ in 0..<10_000 {
                let step = steps.next(at: moment)
                performed.append(step)
                switch step {
                case .connect: steps.connect(.success(most), at: now)
                case .check: steps.check(.success(stream), at: now)
                case .publish(let message):
                    sent.append(message)
                    if faults.isEmpty {
                        steps.publish(.success(false), at: moment)
                    } else if let kind = faults.removeFirst() {
                        steps.publish(.failure(NatsFault(kind, "it is \(kind)")), at: moment)
                    } else {
                        steps.publish(.success(true), at: moment)
                    }
                case .greet:
                    steps.greet(isCurrent ? Array("hello\nstats\n".utf8) : nil, isFleet: isFleet, at: now)
                case .readKept(let cursor, let limit):
                    let index = kept.firstIndex { $0.cursor == cursor }
                    let count = min(limit.lines, index.map { kept[$0].count } ?? 0)
                    if let index { kept[index].count -= count }
                    let lines = Array(repeatElement(Array("kept\n".utf8), count: count).joined())
                    steps.readKept(lines, count, cursor ?? KeptCursor(), at: now)
                case .read:
                    let delivery = self.deliveries.isEmpty ? nil : self.deliveries.removeFirst()
                    if case .greeting? = delivery { isCurrent = true }
                    steps.read(delivery, of: run, isFleet: isFleet, at: now)
                case .wait, .pause, .end: return step
                }
            }
            Issue.record("it takes no time")
            return .end
        }
    }

    /// Lines of the log with these numbers, in a chunk of their own.
    private static func lines(_ numbers: ClosedRange<Int>, length: Int = 100) throws -> Delivery {
        var log = LineLog()
        for number in 1...numbers.upperBound {
            var text = Array("\n".utf8)
            if number >= numbers.lowerBound {
                let start = #"{"seq":\#(number),"text":""#
                text = Array((start + String(repeating: "x", count: length - start.utf8.count - 3) + "\"}\n").utf8)
            }
            let room = number == numbers.lowerBound ? numbers.count * length + (1 << 17) : text.count
            log.append(atMost: room, at: LoopInstant(nanoseconds: 0)) { _, writer in
                var writer = writer
                writer.raw(text[...])
                return writer
            }
        }
        guard case .lines(let span) = log.read(from: numbers.lowerBound) else { throw Missing() }
        #expect(span.sequences == numbers)
        return .lines(span)
    }
    private struct Missing: Error {}

    /// The numbers that a message names, such as `3-5`.
    private static func numbers(_ message: NatsMessage?) -> String {
        let values = [NatsHeader.first, NatsHeader.last].map { name in
            message?.headers[name] ?? ""
        }
        return values.joined(separator: "-")
    }
    private static func isLast(_ message: NatsMessage?) -> Bool {
        message?.headers[NatsHeader.ended] == "yes"
    }
    private static func isPause(_ step: Step, atMost time: Duration) -> Bool {
        if case .pause(let pause) = step { pause <= time } else { false }
    }

    // MARK: What a message has

    @Test func theServerAndTheStreamComeBeforeTheFirstOne() throws {
        var stage = Stage()
        #expect(stage.steps.state == "connecting")
        let begun = stage.now
        #expect(stage.go(try Self.lines(1...3)) == .wait(until: begun.advanced(by: .seconds(60))))
        let message = try #require(stage.sent.first)
        let room = NatsBatch.usual - 2_048
        #expect(
            stage.performed.prefix(3) == [.connect, .check, .greet(atMost: room)]
                && stage.sent.count == 1)
        #expect(message.id == "r1-1-3" && Self.numbers(message) == "1-3")
        #expect(
            message.headers[NatsHeader.run] == "r1"
                && message.headers[NatsHeader.host] == "h1")
        #expect(stage.steps.state == "ok" && stage.news() == [])
    }

    @Test func theNextMessageIsSentAtItsTimeAndTheNextGreetingAtIts() throws {
        var stage = Stage()
        let begun = stage.now
        stage.go(try Self.lines(1...3))
        stage.pass(.milliseconds(10))
        #expect(stage.go(try Self.lines(4...5)) == .wait(until: begun.advanced(by: .milliseconds(200))))
        // More of them change nothing.
        #expect(stage.go(try Self.lines(6...6)) == .wait(until: begun.advanced(by: .milliseconds(200))))
        #expect(stage.sent.count == 1 && stage.steps.missing(of: "r1", through: 6) == 3)
        stage.pass(.milliseconds(190))
        #expect(stage.go() == .wait(until: begun.advanced(by: .seconds(60))))
        #expect(stage.sent.count == 2 && Self.numbers(stage.sent.last) == "4-6")
        stage.pass(.seconds(60))
        #expect(stage.go() == .wait(until: stage.now.advanced(by: .seconds(60))))
        #expect(stage.sent.count == 3 && Self.numbers(stage.sent.last) == "-" && stage.sent.last?.id == nil)
    }

    /// Whatever its time is: the lines behind it may be of another run.
    @Test func aGreetingBeginsAMessage() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        stage.run = "r2"
        stage.go(try Self.lines(4...5), .greeting([]), try Self.lines(1...1))
        #expect(stage.sent.map(Self.numbers) == ["1-3", "4-5"])
        #expect(stage.sent.last?.headers[NatsHeader.run] == "r1")
        #expect(stage.steps.missing(of: "r2", through: 1) == 1 && stage.steps.missing(of: "r1", through: 9) == 9)
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(Self.numbers(stage.sent.last) == "1-1" && stage.sent.last?.headers[NatsHeader.run] == "r2")
        #expect(String(decoding: stage.sent[2].payload, as: UTF8.self).hasPrefix("hello\nstats\n{"))
        #expect(stage.steps.missing(of: "r2", through: 4) == 3)
    }

    private static func gap(_ missing: ClosedRange<Int>) -> Delivery {
        .gap(ControlLine.gap(time: Timestamp(seconds: 0), missing: missing, reason: "slow_reader"))
    }
    private static func run(_ message: NatsMessage) -> String? { message.headers[NatsHeader.run] }

    @Test func aRunThatHasEndedHasAMessageOfItsOwn() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        stage.run = "r4"
        stage.go(
            try Self.lines(4...5), Self.gap(6...7), .ended(Array("hello r2\nstats\n".utf8), run: "r2"), Self.gap(1...4),
            .ended(Array("hello r3\nstats\n".utf8), run: "r3"), Self.gap(8...9), .greeting([]), try Self.lines(1...1))
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(stage.sent.map(Self.numbers) == ["1-3", "4-7", "1-4", "8-9", "1-1"])
        #expect(stage.sent.map(Self.run) == ["r1", "r1", "r2", "r3", "r4"])
        let texts = stage.sent.map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(texts[2].hasPrefix("hello r2\nstats\n{\"type\":\"gap\"") && texts[3].hasPrefix("hello r3\nstats\n{"))
        #expect(texts[4].hasPrefix("hello\nstats\n{") && !texts[1].contains("hello"))
        #expect(stage.steps.missing(of: "r4", through: 4) == 3)
    }

    @Test func anEndedRunOfAFleetIsNotPublished() {
        var stage = Stage()
        (stage.run, stage.isFleet) = ("r3", true)
        stage.go(.ended(Array("hello r2\nstats\n".utf8), run: "r2"), Self.gap(1...4))
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(stage.sent.isEmpty)
    }

    @Test func aLineByItselfIsOfItsOwnRun() throws {
        var stage = Stage(sendsLines: true)
        stage.go(try Self.lines(1...1))
        (stage.run, stage.isCurrent) = ("r2", false)
        stage.go(try Self.lines(2...2), .greeting([]), try Self.lines(1...1))
        stage.pass(.milliseconds(200))
        stage.go()
        let lines = stage.sent.filter { Self.numbers($0) != "-" }
        #expect(lines.map(Self.numbers) == ["1-1", "2-2", "1-1"])
        let texts = lines.map { String(decoding: $0.payload, as: UTF8.self) }
        for (text, run) in zip(texts, ["r1", "r1", "r2"]) { #expect(text.contains("\"origin_run\":\"\(run)\"")) }
    }

    @Test func anotherGreetingOfTheRunLeavesWhatTheStreamHas() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3), .greeting([]))
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(stage.sent.map(Self.numbers) == ["1-3", "-"])
        #expect(stage.steps.missing(of: "r1", through: 4) == 1)
    }

    /// The log may be of another run already.
    @Test func noGreetingIsDueBeforeTheRestOfARun() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        (stage.run, stage.isCurrent) = ("r2", false)
        stage.pass(.seconds(60))
        stage.go(Self.gap(4...5))
        #expect(Self.numbers(stage.sent.last) == "4-5" && stage.sent.last.map(Self.run) == "r1")
        stage.go(.greeting([]), try Self.lines(1...1))
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(stage.sent.map(Self.numbers) == ["1-3", "4-5", "1-1"] && stage.sent.last.map(Self.run) == "r2")
        #expect(stage.sent.last.map { String(decoding: $0.payload, as: UTF8.self) }?.hasPrefix("hello\n") == true)
    }

    @Test func aRunThatEndsBeforeTheServersAreThereIsNamed() throws {
        var stage = Stage()
        (stage.run, stage.isCurrent) = ("r2", false)
        stage.go(Self.gap(1...5))
        #expect(stage.sent.map(Self.numbers) == ["1-5"] && stage.sent.map(Self.run) == ["r1"])
    }

    @Test func aRunThatEndsInAnOutageIsNamed() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        (stage.run, stage.faults) = ("r2", [.nobody])
        stage.pass(.seconds(1))
        stage.go(try Self.lines(4...5), .greeting([]))
        (stage.run, stage.isCurrent) = ("r3", false)
        stage.pass(.seconds(10))
        stage.go(Self.gap(1...7))
        stage.pass(.seconds(1))
        stage.go()
        let last = stage.sent.suffix(2)
        #expect(last.map(Self.numbers) == ["4-5", "1-7"] && last.map(Self.run) == ["r1", "r2"])
    }

    @Test(arguments: [false, true])
    func aRunThatBeginsBeforeTheEndOfTheFeedIsPublished(wasEnded: Bool) throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        (stage.run, stage.isCurrent) = ("r3", false)
        stage.pass(.seconds(60))
        stage.go(Self.gap(4...5))
        let ended: [Delivery] = wasEnded ? [.ended(Array("hello r2\n".utf8), run: "r2"), Self.gap(1...2)] : []
        stage.deliveries = ended + [.greeting([]), try Self.lines(1...1)]
        #expect(stage.go(.end(Array(#"{"type":"bye"}"#.utf8) + [0x0A])) == .end)
        let runs = ["r1", "r1"] + (wasEnded ? ["r2"] : []) + ["r3"]
        #expect(stage.sent.map(Self.run) == runs && Self.isLast(stage.sent.last))
        #expect(stage.sent.last.map { String(decoding: $0.payload, as: UTF8.self) }?.hasSuffix("\"bye\"}\n") == true)
    }

    @Test(arguments: [(16 << 10, nil), (1 << 20, 16 << 10)] as [(Int, Int?)])
    func linesThatAreMoreThanAMessageHasGoOnInTheNextOne(_ most: Int, _ mostMessage: Int?) throws {
        var stage = Stage()
        (stage.most, stage.stream.mostMessage) = (most, mostMessage)
        let begun = stage.now
        let step = stage.go(try Self.lines(1...50, length: 1_000))
        #expect(step == .wait(until: begun.advanced(by: .milliseconds(200))))
        #expect(stage.sent.map(Self.numbers) == ["1-13", "14-26", "27-39"])
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(Self.numbers(stage.sent.last) == "40-50" && stage.sent.allSatisfy { $0.payload.count < 16 << 10 })
    }

    @Test func aLineThatFitsNoMessageIsAGapAndToldOnce() throws {
        var stage = Stage()
        stage.most = 8 << 10
        for number in 1...2 {
            stage.go(try Self.lines(number...number, length: 9_000))
            stage.pass(.seconds(1))
            stage.go()
            #expect(Self.numbers(stage.sent.last) == "\(number)-\(number)")
            #expect(stage.sent.last.map { String(decoding: $0.payload, as: UTF8.self) }?.contains("\"gap\"") == true)
        }
        #expect(stage.sent.count == 3 && stage.steps.missing(of: "r1", through: 2) == 0)
        let text = "line 1 of 9000 bytes fits no message, and is left out; let max_payload and max_msg_size be 2 MB"
        #expect(stage.news() == ["nats: \(text)", "recovered after 1"])
    }

    @Test func aLineAMessageIsTheLastOneOnlyAtTheEnd() throws {
        var stage = Stage(sendsLines: true)
        stage.kept = [(nil, 1)]
        stage.go(try Self.lines(1...2))
        #expect(stage.sent.map(Self.numbers) == ["-", "-", "1-1", "2-2"])
        let bye = Array(#"{"type":"bye"}"#.utf8) + [0x0A]
        #expect(stage.go(try Self.lines(3...3), .end(bye)) == .end)
        #expect(stage.sent.map(Self.isLast) == [false, false, false, false, false, true] && stage.kept[0].count == 1)
    }

    // MARK: Kept lines

    @Test func aRoundOfKeptLinesIsAtMostAThousandOrATenth() throws {
        var stage = Stage()
        stage.kept = [(nil, 1_500), (KeptCursor(), 5_000)]
        let limits = { (stage: Stage) in
            stage.performed.compactMap { if case .readKept(_, let limit) = $0 { limit.lines } else { nil } }
        }
        stage.go()
        #expect(limits(stage) == [1_000] && stage.kept.map(\.count) == [500, 5_000])
        // With the next greetings there are none until the quarter of an hour is over.
        for _ in 0..<14 {
            stage.pass(.seconds(60))
            stage.go()
            #expect(limits(stage) == [])
        }
        var first = 1
        for _ in 0..<40 {
            stage.go(try Self.lines(first...(first + 499)))
            first += 500
        }
        stage.pass(.seconds(60))
        stage.go()
        #expect(limits(stage) == [2_000] && stage.kept.map(\.count) == [500, 3_000])
        // Lines count for one round only.
        stage.pass(.seconds(15 * 60))
        stage.go()
        #expect(limits(stage) == [1_000] && stage.kept.map(\.count) == [500, 2_000])
        // Another run's begin at once, at the start.
        stage.run = "r2"
        stage.go(.greeting([]))
        #expect(limits(stage) == [1_000])
        stage.pass(.milliseconds(200))
        stage.go()
        #expect(limits(stage) == [500])
    }

    @Test func untilThereAreKeptLinesTheyAreLookedForBehindEachGreeting() {
        var stage = Stage()
        for count in [0, 0, 7] {
            stage.kept = [(nil, count), (KeptCursor(), 0)]
            stage.go()
            // At the end of what there is, no more are looked for in this round.
            #expect(stage.performed.count { if case .readKept = $0 { true } else { false } } == (count > 0 ? 2 : 1))
            stage.pass(.seconds(60))
        }
        stage.go()
        stage.pass(.seconds(15 * 60))
        stage.kept[0].count = 3
        stage.go()
        // The last round came to the end: this one begins at the start.
        #expect(stage.kept[0].count == 0)
    }

    // MARK: Faults

    @Test func aMessageThatWasNotAnsweredIsSentAgainAsItWas() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        stage.pass(.seconds(1))
        stage.faults = [.silent, .silent]
        #expect(Self.isPause(stage.go(try Self.lines(4...4)), atMost: .seconds(1)))
        #expect(stage.news() == [] && stage.steps.state == "retrying: it is silent")
        stage.deliveries = [try Self.lines(5...5)]
        #expect(Self.isPause(stage.go(), atMost: .seconds(1)))
        #expect(stage.news() == ["nats: it is silent"])
        stage.go()
        #expect(stage.sent[1] == stage.sent[2] && stage.sent[2] == stage.sent[3] && stage.sent[3].id == "r1-4-4")
        #expect(
            stage.news() == ["recovered after 2"] && stage.steps.state == "ok" && stage.steps.progressed == stage.now)
        #expect(stage.steps.missing(of: "r1", through: 5) == 1)
    }

    @Test func aMessageWhoseAnswerWasLostIsStoredOnce() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...1))
        stage.pass(.seconds(1))
        stage.faults = [.silent, nil]
        stage.go(try Self.lines(2...2))
        stage.go()
        #expect(stage.sent.count == 3 && stage.steps.missing(of: "r1", through: 2) == 0 && stage.steps.state == "ok")
    }

    /// It was not sent before, so the lines of the one that is there may be others.
    @Test func aMessageWhoseIDIsAnothersIsSentWithoutOne() throws {
        var stage = Stage()
        stage.faults = [nil]
        stage.go(try Self.lines(1...1))
        #expect(stage.sent.map(\.id) == ["r1-1-1", nil] && stage.sent[0].payload == stage.sent[1].payload)
        #expect(stage.steps.missing(of: "r1", through: 1) == 0)
        stage.pass(.seconds(1))
        stage.go(try Self.lines(2...2))
        #expect(stage.sent.last?.id == "r1-2-2")
    }

    @Test func pausesBecomeLongerUntilAMessageIsStored() throws {
        var stage = Stage()
        stage.faults = Array(repeating: .other, count: 10)
        let pauses = (0..<10).map { _ in stage.go() }
        #expect(pauses.contains { !Self.isPause($0, atMost: .seconds(10)) })
        stage.go()
        stage.pass(.seconds(1))
        stage.faults = [.other]
        #expect(Self.isPause(stage.go(try Self.lines(1...1)), atMost: .seconds(1)))
    }

    @Test func aLostConnectionIsMadeAnewAtOnceAndThenAfterAPause() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        stage.pass(.seconds(1))
        stage.faults = [.lost, .lost]
        #expect(Self.isPause(stage.go(try Self.lines(4...4)), atMost: .seconds(5)))
        #expect(stage.performed.contains(.connect) && !stage.performed.contains(.check) && stage.sent.count == 3)
        stage.go()
        #expect(stage.performed.first == .connect && stage.sent.count == 4)
    }

    @Test func aStreamThatGivesNoAnswerForLongIsCheckedNowAndThen() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...3))
        stage.pass(.seconds(1))
        stage.faults = Array(repeating: .nobody, count: 50)
        stage.deliveries = [try Self.lines(4...4)]
        stage.stream.subjects = ["a.*"]
        var checks: [Int] = []
        for second in 0..<50 {
            stage.go()
            if stage.performed.contains(.check) { checks.append(second) }
            stage.pass(.seconds(1))
        }
        #expect(checks == [20, 40])
        #expect(
            stage.news() == [
                "nats: it is nobody", "nats: stream CATWATCH takes a.*, and not catwatch.v1.web1",
            ])
        stage.stream.subjects = [NatsSubject.all]
        stage.go()
        #expect(stage.news().count == 1 && Self.numbers(stage.sent.last) == "4-4")
    }

    private static let unfit: [(change: @Sendable (inout Stage) -> Void, text: String)] = [
        ({ $0.stream.subjects = ["a"] }, "stream CATWATCH takes a, and not catwatch.v1.web1"),
        (
            { $0.stream.mostMessage = 4_700 },
            "max_payload or max_msg_size of 4700 is too little; let both be 2 MB"
        ), ({ $0.most = 1_000 }, "max_payload or max_msg_size of 1000 is too little; let both be 2 MB"),
    ]

    @Test(arguments: unfit.indices)
    func aStreamThatIsNotFitIsCheckedAgainBeforeAnythingIsSent(_ index: Int) {
        var stage = Stage()
        Self.unfit[index].change(&stage)
        for _ in 0..<3 {
            #expect(Self.isPause(stage.go(), atMost: .seconds(30)) && stage.performed.contains(.check))
            #expect(stage.steps.state == "retrying: \(Self.unfit[index].text)" && stage.sent.isEmpty)
        }
        (stage.stream, stage.most) = (Stage().stream, 1 << 20)
        stage.go()
        #expect(stage.news() == ["nats: \(Self.unfit[index].text)", "recovered after 3"] && stage.sent.count == 1)
    }

    /// As of one that nobody may look at: it is published to all the same.
    @Test func aStreamThatShowsNothingOfItselfIsFit() throws {
        var stage = Stage()
        #expect(stage.steps.next(at: stage.moment) == .connect)
        stage.steps.connect(.success(stage.most), at: stage.now)
        #expect(stage.steps.next(at: stage.moment) == .check)
        stage.steps.check(.failure(NatsFault(.denied, "no")), at: stage.now)
        stage.go(try Self.lines(1...1))
        #expect(stage.sent.count == 1 && !stage.performed.contains(.check))
    }

    @Test func whatIsTooLargeIsCutAndALineThatIsIsAGap() throws {
        var stage = Stage()
        stage.go(try Self.lines(1...1))
        stage.pass(.seconds(1))
        stage.faults = [.tooLarge, .tooLarge]
        stage.go(try Self.lines(2...3))
        #expect(stage.sent.dropFirst().map(Self.numbers) == ["2-3", "2-2", "2-2", "3-3"])
        #expect(stage.sent.dropFirst().compactMap(\.id) == ["2-3", "2-2", "2-2", "3-3"].map { "r1-" + $0 })
        #expect(stage.news().count == 2)
        stage.pass(.seconds(1))
        // Nothing is smaller than a gap.
        stage.faults = [.tooLarge, .tooLarge]
        #expect(Self.isPause(stage.go(try Self.lines(4...4)), atMost: .seconds(30)))
        stage.go()
        #expect(stage.sent.suffix(3).map(Self.numbers) == ["4-4", "4-4", "4-4"])
        #expect(stage.steps.missing(of: "r1", through: 4) == 0)
        #expect(stage.news() == ["nats: it is tooLarge", "recovered after 1"])
    }

    // MARK: Fleets, and the end

    @Test func aFleetsFeedIsRefusedOnce() throws {
        var stage = Stage()
        stage.isFleet = true
        #expect(stage.go(try Self.lines(1...1), .greeting([])) == .wait(until: nil))
        #expect(stage.news().count == 1 && stage.steps.state.hasPrefix("refused: a fleet's feed"))
        stage.pass(.seconds(100))
        #expect(stage.go() == .wait(until: nil) && stage.news() == [])
        // Until it is another one's.
        stage.isFleet = false
        stage.go(.greeting([]), try Self.lines(2...2))
        #expect(stage.sent.map(Self.numbers) == ["2-2"] && stage.steps.state == "ok")
        stage.isFleet = true
        #expect(stage.go(.end([])) == .end && stage.sent.count == 1 && stage.news().count == 1)
    }

    /// Of a fleet, no greeting was published that would name its run.
    @Test func linesOfAFeedThatIsNoFleetsAnyMoreComeBehindAGreeting() throws {
        var stage = Stage()
        stage.isFleet = true
        stage.go(try Self.lines(1...1))
        (stage.isFleet, stage.run) = (false, "r2")
        stage.go(try Self.lines(2...2))
        #expect(stage.sent.map(Self.numbers) == ["2-2"])
        #expect(stage.sent.allSatisfy { $0.headers[NatsHeader.run] == "r2" })
        #expect(stage.sent.allSatisfy { $0.payload.starts(with: Array("hello".utf8)) })
    }

    @Test func theLastMessageSaysThatItIs() throws {
        var stage = Stage()
        #expect(stage.go(try Self.lines(1...1), .end(Array("bye\n".utf8))) == .end)
        #expect(stage.sent.map(Self.isLast) == [true])
        #expect(stage.go() == .end && stage.sent.count == 1)
    }

    @Test func nothingIsPublishedOfAFeedThatNeverBegan() {
        var stage = Stage()
        var settings = NatsSettings(to: NatsServers([NatsAddress(host: "h")]))
        settings.stream = "S"
        stage.steps = NatsSteps(
            as: "web1", of: "h1", settings, random: SeededGenerator(seed: 1), at: stage.now)
        stage.run = ""
        #expect(stage.go() == .wait(until: nil))
        #expect(stage.go(.greeting([]), .end([0x0A])) == .end)
        #expect(stage.sent.isEmpty && stage.steps.missing(of: "r1", through: 3) == 3)
    }

    /// One that began long before it was attached to.
    @Test func linesBeforeTheFirstOneAreNotMissing() throws {
        var stage = Stage()
        stage.faults = [.silent]
        stage.go(try Self.lines(11...13))
        #expect(stage.steps.missing(of: "r1", through: 13) == 3)
    }
}
