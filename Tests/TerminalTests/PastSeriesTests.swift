import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct PastSeriesTests {
    private static let noon = FeedScript.noon
    /// Until when a series of `past()` reaches, and the time of an answer's lines, in seconds before it.
    private static func at(_ seconds: Double) -> Timestamp { noon + .microseconds(Int64((seconds * 1e6).rounded())) }

    private static let ever = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)

    /// A series of five minutes until noon of which a board has nothing.
    private func past(
        _ name: String = "s", source: String = "s", over span: Int = 0, full: Int = PastSeries.answer
    ) -> PastSeries {
        var script = FeedScript()
        script.now = Self.noon - .seconds(2 * PastSeries.spans[span].width / 1_000_000)
        script.hello(run: "now")
        // A point that is past the history makes the series known.
        let now = script.now
        script.now = now - .seconds(86_400)
        switch SeriesKind(of: name) {
        case .data, .text:
            script.add(source, source, .data(.init(series: name, value: 1, text: nil, data: nil, truncated: false)))
        case .latency: script.latency(source, "e", ms: 1)
        case .memory:
            script.add("memory", source, .memory(MemorySample(resident: 1, peak: 1, privateBytes: 1)))
        case .count:
            script.add("progress", source, .progress(Progress(done: 1, total: 1, page: 1, items: 1)))
        }
        script.now = now
        return PastSeries(of: 0, on: script.view.board, over: PastSeries.spans[span], at: now, number: 1, full: full)
    }

    private static func bytes(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    private static func text(_ time: Timestamp) -> String {
        var text = TimestampText()
        return String(decoding: LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }, as: UTF8.self)
    }

    static func hello(_ run: String, filtered: Bool = true, journal: Int? = nil) -> String {
        let first = journal.map { #","journal_first_seq":\#($0)"# } ?? ""
        return #"{"type":"hello","time":\#(text(noon)),"format":1,"run":"\#(run)","filtered":\#(filtered),"#
            + #""interval_s":10,"history_s":120,"first_seq":1,"next_seq":1\#(first),"#
            + #""host":{"name":"","device":"","os":"","kernel":"","arch":""},"app":{"name":"catwatch","version":"0","started":\#(text(noon))}}"#
    }

    static let bye = #"{"type":"bye","time":"2026-03-01T12:00:00.000000Z","run":"r","last_seq":9,"reason":"until"}"#

    static func data(_ sequence: Int, _ time: Timestamp, _ value: Double, text length: Int = 0) -> String {
        let words = length > 0 ? #","text":"\#(String(repeating: "x", count: length))""# : ""
        return
            #"{"seq":\#(sequence),"time":\#(text(time)),"type":"s","source":"s","series":"s","value":\#(value)\#(words)}"#
    }

    /// Start in seconds before noon, last, count, minimum, maximum.
    private func windows(_ past: PastSeries, width: Int64 = 1) -> [[Double]] {
        past.windows(width: width * 1_000_000, over: Self.ever)
            .map { [($0.start - Self.noon).seconds, $0.last, Double($0.count), $0.minimum, $0.maximum] }
    }

    // MARK: What counts

    /// Tests/Vectors/past, which the page has as well.
    @Test(arguments: VectorFiles.names(of: "past"))
    func windowsAndErrorsAreThoseOfTheVectors(_ name: String) throws {
        for vector in try VectorFiles.elements("cases", of: name, in: "past") {
            let about = vector["about"]?.string ?? ""
            var past = past(vector["name"]?.string ?? "", source: vector["source"]?.string ?? "")
            past.begin()
            _ = past.read(Self.bytes(VectorFiles.lines(vector["lines"]).map { String(decoding: $0, as: UTF8.self) }))
            #expect(past.progress == .looking, "\(about)")
            let times = ["from", "until"].map { Timestamp(microseconds: Int64(vector[$0]?.number ?? 0)) }
            let windows = past.windows(width: Int64(vector["width"]?.number ?? 0), over: times[0]..<times[1])
            let found = windows.map {
                [Double($0.start.microseconds), $0.last, Double($0.count), $0.minimum, $0.maximum]
            }
            #expect(found == vector["windows"]?.elements.map { $0.elements.compactMap(\.number) }, "\(about)")
            let errors = past.errors(over: times[0]..<times[1]).map(Double.init)
            #expect(past.hasHoles == (vector["holes"] != nil), "\(about)")
            #expect(errors == vector["errors"]?.elements.compactMap(\.number), "\(about)")
        }
    }

    @Test func windowsAreThoseOfAllValuesWhateverTheirOrder() {
        for seed in UInt64(1)...20 {
            var random = SeededGenerator(seed: seed)
            var past = past()
            past.begin()
            _ = past.read(Self.bytes([Self.hello("r")]))
            var values: [(time: Double, value: Double, sequence: Int)] = []
            for sequence in 1...200 {
                let time = -Double(random.next() % 300_000 + 1) / 1_000
                let value = Double(random.next() % 1_000)
                values.append((time, value, sequence))
                _ = past.read(Self.bytes([Self.data(sequence, Self.at(time), value)]))
            }
            _ = past.read(Self.bytes([Self.bye]))
            for width in [1, 5, 30] {
                let groups = Dictionary(grouping: values) { ($0.time / Double(width)).rounded(.down) }
                let expected = groups.keys.sorted().map { key -> [Double] in
                    let group = groups[key] ?? []
                    let last = group.max { ($0.time, $0.sequence) < ($1.time, $1.sequence) }
                    let all = group.map(\.value)
                    return [key * Double(width), last?.value ?? 0, Double(all.count), all.min() ?? 0, all.max() ?? 0]
                }
                #expect(windows(past, width: Int64(width)) == expected, "seed \(seed)")
            }
        }
    }

    // MARK: What is live

    @Test func whatTheBoardHasOrGetsIsCountedOnce() {
        var script = FeedScript()
        script.now = Self.at(-10)
        script.hello(run: "now")
        for value in 1...3 {
            script.data("s", Double(value))
            script.pass(1)
        }
        // One that the board has no more, and one that comes while the journal is read.
        var past = PastSeries(of: 0, on: script.view.board, over: PastSeries.spans[0], at: script.now, number: 1)
        script.sequence4(into: &past)
        past.begin()
        let lines = (1...3).map { Self.data($0, Self.at(Double($0) - 11), Double($0)) }
        _ = past.read(
            Self.bytes(
                [Self.hello("old"), Self.data(2, Self.at(-100), 50), Self.hello("now")] + lines
                    + [Self.data(4, Self.at(-7), 4), Self.data(5, Self.at(-6), 5), Self.bye]))
        #expect(
            windows(past) == [
                [-100, 50, 1, 50, 50], [-10, 1, 1, 1, 1], [-9, 2, 1, 2, 2], [-8, 3, 1, 3, 3], [-7, 4, 1, 4, 4],
            ])
        // A line twice is one.
        script.sequence4(into: &past)
        #expect(windows(past).last == [-7, 4, 1, 4, 4])
    }

    @Test func aValueOfAnEarlierRunThatTheBoardWasGivenIsCountedOnce() {
        var script = FeedScript()
        script.now = Self.at(-10)
        script.hello(run: "now")
        let old = Line(
            seq: 0, time: Self.at(-100), type: "s", source: "s",
            body: .data(.init(series: "s", value: 50, text: nil, data: nil, truncated: false)))
        script.apply(nil, "kept", nil, .kept(Line.Kept(run: "now", line: old, bytes: Bytes([]))))
        script.data("s", 1)
        var past = PastSeries(of: 0, on: script.view.board, over: PastSeries.spans[0], at: script.now, number: 1)
        past.begin()
        let lines = [
            Self.hello("old"), Self.data(1, Self.at(-101), 49), Self.data(2, Self.at(-100), 50), Self.hello("now"),
            Self.data(1, Self.at(-10), 1), Self.bye,
        ]
        _ = past.read(Self.bytes(lines))
        #expect(windows(past) == [[-101, 49, 1, 49, 49], [-100, 50, 1, 50, 50], [-10, 1, 1, 1, 1]])
    }

    /// The clock went back between the runs.
    @Test func aValueOfAnEarlierRunOfTheSameTimeIsAnotherOne() {
        var script = FeedScript()
        script.now = Self.at(-10)
        script.hello(run: "now")
        script.data("s", 1)
        var past = PastSeries(of: 0, on: script.view.board, over: PastSeries.spans[0], at: script.now, number: 1)
        past.begin()
        let lines = [
            Self.hello("old"), Self.data(1, Self.at(-10), 50), Self.hello("now"), Self.data(1, Self.at(-10), 1),
            Self.bye,
        ]
        _ = past.read(Self.bytes(lines))
        #expect(windows(past).map { [$0[2], $0[3], $0[4]] } == [[2, 1, 50]])
    }

    @Test func whatTheBoardHasLetGoOfComesFromTheJournal() {
        var past = past()
        past.begin()
        _ = past.read(Self.bytes([Self.hello("now"), Self.data(1, Self.at(-250), 7), Self.bye]))
        #expect(windows(past) == [[-250, 7, 1, 7, 7]])
    }

    @Test func theOldestGoWhenTimeGoesOn() {
        var past = past()
        for second in 0..<1_000 {
            past.handle(live: live(second + 2, Self.at(Double(second))), at: Self.at(Double(second)))
        }
        let all = windows(past)
        #expect((300...304).contains(all.count) && all.last?.first == 999 && all.first?.first ?? 0 > 690)
        // What is older than that does not come back in their place.
        past.handle(live: live(2_000, Self.at(999 - 604), 9), at: Self.at(999))
        #expect(windows(past) == all)
    }

    // MARK: Answers

    @Test func linesComeInAnyPieces() {
        let answer = Self.bytes([Self.hello("a"), Self.data(1, Self.at(-5), 1), Self.data(2, Self.at(-4), 2), Self.bye])
        for size in [1, 7, 100, answer.count] {
            var past = past()
            past.begin()
            for start in stride(from: 0, to: answer.count, by: size) {
                _ = past.read(Array(answer[start..<min(start + size, answer.count)]))
            }
            #expect(windows(past) == [[-5, 1, 1, 1, 1], [-4, 2, 1, 2, 2]] && past.progress == .looking)
        }
    }

    /// What an agent says that gives of some lines, in their order, the newest 3,000 bytes of those asked for.
    private static func answer(_ request: PastRequest, _ lines: [(time: Timestamp, text: String)]) -> [UInt8] {
        var left = 3_000
        let asked = lines.filter { line in line.time < request.until && request.from.map { line.time >= $0 } != false }
        let given = asked.reversed().prefix {
            left -= $0.text.utf8.count + 1
            return left >= 0
        }
        return bytes([hello("r")] + given.reversed().map(\.text) + [bye])
    }

    /// Asks until all is there, or why it is not; gives how often it has asked.
    private func readAll(_ past: inout PastSeries, _ lines: [(time: Timestamp, text: String)]) -> Int {
        for count in 0..<1_000 {
            guard past.progress == .reading, let request = past.request else { return count }
            past.begin()
            let goesOn = past.read(Self.answer(request, lines))
            #expect(!goesOn)
            past.end(failure: nil)
        }
        return 1_000
    }

    /// A source may have the times of stations that have measured long before, and clocks are set back.
    @Test(arguments: ["in order", "every other late", "backwards", "one late", "at random"])
    func everyLineOfLongAnswersCountsOnceWhateverTheirTimes(_ order: String) {
        var random = SeededGenerator(seed: 5)
        let count = 240
        let lines = (0..<count).map { place -> (time: Timestamp, text: String) in
            var seconds = Double(place - count)
            switch order {
            case "every other late" where place % 2 == 0: seconds -= 50
            case "backwards": seconds = -Double(place / 60 * 60 + 60 - place % 60)
            case "one late" where place == 100: seconds -= 50
            case "at random": seconds = -Double(random.next() % 300 + 1)
            default: break
            }
            return (Self.at(seconds), Self.data(place + 1, Self.at(seconds), Double(place)))
        }
        var past = past(full: 2_500)
        let asked = readAll(&past, lines)
        #expect(past.progress == .looking && asked < 60, "\(asked)")
        let groups = Dictionary(grouping: lines.indices) { lines[$0].time }
        #expect(
            windows(past)
                == groups.keys.sorted().map { time in
                    let all = (groups[time] ?? []).map(Double.init)
                    return [
                        (time - Self.noon).seconds, all.last ?? 0, Double(all.count), all.first ?? 0, all.last ?? 0,
                    ]
                })
        // Where they are in order, each comes twice at the most.
        if order == "in order" { #expect(asked < 20) }
    }

    @Test func moreOfOneMomentThanAnAnswerHasIsSaidInWords() {
        var past = past(full: 2_500)
        let lines = (1...100).map { (time: Self.at(-20), text: Self.data($0, Self.at(-20), 1)) }
        _ = readAll(&past, lines)
        #expect(past.progress == .failed("there is more of one moment than an answer has"))
    }

    @Test func linesThatTheJournalHasLostAreSaidToBeMissing() {
        for isAnswer in [true, false] {
            var past = past()
            past.begin()
            let gap = #"{"type":"gap","time":"2026-03-01T12:00:00.000000Z","from":2,"to":3,"reason":"journal"}"#
            // What a live connection says before the answer is none of it.
            let lines = isAnswer ? [Self.hello("r"), gap] : [gap, Self.hello("r")]
            _ = past.read(Self.bytes(lines + [Self.data(4, Self.at(-4), 2), Self.bye]))
            #expect(past.hasHoles == isAnswer && past.progress == .looking)
        }
    }

    // MARK: Runs that begin

    /// The journal of a run has nothing before its first line is kept.
    @Test func aJournalThatHadNothingIsAskedAgainWithTheNextValue() {
        var past = past()
        var sequence = 10
        for wait in [1, 2, 4] {
            past.begin()
            _ = past.read(Self.bytes([Self.hello("now", filtered: false)]))
            #expect(past.progress == .failed("there is none, or nothing in it yet"))
            for left in (0..<wait).reversed() {
                #expect(past.request == nil)
                sequence += 1
                past.handle(live: live(sequence, Self.at(-1)), at: Self.at(-1))
                #expect((past.request != nil) == (left == 0))
            }
        }
        past.begin()
        _ = past.read(Self.bytes([Self.hello("now", filtered: false, journal: 1), Self.hello("r"), Self.bye]))
        #expect(past.progress == .looking)
    }

    // MARK: Times of others

    private func live(_ sequence: Int, _ time: Timestamp, _ value: Double = 1) -> Line {
        Line(
            seq: sequence, time: time, type: "s", source: "s",
            body: .data(.init(series: "s", value: value, text: nil, data: nil, truncated: false)))
    }

    /// Whoever writes lines dates them as they like.
    @Test(arguments: [40.0, 299, 301, 303, 606, 86_400, 1e9]) func aLineDatedAheadTakesNobodysPlace(ahead: Double) {
        var past = past()
        past.handle(live: live(9, Self.at(-3), 5), at: Self.at(-2))
        past.handle(live: live(10, Self.at(ahead), 9), at: Self.at(-2))
        for second in 0..<300 { past.handle(live: live(second + 11, Self.at(-300 + Double(second))), at: Self.at(-1)) }
        let shown = windows(past).filter { $0[0] < 0 }
        #expect(shown.count == 300 && shown.map { $0[2] }.reduce(0, +) == 301)
        // It comes into sight where it is not too far ahead.
        #expect(windows(past).contains { $0[1] == 9 } == (ahead < 300))
    }

    @Test(arguments: [true, false]) func whetherThereIsAnythingOlderIsAsked(isOlder: Bool) {
        var past = past()
        past.begin()
        _ = past.read(Self.bytes([Self.hello("r"), Self.bye]))
        #expect(past.request == PastRequest(source: nil, from: nil, until: Self.at(-302)))
        past.begin()
        let lines = isOlder ? [Self.data(1, Self.at(-1_000), 7)] : []
        let goesOn = past.read(Self.bytes([Self.hello("r")] + lines + [Self.bye]))
        #expect(!goesOn)
        past.end(failure: nil)
        #expect(past.progress == .here(isOlder: isOlder) && past.request == nil && windows(past).isEmpty)
    }

    @Test func whatALiveConnectionSaysBeforeTheAnswerDoesNotCount() {
        var past = past()
        past.begin()
        _ = past.read(
            Self.bytes([
                Self.hello("r", filtered: false, journal: 1), Self.data(1, Self.at(-5), 1), Self.hello("r"),
                Self.data(2, Self.at(-4), 2), Self.bye,
            ]))
        #expect(windows(past) == [[-4, 2, 1, 2, 2]])
    }

    @Test func linesOfAnotherTimeThanIsAskedForDoNotCount() {
        var past = past()
        past.begin()
        let times = [-1_000, -303, 0, 0.5, 300, 1e9]
        let lines = times.enumerated().map { Self.data($0.offset + 1, Self.at($0.element), 7) }
        _ = past.read(Self.bytes([Self.hello("r")] + lines + [Self.data(9, Self.at(-5), 1), Self.bye]))
        #expect(windows(past) == [[-5, 1, 1, 1, 1]])
    }

    // MARK: What goes wrong

    @Test func whyThereIsNothingIsSaidInWords() {
        let refusal =
            #"{"type":"error","time":"2026-03-01T12:00:00.000000Z","code":"protocol","message":"no \u001b[2Jroom"}"#
        let cases: [([String], String?, String)] = [
            ([Self.hello("r", filtered: false)], nil, "there is none, or nothing in it yet"),
            ([refusal], nil, "no ␛[2Jroom"),
            ([Self.hello("r"), Self.data(1, Self.at(-5), 1)], nil, "the connection broke"),
            ([Self.hello("r"), Self.bye.replacing("until", with: "SIGTERM")], nil, "the agent has ended"),
            ([Self.hello("r")], "the \u{1B}disk is on fire", "the ␛disk is on fire"),
        ]
        for (lines, failure, words) in cases {
            var past = past()
            past.begin()
            _ = past.read(Self.bytes(lines))
            past.end(failure: failure)
            #expect(past.progress == .failed(words) && past.request == nil)
            let goesOn = past.read(Self.bytes([Self.data(9, Self.at(-3), 1)]))
            #expect(!goesOn)
        }
    }

    @Test func anAnswerWithoutAnEndIsLeft() {
        var past = past()
        past.begin()
        let junk = [UInt8](repeating: 0x78, count: 1 << 20)
        var pieces = 0
        while pieces < 100, past.read(junk) { pieces += 1 }
        #expect(pieces == 64 && past.progress == .failed("the answer is too long"))
    }

    @Test func whatMakesNoSenseIsPassedOver() {
        var past = past()
        past.begin()
        var junk = Self.bytes([Self.hello("r"), "\u{1B}[2J", "{", #"{"seq":1}"#, Self.data(1, Self.at(-5), 1)])
        junk += [UInt8](repeating: 0x22, count: 3 << 20) + [0x0A]
        var random = SeededGenerator(seed: 3)
        junk += (0..<10_000).map { _ in UInt8(truncatingIfNeeded: random.next()) } + [0x0A]
        junk += Self.bytes([Self.data(2, Self.at(-4), 2), Self.bye])
        _ = past.read(junk)
        #expect(windows(past) == [[-5, 1, 1, 1, 1], [-4, 2, 1, 2, 2]])
    }

    // MARK: Widths

    @Test func windowsAreAsNarrowAsFit() {
        for (place, span) in PastSeries.spans.enumerated() {
            let past = past(over: place)
            for columns in [20, 80, 136, 200, 400] {
                let width = past.width(atMost: columns)
                #expect(width.isMultiple(of: span.width) && span.duration.microseconds / width <= columns)
            }
            #expect(past.width(atMost: 80, least: 60_000_000) >= 60_000_000)
        }
        #expect(past().width(atMost: 300) == 1_000_000 && past().width(atMost: 299) == 2_000_000)
    }
}

extension FeedScript {
    /// Line 4, as it comes while a journal is read.
    fileprivate func sequence4(into past: inout PastSeries) {
        past.handle(
            live: Line(
                seq: 4, time: now, type: "s", source: "s",
                body: .data(.init(series: "s", value: 4, text: nil, data: nil, truncated: false))),
            at: now)
    }
}
