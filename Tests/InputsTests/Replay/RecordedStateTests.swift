import Feed
import Inputs
import Journal
import Reactor
import TestSupport
import Testing

/// What is left of a recorded feed at a time.
@Suite(.limited) struct RecordedStateTests {
    /// A source's description in `stats`; polled every `period` seconds.
    private static func stats(_ sources: [(name: String, period: Int?)], at seconds: Double = 0) -> String {
        let list = sources.map { source in
            let every = source.period.map { #","every_s":\#($0)"# } ?? ""
            return #"{"source":"\#(source.name)","state":"ok"\#(every)}"#
        }
        return
            #"{"type":"stats","time":\#(Recorded.time(seconds)),"as_of":0,"endpoints":[],"sources":[\#(list.joined(separator: ","))]}"#
            + "\n"
    }

    private static func text(_ seq: Int, at seconds: Double, _ key: String, more: String = "") -> String {
        #"{"seq":\#(seq),"time":\#(Recorded.time(seconds)),"type":"fact","source":"fact","series":"fact/\#(key)","text":"t"\#(more)}"#
            + "\n"
    }

    private static func state(
        of feed: String, on loop: EventLoop, as run: String = "r1", until latest: Double = 1_000_000
    ) -> [Line.Kept] {
        let state = RecordedState(on: loop, limits: .init(), until: ReplayStage.began + .seconds(Int64(latest)))
        state.add(Array(feed.utf8))
        let time = ReplayStage.began + .seconds(1_000)
        return state.pieces.dropFirst().flatMap { RecordedState.lines(in: $0, of: run, at: time) }.compactMap {
            if case .kept(let kept) = $0.line.body { kept } else { nil }
        }
    }

    /// Any lines, against the newest of each series found by looking at all.
    @Test(arguments: [1, 2, 3] as [UInt64]) func itHasTheNewestLineOfEverySeries(seed: UInt64) async throws {
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            var feed = Recorded.hello() + Self.stats([("fact", nil)])
            var newest: [String: Int] = [:]
            for seq in 1...Int.random(in: 1...3_000, using: &random) {
                let key = "k\(Int.random(in: 0..<40, using: &random))"
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    feed += Self.text(seq, at: Double(seq), key)
                    newest["fact/\(key) text"] = seq
                case 1:
                    feed += Recorded.data(seq, at: Double(seq))
                    newest["fact value"] = seq
                default:
                    feed += Recorded.latency(seq, at: Double(seq))
                    newest["latency"] = seq
                }
            }
            var found: [String: Int] = [:]
            for kept in Self.state(of: feed, on: loop) where kept.windows.isEmpty {
                switch kept.line.body {
                case .data(let data):
                    found["\(data.series) \(data.value == nil ? "text" : "value")"] = kept.line.seq
                case .latency: found["latency"] = kept.line.seq
                default: Issue.record("\(kept.line)")
                }
            }
            #expect(found == newest, "seed \(seed)")
        }
    }

    @Test func itHasTheWindowsOfSlowSources() async throws {
        try await withLoop(virtual: true) { loop in
            let polls = (0..<5).map { Recorded.data($0 + 1, at: Double($0) * 60, value: 10 * $0) }.joined()
            let kept = Self.state(of: Recorded.hello() + Self.stats([("fact", 60)]) + polls, on: loop)
            let windows = kept.flatMap(\.windows)
            // The last one has not closed. 1,600,000,000 s are 40 s behind the start of a minute.
            #expect(windows.map(\.last) == [0, 10, 20, 30] && windows.allSatisfy { $0.width == .seconds(60) })
            #expect(windows.map(\.start) == (0..<4).map { ReplayStage.began + .seconds(60 * $0 - 40) })
        }
    }

    @Test func aRunBeginsWithWhatTheOneBeforeHasLeft() async throws {
        try await withLoop(virtual: true) { loop in
            func begin(_ run: String, at seconds: Double) -> String {
                Recorded.hello(run, at: seconds) + Self.stats([("fact", 60)], at: seconds)
            }
            var feed = begin("r1", at: 0) + Self.text(1, at: 0, "a") + Self.text(2, at: 1, "b")
            feed += Recorded.data(3, at: 2, value: 7) + Recorded.data(4, at: 70, value: 8)
            feed += Recorded.bye(at: 71, last: 4) + begin("r2", at: 72) + Self.text(1, at: 73, "b")
            feed += begin("r3", at: 80)
            let kept = Self.state(of: feed, on: loop, as: "r4")
            let lines = kept.filter(\.windows.isEmpty).map { String(decoding: $0.bytes, as: UTF8.self) }
            func moved(_ line: String, _ run: String, _ seq: Int) -> String {
                #"{"seq":0"# + line.dropLast(2).dropFirst(8) + #","origin_run":"\#(run)","origin_seq":\#(seq)}"#
            }
            #expect(
                lines.sorted()
                    == [
                        moved(Self.text(1, at: 0, "a"), "r1", 1), moved(Recorded.data(4, at: 70, value: 8), "r1", 4),
                        moved(Self.text(1, at: 73, "b"), "r2", 1),
                    ].sorted())
            #expect(kept.flatMap(\.windows).map(\.last) == [7] && kept.allSatisfy { $0.run == "r4" })
        }
    }

    private static func gone(_ seq: Int, at seconds: Double, _ keys: String..., items: Int = 0) -> String {
        let list = keys.map { "\"\($0)\"" }.joined(separator: ",")
        return
            #"{"seq":\#(seq),"time":\#(Recorded.time(seconds)),"type":"progress","source":"fact","done":1,"total":1,"page":1,"items":\#(items),"gone":[\#(list)]}"#
            + "\n"
    }

    /// A series that is gone is not there in the next run either, unless it came back; whichever run had its last line.
    @Test(arguments: [false, true]) func whatWasGoneDoesNotComeBack(merges: Bool) async throws {
        try await withLoop(virtual: true) { loop in
            func begin(_ run: String, at seconds: Double) -> String {
                Recorded.hello(run, at: seconds) + Self.stats([("fact", 60)], at: seconds)
            }
            func value(_ seq: Int, at seconds: Double, _ key: String) -> String {
                #"{"seq":\#(seq),"time":\#(Recorded.time(seconds)),"type":"fact","source":"fact","series":"fact/\#(key)","value":1}"#
                    + "\n"
            }
            // Windows of a minute, of which the first one has closed.
            var feed = begin("r1", at: 0)
            for (index, key) in ["a", "b", "c", "d", "e"].enumerated() {
                feed += value(2 * index + 1, at: 0, key) + value(2 * index + 2, at: 70, key)
            }
            feed += Self.text(11, at: 71, "t") + Self.gone(12, at: 72, "b", "t") + begin("r2", at: 100)
            feed += Self.gone(1, at: 101, "c", "d", items: 3) + Self.text(2, at: 102, "d") + begin("r3", at: 110)
            feed += Self.text(1, at: 111, "c") + Self.gone(2, at: 112, "e", items: 2)
            for run in 4..<(merges ? 300 : 5) {
                feed += begin("r\(run)", at: 113 + Double(run) / 10)
                if merges {
                    feed += Self.text(
                        1, at: 113 + Double(run) / 10, "x", more: #","data":"\#(String(repeating: "d", count: 9_000))""#
                    )
                }
            }
            let kept = Self.state(of: feed, on: loop, as: "new")
            var lines: Set<String> = []
            for line in kept where line.windows.isEmpty {
                switch line.line.body {
                case .data(let data): lines.insert("\(data.series) \(data.value == nil)")
                case .progress(let progress): lines.insert("items \(progress.items ?? -1)")
                default: Issue.record("\(line)")
                }
            }
            if merges { lines.remove("fact/x true") }
            // A series that came back without a value has its old one again.
            #expect(
                lines.subtracting(["fact/c false", "fact/d false"]) == [
                    "fact/a false", "fact/c true", "fact/d true", "items 2",
                ])
            #expect(Set(kept.flatMap(\.windows).map(\.series)).isDisjoint(with: ["fact/b", "fact/e", "fact/t"]))
            #expect(kept.flatMap(\.windows).contains { $0.series == "fact/a" })
        }
    }

    /// However many runs ago it was resolved, and fired.
    @Test(arguments: ["", #","agent":"web","origin_run":"w","origin_seq":1"#])
    func anAlertThatIsOverDoesNotComeBack(origin: String) async throws {
        try await withLoop(virtual: true) { loop in
            func begin(_ run: String, at seconds: Double) -> String {
                Recorded.hello(run, at: seconds) + Self.stats([("fact", 60)], at: seconds)
            }
            func alert(_ seq: Int, at seconds: Double, _ about: String, _ state: String) -> String {
                let time = Recorded.time(seconds)
                return
                    #"{"seq":\#(seq),"time":\#(time),"type":"alert","source":"fact","about":"\#(about)","condition":"hot","#
                    + #""id":"1","at":\#(time),"since":\#(time),"test":"> 5","state":"\#(state)","#
                    + #""evidence":{"run":"r","from":1,"to":1}\#(origin)}"# + "\n"
            }
            var feed = begin("r1", at: 0)
            for (index, about) in ["a", "b", "c", "d"].enumerated() {
                feed += alert(index + 1, at: 1, about, "firing")
            }
            feed += begin("r2", at: 10) + alert(1, at: 11, "a", "resolved") + alert(2, at: 12, "b", "resolved")
            feed += alert(3, at: 13, "b", "firing") + begin("r3", at: 20) + Self.text(1, at: 21, "x")
            feed += begin("r4", at: 30) + alert(1, at: 31, "c", "resolved") + Self.text(2, at: 31, "x")
            for last in ["", begin("r5", at: 40) + Self.text(1, at: 41, "x")] {
                let kept = Self.state(of: feed + last, on: loop, as: "new")
                let firing = kept.compactMap { kept -> String? in
                    if case .alert(let alert) = kept.line.body { alert.about } else { nil }
                }
                #expect(Set(firing) == ["b", "d"])
            }
        }
    }

    @Test func whatWasGoneAtAnAgentOfAFleetDoesNotComeBack() async throws {
        try await withLoop(virtual: true) { loop in
            func origin(_ seq: Int) -> String { #","agent":"web","origin_run":"w","origin_seq":\#(seq)"# }
            var feed = Recorded.hello("r1", at: 0) + Self.stats([("fact", nil)])
            feed += Self.text(1, at: 1, "a", more: origin(1)) + Self.text(2, at: 2, "b", more: origin(2))
            feed += Recorded.hello("r2", at: 3) + Self.stats([("fact", nil)], at: 3) + Self.gone(1, at: 4, "a")
            feed += Recorded.hello("r3", at: 5) + Self.stats([("fact", nil)], at: 5)
            let series = Self.state(of: feed, on: loop, as: "r4").compactMap { kept in
                if case .data(let data) = kept.line.body { data.series } else { nil }
            }
            #expect(series == ["fact/b"])
        }
    }

    /// So many that merging the state at each of them would take minutes.
    @Test(arguments: [1, 900]) func shortRunsAreMerged(length: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let more = #","data":"\#(String(repeating: "d", count: length))""#
            var (feed, last) = ("", "")
            for run in 1...700 {
                let time = Double(run) / 10
                feed += Recorded.hello("r\(run)", at: time) + Self.stats([("fact", 60)], at: time)
                feed += Self.text(1, at: time, "\(run)", more: more)
                last = Self.text(2, at: time, "all", more: more)
                feed += last
            }
            let kept = Self.state(of: feed, on: loop, as: "new").map { String(decoding: $0.bytes, as: UTF8.self) }
            #expect(kept.count == 701)
            let all = kept.filter { $0.contains(#""series":"fact/all""#) }
            #expect(all == [#"{"seq":0"# + last.dropLast(2).dropFirst(8) + #","origin_run":"r700","origin_seq":2}"#])
        }
    }

    /// More than a piece of them.
    @Test func linesOfARunKeepTheirOrder() async throws {
        try await withLoop(virtual: true) { loop in
            let more = #","data":"\#(String(repeating: "d", count: 1_000))""#
            var feed = Recorded.hello("r1", at: 0) + Self.stats([("fact", 60)])
            for number in 1...200 { feed += Self.text(number, at: Double(number), "\(number)", more: more) }
            feed += Recorded.hello("r2", at: 201) + Self.stats([("fact", 60)], at: 201)
            let times = Self.state(of: feed, on: loop, as: "r3").map(\.line.time)
            #expect(times.count == 200 && times == times.sorted())
        }
    }

    /// What is merged does not count any more.
    @Test func itIsMergedAgainOnceAsMuchHasCome() async throws {
        try await withLoop(virtual: true) { loop in
            let state = RecordedState(on: loop, limits: .init())
            let more = #","data":"\#(String(repeating: "d", count: 4_000))""#
            var merged = 0
            for run in 1...2_000 {
                let time = Double(run) / 10
                let feed = Recorded.hello("r\(run)", at: time) + Self.stats([("fact", 60)], at: time)
                state.add(Array((feed + Self.text(1, at: time, "all", more: more)).utf8))
                guard state.merge() else { continue }
                merged += 1
                while state.merge() {}
            }
            // 8 MB, a MiB at a time.
            #expect((6...9).contains(merged), "\(merged)")
        }
    }

    /// In pieces, so that the loop goes on in between.
    @Test func littleIsMergedOnceTheFeedHasEnded() async throws {
        try await withLoop(virtual: true) { loop in
            let state = RecordedState(on: loop, limits: .init())
            let begun = Recorded.hello("r1", at: 0) + Self.stats([("fact", 60)]) + Self.text(1, at: 0, "a")
            state.add(Array((begun + Recorded.hello("r2", at: 1) + Self.stats([("fact", 60)])).utf8))
            #expect(!state.merge() && state.merge(all: true) && !state.merge(all: true))
        }
    }

    /// The clock of the source went back between them.
    @Test func theLineOfTheNewerRunIsTheNewest() async throws {
        try await withLoop(virtual: true) { loop in
            func run(_ name: String, _ line: String) -> String {
                Recorded.hello(name, at: 1) + Self.stats([("fact", 60)], at: 1) + line
            }
            let feed =
                run("r1", Self.text(1, at: 50, "b")) + run("r2", Self.text(1, at: 20, "b"))
                + run("r3", Self.text(1, at: 60, "c"))
            let kept = Self.state(of: feed, on: loop, as: "r4")
            #expect(kept.map(\.line.time).sorted() == [20, 60].map { ReplayStage.began + .seconds($0) })
        }
    }

    @Test(arguments: [Int.max - 1, .max]) func numbersMayEnd(at sequence: Int) async throws {
        try await withLoop(virtual: true) { loop in
            var feed = Recorded.hello("r1", at: 0, first: sequence) + Self.stats([("fact", 60)])
            feed += Self.text(sequence, at: 1, "a") + Recorded.hello("r2", at: 2) + Self.stats([("fact", 60)])
            #expect(Self.state(of: feed, on: loop, as: "r3").count <= 1)
        }
    }

    /// The clock was ahead when they were written.
    @Test func linesOfLaterTimesDoNotHideOlderOnes() async throws {
        try await withLoop(virtual: true) { loop in
            var feed = Recorded.hello("r1", at: 0) + Self.stats([("fact", 60)])
            feed += Self.text(1, at: 1, "a") + Self.text(2, at: 2, "b") + Self.text(3, at: 50, "b")
            let kept = Self.state(of: feed, on: loop, as: "r2", until: 49)
            #expect(kept.map(\.line.time).sorted() == [1, 2].map { ReplayStage.began + .seconds($0) })
            #expect(
                Self.state(of: feed, on: loop, as: "r2", until: 50).map(\.line.time).max() == ReplayStage.began
                    + .seconds(50))
        }
    }

    @Test func linesOfAFleetKeepTheirOrigin() async throws {
        try await withLoop(virtual: true) { loop in
            let origin = #","agent":"web","origin_run":"w","origin_seq":17"#
            let feed = Recorded.hello() + Self.stats([("fact", nil)]) + Self.text(1, at: 0, "a", more: origin)
            let kept = Self.state(of: feed, on: loop, as: "r2")
            #expect(kept.count == 1)
            #expect(
                String(decoding: kept[0].bytes, as: UTF8.self)
                    == #"{"seq":0"# + Self.text(1, at: 0, "a", more: origin).dropFirst(8).dropLast())
        }
    }

    // MARK: Playing back from a time on

    @Test(arguments: ["file", "journal"]) func aPlaybackFromALaterTimeBeginsWithTheState(of kind: String) async throws {
        let folder = try TestSupport.TemporaryFolder()
        let failing =
            #"{"seq":3,"time":\#(Recorded.time(900)),"type":"error","source":"fact","code":"connect","message":"no","attempt":1,"retry_in_ms":5}"#
            + "\n"
        let lines = [
            Self.text(1, at: 0, "a"), Recorded.data(2, at: 600, value: 7), failing, Recorded.latency(4, at: 1_300),
        ]
        let stats = Self.stats([("fact", 600)])
        if kind == "journal" {
            try ReplayInputTests.journal([("r1", lines)], at: folder.path("j.db"), stats: stats)
        }
        let stage = try await withLoop(virtual: true) { loop in
            let stage = ReplayStage(on: loop, speed: .most)
            let from = ReplayStage.began + .seconds(1_200)
            let late = await stage.store.open("late", keptAfter: 0).0
            let stream: any ByteStream =
                kind == "file"
                ? ByteSource(Array((Recorded.hello() + stats + lines.joined()).utf8))
                : JournalStream(SQLiteHistory(path: folder.path("j.db")), from: from, on: loop, worker: loop)
            try await stage.play(stream, from: from)
            var got: [String] = []
            while let delivery = await stage.store.dequeue(for: late) {
                switch delivery {
                case .kept(let lines): got += lines.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
                case .lines(let span): got += span.withUnsafeBytes { [String(decoding: $0.dropLast(), as: UTF8.self)] }
                case .greeting(let lines):
                    got += lines.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
                default: break
                }
                if await stage.store.isOver, got.last?.hasPrefix(#"{"seq":4"#) == true { break }
            }
            let kept = got.filter { $0.hasPrefix(#"{"type":"kept""#) && !$0.contains("rows") }
            #expect(kept.count == 2 && kept[0].contains(#""line":{"seq":1,"#) && kept[1].contains(#""line":{"seq":2,"#))
            let states = got.filter { $0.hasPrefix(#"{"type":"stats""#) }
            #expect(states.contains { $0.contains(#""state":"failing""#) && $0.contains(#""message":"no""#) })
            #expect(got.last?.hasPrefix(#"{"seq":4"#) == true, "\(got)")
            return stage
        }
        // A reader that wants events gets none of it.
        #expect(stage.numbered.compactMap(\.seq) == [4] && stage.gaps.isEmpty && stage.said.isEmpty, "\(stage.said)")
    }

    @Test func keptLinesInARecordingArePassedOn() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = ReplayStage(on: loop, speed: .most)
            let late = await stage.store.open("late", keptAfter: 0).0
            let line = Self.text(3, at: 0, "a").dropLast()
            let kept = #"{"type":"kept","time":\#(Recorded.time(50)),"run":"r1","line":\#(line)}"# + "\n"
            let feed = Recorded.hello(first: 10) + Self.stats([("fact", nil)]) + kept + Recorded.data(10, at: 50)
            try await stage.play(ByteSource(Array(feed.utf8)))
            var count = 0
            while let delivery = await stage.store.dequeue(for: late) {
                if case .kept(let lines) = delivery { count += lines.split(separator: 0x0A).count }
                if case .end = delivery { break }
            }
            #expect(count == 1 && stage.numbered.compactMap(\.seq) == [10])
            // Also from a later time.
            let later = feed + Recorded.data(11, at: 60)
            let state = Self.state(of: feed, on: loop)
            #expect(state.map { $0.line.seq } == [3, 10])
            let other = ReplayStage(on: loop, speed: .most)
            let reader = await other.store.open("late", keptAfter: 0).0
            try await other.play(ByteSource(Array(later.utf8)), from: ReplayStage.began + .seconds(55))
            var numbers: [Int] = []
            while let delivery = await other.store.dequeue(for: reader) {
                if case .end = delivery { break }
                guard case .kept(let lines) = delivery else { continue }
                for line in lines.split(separator: 0x0A) {
                    if case .kept(let kept) = try LineDecoder.decode(line).body { numbers.append(kept.line.seq ?? 0) }
                }
            }
            // Line 11 is newer than line 10.
            #expect(numbers == [3])
            #expect(other.numbered.compactMap(\.seq) == [11])
        }
    }
}
