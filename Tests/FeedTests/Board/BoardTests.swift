import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct BoardTests {
    private func decode(_ json: String) throws -> Line { try LineDecoder.decode(Bytes(Array(json.utf8))) }

    private func data(_ seq: Int, _ time: Int64, _ value: Double, series: String = "fact") throws -> Line {
        var line = try decode(
            #"{"seq":\#(seq),"time":"2026-03-01T12:00:00Z","type":"fact","source":"fact","series":"\#(series)","value":\#(value)}"#
        )
        line.time = Timestamp(microseconds: time)
        return line
    }

    @Test(arguments: [1, 7, 1_000, 777_777, 10_000_000])
    func windowsOfPointsAreThoseOfARing(_ width: Int64) throws {
        var random = SeededGenerator(seed: 12)
        var board = Board()
        var ring = WindowRing(width: .microseconds(width), history: .seconds(3_600))
        let start = Int64.random(in: -1_000_000_000...1_000_000_000, using: &random)
        var hello = try decode(
            #"{"type":"hello","time":"2026-03-01T12:00:00Z","format":1,"run":"r","history_s":3600,"first_seq":1,"next_seq":1}"#
        )
        hello.time = Timestamp(microseconds: start)
        board.apply(hello)
        var now = start
        for seq in 1...400 {
            now += Int64.random(in: 0...width / 3 + 2, using: &random)
            let time = now - Int64.random(in: 0...width * 3, using: &random)
            let value = Double(Int64.random(in: -800...800, using: &random)) / 8
            board.apply(try data(seq, time, value))
            let outcome = ring.record(
                value, time: Timestamp(microseconds: time), sequence: seq, now: Timestamp(microseconds: now))
            #expect(outcome == .recorded, "seed \(random.seed)")
        }
        let all = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)
        let windows = board.windows(of: 0, width: .microseconds(width), over: all)
        let expected = ring.held.map {
            BoardWindow(
                start: ring.start(of: $0), width: width, last: $0.last, count: $0.count, minimum: $0.minimum,
                maximum: $0.maximum, mean: $0.mean)
        }
        #expect(windows == expected, "seed \(random.seed)")

        let range = Timestamp(microseconds: start)..<Timestamp(microseconds: (start + now) / 2)
        let some = board.windows(of: 0, width: .microseconds(width), over: range)
        #expect(
            some
                == expected.filter { $0.start < range.upperBound && $0.start + .microseconds(width) > range.lowerBound },
            "seed \(random.seed)")
    }

    @Test func holdsNoMoreThanItsBounds() throws {
        var limits = Board.Limits()
        limits.series = 50
        limits.pointsPerSeries = 40
        limits.lines = 20
        var board = Board(limits: limits)
        for seq in 1...3_500 {
            board.apply(try data(seq, Int64(seq), 1, series: "fact/\(seq % 70)"))
        }
        #expect(board.series.count == 50 && board.lines.count == 20 && board.refusedSeries > 0)
        #expect(board.series.allSatisfy { $0.isTrimmed })
        #expect(board.series.indices.allSatisfy { board.points(of: $0).count == 40 })
    }

    private static let hello =
        #"{"type":"hello","time":"2026-03-01T12:00:00Z","format":1,"run":"a","first_seq":1,"next_seq":1}"#

    private func window(_ sequence: Int, _ series: String, width: Int, start: Int, count: Int = 1) throws -> Line {
        let time = "2026-03-01T12:00:\(start < 10 ? "0" : "")\(start)Z"
        return try decode(
            #"{"seq":\#(sequence),"time":"2026-03-01T12:01:00Z","type":"window","source":"s","series":"\#(series)","#
                + #""start":"\#(time)","seconds":\#(width),"last":9,"last_seq":1,"count":\#(count),"min":9,"max":9,"mean":9}"#
        )
    }

    @Test func countsLinesWhoseEndpointIsRefused() throws {
        var limits = Board.Limits()
        limits.endpoints = 1
        var board = Board(limits: limits)
        func answer(_ seq: Int, _ endpoint: String) throws -> Line {
            try decode(
                #"{"seq":\#(seq),"time":"2026-03-01T12:00:00Z","type":"latency","source":"s","endpoint":"\#(endpoint)","status":200,"ms":1}"#
            )
        }
        board.apply(try answer(1, "a"))
        board.apply(try answer(2, "b"))
        #expect(board.refusedEndpoints == 1)
        board.apply(try answer(3, "b"))
        #expect(board.refusedEndpoints == 2)
    }

    @Test func forgetsAGoodbyeWhenTheAgentIsBack() throws {
        var board = Board()
        board.apply(try decode(Self.hello))
        board.apply(
            try decode(#"{"type":"bye","time":"2026-03-01T12:00:01Z","run":"a","last_seq":0,"reason":"count"}"#))
        #expect(board.bye?.reason == "count")
        board.apply(try decode(Self.hello))
        #expect(board.bye == nil && board.runChanges == 0)
    }

    /// An answer 304 says that the last value is still right.
    @Test func aValueThatWasConfirmedIsNotStale() throws {
        var board = Board()
        board.apply(try data(1, 0, 1))
        let (newest, window) = (try #require(board.series[0].newest?.time), Duration.seconds(10))
        #expect(Optional(board.sources[0]).isStale(newest, at: newest + .seconds(26), window: window))
        var answer = try decode(
            #"{"seq":2,"time":"2026-03-01T12:00:00Z","type":"latency","source":"fact","endpoint":"GET /","status":304,"ms":1}"#
        )
        answer.time = newest + .seconds(10)
        board.apply(answer)
        #expect(!Optional(board.sources[0]).isStale(newest, at: newest + .seconds(35), window: window))
        #expect(Optional(board.sources[0]).isStale(newest, at: newest + .seconds(36), window: window))
    }

    @Test(arguments: [(1, 5.0), (2, 9.0)])
    func ofTwoWindowsForOneTimeTheOneOfMoreEventsCounts(_ count: Int, _ last: Double) throws {
        var board = Board()
        let line = #"{"seq":1,"time":"2026-03-01T12:00:01Z","type":"s","source":"s","series":"s","value":5}"#
        board.apply(try decode(line))
        board.apply(try window(2, "s", width: 10, start: 0, count: count))
        let all = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)
        #expect(board.windows(of: 0, width: .seconds(10), over: all).map(\.last) == [last])
    }

    @Test func aSourceThatIsWellAgainHasNothingOfItsError() throws {
        var board = Board()
        board.apply(
            try decode(
                #"{"seq":1,"time":"2026-03-01T12:00:00Z","type":"error","source":"s","code":"dns","message":"x","#
                    + #""attempt":2,"retry_in_ms":500}"#))
        #expect(board.sources[0].failure?.retryAt == Timestamp(seconds: 1_772_366_400) + .milliseconds(500))
        board.apply(try decode(#"{"seq":2,"time":"2026-03-01T12:00:01Z","type":"progress","source":"s","done":1}"#))
        let source = board.sources[0]
        #expect(source.state == .ok && source.failure == nil)
    }

    @Test(arguments: [
        ("fact", SeriesKind.data), ("fact/latency:x", .data), ("latency:fact", .latency), ("memory:catwatch", .memory),
        ("latency", .data), ("", .data),
    ])
    func namesSayWhatSeriesAre(_ name: String, _ kind: SeriesKind) throws {
        var board = Board()
        board.apply(try window(1, name, width: 10, start: 0))
        #expect(board.series[0].kind == kind && board.lines[0].kind == kind)
        #expect(name.isEmpty || kind == .data || board.series(kind, of: String(name.split(separator: ":")[1])) == 0)
    }

    @Test func ignoresALineThatComesTwice() throws {
        var board = Board()
        board.apply(try data(1, 5, 1))
        board.apply(try data(1, 5, 1))
        #expect(board.series.first?.count == 1 && board.lines.count == 1 && board.gapCount == 0)
    }

    @Test(arguments: [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max])
    func survivesTheLargestNumbers(_ time: Int64) throws {
        var board = Board()
        for json in [
            #""seq":1,"type":"fact","source":"s","series":"fact","value":1.7e308"#,
            #""seq":2,"type":"fact","source":"s","series":"fact","value":-1.7e308"#,
            #""seq":3,"type":"window","source":"s","series":"fact","start":"9999-12-31T23:59:59.999999Z","seconds":0.000003,"last":1,"last_seq":1,"count":9223372036854775807,"min":-1.7e308,"max":1.7e308,"mean":1"#,
            #""seq":4,"type":"window","source":"s","series":"fact","start":"2000-01-01T00:00:00Z","seconds":0.000003,"last":1,"last_seq":1,"count":9223372036854775807,"min":-1.7e308,"max":1.7e308,"mean":1"#,
            #""seq":5,"type":"error","source":"s","code":"dns","message":"x","retry_in_ms":3e13"#,
            #""type":"gap","from":1,"to":9223372036854775806,"reason":"slow_reader""#,
            #""seq":9223372036854775807,"type":"progress","source":"s","done":9223372036854775807"#,
            #""type":"gap","from":1,"to":9223372036854775807"#,
            #""type":"stats","as_of":9223372036854775807,"endpoints":[{"endpoint":"e","count":9223372036854775807,"errors":9223372036854775807,"mean_ms":1e308,"p50_ms":1e308}],"sources":[]"#,
        ] {
            var line = try decode(#"{"time":"2026-03-01T12:00:00Z",\#(json)}"#)
            line.time = Timestamp(microseconds: time)
            board.apply(line)
        }
        #expect(board.lastSequence == .max)
        let all = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)
        for width: Int64 in [.min / 1_000, 0, 1, 3, 6, 3_000_000, .max / 1_000] {
            for window in board.windows(of: 0, width: .microseconds(width), over: all) {
                #expect(window.mean.isFinite && window.count > 0)
            }
        }
        #expect(board.windows(of: 1, width: .seconds(1), over: all).isEmpty)
        #expect(board.windows(of: -1, width: .seconds(1), over: all).isEmpty)
    }

    /// What an agent can make a board keep has a bound in bytes, whatever it is made of: see docs/bounds.md.
    @Test func keepsNoMoreOfWindowsThanTheirNumbers() throws {
        var board = Board()
        let emoji = String(repeating: "🐈", count: 50)
        for number in 1...3_000 {
            board.apply(
                try decode(
                    #"{"seq":\#(number),"time":"2026-03-01T12:00:00Z","type":"window","source":"s","series":"s","#
                        + #""start":"2026-03-01T12:00:00.\#(100_000 + number)Z","seconds":0.000001,"last":1,"last_seq":1,"#
                        + #""count":1,"min":1,"max":1,"mean":1,"band":"\#(number)\#(emoji)","trend":"\#(emoji)"}"#))
        }
        let windows = board.series[0].windows
        #expect(windows.count == board.limits.windowsPerSeries)
        #expect(windows.allSatisfy { ($0.band?.utf8.count ?? 0) <= 64 && $0.trend?.utf8.count == 64 })
    }

    @Test func keepsFewOutputsOfAnAgent() throws {
        var board = Board()
        let output = #"{"output":"\#(String(repeating: "o", count: 5_000))","state":"ok","behind":1}"#
        let outputs = Array(repeating: output, count: 100).joined(separator: ",")
        board.apply(
            try decode(
                #"{"seq":1,"time":"2026-03-01T12:00:00Z","type":"agent","source":"c","events":1,"outputs":[\#(outputs)]}"#
            ))
        #expect(board.agent?.outputs.count == 64)
        #expect(board.agent?.outputs.allSatisfy { $0.output.utf8.count == 4_096 } == true)
    }

    @Test func survivesEveryLineOfTheVectorsInAnyOrder() throws {
        var lines: [Line] = []
        for name in VectorFiles.names(of: "board") {
            for line in try VectorFiles.vector(name, in: "board")["lines"]?.elements ?? [] {
                lines.append(try LineDecoder.decode(Bytes(Array((line.string ?? "").utf8))))
            }
        }
        var random = SeededGenerator(seed: 13)
        var limits = Board.Limits()
        limits.pointsPerSeries = 30
        limits.windowsPerSeries = 10
        var board = Board(limits: limits)
        for _ in 0..<LongRun.rounds(short: 5, long: 500) {
            for line in lines.shuffled(using: &random) {
                let before = board.lastSequence
                board.apply(line)
                #expect(board.series.indices.allSatisfy { board.points(of: $0).count <= 30 }, "seed \(random.seed)")
                if case .hello = line.body { continue }
                #expect(board.lastSequence >= before, "seed \(random.seed)")
            }
            #expect(board.series.allSatisfy { $0.windows.count <= 10 }, "seed \(random.seed)")
        }
    }

    /// Each of many series is full by itself: together they have no more room than one in a hundred of that.
    @Test func allSeriesTogetherHaveARoomToo() throws {
        var limits = Board.Limits()
        (limits.points, limits.windows, limits.errors) = (400, 300, 200)
        var board = Board(limits: limits)
        var sequence = 0
        func say(_ text: String) throws {
            sequence += 1
            board.apply(
                try LineDecoder.decode(Bytes("{\"seq\":\(sequence),\"time\":\"2026-01-01T00:00:01Z\",\(text)}".utf8)))
        }
        for round in 0..<30 {
            for source in 0..<20 {
                let of = "\"source\":\"s\(source)\""
                try say("\"type\":\"t\",\(of),\"series\":\"s\(source)\",\"value\":\(round)")
                try say("\"type\":\"error\",\(of),\"code\":\"timeout\",\"message\":\"m\"")
                try say(
                    "\"type\":\"window\",\(of),\"series\":\"s\(source)\",\"start\":\"2026-01-01T00:00:\(10 + round)Z\",\"seconds\":1,"
                        + "\"last\":1,\"last_seq\":1,\"count\":1,\"min\":1,\"max\":1,\"mean\":1")
            }
        }
        let all = board.series.indices
        // The first four of a series, and of a source, are always there.
        #expect(all.reduce(0) { $0 + board.points(of: $1).count } <= 400 + 4 * 20)
        #expect(all.allSatisfy { board.points(of: $0).last?.value == 29 } && board.series.contains(where: \.isTrimmed))
        #expect(board.series.reduce(0) { $0 + $1.windows.count } <= 300)
        #expect(board.sources.indices.reduce(0) { $0 + board.errors(of: $1).count } <= 200 + 4 * 20)
    }

    /// Else each line of the rest is refused by every view.
    @Test func aBoardHasRoomForTheAgentsThatAStoreTakes() {
        #expect(Board.Limits().agents == FeedState.Limits().members)
    }

    @Test func agentsThatThereIsNoRoomForAreCountedUntilOthersGiveWay() throws {
        var sequence = 0
        func peer(_ agent: String, _ second: Int64) throws -> Line {
            sequence += 1
            var line = try decode(
                #"{"seq":\#(sequence),"time":"2026-03-01T12:00:00Z","type":"peer","source":"\#(agent).catwatch","state":"live","since":"2026-03-01T11:00:00Z","lost":0,"agent":"\#(agent)"}"#
            )
            line.time = Timestamp(microseconds: second * 1_000_000)
            return line
        }
        var limits = Board.Limits()
        limits.agents = 4
        var board = Board(limits: limits)
        for number in 1...4 { board.apply(try peer("a\(number)", 100)) }
        #expect(board.agents.count == 4)
        for number in 1...100 { board.apply(try peer("new\(number)", 101)) }
        #expect(board.refusedAgents == 100 && board.agents.map(\.name) == ["a1", "a2", "a3", "a4"])
        // A day behind their last lines they give way.
        board.apply(try peer("last", 100 + 86_400))
        #expect(board.agents.map(\.name) == ["last"])
    }
}
