import Reactor
import TestSupport
import Testing

@testable import Feed

/// Values that stand for words, and since when they do.
@Suite(.limited) struct SeriesWordsTests {
    private static func event(
        _ harness: StoreHarness, _ word: String?, key: String? = nil, hasValue: Bool = true, at time: Timestamp
    ) -> Event {
        let datum = Datum(
            key: key.map { Bytes($0.utf8) }, value: hasValue ? 1 : nil, word: word.map { Bytes($0.utf8) },
            text: hasValue ? nil : Bytes("null".utf8))
        return Event(time: time, source: harness.source, body: .data(datum))
    }

    /// The data lines in the log.
    private static func data(_ store: EventStore) async throws -> [Line.Data] {
        try await texts(store).compactMap {
            if case .data(let data) = try LineDecoder.decode(Bytes($0.utf8)).body { data } else { nil }
        }
    }

    private static func texts(_ store: EventStore) async throws -> [String] {
        let deliveries = try #require(await store.newest(bytes: 1 << 30))
        return deliveries.flatMap { delivery -> [String] in
            guard case .lines(let span) = delivery else { return [] }
            return span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "\n").map(String.init)
        }
    }

    /// The words of all series that have one, as /metrics asks for them.
    private static func words(_ store: EventStore) async -> [String] {
        await store.series.compactMap { series in
            let key = series.key.map { "/" + String(decoding: $0, as: UTF8.self) } ?? ""
            return series.word.map { "\(series.source)\(key)=\(String(decoding: $0, as: UTF8.self))" }
        }
    }

    @Test func standBehindTheirValue() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let datum = Datum(
                value: 2, word: Bytes("partial \"outage\"".utf8), text: Bytes("t".utf8), data: Bytes("{}".utf8))
            await harness.store.publish([Event(time: harness.wall.now, source: harness.source, body: .data(datum))])
            let time = PeerScript.time(harness.wall.now)
            let texts = try await Self.texts(harness.store)
            #expect(
                texts == [
                    #"{"seq":1,"time":\#(time),"type":"fact","source":"fact","series":"fact","value":2,"#
                        + #""word":"partial \"outage\"","since":\#(time),"text":"t","data":{}}"#
                ])
        }
    }

    /// As long as a word may be, each byte an escape, with all that a line may have.
    @Test func haveRoomInAnyLine() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let word = String(repeating: "\u{1}", count: 64)
            var batch = EventBatch()
            let data = #"{"v":-1.7976931348623157e308,"w":"\#(String(repeating: #"\u0001"#, count: 64))"}"#
            Array(data.utf8).withUnsafeBufferPointer {
                batch.add(
                    time: harness.wall.now, source: harness.source, value: -1.797_693_134_862_315_7e308, text: nil,
                    data: $0, flaws: [.cut, .surrogate])
            }
            let start = data.utf8.count - 2 - 6 * 64
            batch.setWord(start..<start + 6 * 64)
            await harness.store.publish(batch)
            let line = try #require(try await Self.data(harness.store).first)
            #expect(line.word == word && line.since == harness.wall.now && line.truncated && line.altered)
        }
    }

    @Test func goOnUntilAnotherComesOrNone() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let start = harness.wall.now
            // Seconds, and the word; nil for a number, "" for no value.
            let events: [(Int64, String?, Int64)] = [
                (1, "up", 1), (2, "up", 1), (2, "up", 1), (4, "down", 4), (3, "up", 3), (3, "down", 3), (5, "down", 4),
                (4, "down", 4), (6, nil, 0), (5, "down", 5), (7, "down", 7), (8, "", 0), (9, "down", 9), (8, "", 0),
                (9, "down", 9),
            ]
            for key in [nil, "k\""] {
                for (second, word, _) in events {
                    await harness.store.publish([
                        Self.event(
                            harness, word?.isEmpty == true ? nil : word, key: key, hasValue: word?.isEmpty != true,
                            at: start + .seconds(second))
                    ])
                }
            }
            let lines = try await Self.data(harness.store)
            #expect(lines.map(\.since) == (events + events).map { $0.2 == 0 ? nil : start + .seconds($0.2) })
            #expect(lines.map(\.word) == (events + events).map { $0.1?.isEmpty == true ? nil : $0.1 })
            #expect(await Self.words(harness.store) == ["fact=down", "fact/k\"=down"])
            await harness.store.publish([Self.event(harness, nil, hasValue: false, at: start + .seconds(9))])
            #expect(await Self.words(harness.store) == ["fact/k\"=down"])
        }
    }

    @Test func goWithTheirSeries() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await StoreHarness(on: loop)
            let start = harness.wall.now
            await harness.store.publish([
                Self.event(harness, "up", at: start), Self.event(harness, nil, hasValue: false, at: start),
                Self.event(harness, "up", at: start),
            ])
            try await harness.store.whileRunning {
                await harness.store.release(named: "fact")
                try await loop.sleep(for: .seconds(300))
            }
            #expect(await Self.words(harness.store).isEmpty)
            let again = await harness.store.register(SourceDescription(name: "fact"))
            for hasValue in [false, true, true] {
                let datum = Datum(value: hasValue ? 1 : nil, word: hasValue ? Bytes("up".utf8) : nil)
                await harness.store.publish([Event(time: harness.wall.now, source: again, body: .data(datum))])
            }
            let since = try await Self.data(harness.store).suffix(2).map(\.since)
            #expect(since == [harness.wall.now, harness.wall.now])
        }
    }

    // MARK: Earlier runs

    /// What comes one after the other: events of this run and lines of the one before, with the second before (less than 0)
    /// or behind the start of this one.
    enum Step: Sendable {
        case event(Int64, String?, hasValue: Bool = true)
        case earlier(Int64, String?, since: Int64 = 0, hasValue: Bool = true)
        case windows
    }

    static let restarts: [(name: String, steps: [Step], since: [Int64])] = [
        ("restored first", [.earlier(-5, "up", since: -60), .event(1, "up"), .event(2, "up")], [-60, -60]),
        ("restored later", [.event(1, "up"), .earlier(-5, "up", since: -60), .event(2, "up")], [1, -60]),
        (
            "restored twice",
            [.event(1, "up"), .earlier(-5, "up", since: -60), .earlier(-5, "up", since: -50), .event(2, "up")],
            [1, -60]
        ),
        ("behind windows", [.windows, .event(1, "up"), .earlier(-5, "up", since: -60), .event(2, "up")], [1, -60]),
        ("another word", [.earlier(-5, "up", since: -60), .event(1, "down"), .event(2, "up")], [1, 2]),
        ("another word that stays", [.event(1, "down"), .earlier(-5, "up", since: -60), .event(2, "down")], [1, 1]),
        ("another word of this run", [.event(1, "down"), .earlier(-5, "up", since: -60), .event(2, "up")], [1, 2]),
        (
            "another word before",
            [.event(1, "down"), .event(2, "up"), .earlier(-5, "up", since: -60), .event(3, "up")], [1, 2, 2]
        ),
        (
            "no value in this run",
            [
                .event(1, "up"), .event(2, nil, hasValue: false), .event(3, "up"), .earlier(-5, "up", since: -60),
                .event(4, "up"),
            ],
            [1, 3, 3]
        ),
        (
            "no value before this run's first word",
            [.event(1, nil, hasValue: false), .event(2, "up"), .earlier(-5, "up", since: -60), .event(3, "up")], [2, 2]
        ),
        (
            "no value at the end",
            [.earlier(-5, "up", since: -60), .earlier(-4, nil, hasValue: false), .event(1, "up")], [1]
        ),
        (
            "no value at the end, which came first",
            [.earlier(-4, nil, hasValue: false), .earlier(-5, "up", since: -60), .event(1, "up"), .event(2, "up")],
            [1, 1]
        ),
        (
            "no value at the end, which came later",
            [.event(1, "up"), .earlier(-5, "up", since: -60), .earlier(-4, nil, hasValue: false), .event(2, "up")],
            [1, 1]
        ),
        (
            "no value long before",
            [.earlier(-9, nil, hasValue: false), .event(1, "up"), .earlier(-5, "up", since: -6), .event(2, "up")],
            [1, -6]
        ),
        (
            "no value before that, which came later",
            [.event(1, "up"), .earlier(-5, "up", since: -6), .earlier(-9, nil, hasValue: false), .event(2, "up")],
            [1, -6]
        ),
        ("a number at the end", [.event(1, "up"), .earlier(-5, nil), .event(2, "up")], [1, 1]),
        ("too long ago", [.earlier(-1_900, "up", since: -2_000), .event(1, "up")], [1]),
        ("a time that is later than the line's", [.earlier(-5, "up", since: 60), .event(1, "up")], [-5]),
    ]

    private static func restore(_ members: String, at time: Timestamp, in harness: StoreHarness) async throws {
        try await restore(
            line:
                #"{"seq":0,"time":\#(PeerScript.time(time)),"type":"fact","source":"fact","series":"fact/k"\#(members),"origin_run":"r0","origin_seq":9}"#,
            in: harness)
    }

    private static func restore(line: String, in harness: StoreHarness) async throws {
        let bytes = Bytes(
            #"{"type":"kept","time":\#(PeerScript.time(harness.wall.now)),"run":"r1","line":\#(line)}"#.utf8)
        await harness.store.restore([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
    }

    // MARK: Other agents

    @Test func ofAFleetsAgentAreAsItSaysThem() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            let (start, old) = (PeerScript.start, PeerScript.time(PeerScript.start - .seconds(3_600)))
            func line(_ members: String, after seconds: Int64 = 0) throws -> Line {
                try peer.line(
                    #""type":"fact","source":"fact","series":"fact","value":1\#(members)"#,
                    at: start + .seconds(seconds))
            }
            let ahead = PeerScript.time(start + .seconds(3_600))
            await fleet.receive(
                try [
                    peer.hello(), line(#","word":"up","since":\#(old)"#), line(#","word":"up""#),
                    line(#","word":"up","since":\#(old)"#, after: 1),
                    // By a clock that is an hour ahead, the line gets the hub's time.
                    line(#","word":"up","since":\#(ahead)"#, after: 3_600),
                    line(#","word":"\#(String(repeating: "x", count: 65))","since":\#(old)"#, after: 2),
                ])
            let lines = await fleet.read().lines
            let said = #","word":"up","since":\#(old),"agent":"web1""#
            #expect(
                lines.map { $0.contains(said) } == [true, false, true, false, false]
                    && lines.map { $0.contains("word") } == [true, false, true, true, false])
            #expect(lines[3].contains(#""since":\#(PeerScript.time(start)),"#))
            #expect(lines.allSatisfy { $0.contains(#""value":1"#) })
            #expect(await Self.words(fleet.store).isEmpty)
            await fleet.receive([try line(#","word":"up","since":\#(old)"#, after: 4)])
            #expect(await Self.words(fleet.store) == ["web1.fact=up"])
        }
    }
}
