import Reactor
import TestSupport
import Testing

@testable import Feed

/// What a store says of a recording is what a board of all its lines has, though most lines are not decoded.
@Suite(.limited) struct PlayedBackTests {
    private static let hello =
        #"{"type":"hello","time":"2020-09-13T12:26:40.000000Z","format":1,"run":"r1","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":1,"host":{},"app":{}}"#

    private static func time(_ milliseconds: Int) -> String {
        let quoted = LineWriter.bytes(atMost: 29) { writer in
            var text = TimestampText()
            text.write(Timestamp(seconds: 1_600_000_000) + .milliseconds(milliseconds), to: &writer)
        }
        return String(decoding: quoted, as: UTF8.self)
    }

    /// A feed of some sources: values, some of them late or missing, failures, answers, windows, what the agent says of itself,
    /// what the sources are, and a clock that is set back.
    private static func feed(_ random: inout SeededGenerator, _ count: Int) -> [String] {
        var lines = [hello]
        // These add no source. A source is there with its first event, answer, error or progress.
        for (type, rest) in [
            (
                "window",
                #""series":"w/0","start":"2020-09-13T12:26:40.000000Z","seconds":10,"last":1,"last_seq":1,"count":1,"min":1,"max":1,"mean":1"#
            ),
            ("lost", #""from":1,"to":2,"agent":"web2","origin_run":"b""#), ("novel", #""a":1"#),
            ("restart", #""last_run":"r0""#),
        ] {
            let seq = lines.count
            lines.append(
                "{\"seq\":\(seq),\"time\":\(time(0)),\"type\":\"\(type)\",\"source\":\"\(type)\",\(rest)}")
        }
        for source in 0..<4 {
            let seq = lines.count
            lines.append(
                "{\"seq\":\(seq),\"time\":\(time(0)),\"type\":\"progress\",\"source\":\"s\(source)\",\"done\":1}")
        }
        let begun = lines.count - 1
        for seq in (begun + 1)...(begun + count) {
            let source = "s\(Int.random(in: 0..<4, using: &random))"
            let late = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 0..<60_000, using: &random) : 0
            // By so much is the time of any line behind now and then.
            let step = Int.random(in: 0..<20, using: &random) == 0 ? 5_000 : 0
            func line(_ type: String, _ rest: String) -> String {
                "{\"seq\":\(seq),\"time\":\(time(seq * 100 - step)),\"type\":\"\(type)\",\"source\":\"\(source)\",\(rest)}"
            }
            switch Int.random(in: 0..<30, using: &random) {
            case 0: lines.append(line("error", #""code":"timeout","message":"m","attempt":1"#))
            case 1:
                lines.append(
                    line("error", "\"endpoint\":\"GET http://a/\(source)\",\"code\":\"reset\",\"message\":\"m\""))
            case 2...9:
                let status = [200, 200, 304, 500].randomElement(using: &random) ?? 200
                lines.append(
                    line(
                        "latency",
                        "\"endpoint\":\"GET http://a/\(seq % 3)\",\"status\":\(status),\"ms\":\(seq).25,\"dns_ms\":0,\"connect_ms\":0.1,"
                            + "\"tls_ms\":0,\"wait_ms\":0.3,\"receive_ms\":0.01,\"bytes\":130,\"reused\":true,\"late_ms\":0.1"
                    ))
            case 10:
                lines.append(line("latency", "\"endpoint\":\"GET http://a/0\",\"status\":200,\"ms\":\(seq)"))
            case 11...13:
                lines.append(
                    line(
                        "window",
                        "\"series\":\"\(source)/0\",\"start\":\(time(0)),\"seconds\":10,\"last\":1,\"last_seq\":1,\"count\":1,"
                            + "\"min\":1,\"max\":1,\"mean\":1"))
            case 14: lines.append(line("memory", "\"rss_bytes\":\(seq),\"peak_bytes\":\(seq + 1),\"private_bytes\":3"))
            case 15:
                lines.append(
                    line("agent", "\"events\":\(seq),\"readers\":\(seq % 5),\"loop_lag_ms\":0.5,\"cpu_ms\":\(seq)"))
            case 16: lines.append(line("progress", "\"done\":\(seq),\"total\":9999,\"page\":1"))
            case 17: lines.append(line("recovered", "\"down_s\":1.5,\"attempts\":2"))
            case 18:
                // Of all that came, of a part of it, or of more than came.
                let asOf = max(0, seq - 1 + Int.random(in: -2...2, using: &random))
                let good = "\"state\":\"ok\",\"answered_at\":\(time(seq * 90))"
                let bad = "\"state\":\"failing\",\"code\":\"c\(seq)\",\"message\":\"m\""
                let endpoint =
                    "{\"endpoint\":\"GET http://a/\(seq % 3)\",\"source\":\"\(source)\",\"count\":\(seq),\"errors\":1,"
                lines.append(
                    "{\"type\":\"stats\",\"time\":\(time(seq * 100)),\"as_of\":\(asOf),\"endpoints\":[\(endpoint)\"last_ms\":1,"
                        + "\"mean_ms\":2,\"min_ms\":1,\"p50_ms\":2,\"p90_ms\":3,\"p95_ms\":3,\"p99_ms\":3,\"max_ms\":4}],\"sources\":["
                        + (0..<4).map {
                            "{\"source\":\"s\($0)\",\($0 % 2 == seq % 2 ? good : bad),\"since\":\(time(0)),\"every_s\":1}"
                        }.joined(separator: ",") + "]}")
            case 19: lines.append(hello)
            default:
                let value = Int.random(in: 0..<6, using: &random) == 0 ? "" : ",\"value\":\(seq)"
                lines.append(
                    "{\"seq\":\(seq),\"time\":\(time(seq * 100 - late)),\"type\":\"t\",\"source\":\"\(source)\",\"series\":\""
                        + "\(source)/\(seq % 3)\"\(value)}")
            }
        }
        // A clock that was set back, and an event that is late by it as well.
        for (type, rest) in [("latency", answer), ("t", #""series":"s0/0","value":1"#)] {
            lines.append(
                "{\"seq\":\(lines.count + count),\"time\":\(time(count * 100 - (type == "t" ? 60_000 : 7_000))),\"type\":\"\(type)\",\"source\":\"s0\",\(rest)}"
            )
        }
        return lines
    }

    /// What a store is asked for.
    private struct Told: Sendable, Equatable {
        var sources: [String] = []
        var endpoints: [EndpointStatistics] = []
        var series: [String] = []
        var memory: MemorySample?
        var agent: AgentSample?
        var events: Int?
        /// Since the clock of the feed.
        var silence: Duration?
    }

    /// The time at which a feed of so many lines is looked at: its series are in the history, and its sources late.
    private static func end(_ lines: [String]) -> Timestamp {
        Timestamp(seconds: 1_600_000_000) + .milliseconds(lines.count * 100) + .seconds(60)
    }

    private static func told(_ lines: [String], asking every: Int) async throws -> (Told, [UInt8]) {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: end(lines))
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "own", version: "1", started: wall.now),
                isRecording: true)
            let (reader, _) = await store.open("reader")
            for (index, text) in lines.enumerated() {
                let bytes = Bytes(text.utf8)
                await store.relayOne(bytes, try LineDecoder.decode(bytes))
                if index % every == 0 { _ = await store.numbers }
            }
            var bytes: [UInt8] = []
            while let delivery = await store.dequeue(for: reader) {
                if case .lines(let span) = delivery { bytes += span.withUnsafeBytes { Array($0) } }
            }
            let numbers = await store.numbers
            var told = Told(
                endpoints: await store.endpoints, memory: numbers.memory, agent: numbers.agent,
                events: numbers.counts?.data, silence: numbers.attachment?.silence)
            for found in await store.series {
                let key = found.key.map { "/" + String(decoding: $0, as: UTF8.self) } ?? ""
                told.series.append(
                    "\(found.kind.prefix)\(found.source)\(key) \(found.value) \(found.time.microseconds)")
            }
            let since = await store.sourceStates.map { $0.since?.microseconds }
            for found in await store.sources {
                told.sources.append(
                    "\(found.name) \(found.state) \(found.timeliness) \(since[told.sources.count] ?? 0)")
            }
            return (told, bytes)
        }
    }

