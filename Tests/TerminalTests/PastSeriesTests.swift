import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct PastSeriesTests {
    private static let noon = FeedScript.noon
    /// Until when a series of `past()` reaches, and the time of an answer's columns, in seconds before it.
    private static func at(_ seconds: Double) -> Timestamp { noon + .microseconds(Int64((seconds * 1e6).rounded())) }

    private static let ever = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)

    /// A series of five minutes until noon of which a board has nothing.
    private func past(over span: Int = 0) -> PastSeries {
        var script = FeedScript()
        script.hello(run: "now")
        script.data("s", 1)
        var past = PastSeries(of: script.view.board.series[0], over: PastSeries.spans[span], at: now(span), number: 1)
        _ = past.begin(at: now(span))
        return past
    }

    private func now(_ span: Int = 0) -> Timestamp {
        Self.noon - .seconds(2 * PastSeries.spans[span].width / 1_000_000)
    }

    private static func bytes(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    private static func text(_ time: Timestamp) -> String {
        var text = TimestampText()
        return String(decoding: LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }, as: UTF8.self)
    }

    static func hello(
        _ run: String, filtered: Bool = true, journal: Int? = nil, next: Int = 1,
        started: Timestamp = noon - .seconds(86_400)
    ) -> String {
        let first = journal.map { #","journal_first_seq":\#($0)"# } ?? ""
        return #"{"type":"hello","time":\#(text(noon)),"format":1,"run":"\#(run)","filtered":\#(filtered),"#
            + #""interval_s":10,"history_s":120,"first_seq":1,"next_seq":\#(next)\#(first),"#
            + #""host":{"name":"","device":"","os":"","kernel":"","arch":""},"app":{"name":"catwatch","version":"0","started":\#(text(started))}}"#
    }

    static let bye = #"{"type":"bye","time":"2026-03-01T12:00:00.000000Z","run":"r","last_seq":9,"reason":"until"}"#
    /// The same of a journal that has more.
    static let byeOfMore = bye.dropLast() + #","oldest":"2025-01-01T00:00:00.000000Z"}"#

    /// The column that holds a time, with these values in their order.
    static func column(
        _ time: Timestamp, _ values: [Double], width seconds: Int64 = 1, errors: Int = 0, gaps: Int = 0
    ) -> String {
        let width = seconds * 1_000_000
        let start = Window.start(of: Window.index(of: time, width: width), width: width)
        var column = Column(start: start, width: width, errors: errors, gaps: gaps)
        for value in values {
            let one = BoardWindow(
                start: start, width: width, last: value, count: 1, minimum: value, maximum: value, mean: value)
            column.absorb(Column(start: start, width: width, values: one))
        }
        return String(decoding: column.line(of: "s", source: "s", time: noon).dropLast(), as: UTF8.self)
    }

    private static func column(_ seconds: Double, _ values: Double..., width: Int64 = 1) -> String {
        column(at(seconds), values, width: width)
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
            var past = past()
            _ = past.read(Self.bytes(VectorFiles.lines(vector["lines"]).map { String(decoding: $0, as: UTF8.self) }))
            #expect(past.progress == .here(isOlder: false), "\(about)")
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

    @Test func asksForTheColumnsOfItsSpan() {
        for (place, span) in PastSeries.spans.enumerated() {
            var past = past(over: place)
            let request = past.begin(at: now(place))
            #expect(request.series == "s" && request.source == "s" && Int64(request.width) * 1_000_000 == span.width)
            // No more than an agent gives.
            let count = (request.until - request.from).microseconds / span.width
            #expect(count == span.duration.microseconds / span.width + 2 && count <= 2_000)
        }
    }

    @Test func theLastColumnIsAskedForAgain() {
        var past = past()
        _ = past.read(Self.bytes([Self.hello("a"), Self.column(-300, 9), Self.column(-5, 1), Self.bye]))
        let request = past.begin(at: Self.noon)
        #expect(request.from == Self.at(-5) && request.until == Self.at(2))
        #expect(windows(past) == [[-300, 9, 1, 9, 9], [-5, 1, 1, 1, 1]])
        _ = past.read(Self.bytes([Self.hello("a"), Self.column(-5, 1, 3), Self.column(-1, 2), Self.bye]))
        #expect(windows(past) == [[-300, 9, 1, 9, 9], [-5, 3, 2, 1, 3], [-1, 2, 1, 2, 2]])
        // What is older than the span goes.
        _ = past.begin(at: Self.at(60))
        #expect(windows(past) == [[-5, 3, 2, 1, 3], [-1, 2, 1, 2, 2]])
    }

    // MARK: Answers

    @Test func linesComeInAnyPieces() {
        let answer = Self.bytes([Self.hello("a"), Self.column(-5, 1), Self.column(-4, 2), Self.bye])
        for size in [1, 7, 100, answer.count] {
            var past = past()
            for start in stride(from: 0, to: answer.count, by: size) {
                _ = past.read(Array(answer[start..<min(start + size, answer.count)]))
            }
            #expect(windows(past) == [[-5, 1, 1, 1, 1], [-4, 2, 1, 2, 2]])
            #expect(past.progress == .here(isOlder: false))
        }
    }

    @Test func whetherThereIsAnythingOlderIsSaid() {
        let first = Self.at(-302)
        for (oldest, isOlder) in [(first - .microseconds(1), true), (first, false), (Self.noon, false)] {
            var past = past()
            let bye = Self.bye.dropLast() + #","oldest":\#(Self.text(oldest))}"#
            let goesOn = past.read(Self.bytes([Self.hello("r"), String(bye)]))
            #expect(!goesOn)
            past.end(failure: nil)
            #expect(past.progress == .here(isOlder: isOlder) && windows(past).isEmpty)
        }
    }

    // MARK: Times of others

    @Test func columnsOfAnotherTimeOrWidthThanAreAskedForDoNotCount() {
        var past = past()
        let lines = [-1_000, -303, 0, 0.5, 300, 1e9].map { Self.column($0, 7) }
        let wide = Self.column(-60, 8, width: 60)
        _ = past.read(Self.bytes([Self.hello("r")] + lines + [wide, Self.column(-5, 1), Self.bye]))
        #expect(windows(past) == [[-5, 1, 1, 1, 1]])
    }

    // MARK: What goes wrong

    @Test func whyThereIsNothingIsSaidInWords() {
        let refusal =
            #"{"type":"error","time":"2026-03-01T12:00:00.000000Z","code":"protocol","message":"no \u001b[2Jroom"}"#
        let cases: [([String], String?, String)] = [
            ([Self.hello("r", filtered: false)], nil, "there is none, or nothing in it yet"),
            ([refusal], nil, "no ␛[2Jroom"),
            ([Self.hello("r"), Self.column(-5, 1)], nil, "the connection broke"),
            ([Self.hello("r"), Self.bye.replacing("until", with: "SIGTERM")], nil, "the agent has ended"),
            ([Self.hello("r", filtered: false, journal: 1), Self.bye], nil, "the agent has ended"),
            ([Self.hello("r")], "the \u{1B}disk is on fire", "the ␛disk is on fire"),
        ]
        for (lines, failure, words) in cases {
            var past = past()
            _ = past.read(Self.bytes(lines))
            past.end(failure: failure)
            #expect(past.progress == .failed(words))
            let goesOn = past.read(Self.bytes([Self.column(-3, 1)]))
            #expect(!goesOn)
        }
    }

    @Test func anAnswerWithoutAnEndIsLeft() {
        var past = past()
        let junk = [UInt8](repeating: 0x78, count: 1 << 20)
        var pieces = 0
        while pieces < 100, past.read(junk) { pieces += 1 }
        #expect(pieces == 64 && past.progress == .failed("the answer is too long"))
    }

    @Test func whatMakesNoSenseIsPassedOver() {
        var past = past()
        var junk = Self.bytes([Self.hello("r"), "\u{1B}[2J", "{", #"{"seq":1}"#, Self.column(-5, 1)])
        junk += [UInt8](repeating: 0x22, count: 3 << 20) + [0x0A]
        var random = SeededGenerator(seed: 3)
        junk += (0..<10_000).map { _ in UInt8(truncatingIfNeeded: random.next()) } + [0x0A]
        junk += Self.bytes([Self.column(-4, 2), Self.bye])
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
