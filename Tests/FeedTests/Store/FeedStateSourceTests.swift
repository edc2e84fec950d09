import Feed
import Reactor
import TestSupport
import Testing

/// Sources that come again, change and go; series and their names; bands.
@Suite(.limited) struct FeedStateSourceTests {
    private let wall = Timestamp(seconds: 1_700_000_000)
    private let now = LoopInstant(nanoseconds: 0)

    static func scale(higherIsBetter: Bool, _ ends: Double...) -> BandScale? {
        let bands = (ends.map { Optional($0) } + [nil]).enumerated().map { index, end in
            Band(name: "b\(index)", letter: "b", color: .init(red: 0, green: 0, blue: 0), upTo: end)
        }
        return BandScale(bands, higherIsBetter: higherIsBetter)
    }

    private func decoded(_ state: borrowing FeedState) throws -> [Line] {
        var lines: [Line] = []
        var cursor = state.log.firstSequence
        while case .lines(let span) = state.log.read(from: cursor) {
            lines += try span.withUnsafeBytes { [UInt8]($0) }.split(separator: 0x0A).map {
                try LineDecoder.decode($0)
            }
            cursor = span.sequences.upperBound + 1
        }
        return lines
    }

    private func windows(_ state: borrowing FeedState) throws -> [Line.Window] {
        try decoded(state).compactMap { if case .window(let window) = $0.body { window } else { nil } }
    }

    private func publish(
        _ value: Double?, key: String? = nil, text: String? = nil, to state: inout FeedState, from source: SourceID,
        at time: Double = 0, clock: Double? = nil
    ) {
        func at(_ seconds: Double) -> Timestamp { wall + .microseconds(Int64(seconds * 1_000_000)) }
        let datum = Datum(key: key.map { Bytes($0.utf8) }, value: value, text: text.map { Bytes($0.utf8) })
        state.publish(
            EventBatch([Event(time: at(time), source: source, body: .data(datum))]),
            at: Moment(wall: at(clock ?? time), now: now))
    }

    // MARK: Where values are

    @Test func theLineThatFixesThePlaceOfTheValueSaysSo() throws {
        var state = FeedState()
        let (first, second) = (
            state.register(SourceDescription(name: "a"), at: wall),
            state.register(SourceDescription(name: "b"), at: wall)
        )
        publish(0, to: &state, from: first)
        var batch = EventBatch()
        for (source, value, pointer) in [
            (first, nil, nil), (second, 1, nil), (first, 2, "/x"), (first, 3, nil), (first, 4, "/y\n"),
            (second, 5, nil),
        ] as [(SourceID, Double?, String?)] {
            let datum = Datum(key: Bytes("k".utf8), value: value, text: nil)
            batch.add(Event(time: wall, source: source, body: .data(datum)))
            if let pointer { batch.setValuePointer(pointer) }
        }
        state.publish(batch, at: Moment(wall: wall, now: now))
        #expect(state.tables.newestReport == 6)
        func pointers() throws -> [String?] {
            try decoded(state).compactMap { if case .data(let data) = $0.body { data.valuePointer } else { nil } }
        }
        #expect(try pointers() == [nil, nil, nil, "/x", nil, "/y\n", nil])
        #expect(state.tables.statuses.map(\.valuePointer) == ["/y\n", nil])
        // Another batch, and the same one with other events.
        batch.removeAll()
        for _ in 0..<3 { batch.add(Event(time: wall, source: first, body: .data(Datum(value: 6)))) }
        state.publish(batch, at: Moment(wall: wall, now: now))
        #expect(try pointers().suffix(3) == [nil, nil, nil])
        // With another description nothing is known of it.
        #expect(state.register(SourceDescription(name: "a"), at: wall) == first)
        #expect(state.tables.statuses.map(\.valuePointer) == [nil, nil])
    }

    // MARK: Registering