    /// The same by a board of all lines.
    private static func folded(_ lines: [String]) throws -> Told {
        var board = Board()
        /// When each source was heard, by its name: `answered`, or lines that are no answers, or a listing as ok.
        var heard: [String: Timestamp] = [:]
        for text in lines {
            let line = try LineDecoder.decode(Bytes(text.utf8))
            let (clock, run, last) = (board.clock, board.hello?.run, board.lastSequence)
            let before = board.sources
            board.apply(line)
            if board.hello?.run != run { heard = [:] }
            for (index, source) in board.sources.enumerated() {
                let old = index < before.count ? before[index] : nil
                if let answered = source.answered, answered != old?.answered { heard[source.name] = answered }
                switch line.body {
                case .stats(let stats) where stats.asOf >= last:
                    guard let status = stats.sources.first(where: { $0.source == source.name }) else { break }
                    heard[source.name] = status.answered ?? heard[source.name] ?? (status.state == .ok ? clock : nil)
                case .recovered where line.source == source.name && line.seq ?? 0 > max(last, old?.asOf ?? 0),
                    .memory where line.source == source.name && old?.state == .starting:
                    heard[source.name] = board.clock
                default: break
                }
            }
        }
        let now = end(lines)
        var told = Told(
            endpoints: board.endpoints.map {
                EndpointStatistics(endpoint: $0.name, source: $0.source, histogram: $0.histogram)
            }, memory: board.memory.last?.sample,
            agent: board.agent.map { AgentSample(loopLag: $0.loopLag, cpu: $0.cpu) }, events: board.agent?.events,
            silence: board.clock.map { max(.zero, now - $0) })
        // One of which there are only windows has none.
        told.series = board.series.compactMap { series in
            series.newest.map { "\(series.name) \($0.value) \($0.microseconds)" }
        }
        told.sources = board.sources.map { source in
            let timeliness = Timeliness(
                state: source.state, code: source.failure?.code, rhythm: source.rhythm,
                silence: heard[source.name].map { now - $0 },
                hasEnded: false, window: .seconds(10))
            return "\(source.name) \(source.state) \(timeliness) \(source.since.microseconds)"
        }
        return told
    }

