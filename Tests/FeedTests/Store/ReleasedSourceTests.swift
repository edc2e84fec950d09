import Reactor
import TestSupport
import Testing

@testable import Feed

/// Sources that nothing more comes from: what is still said of them, and that they take no room for ever.
@Suite(.limited) struct ReleasedSourceTests {
    private static let wall = Timestamp(seconds: 1_700_000_000)

    /// A store, its clocks, and what came out of it so far.
    private struct Scene: ~Copyable {
        var state: FeedState
        private(set) var seconds = 0
        private var cursor = 1
        private let decodes: Bool
        private(set) var lines: [Line] = []

        init(decodes: Bool = true, _ adjust: (inout FeedState.Limits) -> Void = { _ in }) {
            self.decodes = decodes
            var limits = FeedState.Limits()
            adjust(&limits)
            state = FeedState(limits: limits)
        }

        private var wall: Timestamp { ReleasedSourceTests.wall + .seconds(seconds) }
        private var now: LoopInstant { LoopInstant(nanoseconds: 0).advanced(by: .seconds(seconds)) }

        mutating func register(_ name: String) -> SourceID {
            state.register(SourceDescription(name: name), at: wall)
        }

        mutating func publish(_ bodies: [Event.Body], from source: SourceID) throws {
            state.publish(
                EventBatch(bodies.map { Event(time: wall, source: source, body: $0) }), at: Moment(wall: wall, now: now)
            )
            try read()
        }

        mutating func publish(_ keys: [String?], from source: SourceID) throws {
            try publish(keys.map { .data(Datum(key: $0.map { Bytes($0.utf8) }, value: 1)) }, from: source)
        }

        mutating func release(_ source: SourceID) throws {
            state.release(source, at: Moment(wall: wall, now: now))
            try read()
        }

        mutating func pass(_ seconds: Int) throws {
            for _ in 0..<seconds {
                self.seconds += 1
                state.advance(at: Moment(wall: wall, now: now))
                try read()
            }
        }

        private mutating func read() throws {
            guard decodes else { return }
            while case .lines(let span) = state.log.read(from: cursor) {
                cursor = span.sequences.upperBound + 1
                for line in span.withUnsafeBytes({ [UInt8]($0) }).split(separator: 0x0A) {
                    lines.append(try LineDecoder.decode(line))
                }
            }
        }

        var windows: [Line.Window] {
            lines.compactMap { if case .window(let window) = $0.body { window } else { nil } }
        }
    }

    private static func latency(_ endpoint: String) -> Event.Body {
        .latency(LatencySample(endpoint: endpoint, status: 200, ms: 3))
    }

    /// `pause` seconds between them: so many that the history passes, or none, so that only the bound on what is remembered holds.
    @Test(arguments: [1, 0])
    func anyNumberOfReloadsWithNewNamesTakesNoMoreRoomThanAFew(pause: Int) throws {
        var scene = Scene(decodes: false) { limits in
            limits.interval = .seconds(1)
            limits.history = .seconds(10)
            limits.released = 50
        }
        var (places, series, endpoints) = (0, 0, 0)
        let rounds = LongRun.rounds(short: 1_500, long: 50_000)
        for round in 0..<rounds {
            let source = scene.register("source-\(round)")
            try scene.publish(["Zürich", nil, "b"], from: source)
            try scene.publish([Self.latency("GET http://a/\(round)")], from: source)
            try scene.release(source)
            try scene.pass(pause)
            places = max(places, source.index)
            series = max(series, scene.state.counts.series)
            endpoints = max(endpoints, scene.state.tables.endpoints.count)
        }
        #expect(places <= 51 && series <= 51 * 4 && endpoints <= 51, "\(places), \(series), \(endpoints)")
        #expect(scene.state.counts.refusedSeries == 0 && scene.state.counts.refusedEndpoints == 0)
        #expect(scene.state.tables.statuses.isEmpty)
        // A line each, and one for each window.
        try scene.pass(20)
        #expect(scene.state.tables.endpoints.isEmpty && scene.state.counts.series == 0)
        #expect(scene.state.log.nextSequence - 1 == rounds * 8)
    }

