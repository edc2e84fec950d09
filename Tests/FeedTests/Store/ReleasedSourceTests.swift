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
        #expect(scene.windows.suffix(4).allSatisfy { $0.count == 1 && $0.revision == 0 })
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

    /// Its windows get their lines a slice at a time; in between, other sources of its agent may be forgotten.
    @Test func windowsOfAnAgentsSourceAreAllSaidWhenOthersOfItAreForgottenMeanwhile() throws {
        let (wall, now) = (Self.wall, LoopInstant(nanoseconds: 0))
        var limits = FeedState.Limits()
        limits.logCapacity = 1 << 16
        var state = FeedState(limits: limits)
        let member = state.join("web1", at: Moment(wall: wall, now: now))
        var sources: [SourceID] = []
        var batch = EventBatch()
        for name in ["old", "new"] {
            let description = SourceDescription(name: name)
            let known = state.register(description, of: member, since: wall, at: Moment(wall: wall, now: now))
            sources.append(try #require(known).source)
            for number in 0..<60 {
                let datum = Datum(key: Bytes("\(number)".utf8), value: 1)
                batch.add(
                    Event(time: wall, source: sources[sources.count - 1], body: .data(datum)), from: LineOrigin(member))
            }
        }
        state.publish(batch, at: Moment(wall: wall, now: now))
        state.release(sources[0], at: Moment(wall: wall, now: now))
        var next = state.complete(sources[1], from: 0, atMost: 1, at: Moment(wall: wall, now: now))
        #expect(next != nil && state.makeRoom(forSource: "web1.old", at: Moment(wall: wall, now: now)) == nil)
        while let first = next {
            next = state.complete(sources[1], from: first, atMost: 1, at: Moment(wall: wall, now: now))
        }
        var windows: [String] = []
        var cursor = 1
        while case .lines(let span) = state.log.read(from: cursor) {
            cursor = span.sequences.upperBound + 1
            for bytes in span.withUnsafeBytes({ [UInt8]($0) }).split(separator: 0x0A) {
                let line = try LineDecoder.decode(bytes)
                if case .window(let window) = line.body { windows.append(window.series) }
            }
        }
        #expect(windows.count { $0.hasPrefix("web1.new/") } == 60 && Set(windows).count == windows.count)
    }

    /// Something came of it without a word of how it is described.
    @Test func oneThatIsRevivedStaysUntilItGoesAgain() throws {
        var scene = Scene()
        let source = scene.register("fact")
        try scene.publish([nil], from: source)
        let isRevived = scene.state.revive(source)
        #expect(!isRevived)
        try scene.release(source)
        try scene.pass(100)
        let isRevivedNow = scene.state.revive(source)
        #expect(isRevivedNow && scene.state.tables.statuses.map(\.source) == ["fact"])
        try scene.pass(200)
        #expect(scene.state.counts.series == 1)
        try scene.release(source)
        try scene.pass(140)
        #expect(scene.state.counts.series == 0)
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

    /// Those of a source that has other keys with each answer.
    @Test func seriesThatMakeRoomAreNotLookedAtAnyMore() throws {
        var scene = Scene(decodes: false) { ($0.interval, $0.history, $0.series) = (.seconds(1), .seconds(2), 10) }
        let source = scene.register("s")
        for round in 0..<40 {
            let first = scene.state.log.nextSequence
            try scene.publish((0..<10).map { "\(round)/\($0)" }, from: source)
            let answer = CompleteAnswer(Progress(done: 10, total: 10, page: 1), from: first, isReported: false)
            try scene.publish([.answer(answer)], from: source)
            try scene.pass(4)
        }
        #expect(scene.state.counts.refusedSeries < 350)
        #expect(scene.state.fleet[closings: -1].series.count <= 10)
    }

    @Test func anAnswerIsTheNewestAlsoWhenWindowsGiveWayBeforeIt() throws {
        var scene = Scene { $0.series = 2 }
        let old = scene.register("old")
        try scene.publish(["a", "b"], from: old)
        try scene.release(old)
        try scene.publish([Self.latency("GET http://a/b")], from: scene.register("new"))
        guard case .latency? = scene.lines.last?.body else {
            Issue.record("\(scene.lines.map(\.type))")
            return
        }
        #expect(scene.state.tables.newestAnswer == scene.lines.last?.seq)
    }

    /// Windows that give way come before its line, and not between the number that its window names and that.
    @Test func aWindowNamesItsOwnLineAlsoWhenOthersGiveWay() throws {
        var scene = Scene { $0.endpoints = 1 }
        let old = scene.register("old")
        try scene.publish([Self.latency("GET http://a/old")], from: old)
        try scene.publish(["a", "b"], from: old)
        try scene.release(old)
        try scene.publish([Self.latency("GET http://a/new")], from: scene.register("new"))
        let line = try #require(scene.lines.last)
        #expect(line.source == "new" && scene.windows.count == 3)
        try scene.pass(20)
        #expect(scene.windows.last?.series == "latency:new" && scene.windows.last?.lastSeq == line.seq)
    }

    /// Keys are moved when others are forgotten.
    @Test func thoseThatStayKeepTheirNames() throws {
        var scene = Scene { limits in limits.released = 0 }
        let kept = scene.register("kept")
        for round in 0..<200 {
            let source = scene.register("source-\(round)")
            try scene.publish(["a\"b", nil], from: source)
            try scene.publish(["k\(round % 7)"], from: kept)
            try scene.release(source)
            guard case .data(let last)? = scene.lines.last(where: { $0.source == "kept" })?.body else { continue }
            #expect(last.series == "kept/k\(round % 7)")
            let theirs = scene.lines.suffix(5).compactMap { line -> String? in
                if case .data(let data) = line.body, line.source != "kept" { data.series } else { nil }
            }
            #expect(theirs.contains("source-\(round)"), "\(theirs)")
        }
        #expect(Set(scene.windows.map(\.series)).count == 400)
    }
}
