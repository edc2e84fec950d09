import Feed
import Reactor
import TestSupport
import Testing

/// A store whose sources are other agents.
@Suite(.limited) struct FleetStoreTests {
    /// A fleet in virtual time, with a reader of all of it.
    private struct Fleet: Sendable {
        let loop: EventLoop
        let wall: SteppedWallClock
        let store: EventStore
        let reader: ReaderID

        init(
            on loop: EventLoop, at start: Timestamp = PeerScript.start,
            _ adjust: (inout FeedState.Limits) -> Void = { _ in }
        ) async {
            var limits = FeedState.Limits()
            adjust(&limits)
            self.loop = loop
            wall = SteppedWallClock(following: loop.clock, startingAt: start)
            let identity = AgentIdentity(run: "fleet", version: "1", started: start)
            store = EventStore(on: loop, wall: wall, identity: identity, limits: limits, isFleet: true)
            (reader, _) = await store.open(nil)
        }

        @discardableResult
        func receive(_ lines: [Line], from agent: String = "web1") async -> String? {
            await store.receive(lines.map { .success($0) }, from: await store.member(agent))
        }

        /// The numbered lines since the last time, and how often was greeted.
        func read() async throws -> (lines: [String], greetings: Int) {
            var (lines, greetings): ([String], Int) = ([], 0)
            while let delivery = await store.take(for: reader) {
                switch delivery {
                case .lines(let span):
                    let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                    lines += text.split(separator: "\n").map(String.init)
                case .greeting: greetings += 1
                default: Issue.record("\(delivery)")
                }
            }
            return (lines, greetings)
        }

        func whileRunning(_ body: @escaping @Sendable () async throws -> Void) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await store.run() }
                group.addTask { try await body() }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    @Test func aLineIsEncodedAnewAndSaysWhereItCameFrom() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Fleet(on: loop)
            var peer = PeerScript(from: 42)
            let data =
                #""type":"fact","source":"fact","series":"fact/a","value":1.50,"text":"é","data":{ "a" : [1, 2] },"agent":"x","origin_seq":9"#
            await fleet.receive(
                try [
                    peer.hello(), peer.line(data),
                    peer.line(
                        #""type":"error","source":"fact","endpoint":"GET http://h/","code":"dns","message":"no""#),
                    peer.line(#""type":"breed","source":"fact","series":"fact""#),
                ])
            let time = PeerScript.time(PeerScript.start)
            func tail(_ seq: Int) -> String { #""agent":"web1","origin_run":"r1","origin_seq":\#(seq)}"# }
            #expect(
                try await fleet.read().lines == [
                    #"{"seq":1,"time":\#(time),"type":"fact","source":"web1.fact","series":"web1.fact/a","value":1.5,"text":"é","data":{"a":[1,2]},\#(tail(42))"#,
                    #"{"seq":2,"time":\#(time),"type":"error","source":"web1.fact","endpoint":"GET http://h/","code":"dns","message":"no",\#(tail(43))"#,
                    #"{"seq":3,"time":\#(time),"type":"breed","source":"web1.fact","series":"web1.fact",\#(tail(44))"#,
                ])
            let greeting = String(decoding: await fleet.store.greeting(isFiltered: false), as: UTF8.self)
            #expect(greeting.contains(#""fleet":true"#) && greeting.contains(#""source":"web1.catwatch""#))
        }
    }