    @Test(arguments: [1, 37, Int.max]) func saysTheSameOfItAsABoardOfAllLines(asking every: Int) async throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let lines = Self.feed(&random, LongRun.rounds(short: 250, long: 5_000))
            let (told, bytes) = try await Self.told(lines, asking: every)
            var folded = try Self.folded(lines)
            // A series begins with its first value there, and here also with a window.
            #expect(told.series.sorted() == folded.series.sorted(), "seed \(seed)")
            folded.series = told.series
            #expect(told == folded, "seed \(seed)")
            #expect(!told.endpoints.isEmpty && told.sources.count == 4 && told.memory != nil && told.agent != nil)
            let numbered = lines.filter { $0.utf8.starts(with: "{\"seq\"".utf8) }.map { $0 + "\n" }.joined()
            #expect(bytes == Array(numbered.utf8), "seed \(seed)")
        }
    }
}

extension PlayedBackTests {
    private static let answer =
        #""endpoint":"GET http://a/b","status":200,"ms":1,"dns_ms":0,"connect_ms":0,"tls_ms":0,"wait_ms":0,"receive_ms":0,"bytes":1,"reused":true,"late_ms":0"#

    /// Names that are not known, as there are too many of them or they are too long, come to the same as known ones.
    @Test func whatLinesAreOfIsBounded() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_600_000_000))
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "own", version: "1", started: wall.now),
                isRecording: true)
            await store.relayOne(Bytes(Self.hello.utf8), try LineDecoder.decode(Bytes(Self.hello.utf8)))
            let long = String(repeating: "l", count: 1_100)
            for round in 0..<2 {
                for index in 0..<4_200 {
                    let (source, key) = index == 0 ? (long, long) : ("s", "\(index)")
                    let seq = round * 4_200 + index + 1
                    let line = Bytes(
                        "{\"seq\":\(seq),\"time\":\(Self.time(seq)),\"type\":\"t\",\"source\":\"\(source)\",\"series\":\"\(source)/\(key)\",\"value\":\(seq)}"
                            .utf8)
                    await store.relayOne(line, try LineDecoder.decode(line))
                }
            }
            let values = await store.series.map(\.value)
            // A key of more than 1,024 bytes has no series.
            #expect(values == (4_202...8_400).map { Double($0) })
            #expect(await store.sourceStates.map(\.source.utf8.count) == [1_024, 1])
        }
    }

    /// A relaying store, and what it is told: `hello` and a `stats` line with these members.
    private static func relay(
        _ stats: String, limits: FeedState.Limits = .init(), then more: [String] = [],
        _ body: @escaping @Sendable (EventStore) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_600_000_000))
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "own", version: "1", started: wall.now),
                limits: limits, isRelay: true)
            let texts = [hello, "{\"type\":\"stats\",\"time\":\(time(0)),\(stats)}"] + more
            for text in texts {
                let bytes = Bytes(text.utf8)
                await store.relay([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
            }
            try await body(store)
        }
    }

    @Test func theGreatestNumbersMoveAReaderNowhere() async throws {
        try await Self.relay(#""as_of":9223372036854775807,"endpoints":[],"sources":[]"#) { store in
            let (reader, _) = await store.open("reader", from: .after(.max))
            _ = await store.move(reader, to: .after(.max, run: "r1"), isFiltered: false)
            #expect(await store.nextLine(of: reader).sequence == .max)
        }
    }

    @Test func sourcesWithoutRoomAreCounted() async throws {
        var limits = FeedState.Limits()
        limits.remoteSources = 2
        let sources = (0..<5).map { "{\"source\":\"s\($0)\",\"state\":\"ok\"}" }.joined(separator: ",")
        try await Self.relay("\"as_of\":0,\"endpoints\":[],\"sources\":[\(sources)],\"more_sources\":4", limits: limits)
        { store in
            let greeting = String(decoding: await store.greeting(isFiltered: false), as: UTF8.self)
            #expect(greeting.contains("\"more_sources\":7"), "\(greeting)")
        }
    }

    @Test func anAgentHasSoManySourcesAtTheMost() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_600_000_000))
            var limits = FeedState.Limits()
            limits.remoteSources = 3
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "own", version: "1", started: wall.now),
                limits: limits, isRelay: true)
            func stats(_ names: [String]) throws -> RelayedLine {
                let sources = names.map { "{\"source\":\"\($0)\",\"state\":\"ok\",\"unit\":\"K\"}" }
                let bytes = Bytes(
                    "{\"type\":\"stats\",\"time\":\(Self.time(0)),\"as_of\":0,\"endpoints\":[],\"sources\":[\(sources.joined(separator: ","))]}"
                        .utf8)
                return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
            }
            let hello = Bytes(Self.hello.utf8)
            let greeting = RelayedLine(try LineDecoder.decode(hello), bytes: hello)
            await store.relay([greeting, try stats(["a", "b", "c", "d"])])
            #expect(await store.sourceStates.map(\.source) == ["a", "b", "c"])
            await store.relay([try stats(["c"])])
            let states = await store.sourceStates
            #expect(states.map(\.source) == ["c"] && states.map(\.unit) == ["K"])
            // Another run begins with nothing.
            let next = Bytes(Self.hello.replacing("\"r1\"", with: "\"r2\"").utf8)
            await store.relay([RelayedLine(try LineDecoder.decode(next), bytes: next), try stats(["d", "e"])])
            #expect(await store.sourceStates.map(\.source) == ["d", "e"])
        }
    }
}

extension EventStore {
    fileprivate func relayOne(_ bytes: Bytes, _ decoded: Line) {
        bytes.withUnsafeBufferPointer { line in
            var next: RecordedLine? =
                PlainLine(line).map { .plain($0, line) } ?? .other(RelayedLine(decoded, bytes: bytes))
            relay {
                defer { next = nil }
                return next
            } refuse: {
                Issue.record("\($0)")
            }
        }
    }
}
