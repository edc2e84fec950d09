import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct FeedStateTests {
    private let wall = Timestamp(seconds: 1_700_000_000)
    private let now = LoopInstant(nanoseconds: 0)

    static let shapes: [(seed: UInt64, interval: Duration, history: Duration, series: Int)] = [
        (41, .seconds(10), .seconds(120), 100), (42, .seconds(1), .seconds(5), 12),
        (47, .milliseconds(500), .milliseconds(1_500), 20), (44, .seconds(10), .seconds(10), 3),
    ]

    @Test(arguments: shapes)
    func agreesWithItsBruteForceTwin(seed: UInt64, interval: Duration, history: Duration, series: Int) {
        let events = LongRun.rounds(short: 1_500, long: 1_000_000 / Self.shapes.count)
        let scenario = FeedScenario(seed: seed, interval: interval, history: history, series: series)
        let report = scenario.run(events: events)
        #expect(report.mismatch == nil)
        // The scenario is worth nothing unless all of it happens.
        #expect(report.counts.late > 0 && report.counts.future > 0 && report.windowLines > 0, "seed \(seed)")
        #expect(report.steps > 0, "seed \(seed)")
        #expect(report.registrations > 0, "seed \(seed)")
        // Most of three series are of latencies and memory.
        #expect(report.rows > 0 && report.lateWords > 0 || series < 10, "seed \(seed)")
        // With a history of one window there is none before it.
        #expect((report.trends > 0) == (history > interval), "seed \(seed)")
        #expect((report.counts.refusedSeries > 0) == (series < 30), "seed \(seed)")
    }

    /// All lines of a state, without their newlines.
    private func lines(_ state: borrowing FeedState) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var cursor = state.log.firstSequence
        while case .lines(let span) = state.log.read(from: cursor) {
            lines += span.withUnsafeBytes { [UInt8]($0) }.split(separator: 0x0A).map { Array($0) }
            cursor = span.sequences.upperBound + 1
        }
        return lines
    }

    private func decoded(_ state: borrowing FeedState) throws -> [Line] {
        try lines(state).map { try LineDecoder.decode($0[...]) }
    }

    private func publish(_ body: Event.Body, to state: inout FeedState, from source: SourceID, after: Duration = .zero)
    {
        let event = Event(time: wall + after, source: source, body: body)
        state.publish(EventBatch([event]), at: Moment(wall: wall + after, now: now.advanced(by: after)))
    }

    private func data(_ line: Line) throws -> Line.Data {
        guard case .data(let data) = line.body else { throw Unexpected(line: line) }
        return data
    }

    private struct Unexpected: Error { let line: Line }

    // MARK: Data lines

    @Test func writesDataWithItsKeysInOrder() throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
        let datum = Datum(
            key: Bytes("a".utf8), value: 106, text: Bytes("Cats \"sleep\"".utf8), data: Bytes("[1,{}]".utf8))
        publish(.data(datum), to: &state, from: source)
        publish(.data(Datum()), to: &state, from: source)
        let lines = lines(state)
        #expect(
            JSONTree(lines[0]).keys == ["seq", "time", "type", "source", "series", "value", "text", "data"])
        #expect(JSONTree(lines[1]).keys == ["seq", "time", "type", "source", "series"])
        let line = try LineDecoder.decode(lines[0][...])
        #expect(line.seq == 1 && line.time == wall && line.type == "fact" && line.source == "fact")
        let data = try data(line)
        #expect(data.series == "fact/a" && data.value == 106 && data.text == "Cats \"sleep\"" && !data.truncated)
        #expect(data.data == Bytes("[1,{}]".utf8))
    }

    @Test(arguments: [
        ("a\"b\\c\n\u{1}é🐈", "k\"\\\u{0}\u{1F}/猫"), ("", ""), (String(repeating: "\u{1}", count: 1_024), "k"),
        ("fact", String(repeating: "\u{2}", count: 1_024)), ("latency:fact", "x"),
    ])
    func keepsHostileNames(name: String, key: String) throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: name, type: name), at: wall)
        publish(.data(Datum(key: Bytes(key.utf8), value: 1)), to: &state, from: source)
        publish(.latency(LatencySample(endpoint: name, status: 200, ms: 1)), to: &state, from: source)
        publish(.memory(MemorySample(resident: 1, peak: 1, privateBytes: 1)), to: &state, from: source)
        publish(.error(Failure(.internal, key, endpoint: key)), to: &state, from: source)
        publish(.progress(Progress(done: 1, total: 1, page: 1)), to: &state, from: source)
        publish(.agent(AgentSample(loopLag: 0, cpu: 0)), to: &state, from: source)
        state.advance(at: Moment(wall: wall + .seconds(20), now: now))
        let decoded = try decoded(state)
        #expect(decoded.map(\.seq) == Array(1...9))
        #expect(decoded.allSatisfy { $0.source == name })
        #expect(decoded[0].type == name)
        #expect(try data(decoded[0]).series == "\(name)/\(key)")
        let series = decoded[6...].map { line in
            if case .window(let window) = line.body { window.series } else { "?" }
        }
        #expect(series == ["\(name)/\(key)", "latency:\(name)", "memory:\(name)"])
    }

    @Test func cutsNamesThatAreTooLong() throws {
        var state = FeedState()
        // One letter puts every scalar across the limit.
        let long = "a" + String(repeating: "é", count: 300_000)
        let source = state.register(SourceDescription(name: long, type: long), at: wall)
        publish(.data(Datum(key: Bytes(long.utf8), value: 1)), to: &state, from: source)
        publish(.error(Failure(.internal, long, endpoint: long)), to: &state, from: source)
        publish(.latency(LatencySample(endpoint: long, status: 200, ms: 1)), to: &state, from: source)
        let decoded = try decoded(state)
        let name = "a" + String(repeating: "é", count: 511)
        #expect(decoded.count == 4 && decoded[0].source == name && decoded[0].type == name)
        #expect(try data(decoded[0]).series == "\(name)/\(name)")
        // The key is no series; that is said once, and not as if there were too many.
        #expect(state.counts.refusedSeries == 1 && state.counts.series == 1)
        guard case .error(let refusal) = decoded[1].body, case .error(let failure) = decoded[2].body else {
            Issue.record("no errors")
            return
        }
        #expect(refusal.code == .config && refusal.message.contains("1024 bytes"))
        let text = "a" + String(repeating: "é", count: 2_047)
        #expect(failure.message == "a" + String(repeating: "é", count: 998) + "…" && failure.endpoint == text)
        #expect(state.tables.endpoints.map(\.endpoint) == [text], "the same for both")
    }

    @Test func cutsAMessageOfOneEndlessCharacter() throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
        let message = "e" + String(repeating: "\u{301}", count: 1_000_000)
        publish(.error(Failure(.internal, message)), to: &state, from: source)
        #expect(lines(state)[0].count < 5_000)
    }

    @Test(arguments: ["a", "é", "猫", "🐈"])
    func cutsAMessageAtAThousandCharacters(letter: String) throws {
        for count in 999...1_002 {
            var state = FeedState()
            let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
            let message = String(repeating: letter, count: count)
            publish(.error(Failure(.internal, message)), to: &state, from: source)
            guard case .error(let failure) = try decoded(state)[0].body else {
                Issue.record("no error")
                return
            }
            #expect(failure.message == (count > 1_000 ? String(repeating: letter, count: 999) + "…" : message))
            let refusal = try LineDecoder.decode(ControlLine.refusal(.protocol, message, time: wall)[...])
            #expect(refusal.body == .refusal(Failure(.protocol, failure.message)))
        }
    }

    @Test(arguments: ["a", "é", "猫", "🐈"])
    func cutsTextBeforeTheCharacterThatDoesNotFit(filler: String) throws {
        for before in 0..<4 {
            for count in 4_090...4_102 {
                let prefix = String(repeating: ".", count: before)
                let text = prefix + String(repeating: filler, count: (count - before) / filler.utf8.count)
                var state = FeedState()
                let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
                publish(.data(Datum(text: Bytes(text.utf8))), to: &state, from: source)
                let data = try data(decoded(state)[0])
                let most = (4_096 - before) / filler.utf8.count
                let kept = prefix + String(repeating: filler, count: min(most, (count - before) / filler.utf8.count))
                #expect(data.text == kept && data.truncated == (text.utf8.count > 4_096))
            }
        }
    }

    @Test(
        arguments: [
            (.deep, #""truncated":true}"#), (.overflow, #""truncated":true}"#),
            (.surrogate, #""data":["\ufffd \ud83d\ude3a"],"altered":true}"#),
            ([.surrogate, .overflow], #""truncated":true,"altered":true}"#),
        ] as [(JSONFlaws, String)])
    func saysWhatBecameOfDataThatNotEveryReaderTakes(flaws: JSONFlaws, end: String) throws {
        for key in [nil, Bytes("k".utf8)] {
            var state = FeedState()
            let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
            let datum = Datum(
                key: key, value: 7, text: Bytes("t".utf8), data: Bytes(#"["\ud800 \ud83d\ude3a"]"#.utf8), flaws: flaws)
            publish(.data(datum), to: &state, from: source)
            let line = lines(state)[0]
            #expect(String(decoding: line, as: UTF8.self).hasSuffix(#""value":7,"text":"t","# + end))
            let data = try data(LineDecoder.decode(line[...]))
            #expect(data.truncated == flaws.areFatal && data.altered == flaws.contains(.surrogate))
            #expect(data.value == 7 && data.text == "t")
        }
    }

    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func leavesOutDataThatDoesNotFitIntoALine(isTextCut: Bool, isAltered: Bool) throws {
        let text = isTextCut ? Bytes(repeating: 0x61, count: 5_000) : nil
        func line(data length: Int) throws -> (count: Int, data: Line.Data) {
            var state = FeedState()
            let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
            let string = [0x22] + [UInt8](repeating: 0x62, count: length - 2) + [0x22]
            let flaws: JSONFlaws = isAltered ? .surrogate : []
            publish(.data(Datum(value: 1, text: text, data: string[...], flaws: flaws)), to: &state, from: source)
            let line = lines(state)[0]
            return (line.count + 1, try data(LineDecoder.decode(line[...])))
        }
        let small = try line(data: 100)
        #expect(small.data.data?.count == 100 && small.data.truncated == isTextCut)
        let room = LineEncoder.longestLine - small.count + 100
        let full = try line(data: room)
        #expect(full.count == LineEncoder.longestLine && full.data.data?.count == room)
        #expect(full.data.truncated == isTextCut)
        for length in [room + 1, room + 30, 3 << 20] {
            let empty = try line(data: length)
            #expect(empty.data.data == nil && empty.data.truncated && empty.data.value == 1)
            #expect(empty.data.altered == isAltered)
            #expect(empty.data.text?.utf8.count == (isTextCut ? 4_096 : nil))
        }
    }

    // MARK: Counting

    @Test func takesExactlyAsManyDataEventsAsAreAskedFor() throws {
        var limits = FeedState.Limits()
        limits.data = 5
        var state = FeedState(limits: limits)
        let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
        let batch = EventBatch(
            (0..<8).flatMap { number in
                [
                    Event(time: wall, source: source, body: .data(Datum(value: Double(number)))),
                    Event(time: wall, source: source, body: .progress(Progress(done: number, total: 8, page: 1))),
                ]
            })
        state.publish(batch, at: Moment(wall: wall, now: now))
        state.publish(batch, at: Moment(wall: wall, now: now))
        #expect(state.counts.data == 5)
        let types = try decoded(state).map(\.type)
        #expect(types.count { $0 == "fact" } == 5 && types.count { $0 == "progress" } == 16)
    }

    @Test func takesALatencyAsItsLineSaysIt() throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
        for ms in [1.23456, .nan, -1, .infinity] {
            publish(.latency(LatencySample(endpoint: "GET /", status: 200, ms: ms)), to: &state, from: source)
        }
        state.advance(at: Moment(wall: wall + .seconds(10), now: now))
        let decoded = try decoded(state)
        guard case .window(let window) = decoded[4].body else { throw Unexpected(line: decoded[4]) }
        #expect(window.max == 1.235 && window.min == 0 && window.last == 0 && window.count == 4)
        #expect(state.tables.endpoints[0].histogram.maximum == 1.235 && state.tables.endpoints[0].histogram.count == 4)
    }

    @Test func boundsItsEndpointsAndSaysSo() throws {
        var limits = FeedState.Limits()
        limits.endpoints = 3
        var state = FeedState(limits: limits)
        let fact = state.register(SourceDescription(name: "fact"), at: wall)
        let dogs = state.register(SourceDescription(name: "dogs"), at: wall)
        for (name, source) in [("a", fact), ("b", fact), ("a", dogs), ("c", fact), ("b", dogs), ("a", fact)] {
            publish(.latency(LatencySample(endpoint: name, status: 200, ms: 1)), to: &state, from: source)
            publish(.error(Failure(.timeout, "", endpoint: name)), to: &state, from: source)
        }
        // One that two sources ask is two.
        #expect(state.tables.endpoints.map(\.endpoint) == ["a", "b", "a"])
        #expect(state.tables.endpoints.map(\.source) == ["fact", "fact", "dogs"])
        #expect(state.tables.endpoints.map(\.histogram.count) == [2, 1, 1])
        #expect(state.tables.endpoints.map(\.histogram.errors) == [2, 1, 1])
        #expect(state.counts.refusedEndpoints == 4)
        let told = try decoded(state).compactMap { line -> String? in
            if case .error(let failure) = line.body, line.source == "catwatch" { failure.message } else { nil }
        }
        #expect(told == ["more than 3 endpoints: further ones are asked, but have no statistics"])
        publish(.agent(AgentSample(loopLag: 0, cpu: 0)), to: &state, from: fact)
        guard case .agent(let agent)? = try decoded(state).last?.body else {
            Issue.record("no agent line")
            return
        }
        #expect(agent.refusedEndpoints == 4)
    }

    /// Nobody says that there is room again, so nothing is refused for as long as the history.
    @Test func itIsOverThatThereIsTooMuchWhenNothingIsRefusedAnyMore() throws {
        var limits = FeedState.Limits()
        (limits.series, limits.history, limits.endpoints) = (1, .seconds(60), 1)
        var state = FeedState(limits: limits)
        let fact = state.register(SourceDescription(name: "fact"), at: wall)
        func pass(_ seconds: Int, key: String? = nil, endpoint: String? = nil) {
            let (wall, now) = (wall + .seconds(seconds), now.advanced(by: .seconds(seconds)))
            let datum = Datum(key: Bytes((key ?? "a").utf8), value: 1)
            var events = [Event(time: wall, source: fact, body: .data(datum))]
            let failure = endpoint.map { Failure(.dns, "", endpoint: $0) }
            if let failure { events.append(Event(time: wall, source: fact, body: .error(failure))) }
            state.publish(EventBatch(events), at: Moment(wall: wall, now: now))
        }
        func own() throws -> [String] { try decoded(state).filter { $0.source == "catwatch" }.map(\.type) }
        pass(0, endpoint: "a")
        pass(1, key: "b", endpoint: "b")
        pass(50, key: "b")
        #expect(try own() == ["error", "error"] && state.tables.statuses.last?.state == .failing)
        // The endpoints' is over; the series' still is what is wrong, and is said again.
        pass(80)
        #expect(try own() == ["error", "error", "recovered", "error"] && state.tables.statuses.last?.state == .failing)
        pass(111)
        #expect(try own().count == 5 && state.tables.statuses.last?.state == .ok)
        // It may begin anew.
        pass(112, key: "c")
        #expect(try own().suffix(2) == ["recovered", "error"] && state.tables.statuses.last?.state == .failing)
    }

    @Test func aSourceIsFineAgainAfterAnErrorBetweenTheDataOfABatch() {
        var state = FeedState()
        let fact = state.register(SourceDescription(name: "fact"), at: wall)
        let data = Event(time: wall, source: fact, body: .data(Datum(value: 1)))
        let error = Event(time: wall, source: fact, body: .error(Failure(.dns, "")))
        for (events, expected) in [([data, error, data], SourceStatus.State.ok), ([data, error], .failing)] {
            state.publish(EventBatch(events), at: Moment(wall: wall, now: now))
            #expect(state.tables.statuses.map(\.state) == [expected])
        }
    }

    // MARK: Windows

    @Test func countsALateEventAndLeavesItsWindowAsItWas() throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
        publish(.data(Datum(value: 1)), to: &state, from: source)
        let late = Event(time: wall + .seconds(3), source: source, body: .data(Datum(value: 5)))
        state.publish(EventBatch([late, late, late]), at: Moment(wall: wall + .seconds(12), now: now))
        #expect(try decoded(state).map(\.type) == ["fact", "window", "fact", "fact", "fact"])
        #expect(state.counts.late == 3)
    }

    @Test func closesWindowsWhenTheClockIsSteppedEitherWay() throws {
        for step in [-1, 1] as [Int64] {
            var state = FeedState()
            let source = state.register(SourceDescription(name: "fact", type: "fact"), at: wall)
            publish(.data(Datum(value: 1)), to: &state, from: source)
            state.advance(at: Moment(wall: wall + .seconds(step * 100_000), now: now))
            #expect(try decoded(state).map(\.type) == ["fact", "window"], "what was recorded is told")
            state.advance(at: Moment(wall: wall + .seconds(step * 100_000), now: now))
            #expect(state.log.nextSequence == 3)
        }
    }
}
