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
    private func past(_ name: String = "s", source: String = "s", over span: Int = 0) -> PastSeries {
        var script = FeedScript()
        script.now = Self.noon - .seconds(2 * PastSeries.spans[span].width / 1_000_000)
        script.hello(run: "now")
        // A point that is past the history makes the series known.
        let now = script.now
        script.now = now - .seconds(86_400)
        switch SeriesKind(of: name) {
        case .data:
            script.add(source, source, .data(.init(series: name, value: 1, text: nil, data: nil, truncated: false)))
        case .latency: script.latency(source, "e", ms: 1)
        case .memory:
            script.add("memory", source, .memory(MemorySample(resident: 1, peak: 1, privateBytes: 1)))
        }
        script.now = now
        return PastSeries(of: 0, on: script.view.board, over: PastSeries.spans[span], at: now, number: 1)
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

    @Test func whatTheBoardHasLetGoOfComesFromTheJournal() {
        var past = past()
        past.begin()
        _ = past.read(Self.bytes([Self.hello("now"), Self.data(1, Self.at(-250), 7), Self.bye]))
        #expect(windows(past) == [[-250, 7, 1, 7, 7]])
    }

    @Test func theOldestGoWhenTimeGoesOn() {
        var past = past()
        for second in 0..<1_000 {
            past.take(
                live: Line(
                    seq: second + 2, time: Self.at(Double(second)), type: "s", source: "s",
                    body: .data(.init(series: "s", value: 1, text: nil, data: nil, truncated: false))))
        }
        let all = windows(past)
        #expect((300...304).contains(all.count) && all.last?.first == 999 && all.first?.first ?? 0 > 690)
        // What is older than that does not come back in their place.
        past.take(
            live: Line(
                seq: 2_000, time: Self.at(999 - 2 * 303), type: "s", source: "s",
                body: .data(.init(series: "s", value: 9, text: nil, data: nil, truncated: false))))
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

    /// An answer of nearly as many bytes as there may be, of lines 1 ms apart up to a time.
    private func long(_ sequences: ClosedRange<Int>, at time: (Int) -> Timestamp) -> [UInt8] {
        Self.bytes(
            [Self.hello("r")] + sequences.map { Self.data($0, time($0), Double($0), text: 900_000) } + [Self.bye])
    }

    @Test func whatIsOlderThanALongAnswerIsAskedForOnceMore() throws {
        var past = past()
        let until = try #require(past.request).until
        #expect(past.request == PastRequest(source: "s", from: Self.at(-302), until: until) && until == Self.noon)
        past.begin()
        // Two lines of one moment are cut apart.
        let time = { (number: Int) in Self.at(number < 12 ? -20 : Double(number) - 30) }
        // What somebody says behind an answer is no part of the next.
        let goesOn = past.read(long(11...18, at: time) + Array("{\"torn".utf8))
        #expect(!goesOn)
        past.end(failure: nil)
        #expect(past.request == PastRequest(source: "s", from: Self.at(-302), until: Self.at(-20) + .microseconds(1)))
        past.begin()
        _ = past.read(
            Self.bytes([Self.hello("r"), Self.data(10, Self.at(-20), 10), Self.data(11, Self.at(-20), 11), Self.bye]))
        #expect(past.progress == .looking)
        #expect(windows(past).first == [-20, 11, 2, 10, 11] && windows(past).count == 8)
    }

    @Test func anAnswerThatBringsNothingOlderIsTheLast() throws {
        var past = past()
        for end in [-20.0, -20] {
            past.begin()
            _ = past.read(long(1...8) { _ in Self.at(end) })
        }
        #expect(past.progress == .looking && windows(past) == [[-20, 8, 8, 1, 8]])
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
            ([Self.hello("r", filtered: false)], nil, "the agent keeps no journal"),
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
        while past.read(junk) { pieces += 1 }
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
        past.take(
            live: Line(
                seq: 4, time: now, type: "s", source: "s",
                body: .data(.init(series: "s", value: 4, text: nil, data: nil, truncated: false))))
    }
}