    @Test func itIsShownUntilTheHistoryHasPassed() throws {
        var scene = Scene()
        let kept = scene.register("kept")
        let gone = scene.register("gone")
        for source in [gone, kept] {
            try scene.publish([nil, "key"], from: source)
            try scene.publish(
                [Self.latency("GET http://a/b"), .error(Failure(.timeout, "", endpoint: "GET http://a/c"))],
                from: source)
        }
        try scene.release(gone)
        #expect(scene.state.tables.statuses.map(\.source) == ["kept"])
        try scene.pass(129)
        #expect(scene.state.tables.endpoints.map(\.source) == ["gone", "gone", "kept", "kept"])
        #expect(scene.state.counts.series == 6 && scene.windows.count == 6)
        try scene.pass(11)
        #expect(scene.state.tables.endpoints.map(\.source) == ["kept", "kept"])
        #expect(scene.state.tables.endpoints.map(\.endpoint) == ["GET http://a/b", "GET http://a/c"])
        #expect(scene.state.counts.series == 3 && scene.windows.count == 6)

        // Its place is another one's, which has nothing of it, and what was there goes on.
        let new = scene.register("new")
        #expect(new == gone)
        for source in [new, kept] {
            try scene.publish(["key"], from: source)
            try scene.publish([Self.latency("GET http://a/b")], from: source)
        }
        #expect(scene.state.tables.endpoints.map(\.source) == ["kept", "kept", "new"])
        #expect(scene.state.tables.endpoints.map(\.histogram.count) == [2, 0, 1])
        #expect(scene.state.tables.endpoints.map(\.histogram.errors) == [0, 1, 0])
        #expect(scene.state.tables.statuses.map(\.source) == ["kept", "new"])
        #expect(scene.state.counts.series == 5)
        try scene.pass(10)
        #expect(
            scene.windows.suffix(4).map(\.series).sorted() == ["kept/key", "latency:kept", "latency:new", "new/key"])
        #expect(scene.windows.suffix(4).allSatisfy { $0.count == 1 })
    }

    @Test func oneThatComesBackInTimeStays() throws {
        var scene = Scene()
        let source = scene.register("fact")
        try scene.publish([nil], from: source)
        try scene.publish([Self.latency("GET http://a/b")], from: source)
        try scene.release(source)
        try scene.release(source)
        try scene.pass(100)
        #expect(scene.register("fact") == source)
        try scene.pass(200)
        #expect(scene.state.tables.endpoints.map(\.histogram.count) == [1] && scene.state.counts.series == 2)
        #expect(scene.state.tables.statuses.map(\.source) == ["fact"])
        // And its time counts from when it goes again.
        try scene.release(source)
        try scene.pass(125)
        #expect(scene.state.tables.endpoints.count == 1)
        try scene.pass(20)
        #expect(scene.state.tables.endpoints.isEmpty)
    }

    @Test func oneThatIsOnlyRetiredStays() throws {
        var scene = Scene()
        let source = scene.register("fact")
        try scene.publish([nil], from: source)
        scene.state.retire(source)
        try scene.pass(500)
        #expect(scene.state.counts.series == 1 && scene.register("other") != source)
    }

    @Test func theyGiveWayToOthersWhenThereIsNoRoom() throws {
        var scene = Scene { limits in
            limits.series = 10
            limits.endpoints = 2
        }
        let old = scene.register("old")
        try scene.publish((0..<10).map { "k\($0)" }, from: old)
        try scene.publish(["one more"], from: old)
        #expect(scene.state.counts.refusedSeries == 1 && scene.windows.isEmpty)
        try scene.release(old)
        let new = scene.register("new")
        try scene.publish(["k0", "k10"], from: new)
        // Open windows have their lines first: nothing more comes to them.
        #expect(scene.windows.map(\.series) == (0..<10).map { "old/k\($0)" })
        #expect(scene.state.counts.refusedSeries == 1 && scene.state.counts.series == 2)

        let poller = scene.register("poller")
        let asked = (0..<2).map { Self.latency("GET http://a/\($0)") }
        try scene.publish(asked, from: poller)
        try scene.release(poller)
        try scene.publish(asked, from: new)
        #expect(
            scene.state.tables.endpoints.map(\.source) == ["new", "new"] && scene.state.counts.refusedEndpoints == 0)
        try scene.publish([Self.latency("GET http://a/2")], from: new)
        #expect(scene.state.counts.refusedEndpoints == 1)
        // The error about that is found by whoever looks for errors only.
        #expect(scene.state.tables.newestReport == scene.state.log.nextSequence - 1)
    }
}