    @Test func whatIsMissingIsANumberedLine() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Fleet(on: loop)
            var peer = PeerScript()
            var lines = try [peer.hello(), peer.fact()]
            peer.skip(8)
            lines.append(try peer.fact())
            await fleet.receive(lines)
            let said = try await fleet.read().lines
            let time = PeerScript.time(PeerScript.start)
            #expect(
                said[1]
                    == #"{"seq":2,"time":\#(time),"type":"lost","source":"web1.catwatch","from":2,"to":9,"agent":"web1","origin_run":"r1"}"#
            )
            let place = said[1].utf8.withContiguousStorageIfAvailable { FeedPosition($0) }
            #expect(place == FeedPosition("web1", FeedPlace("r1", 9)))
            guard case .lost(let lost) = try PeerScript.decoded(said[1]).body else { throw Failed() }
            #expect(lost == Lost(run: "r1", numbers: 2...9))
        }
    }

    private struct Failed: Error {}

    @Test func aClockAnHourAheadDoesNotLookIntoTheFuture() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Fleet(on: loop)
            var peer = PeerScript()
            let ahead = PeerScript.start + .seconds(3_600)
            await fleet.receive(
                try [peer.hello(), peer.fact(at: ahead), peer.fact(at: PeerScript.start + .seconds(10))])
            let lines = try await fleet.read().lines
            #expect(lines[0].hasPrefix(#"{"seq":1,"time":\#(PeerScript.time(PeerScript.start)),"#))
            #expect(lines[0].hasSuffix(#""origin_seq":1,"origin_time":\#(PeerScript.time(ahead))}"#))
            #expect(lines[1].hasSuffix(#""origin_seq":2}"#))
            #expect(await fleet.store.counts.future == 1)
        }
    }

    @Test func eachAgentHasItsShareAndIsToldOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Fleet(on: loop) {
                ($0.memberSeries, $0.memberSources, $0.memberEndpoints) = (5, 4, 2)
            }
            for agent in ["a", "b"] {
                var peer = PeerScript()
                var lines = [try peer.hello()]
                for number in 0..<20 {
                    lines.append(try peer.line(#""type":"t","source":"s","series":"s/\#(number)","value":1"#))
                    lines.append(
                        try peer.line(
                            #""type":"latency","source":"s","endpoint":"GET http://h/\#(number)","status":200,"ms":1"#))
                    lines.append(try peer.line(#""type":"t","source":"t\#(number)","series":"t\#(number)""#))
                }
                await fleet.receive(lines, from: agent)
            }
            let lines = try await fleet.read().lines
            for agent in ["a", "b"] {
                let errors = lines.filter { $0.contains(#""type":"error","source":"\#(agent).catwatch""#) }
                #expect(errors.count == 3, "\(errors)")
                for words in ["more than 5 series", "more than 4 sources", "more than 2 endpoints"] {
                    #expect(errors.count { $0.contains(words) && $0.contains("\(agent) has") } == 1)
                }
                #expect(lines.count { $0.contains(#""series":"\#(agent).s/"#) } == 20)
            }
            #expect(await fleet.store.counts.series == 10)
            #expect(await fleet.store.endpoints.count == 4)
            #expect(await fleet.store.counts.refusedSeries == 32)
        }
    }

    @Test func manyAgentsThatBeginAreOneGreetingASecond() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Fleet(on: loop)
            for second in 0..<3 {
                for number in 0..<50 {
                    var peer = PeerScript(run: "r\(number)")
                    let stats = try peer.stats(#"{"source":"fact","state":"ok","type":"fact","unit":"\#(second)"}"#)
                    await fleet.receive(try [peer.hello(), stats, peer.fact()], from: "a\(number)")
                    try await loop.sleep(for: .milliseconds(20))
                }
            }
            try await loop.sleep(for: .seconds(2))
            #expect(try await fleet.read().greetings <= 5)
            let sources = await fleet.store.sourceStates
            #expect(sources.count == 100 && sources.allSatisfy { $0.source.hasSuffix("catwatch") || $0.unit == "2" })
        }
    }

    @Test func anAgentsStatsSayHowItsSourcesAreToBeRead() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Fleet(on: loop)
            var peer = PeerScript()
            let bands =
                ##""bands":[{"name":"low","letter":"l","color":"#000000","up_to":5},{"name":"high","letter":"h","color":"#ffffff"}],"higher_is_better":true"##
            let fact = #"{"source":"fact","state":"failing","type":"fact","unit":"µg","every_s":2,\#(bands)}"#
            let other = #"{"source":"other","state":"ok","type":"other"}"#
            await fleet.receive(try [peer.hello(), peer.stats("\(fact),\(other)"), peer.fact(9)])
            var sources = await fleet.store.sourceStates
            #expect(sources.map(\.source) == ["web1.catwatch", "web1.fact", "web1.other"])
            #expect(
                sources[1].unit == "µg" && sources[1].bands?.bands.count == 2
                    && sources[1].rhythm == .every(.seconds(2)))
            // What is said of all of them says what is gone; what had no room does not.
            await fleet.receive([try peer.stats(fact, more: #","more_sources":1"#)])
            #expect(await fleet.store.sourceStates.count == 3)
            await fleet.receive([try peer.stats(fact)])
            sources = await fleet.store.sourceStates
            #expect(sources.map(\.source) == ["web1.catwatch", "web1.fact"])
            await fleet.store.release(named: "web1.catwatch")
            #expect(await fleet.store.sourceStates.isEmpty)
        }
    }

    // MARK: Windows

    /// What a window came to, as the newest line of it says.
    private struct Came: Hashable, CustomStringConvertible {
        let series: String
        let start: Timestamp
        let last, min, max, mean: Double
        let count: Int
        var description: String { "\(series)@\(start.microseconds): \(last) \(count)" }
    }

    private static func windows(_ lines: [String], prefix: String) throws -> [String: (Came, revision: Int)] {
        var windows: [String: (Came, revision: Int)] = [:]
        for text in lines {
            let line = try PeerScript.decoded(text)
            guard case .window(let window) = line.body, window.series.hasPrefix(prefix) else { continue }
            let series = String(window.series.dropFirst(prefix.count))
            let came = Came(
                series: series, start: window.start, last: window.last, min: window.min, max: window.max,
                mean: window.mean, count: window.count)
            let key = "\(series) \(window.start.microseconds)"
            #expect(windows[key].map { $0.revision < window.revision } ?? (window.revision == 0))
            windows[key] = (came, window.revision)
        }
        return windows
    }

    /// What an agent said in ten minutes, with events that are late, and when; and what its values come to in the most obvious way.
    private static func life(seed: UInt64) async throws -> (lines: [(Timestamp, String)], windows: Set<Came>) {
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            let agent = await StoreHarness(on: loop)
            let (reader, _) = await agent.store.open(nil)
            var values: [Int64: [(time: Timestamp, value: Double)]] = [:]
            var lines: [(Timestamp, String)] = []
            func collect() async {
                while case .lines(let span)? = await agent.store.take(for: reader) {
                    let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                    lines += text.split(separator: "\n").map { (agent.wall.now, String($0)) }
                }
            }
            let running = Task(executorPreference: loop) { try? await agent.store.run() }
            let own = await agent.store.agentSource
            var due = agent.wall.now
            for _ in 0..<400 {
                try await loop.sleep(for: .milliseconds(Int.random(in: 1...3_000, using: &random)))
                let now = agent.wall.now
                let isLate = Int.random(in: 0..<10, using: &random) == 0
                // Never as late as the history, whose edge moves between what is told of the time.
                let time = isLate ? now - .seconds(Int.random(in: 1...90, using: &random)) : now
                let value = Double(Int.random(in: 0...1_000, using: &random))
                await agent.store.publish([Event(time: time, source: agent.source, body: .data(Datum(value: value)))])
                let width: Int64 = 10_000_000
                values[time.microseconds / width * width, default: []].append((time, value))
                if now >= due {
                    let sample = MemorySample(resident: 1, peak: 1, privateBytes: 1)
                    await agent.store.publish([Event(time: now, source: own, body: .memory(sample))])
                    due = now + .seconds(10)
                }
                await collect()
            }
            try await loop.sleep(for: .seconds(15))
            await collect()
            running.cancel()
            await running.value
            let windows = values.map { start, values in
                var last = values[0]
                for value in values where value.time >= last.time { last = value }
                let numbers = values.map(\.value)
                return Came(
                    series: "fact", start: Timestamp(microseconds: start), last: last.value,
                    min: numbers.min() ?? 0, max: numbers.max() ?? 0,
                    mean: numbers.reduce(0, +) / Double(numbers.count), count: values.count)
            }
            return (lines, Set(windows))
        }
    }

    /// How an agent's life comes to a fleet.
    enum Way: String, CaseIterable, Sendable { case live, backlog, slowClock, cutAndResumed }

    @Test(arguments: Way.allCases, [1, 2, 3] as [UInt64])
    func anAgentsWindowsAreTheSameWhateverWayItsLinesCome(_ way: Way, _ seed: UInt64) async throws {
        let (lines, truth) = try await Self.life(seed: seed)
        try await withLoop(virtual: true) { loop in
            let lag: Duration =
                switch way {
                case .live, .cutAndResumed: .milliseconds(50)
                case .slowClock: .seconds(600)
                case .backlog: .seconds(3_600)
                }
            let fleet = await Fleet(on: loop, at: StoreHarness.start + lag)
            let got = LoopBound(Got())
            try await fleet.whileRunning {
                let id = await fleet.store.member("web1")
                _ = await fleet.store.receive([.success(try PeerScript().hello())], from: id)
                for (index, (time, text)) in lines.enumerated() {
                    // The connection is away for two minutes, and all that was said meanwhile comes at once.
                    let isAway = way == .cutAndResumed && (100..<200).contains(index)
                    if way != .backlog {
                        let due = (isAway ? lines[200].0 : time) + lag - fleet.wall.now
                        if due > .zero { try await loop.sleep(for: due) }
                    }
                    _ = await fleet.store.receive([.success(try PeerScript.decoded(text))], from: id)
                    got.value.lines += try await fleet.read().lines
                }
                try await loop.sleep(for: .seconds(30))
                got.value.lines += try await fleet.read().lines
            }
            let windows = try Self.windows(got.value.lines, prefix: "web1.")
            let came = Set(windows.values.map(\.0).filter { $0.series == "fact" })
            #expect(came == truth, "seed \(seed): \(came.symmetricDifference(truth))")
            let counts = await fleet.store.counts
            #expect(counts.late == 0 && counts.future == 0)
            // The agent's own lines of them are left out, and it had to say again no less.
            let own = try Self.windows(lines.map(\.1), prefix: "")
            if way == .live || way == .backlog {
                for (key, window) in own where window.0.series == "fact" {
                    #expect(windows[key]?.revision == window.revision, "seed \(seed): \(window)")
                }
            }
        }
    }

    private final class Got { var lines: [String] = [] }
}