    @Test func aKnownNameIsTheSameSourceWithItsHistory() throws {
        var state = FeedState()
        let first = state.register(SourceDescription(name: "aqi", type: "old", unit: "a"), at: wall)
        publish(1, key: "Delhi", to: &state, from: first)
        publish(2, to: &state, from: first)
        state.advance(at: Moment(wall: wall + .seconds(10), now: now))
        let second = state.register(
            SourceDescription(name: "aqi", type: "new", unit: "b", bands: Self.scale(higherIsBetter: true, 0)),
            at: wall + .seconds(12))
        #expect(second == first)
        #expect(state.tables.statuses.map(\.state) == [.starting] && state.tables.statuses.map(\.type) == ["new"])
        #expect(
            state.tables.statuses.map(\.since) == [wall + .seconds(12)] && state.tables.statuses.map(\.unit) == ["b"])
        publish(3, key: "Delhi", to: &state, from: second, at: 13)
        publish(nil, key: "Delhi", to: &state, from: second, at: 13)
        publish(-4, to: &state, from: second, at: 13)
        state.advance(at: Moment(wall: wall + .seconds(20), now: now))
        let lines = try decoded(state)
        #expect(
            lines.filter { if case .data = $0.body { true } else { false } }.map(\.type)
                == ["old", "old", "new", "new", "new"])
        let windows = try windows(state)
        #expect(state.counts.series == 2)
        // The windows from before are read by the new bands.
        #expect(windows.map(\.series) == ["aqi/Delhi", "aqi", "aqi/Delhi", "aqi"])
        #expect(windows.map(\.count) == [1, 1, 1, 1])
        #expect(windows.map(\.band) == [nil, nil, "b1", "b0"])
        #expect(windows.map(\.trend) == [nil, nil, nil, "deteriorating"])
    }

    @Test func aRetiredSourceIsNotListedAndItsWindowsClose() throws {
        var state = FeedState()
        let fact = state.register(SourceDescription(name: "fact"), at: wall)
        let dogs = state.register(SourceDescription(name: "dogs"), at: wall)
        publish(1, to: &state, from: fact)
        state.retire(fact)
        #expect(state.tables.statuses.map(\.source) == ["dogs"])
        publish(2, to: &state, from: fact, at: 1)
        state.advance(at: Moment(wall: wall + .seconds(10), now: now))
        #expect(try windows(state).map(\.count) == [2])
        #expect(state.register(SourceDescription(name: "fact"), at: wall) == fact && fact != dogs)
        #expect(state.tables.statuses.map(\.source) == ["fact", "dogs"])
    }

    // MARK: Series and names

    @Test func onlyValuesMakeSeries() throws {
        var limits = FeedState.Limits()
        limits.series = 2
        var state = FeedState(limits: limits)
        let source = state.register(SourceDescription(name: "breeds"), at: wall)
        for number in 0..<100 { publish(nil, key: "k\(number)", text: "x", to: &state, from: source) }
        publish(nil, text: "own", to: &state, from: source)
        #expect(state.counts.series == 0 && state.counts.refusedSeries == 0)
        publish(1, key: "k7", to: &state, from: source)
        publish(nil, key: "k7", to: &state, from: source)
        publish(1, to: &state, from: source)
        publish(nil, to: &state, from: source)
        publish(nil, key: "k\u{1}", to: &state, from: source)
        publish(nil, key: String(repeating: "x", count: 2_000), to: &state, from: source)
        #expect(state.counts.series == 2 && state.counts.refusedSeries == 0)
        publish(1, key: "k8", to: &state, from: source)
        #expect(state.counts.refusedSeries == 1)
        let series = try decoded(state).compactMap { line -> String? in
            if case .data(let data) = line.body { data.series } else { nil }
        }
        let expected =
            (0..<100).map { "breeds/k\($0)" }
            + ["breeds", "breeds/k7", "breeds/k7", "breeds", "breeds", "breeds/k\u{1}"]
            + ["breeds/" + String(repeating: "x", count: 1_024), "breeds/k8"]
        #expect(series == expected)
    }

    @Test func hostileNamesTakeNoMoreMemoryThanThereIs() throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: "s"), at: wall)
        // 6 KiB each once they are escaped, three times as many as there is room for.
        let count = 1_600
        let filler = String(repeating: "\u{1}", count: 1_000)
        for number in 0..<count { publish(1, key: filler + String(number), to: &state, from: source) }
        #expect(state.counts.series == count)
        state.advance(at: Moment(wall: wall + .seconds(10), now: now))
        var expected = count
        for window in try windows(state).reversed() {
            expected -= 1
            guard window.series == "s/" + filler + String(expected) else {
                Issue.record("\(expected) is \(window.series.utf8.suffix(5))")
                return
            }
        }
        #expect(expected < count - 100)
    }

    // MARK: The end

    @Test func completeGivesOpenWindowsTheirLine() throws {
        var state = FeedState()
        let source = state.register(SourceDescription(name: "fact"), at: wall)
        for number in 0..<5 { publish(Double(number), key: "k\(number)", to: &state, from: source) }
        publish(9, key: "k4", to: &state, from: source, at: 7, clock: 3)
        publish(nil, key: "k5", to: &state, from: source, at: 3)
        // One at least, whatever the bound.
        #expect(state.complete(from: 0, atMost: 0, at: Moment(wall: wall + .seconds(4), now: now)) == 1)
        #expect(state.complete(from: 1, atMost: .max, at: Moment(wall: wall + .seconds(4), now: now)) == nil)
        #expect(state.complete(from: 5, atMost: .max, at: Moment(wall: wall + .seconds(4), now: now)) == nil)
        #expect(state.complete(from: 9, atMost: .max, at: Moment(wall: wall + .seconds(4), now: now)) == nil)
        #expect(state.complete(from: 0, atMost: .max, at: Moment(wall: wall + .seconds(4), now: now)) == nil)
        let windows = try windows(state)
        #expect(windows.map(\.series) == (0..<5).map { "fact/k\($0)" })
        #expect(windows.map(\.last) == [0, 1, 2, 3, 9])
        state.advance(at: Moment(wall: wall + .seconds(10), now: now))
        #expect(try self.windows(state).count == 5)
    }

    // MARK: Bands and trends

    @Test(arguments: [false, true])
    func saysTheBandAndWhereItGoes(higherIsBetter: Bool) throws {
        var state = FeedState()
        let scale = Self.scale(higherIsBetter: higherIsBetter, 10, 20)
        let source = state.register(SourceDescription(name: "aqi", bands: scale), at: wall)
        // The third window is empty; the last one is more than the history later.
        for (second, value) in [(0.0, 5.0), (10, 10), (30, 10.5), (40, 21), (50, 20), (60, -3), (70, 0), (190, 99)] {
            state.advance(at: Moment(wall: wall + .seconds(Int64(second)), now: now))
            publish(value, to: &state, from: source, at: second)
        }
        state.advance(at: Moment(wall: wall + .seconds(200), now: now))
        let windows = try windows(state)
        #expect(windows.map(\.band) == ["b0", "b0", "b1", "b2", "b1", "b0", "b0", "b2"])
        let (up, down) = higherIsBetter ? ("improving", "deteriorating") : ("deteriorating", "improving")
        #expect(windows.map(\.trend) == [nil, nil, up, up, down, down, nil, nil])
    }

    @Test func onlyDataHasBands() throws {
        var state = FeedState()
        let source = state.register(
            SourceDescription(name: "aqi", bands: Self.scale(higherIsBetter: false, 10)), at: wall)
        let sample = LatencySample(endpoint: "GET http://a/", status: 200, ms: 5)
        state.publish(
            EventBatch([Event(time: wall, source: source, body: .latency(sample))]), at: Moment(wall: wall, now: now))
        state.advance(at: Moment(wall: wall + .seconds(10), now: now))
        #expect(try windows(state).map(\.band) == [nil])
    }
}
