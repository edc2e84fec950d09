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

    /// Lines of an agent's earlier run, which it has from its journal.
    @Test func linesOfAnEarlierRunComeAtAnyTime() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            var peer = PeerScript(from: 100)
            func old(_ key: String, _ origin: String) throws -> Line {
                try Self.kept(0, #""type":"fact","source":"fact","series":"fact/\#(key)","text":"t"\#(origin)"#)
            }
            let origin = #","origin_run":"r0","origin_seq":7"#
            await fleet.receive(
                try Self.greeting(100) + [old("a", origin), peer.fact(), old("b", origin), old("c", "")]
                    + [old("d", #","origin_run":"no name","origin_seq":7"#), old("e", #","origin_run":"r0""#)])
            try await loop.sleep(for: .seconds(1))
            let got = await Self.late(fleet.store)
            #expect(Self.keys(got.kept) == ["a", "b"])
            #expect(got.kept.allSatisfy { $0.hasSuffix(#","agent":"web1","origin_run":"r0","origin_seq":7}"#) })
            // The fleet's own journal says nothing of an agent's sources.
            let own =
                #"{"seq":0,"time":\#(PeerScript.time(Self.start)),"type":"fact","source":"web1.fact","series":"web1.fact/x","text":"t""#
            let bytes = Bytes(
                (#"{"type":"kept","time":\#(PeerScript.time(Self.start)),"run":"\#(await fleet.store.run)","line":"#
                    + own + origin + "}}").utf8)
            await fleet.store.restore([RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)])
            #expect(await Self.late(fleet.store).kept.allSatisfy { !$0.contains("web1.fact/x") })
            // Nothing is missing for that.
            #expect(await Self.member(fleet).lost == 0)
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

    /// Windows of a source that is polled less often than the fleet's windows are wide.
    @Test func readersGetWindowsOfAnAgent() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            let (live, _) = await fleet.store.open(nil, keptAfter: 0)
            var peer = PeerScript(from: 100)
            let start = Self.start.microseconds / 1_000_000 / 600 * 600
            func windows(_ source: String, _ series: String, seconds: Int = 600, _ rows: String) throws -> Line {
                try Self.kept(
                    90,
                    #""type":"window","source":"\#(source)","series":"\#(series)","seconds":\#(seconds),"rows":[\#(rows)]"#
                )
            }
            // The second one has the newest value, which comes as a line too.
            let row = "[\(start - 1_200),1,0.5,2,3,1.5],[\(start - 600),1,1,1,1,1]"
            await fleet.receive(
                try Self.greeting(100, every: "600") + [
                    windows("fact", "fact/a", row), windows("fact", "latency:fact", row),
                    windows("catwatch", "memory:catwatch", row), windows("fact", "facts/b", row),
                    windows("fact", "fact/b", seconds: 300, row), windows("none", "none", row),
                    Self.value(10, "a"), peer.fact(),
                ])
            func wanted(_ series: String) -> String {
                #"{"seq":1,"time":\#(PeerScript.time(Timestamp(seconds: start) - .microseconds(1))),"type":"window","#
                    + #""source":"web1.fact","series":"\#(series)","agent":"web1","seconds":600,"rows":[\#(row)]}"#
            }
            #expect(await Self.read(fleet.store, live).kept.isEmpty)
            try await loop.sleep(for: .seconds(1))
            for got in [await Self.read(fleet.store, live), await Self.late(fleet.store)] {
                #expect(
                    got.kept.filter { $0.contains("rows") } == [wanted("web1.fact/a"), wanted("latency:web1.fact")])
                #expect(got.kept.count == 3 && got.kept.last?.contains(#""value":1"#) == true)
            }
            #expect(await Self.read(fleet.store, live).kept.isEmpty)
            let member = await Self.member(fleet)
            #expect(member.place == LineID("r1", 100) && member.lost == 0)
            // In mid-stream, as after an agent's restart.
            await fleet.receive([try windows("fact", "fact/m", row)])
            #expect(await Self.late(fleet.store).kept.count { $0.contains("fact/m") } == 1)
            #expect(await Self.read(fleet.store, live).kept.count == 1)
            // As often as an agent likes: nothing grows, and readers get nothing again.
            let many = ((0 as Int64)..<120).map { "[\(start - $0 * 600),1,1,1,1,1]" }.joined(separator: ",")
            for round in 0..<100 {
                await fleet.receive(
                    try Self.greeting(101, every: "600") + [windows("fact", "fact/a", many)])
                #expect(await Self.read(fleet.store, live).kept.count == (round == 0 ? 1 : 0))
            }
            let kept = await Self.late(fleet.store).kept.filter { $0.contains("web1.fact/a") && $0.contains("rows") }
            #expect(kept.count == 1 && kept[0].split(separator: "[").count <= 14)
            // They begin anew with another period, and a source that is listed no more gets none.
            await fleet.receive(try Self.greeting(101, every: "1200"))
            #expect(await Self.late(fleet.store).kept.allSatisfy { !$0.contains("rows") })
            let wide = "[\(start / 1_200 * 1_200 - 2_400),1,1,1,1,1]"
            await fleet.receive([try windows("fact", "fact/a", seconds: 1_200, wide)])
            #expect(await Self.late(fleet.store).kept.filter { $0.contains("rows") }.count == 1)
            await fleet.receive([
                try peer.stats(#"{"source":"catwatch","state":"ok"}"#),
                try windows("fact", "fact/z", seconds: 1_200, wide),
            ])
            #expect(await Self.late(fleet.store).kept.allSatisfy { !$0.contains("fact/z") })
        }
    }

    /// The agent's log still has values of windows that it has sent.
    @Test func aValueOfAWindowThatCameIsNotCountedAgain() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            let (live, _) = await fleet.store.open(nil)
            let peer = PeerScript(from: 100)
            let start = Self.start.microseconds / 1_000_000 / 60 * 60
            let row = "[\(start - 60),2,1,2,2,1.5]"
            let old = Timestamp(seconds: start - 30)
            await fleet.receive(
                try Self.greeting(100, every: "60") + [
                    Self.kept(
                        90, #""type":"window","source":"fact","series":"fact","seconds":60,"rows":[\#(row)]"#),
                    Self.value(99, "b", 4, at: old),
                ])
            var script = peer
            await fleet.receive([try script.fact(2, at: old)])
            try await loop.sleep(for: .seconds(180))
            let late = await Self.late(fleet.store)
            #expect(
                late.kept.contains {
                    $0.contains(#""series":"web1.fact","agent":"web1","seconds":60,"rows":[\#(row)]"#)
                })
            let lines = await Self.read(fleet.store, live).lines.filter { $0.contains(#""type":"window""#) }
            #expect(
                lines.allSatisfy {
                    !$0.contains(#""series":"web1.fact","#) && !$0.contains(#""series":"web1.fact/b","#)
                })
        }
    }

    /// A journal knows where the fleet goes on, but not what was kept.
    @Test func afterARestartKeptLinesComeUpToWhereTheFleetGoesOn() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            await fleet.receive(try Self.greeting(50))
            var peer = PeerScript(from: 50)
            for _ in 0..<30 { await fleet.receive([try peer.fact()]) }
            // The agent's log begins at 60; the line that is kept is in it, and before 80, where the fleet goes on.
            await fleet.receive(try Self.greeting(60) + [Self.text(70, "a")])
            #expect(Self.keys(await Self.late(fleet.store).kept) == ["a"])
        }
    }

    @Test func theyChangeNoPosition() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            var peer = PeerScript(from: 50)
            await fleet.receive(try Self.greeting(50) + [Self.text(10, "a"), Self.text(20, "b"), peer.fact()])
            func member() async -> FleetMember { await Self.member(fleet) }
            var now = await member()
            #expect(now.place == LineID("r1", 50) && now.lost == 0)
            // The connection was away: the lines from 51 on are missed, of which 60 and 61 are kept.
            await fleet.receive(try Self.greeting(80) + [Self.text(60, "a", "new"), Self.text(61, "c")])
            now = await member()
            #expect(now.place == LineID("r1", 50) && now.lost == 0)
            peer.skip(29)
            await fleet.receive([try peer.fact()])
            now = await member()
            #expect(now.place == LineID("r1", 80) && now.lost == 29)
            let late = await Self.late(fleet.store)
            #expect(Self.keys(late.kept) == ["b", "a", "c"] && late.kept[1].contains(#""text":"new""#))
            #expect(late.lines.filter { $0.contains(#""type":"lost""#) }.count == 1)
        }
    }

    /// A reader that resumes gets those that came after the line that it has.
    @Test func whoResumesGetsThoseThatCameSince() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            var peer = PeerScript(from: 50)
            await fleet.receive(try Self.greeting(50) + [Self.text(10, "a"), peer.fact()])
            let last = await fleet.store.nextSequence - 1
            await fleet.receive(try Self.greeting(60, run: "r2") + [Self.text(10, "b", run: "r2")], from: "web2")
            #expect(Self.keys(await Self.late(fleet.store).kept) == ["a", "b"])
            #expect(Self.keys(await Self.late(fleet.store, keptAfter: last, from: .after(last)).kept) == ["b"])
            await fleet.receive([try peer.fact()])
            let now = await fleet.store.nextSequence - 1
            #expect(await Self.late(fleet.store, keptAfter: now, from: .after(now)).kept.isEmpty)
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
            for round in 0..<LongRun.rounds(short: 20, long: 1_000) {
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
            for round in 0..<20 {
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

    @Test func metricsHaveTheirValues() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await Self.stage(on: loop)
            await fleet.receive(try Self.greeting(100) + [Self.value(10, "a", 42), Self.value(11, "b", 43)])
            func values() async -> [Double] {
                var walk = await fleet.store.walk
                var values: [Double] = []
                while let series = await fleet.store.nextSeries(&walk, at: fleet.store.feedTime) {
                    values.append(series.value)
                }
                return values
            }
            #expect(await values() == [42, 43])
            try await fleet.store.whileRunning { try await loop.sleep(for: .seconds(300)) }
            #expect(await values() == [42, 43])
            // They are no events here, and have no windows.
            let lines = await Self.late(fleet.store).lines
            #expect(!lines.contains { $0.contains(#""type":"window""#) })
            #expect(await fleet.store.counts.data == 0)
        }
    }

    /// The last one that is kept is replaced by a newer one of its series.
    @Test func aNewerLineWithoutANumberReplacesTheLast() async throws {
        try await withLoop(virtual: true) { loop in
            let relay = EventStore(
                on: loop, wall: SteppedWallClock(following: loop.clock, startingAt: Self.start),
                identity: AgentIdentity(run: "here", version: "1", started: Self.start), isRelay: true)
            let time = PeerScript.time(Self.start)
            func kept(_ key: String, _ number: Int) -> String {
                #"{"type":"kept","time":\#(time),"run":"f","line":{"seq":0,"time":\#(PeerScript.time(Self.early + .seconds(number))),"type":"fact","source":"web1.fact","series":"web1.fact/\#(key)","text":"t","agent":"web1","origin_run":"r","origin_seq":\#(number)}}"#
            }
            let begun = [
                #"{"type":"hello","time":\#(time),"format":1,"run":"f","fleet":true,"first_seq":1,"next_seq":1}"#,
                #"{"type":"stats","time":\#(time),"as_of":0,"endpoints":[],"sources":[{"source":"web1.fact","state":"ok"}]}"#,
            ]
            for (lines, keys) in [
                (begun, []), ([kept("b", 1)], ["b"]), ([kept("a", 2)], ["b", "a"]), ([kept("a", 3)], ["b", "a"]),
                ([kept("b", 4)], ["a", "b"]), ([kept("b", 5)], ["a", "b"]),
            ] {
                await relay.relay(
                    try lines.map { RelayedLine(try LineDecoder.decode(Bytes($0.utf8)), bytes: Bytes($0.utf8)) })
                #expect(Self.keys(await Self.late(relay).kept) == keys)
            }
        }
    }

    /// A fleet that is attached to: its relay gives its readers the same.
    @Test func aRelayOfAFleetPassesThemOn() async throws {
        try await withLoop(virtual: true) { loop in
            let relay = EventStore(
                on: loop, wall: SteppedWallClock(following: loop.clock, startingAt: Self.start),
                identity: AgentIdentity(run: "here", version: "1", started: Self.start), isRelay: true)
            func relayed(_ text: String) throws -> RelayedLine {
                let bytes = Bytes(text.utf8)
                return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
            }
            let time = PeerScript.time(Self.start)
            func kept(_ key: String, _ tail: String, at time: Timestamp = Self.early) throws -> RelayedLine {
                let line =
                    #"{"seq":0,"time":\#(PeerScript.time(time)),"type":"fact","source":"web1.fact","series":"web1.fact/\#(key)","text":"t"\#(tail)}"#
                return try relayed(
                    #"{"type":"kept","time":\#(PeerScript.time(Self.start)),"run":"f","line":\#(line)}"#)
            }
            func fact(_ sequence: Int, _ key: String) throws -> RelayedLine {
                try relayed(
                    #"{"seq":\#(sequence),"time":\#(time),"type":"fact","source":"web1.fact","series":"web1.fact/\#(key)","text":"n","agent":"web1","origin_run":"r","origin_seq":9}"#
                )
            }
            let origin = #","agent":"web1","origin_run":"r","origin_seq":5"#
            let (live, _) = await relay.open(nil, keptAfter: 0)
            await relay.relay([
                try relayed(
                    #"{"type":"hello","time":\#(time),"format":1,"run":"f","fleet":true,"first_seq":1,"next_seq":1}"#),
                try relayed(
                    #"{"type":"stats","time":\#(time),"as_of":0,"endpoints":[],"sources":[{"source":"web1.fact","state":"ok"}]}"#
                ),
                try kept("a", origin), try kept("nobody", ""), try fact(1, "b"),
            ])
            #expect(Self.keys(await Self.read(relay, live).kept) == ["a"])
            #expect(Self.keys(await Self.late(relay).kept) == ["a"])
            // In mid-stream, and again at a new connection, when those are known that came before.
            await relay.relay([try kept("c", origin), try kept("a", origin), try kept("b", origin)])
            #expect(Self.keys(await Self.read(relay, live).kept) == ["c"])
            #expect(Self.keys(await Self.late(relay).kept) == ["a", "c"])
            #expect(Self.keys(await Self.late(relay, keptAfter: 1, from: .after(1)).kept) == ["c"])
            await relay.relay([try fact(2, "a"), try kept("b", origin, at: Self.start + .seconds(1))])
            #expect(Self.keys(await Self.late(relay).kept) == ["c", "b"])
            #expect(await relay.nextSequence == 3)
        }
    }
}
