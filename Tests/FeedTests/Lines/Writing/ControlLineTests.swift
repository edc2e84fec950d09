import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct ControlLineTests {
    private let time = Timestamp(microseconds: 1_735_787_045_678_901)

    private func decode(_ bytes: [UInt8]) throws -> Line {
        #expect(bytes.last == 0x0A && bytes.count { $0 == 0x0A } == 1)
        #expect(bytes.count <= LineEncoder.longestLine)
        #expect(try LineSchema().faults(of: bytes) == [])
        let line = try LineDecoder.decode(bytes[...])
        #expect(line.seq == nil && line.time == time && line.source == nil)
        return line
    }

    @Test(arguments: ["pi", "", LineEncoderTests.hostile])
    func writesAHello(text: String) throws {
        var host = AgentIdentity.Host()
        host.name = text + "1"
        host.device = text + "2"
        host.os = text + "3"
        host.kernel = text + "4"
        host.arch = text
        let identity = AgentIdentity(run: "ab-12", version: text + "5", started: Timestamp(seconds: 7), host: host)
        let bytes = ControlLine.hello(
            time: time, identity: identity, isFiltered: true, interval: .seconds(10), history: .seconds(120),
            firstSequence: 3, nextSequence: 42, journalFirst: 2, keptSequence: 1)
        let line = try decode(bytes)
        guard case .hello(let hello) = line.body else {
            Issue.record("\(line)")
            return
        }
        #expect(hello.format == 1 && hello.run == "ab-12" && hello.filtered)
        #expect(hello.firstSeq == 3 && hello.nextSeq == 42 && hello.journalFirstSeq == 2 && hello.keptSeq == 1)
        #expect(hello.interval == .seconds(10) && hello.history == .seconds(120))
        #expect(hello.host.name == text + "1" && hello.host.device == text + "2" && hello.host.os == text + "3")
        #expect(hello.host.kernel == text + "4" && hello.host.arch == text)
        #expect(hello.app.name == "catwatch" && hello.app.version == text + "5")
        #expect(hello.app.started == Timestamp(seconds: 7))
    }

    @Test func writesStats() throws {
        var histogram = LatencyHistogram()
        for ms in 1...100 { histogram.record(Double(ms) + 0.125) }
        histogram.recordErrors(3)
        var failing = LatencyHistogram()
        failing.recordErrors()
        let hostile = LineEncoderTests.hostile
        let failure = SourceFailure(code: "dns", message: hostile, attempt: 7, retryAt: Timestamp(seconds: 9))
        let bytes = ControlLine.stats(
            time: time, asOf: 41,
            endpoints: [
                EndpointStatistics(endpoint: hostile, source: "fact", histogram: histogram),
                EndpointStatistics(endpoint: "GET http://a/b", source: hostile, histogram: failing),
            ],
            sources: [
                SourceStatus(source: "fact", state: .ok, since: Timestamp(seconds: 1)),
                SourceStatus(source: hostile, state: .failing, since: Timestamp(seconds: 2), failure: failure),
                SourceStatus(source: "", state: .starting, since: Timestamp(seconds: 3)),
            ])
        guard case .stats(let stats) = try decode(bytes).body
        else {
            Issue.record("no stats")
            return
        }
        #expect(stats.asOf == 41)
        let first = stats.endpoints[0]
        #expect(first.endpoint == hostile && first.source == "fact")
        #expect(first.summary.count == 100 && first.summary.errors == 3)
        let said = first.summary
        #expect(said.last == 100.125 && said.mean == 50.625 && said.minimum == 1.125 && said.maximum == 100.125)
        for (percent, value) in [(50.0, said.p50), (90, said.p90), (95, said.p95), (99, said.p99)] {
            #expect(value == LineWriter.readBack(milliseconds: histogram.percentile(percent)))
        }
        #expect(stats.endpoints[1].source == hostile && stats.endpoints[1].summary.errors == 1)
        #expect(stats.sources.map(\.source) == ["fact", hostile, ""])
        #expect(stats.sources.map(\.state) == [.ok, .failing, .starting])
        #expect(stats.sources.map(\.failure) == [nil, failure, nil])
        #expect(stats.sources.map(\.since) == (1...3).map { Timestamp(seconds: $0) })
    }

    @Test func writesHowSourcesAreToBeRead() throws {
        let hostile = LineEncoderTests.hostile
        let control = String(repeating: "\u{1}", count: 64)
        let bands = (0..<64).map { index -> Band in
            let color = Band.Color(red: UInt8(index), green: 0x0A, blue: 255)
            let end = index == 63 ? nil : Double(index) + 0.123456789012345
            return index.isMultiple(of: 2)
                ? Band(name: control, letter: "\u{1}", color: color, upTo: end)
                : Band(name: "b\(index)", letter: "🐈", color: color, upTo: end)
        }
        let scale = try #require(BandScale(bands, higherIsBetter: true))
        let sources = [
            SourceStatus(source: "aqi", state: .ok, since: time, type: hostile, unit: hostile, bands: scale),
            SourceStatus(source: "plain", state: .ok, since: time, type: "plain", valuePointer: "/a"),
        ]
        let bytes = ControlLine.stats(time: time, asOf: 0, endpoints: [], sources: sources)
        guard case .stats(let stats) = try decode(bytes).body
        else {
            Issue.record("no stats")
            return
        }
        #expect(stats.sources.map(\.type) == [hostile, "plain"] && stats.sources.map(\.bands) == [scale, nil])
        #expect(hostile.hasPrefix(stats.sources[0].unit ?? "-"))
        #expect(
            stats.sources
                == sources.map { source in
                    var source = source
                    source.unit = source.unit.map { LineEncoder.cut($0, at: 32) }
                    return source
                })
    }

    @Test func writesStatsOfNothing() throws {
        let bytes = ControlLine.stats(time: time, asOf: 0, endpoints: [], sources: [])
        let line = try decode(bytes)
        guard case .stats(let stats) = line.body else {
            Issue.record("\(line)")
            return
        }
        #expect(stats.asOf == 0 && stats.endpoints.isEmpty && stats.sources.isEmpty)
    }

    @Test func leavesOutOfStatsWhatDoesNotFitIntoALine() throws {
        let long = String(repeating: "\u{1}", count: 1_024)
        var histogram = LatencyHistogram()
        histogram.record(1)
        let endpoints = (0..<1_000).map {
            EndpointStatistics(endpoint: "\($0)" + long, source: long, histogram: histogram)
        }
        let sources = (0..<1_000).map { SourceStatus(source: "\($0)" + long, state: .ok, since: time) }
        let bytes = ControlLine.stats(time: time, asOf: 1, endpoints: endpoints, sources: sources)
        #expect(bytes.count > LineEncoder.longestLine * 9 / 10)
        guard case .stats(let stats) = try decode(bytes).body else {
            Issue.record("no stats")
            return
        }
        #expect(stats.moreEndpoints == 1_000 - 21 && stats.moreSources == 1_000 - stats.sources.count)
        // In order, from the first; 12.5 KiB each. Sources go before endpoints.
        #expect(stats.endpoints.count == 21)
        #expect(stats.endpoints.map(\.endpoint) == endpoints.prefix(21).map(\.endpoint))
        #expect(stats.sources.count > 110)
        #expect(stats.sources.map(\.source) == sources.prefix(stats.sources.count).map(\.source))
    }

    @Test func noSourceIsLeftOutOfStatsForTheFailureOfAnother() throws {
        let message = String(repeating: "x", count: 1_000)
        let failure = SourceFailure(code: "connect", message: message, attempt: 3, retryAt: time)
        let failing = (0..<2_000).map { SourceStatus(source: "s\($0)", state: .failing, since: time, failure: failure) }
        guard
            case .stats(let stats) = try decode(
                ControlLine.stats(time: time, asOf: 1, endpoints: [], sources: failing)
            ).body
        else {
            Issue.record("no stats")
            return
        }
        #expect(stats.sources.map(\.source) == failing.map(\.source) && stats.moreSources == 0)
        // Those that there is room for.
        let said = stats.sources.count { $0.failure == failure }
        #expect(60..<700 ~= said && stats.sources.allSatisfy { $0.failure == failure || $0.failure == nil }, "\(said)")
    }

    /// The longest of everything, as the writer looks at no bounds: `LineWriter.bytes` stops where one was broken.
    @Test func statsKeepToWhateverSizeTheyAreGiven() throws {
        var random = SeededGenerator(seed: 7)
        var histogram = LatencyHistogram()
        for _ in 0..<200 { histogram.record(999_999_999_999.999) }
        let scale = try #require(
            BandScale(
                (0..<64).map { index in
                    Band(
                        name: String(repeating: "\u{1}", count: 64), letter: "\u{1}",
                        color: Band.Color(red: 0, green: 0, blue: 255),
                        upTo: index == 63 ? nil : -1.2345678901234567e-300 * Double(64 - index))
                }, higherIsBetter: true))
        for round in 0..<300 {
            func text(_ most: Int) -> String {
                String(repeating: "\u{1}", count: .random(in: 0...most, using: &random))
            }
            let endpoints = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                EndpointStatistics(endpoint: text(200), source: text(64), histogram: histogram)
            }
            let sources = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                var status = SourceStatus(
                    source: text(64), state: .starting, since: time, type: text(64), unit: text(32),
                    bands: Bool.random(using: &random) ? scale : nil)
                status.rhythm = .every(.seconds(1) / 3)
                if Bool.random(using: &random) {
                    status.failure = SourceFailure(
                        code: text(64), message: text(1_000), attempt: .max, retryAt: Timestamp(microseconds: .max))
                }
                return status
            }
            let most = Int.random(in: -100...40_000, using: &random)
            let bytes = ControlLine.stats(
                time: time, asOf: .max, endpoints: endpoints, sources: sources, moreEndpoints: .max, moreSources: .max,
                atMost: most)
            #expect(bytes.count <= max(most, 1_024), "round \(round)")
            guard case .stats(let stats) = try LineDecoder.decode(bytes[...]).body else {
                Issue.record("no stats of round \(round)")
                continue
            }
            #expect(stats.moreEndpoints == .max && stats.moreSources == .max)
            #expect(stats.endpoints.count <= endpoints.count && stats.sources.count <= sources.count)
        }
    }

    /// What another agent had left out is still left out.
    @Test(arguments: [(0, 0), (5, 7), (Int.max, Int.max)])
    func countsWhatItLeavesOut(_ moreEndpoints: Int, _ moreSources: Int) throws {
        let bytes = ControlLine.stats(
            time: time, asOf: 1, endpoints: [], sources: [], moreEndpoints: moreEndpoints, moreSources: moreSources)
        let line = try decode(bytes)
        guard case .stats(let stats) = line.body else {
            Issue.record("no stats")
            return
        }
        #expect(stats.moreEndpoints == moreEndpoints && stats.moreSources == moreSources)
    }

    @Test(arguments: [
        (Rhythm.stream, ""), (.every(.seconds(600)), #","every_s":600"#),
        (.every(.milliseconds(500)), #","every_s":0.5"#),
        (.once, #","runs_once":true"#),
    ])
    func saysWhenSomethingNewIsToBeExpected(_ rhythm: Rhythm, _ text: String) throws {
        var status = SourceStatus(source: "s", state: .ok, since: time)
        status.rhythm = rhythm
        let bytes = ControlLine.stats(time: time, asOf: 1, endpoints: [], sources: [status])
        #expect(
            String(decoding: bytes, as: UTF8.self).holds(#":05.678901Z"\#(text)}]}"#),
            "\(String(decoding: bytes, as: UTF8.self))")
        guard case .stats(let stats) = try LineDecoder.decode(bytes[...]).body else {
            Issue.record("no stats")
            return
        }
        #expect(stats.sources == [status])
    }

    @Test func writesAGap() throws {
        let bytes = ControlLine.gap(time: time, missing: 6...Int.max, reason: "slow_reader")
        let line = try decode(bytes)
        guard case .gap(let gap) = line.body else {
            Issue.record("\(line)")
            return
        }
        #expect(gap.from == 6 && gap.to == .max && gap.reason == "slow_reader")
    }

    @Test(arguments: ["SIGTERM", "", LineEncoderTests.hostile])
    func writesABye(text: String) throws {
        let bytes = ControlLine.bye(time: time, run: "ab-12", lastSequence: 91, reason: text)
        let line = try decode(bytes)
        guard case .bye(let bye) = line.body else {
            Issue.record("\(line)")
            return
        }
        #expect(bye.run == "ab-12" && bye.lastSeq == 91 && bye.reason == text && bye.oldest == nil)
        let columns = ControlLine.bye(time: time, run: "ab-12", lastSequence: 91, reason: text, oldest: time)
        guard case .bye(let end) = try decode(columns).body else {
            Issue.record("no bye")
            return
        }
        #expect(end.oldest == time)
    }

    @Test(arguments: ["fact/pi", "", LineEncoderTests.hostile])
    func writesAColumn(text: String) throws {
        let start = Timestamp(seconds: 1_735_786_980)
        let values = BoardWindow(
            start: start, width: 60_000_000, last: 3, count: 5, minimum: -1e308, maximum: 1e308, mean: 2.5)
        for column in [
            Column(start: start, width: 60_000_000, values: values, errors: 2, gaps: 1),
            Column(start: start, width: 86_400_000_000, errors: 1),
            Column(start: Timestamp(seconds: -60), width: 60_000_000, gaps: .max),
        ] {
            let bytes = column.line(of: text, source: text, time: time)
            #expect(bytes.last == 0x0A && bytes.count { $0 == 0x0A } == 1)
            #expect(try LineSchema().faults(of: bytes).filter { column.values != nil || !$0.contains("no \"") } == [])
            #expect(Column(bytes[...]) == column)
            let tree = JSONTree(try JSONMinifier.minify(bytes[...]))
            #expect(tree.find("/series")?.text == text && tree.find("/source")?.text == text)
            // No reader that does not know it takes it for a window of the feed.
            #expect(throws: LineFault.self) { try LineDecoder.decode(bytes[...]) }
        }
    }

    @Test(arguments: [
        (#""count":5"#, #""count":-1"#), (#""count":5"#, #""count":1.5"#), (#""seconds":60"#, #""seconds":0"#),
        (#""last":3"#, #""last":9"#), (#""last":3"#, #""last":null"#), (#""min":1,"#, ""),
        (#""mean":2"#, #""mean":"2""#),
        (#""type""#, #""seq":1,"type""#), (#""errors":0"#, #""errors":-1"#), ("window", "wind"), ("}", ""),
        (#""seconds":60"#, #""seconds":1e300"#), (#","gaps":0"#, ""),
        ("12:00:00.000000Z\",\"seconds", "noon\",\"seconds"),
    ])
    func readsNoColumnThatMakesNoSense(part: String, instead: String) {
        let line =
            #"{"type":"window","time":"2026-03-01T12:00:00.000000Z","source":"s","series":"s","#
            + #""start":"2026-03-01T12:00:00.000000Z","seconds":60,"last":3,"count":5,"min":1,"max":4,"mean":2,"#
            + #""errors":0,"gaps":0}"#
        #expect(Column(Array(line.utf8)[...]) != nil)
        #expect(line.contains(part))
        #expect(Column(Array(line.replacing(part, with: instead).utf8)[...]) == nil)
    }

    @Test func aMeanIsWithinItsColumn() {
        let line =
            #"{"type":"window","time":"2026-03-01T12:00:00.000000Z","source":"s","series":"s","#
            + #""start":"2026-03-01T12:00:00.000000Z","seconds":60,"last":3,"count":5,"min":1,"max":4,"mean":4.1,"#
            + #""errors":0,"gaps":0}"#
        #expect(Column(Array(line.utf8)[...])?.values?.mean == 4)
    }

    @Test func partsOfAColumnAreOneColumn() {
        func part(_ values: [Double], _ errors: Int, _ gaps: Int) -> Column {
            var column = Column(start: time, width: 60_000_000, errors: errors, gaps: gaps)
            for value in values {
                let one = BoardWindow(
                    start: time, width: 60_000_000, last: value, count: 1, minimum: value, maximum: value, mean: value)
                column.absorb(Column(start: time, width: 60_000_000, values: one))
            }
            return column
        }
        for (first, second) in [([3.0, 9], [1.0, 2]), ([], [1, 2]), ([3, 9], []), ([], [])] {
            var column = part(first, 1, 2)
            column.absorb(part(second, 3, 4))
            let all = first + second
            #expect(column.errors == 4 && column.gaps == 6 && column.values?.count ?? 0 == all.count)
            #expect(column.values?.last == all.last && column.values?.minimum == all.min())
            #expect(column.values?.maximum == all.max())
            #expect(column.values.map { abs($0.mean - all.reduce(0, +) / Double(all.count)) < 1e-9 } != false)
        }
    }
}
