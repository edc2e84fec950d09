import Feed
import Reactor
import TestSupport
import Testing

/// What becomes of the kept lines of a fleet's agents.
@Suite(.limited) struct FleetKeptTests {
    private static let start = PeerScript.start
    private static let early = start - .seconds(600)

    private static func stage(
        on loop: EventLoop, _ adjust: (inout FeedState.Limits) -> Void = { _ in }
    ) async -> FleetStage {
        await FleetStage(on: loop, at: start, adjust)
    }

    /// A greeting: of lines from `first` on, and of the sources `fact` and `catwatch`.
    private static func greeting(_ first: Int, run: String = "r1", every: String? = nil) throws -> [Line] {
        let every = every.map { #","every_s":\#($0)"# } ?? ""
        let peer = PeerScript(run: run)
        return try [
            PeerScript.decoded(
                #"{"type":"hello","time":\#(PeerScript.time(start)),"format":1,"run":"\#(run)","first_seq":\#(first),"next_seq":\#(first)}"#
            ),
            peer.stats(#"{"source":"fact","state":"ok"\#(every)},{"source":"catwatch","state":"ok"}"#),
        ]
    }

    private static func kept(
        _ sequence: Int, _ members: String, run: String = "r1", at time: Timestamp = early
    ) throws -> Line {
        let line = #"{"seq":\#(sequence),"time":\#(PeerScript.time(time)),\#(members)}"#
        return try PeerScript.decoded(
            #"{"type":"kept","time":\#(PeerScript.time(start)),"run":"\#(run)","line":\#(line)}"#)
    }

    private static func text(
        _ sequence: Int, _ key: String, _ text: String = "t", run: String = "r1", at time: Timestamp = early
    ) throws -> Line {
        try kept(
            sequence, #""type":"fact","source":"fact","series":"fact/\#(key)","text":"\#(text)""#, run: run, at: time)
    }

    private static func value(_ sequence: Int, _ key: String, _ value: Int = 1, at time: Timestamp = early) throws
        -> Line
    {
        try kept(sequence, #""type":"fact","source":"fact","series":"fact/\#(key)","value":\#(value)"#, at: time)
    }

    private static func member(_ fleet: FleetStage) async -> FleetMember {
        await fleet.store.member(fleet.store.member("web1"))
    }

    /// What a reader gets now: the lines in `kept` lines, numbered lines, and what else there is.
    private struct Got {
        var kept: [String] = []
        var lines: [String] = []
        var others: [String] = []
    }

    private static func read(_ store: EventStore, _ reader: ReaderID) async -> Got {
        var got = Got()
        while let delivery = await store.dequeue(for: reader) {
            switch delivery {
            case .kept(let lines):
                for line in lines.split(separator: 0x0A) {
                    #expect(throws: Never.self) { try LineDecoder.decode(line) }
                    let text = String(decoding: line, as: UTF8.self)
                    let start = text.firstRange(of: #""line":"#)?.upperBound ?? text.endIndex
                    got.kept.append(String(text[start...].dropLast()))
                }
            case .lines(let span):
                let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                got.lines += text.split(separator: "\n").map(String.init)
            default: got.others.append("\(delivery)")
            }
        }
        return got
    }

    private static func late(_ store: EventStore, keptAfter: Int? = 0, from start: ReaderStart = .oldest) async -> Got {
        let (reader, _) = await store.open(nil, from: start, keptAfter: keptAfter)
        let got = await read(store, reader)
        await store.close(reader)
        return got
    }

    /// The last part of the series' names, of kept lines.
    private static func keys(_ lines: [String]) -> [String] {
        lines.compactMap { line in
            line.firstRange(of: #""series":"web"#).map {
                String(line[$0.upperBound...].prefix { $0 != "\"" }.dropFirst(7))
            }
        }
    }

    @Test func readersGetThemWithWhereTheyCameFrom() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            let (live, _) = await fleet.store.open(nil, keptAfter: 0)
            var peer = PeerScript(from: 100)
            let old = PeerScript.time(Self.early)
            await fleet.receive(
                try Self.greeting(100) + [
                    Self.text(10, "a", "é"), Self.value(11, "a", 2),
                    Self.kept(
                        12,
                        #""type":"latency","source":"fact","endpoint":"GET http://h/","status":200,"ms":41,"dns_ms":0,"#
                            + #""connect_ms":0,"tls_ms":0,"wait_ms":41,"receive_ms":0,"bytes":2,"reused":true,"late_ms":0"#
                    ),
                    Self.kept(
                        13, #""type":"memory","source":"catwatch","rss_bytes":1,"peak_bytes":2,"private_bytes":3"#),
                    Self.kept(
                        14, #""type":"breed","source":"fact","series":"fact","data":{ "a" : 1 },"truncated":true"#),
                    peer.fact(),
                ])
            func tail(_ number: Int) -> String { #","agent":"web1","origin_run":"r1","origin_seq":\#(number)}"# }
            let wanted = [
                #"{"seq":0,"time":\#(old),"type":"fact","source":"web1.fact","series":"web1.fact/a","text":"é"\#(tail(10))"#,
                #"{"seq":0,"time":\#(old),"type":"fact","source":"web1.fact","series":"web1.fact/a","value":2\#(tail(11))"#,
                #"{"seq":0,"time":\#(old),"type":"latency","source":"web1.fact","endpoint":"GET http://h/","status":200,"ms":41,"dns_ms":0,"connect_ms":0,"tls_ms":0,"wait_ms":41,"receive_ms":0,"bytes":2,"reused":true,"late_ms":0\#(tail(12))"#,
                #"{"seq":0,"time":\#(old),"type":"memory","source":"web1.catwatch","rss_bytes":1,"peak_bytes":2,"private_bytes":3\#(tail(13))"#,
                #"{"seq":0,"time":\#(old),"type":"breed","source":"web1.fact","series":"web1.fact","data":{"a":1},"truncated":true\#(tail(14))"#,
            ]
            // Not before the greeting that has their sources.
            #expect(await Self.read(fleet.store, live).kept.isEmpty)
            try await loop.sleep(for: .seconds(1))
            let got = await Self.read(fleet.store, live)
            #expect(got.kept == wanted)
            #expect(got.others.count == 1 && got.others[0].hasPrefix("greeting"))
            #expect(await Self.read(fleet.store, live).kept.isEmpty)
            let late = await Self.late(fleet.store)
            #expect(late.kept == wanted)
            #expect(late.lines.count == 1 && late.lines[0].contains(#""origin_seq":100"#))
            #expect(late.others.isEmpty)
            // Outputs that want no kept lines get none.
            #expect(await Self.late(fleet.store, keptAfter: nil).kept.isEmpty)
            #expect(await Self.member(fleet).lost == 0)
            // A newer line takes its place.
            await fleet.receive([try peer.fact(7, series: "fact/a")])
            #expect(await Self.late(fleet.store).kept == [wanted[0]] + wanted[2...])
        }
    }

    /// An agent may say anything of its rhythm: its lines still come.
    @Test(arguments: ["0", "-1", "1e308", "1e-300", "86401", "31556952000"])
    func anyRhythmIsTaken(every: String) async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            var peer = PeerScript(from: 100)
            let row =
                #""seconds":86400,"rows":[[\#(Self.start.microseconds / 86_400_000_000 * 86_400 - 86_400),1,1,1,1,1]]"#
            await fleet.receive(
                try Self.greeting(100, every: every) + [
                    Self.kept(9, #""type":"window","source":"fact","series":"fact/b",\#(row)"#), Self.value(10, "a"),
                    peer.fact(), peer.fact(2),
                ])
            try await loop.sleep(for: .seconds(2))
            let got = await Self.late(fleet.store)
            #expect(Self.keys(got.kept.filter { !$0.contains("rows") }) == ["a"])
            #expect(got.lines.count { $0.contains(#""type":"fact""#) } == 2)
            // Windows are a day wide at most; what is no time is none.
            let isLong = 86_400...1e12 ~= Double(every) ?? 0
            #expect(got.kept.count { $0.contains("rows") } == (isLong ? 1 : 0), "\(got.kept)")
        }
    }

    /// Of another run, repeated, out of order, of the future, of sources that are not listed or of others, in mid-stream.
    @Test func onlyWhatMayBeKeptIsTaken() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            var peer = PeerScript(from: 100)
            await fleet.receive(try Self.greeting(100, run: "r2") + [Self.text(5, "theirs", run: "r2")], from: "web2")
            let future = Self.start + .seconds(3_600)
            await fleet.receive([try Self.text(1, "before")])
            await fleet.receive(
                try Self.greeting(100) + [
                    Self.text(10, "a"), Self.text(10, "b"), Self.text(9, "c"), Self.text(30, "d", run: "r2"),
                    Self.text(100, "e"), Self.text(500, "f"), Self.text(.max, "g"), Self.text(40, "future", at: future),
                    Self.kept(41, #""type":"x","source":"x","series":"x/unlisted","text":"t""#),
                    Self.kept(42, #""type":"fact","source":"web2.fact","series":"web2.fact/theirs","text":"mine""#),
                    Self.kept(43, #""type":"fact","source":"fact","series":"other/key","text":"t""#),
                    Self.kept(44, #""type":"later","source":"fact""#),
                    Self.kept(45, #""type":"fact","source":"catwatch","series":"catwatch/i","text":"t""#),
                    peer.fact(), Self.text(50, "mid"),
                ])
            let late = await Self.late(fleet.store)
            #expect(Self.keys(late.kept) == ["theirs", "a", "future"])
            // As a numbered line of the future has it.
            let now = PeerScript.time(Self.start)
            #expect(
                late.kept[2].contains(#""time":\#(now)"#)
                    && late.kept[2].contains(#""origin_time":\#(PeerScript.time(future))"#))
            #expect(late.kept[0].contains(#""text":"t""#))
            #expect(await Self.member(fleet).lost == 0)
            #expect(await Self.member(fleet).place == LineID("r1", 100))
        }
    }

    /// The agent may send anything; others keep what they have.
    @Test func aMillionLinesOfAnAgentTakeNothingFromOthers() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop) {
                ($0.series, $0.memberSeries, $0.keptCapacity) = (1_000, 400, 200_000)
            }
            let (live, _) = await fleet.store.open(nil, keptAfter: 0)
            await fleet.receive(
                try Self.greeting(100, run: "r2") + (1...50).map { try Self.text($0, "\($0)", run: "r2") }, from: "web2"
            )
            await fleet.receive(try Self.greeting(1 << 40))
            let long = String(repeating: "x", count: 300)
            for round in 0..<LongRun.rounds(short: 4, long: 1_000) {
                await fleet.receive(
                    try (1...1_000).map { number in
                        let sequence = round * 1_000 + number
                        return number % 2 == 0
                            ? try Self.text(sequence, "\(sequence)", long) : try Self.value(sequence, "\(sequence)")
                    })
            }
            #expect((100...800).contains(await Self.late(fleet.store).kept.count - 50))
            // Numbered lines are no better.
            var peer = PeerScript(from: 1 << 40)
            for round in 0..<5 {
                await fleet.receive(
                    try (1...500).map {
                        try peer.line(
                            #""type":"fact","source":"fact","series":"fact/n\#(round)/\#($0)","text":"\#(long)""#)
                    })
                try await loop.sleep(for: .seconds(150))
            }
            let late = await Self.late(fleet.store)
            let theirs = late.kept.filter { $0.contains(#""agent":"web2""#) }
            #expect(Self.keys(theirs) == (1...50).map(String.init))
            #expect(late.kept.count - theirs.count + late.lines.count > 300)
            #expect(late.kept.reduce(0) { $0 + $1.utf8.count } <= 200_000)
            _ = await Self.read(fleet.store, live)
            #expect(await fleet.store.counts.keptDropped > 0)
        }
    }

    /// What `--once` waits for.
    @Test func anAgentIsReplayedWhenItHasSentWhatWasThereBefore() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            let id = await fleet.store.member("web1")
            var peer = PeerScript(from: 100)
            await fleet.store.setLink(.open, of: id)
            func hello(_ next: Int, _ more: String = "") throws -> Line {
                try PeerScript.decoded(
                    #"{"type":"hello","time":\#(PeerScript.time(Self.start)),"format":1,"run":"r1","first_seq":100,"next_seq":\#(next)\#(more)}"#
                )
            }
            // Its log is empty.
            await fleet.receive([try hello(100)])
            #expect(await fleet.store.areAgentsReplayed)
            await fleet.receive([try hello(100, #","kept_seq":11"#)])
            await fleet.receive(try [Self.text(10, "a")])
            #expect(await !fleet.store.areAgentsReplayed)
            await fleet.receive(try [Self.text(11, "b")])
            #expect(await fleet.store.areAgentsReplayed)
            await fleet.receive([try hello(103), try peer.fact(), try peer.fact()])
            #expect(await !fleet.store.areAgentsReplayed)
            await fleet.store.setLink(.broken, of: id)
            #expect(await fleet.store.areAgentsReplayed)
            await fleet.store.setLink(.open, of: id)
            await fleet.receive([try peer.fact()])
            #expect(await fleet.store.areAgentsReplayed)
        }
    }

    @Test func theyGoWithTheirSourceAndTheirAgent() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            await fleet.receive(try Self.greeting(100) + [Self.text(10, "a")])
            await fleet.receive(try Self.greeting(100) + [Self.text(10, "b")], from: "web2")
            try await fleet.store.whileRunning {
                try await loop.sleep(for: .seconds(200))
                #expect(Self.keys(await Self.late(fleet.store).kept) == ["a", "b"])
                await fleet.receive([try PeerScript().stats(#"{"source":"catwatch","state":"ok"}"#)], from: "web2")
                try await loop.sleep(for: .seconds(200))
                #expect(Self.keys(await Self.late(fleet.store).kept) == ["a"])
            }
        }
    }
}
