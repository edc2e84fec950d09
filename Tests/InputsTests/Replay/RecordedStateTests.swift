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
    @Test(arguments: 1...UInt64(LongRun.rounds(short: 1, long: 20)))
    func itHasTheNewestLineOfEverySeries(seed: UInt64) async throws {
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

    // MARK: Playing back from a time on

    /// Of a file and a journal from the lines before it, or from what a journal has stored of them.
    @Test(arguments: ["file", "journal", "stored"])
    func aPlaybackFromALaterTimeBeginsWithTheState(of kind: String) async throws {
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
        } else if kind == "stored" {
            let kept = lines[..<2].map {
                ControlLine.kept(time: ReplayStage.began, run: "r1", line: Array($0.utf8.dropLast()))
            }
            let state = Recorded.hello(first: 3) + stats + String(decoding: kept.joined(), as: UTF8.self)
            let former = (1...100).map { Recorded.latency($0, at: -1_000) }
            try ReplayInputTests.journal(
                [("r0", former), ("r1", Array(lines[2...]))], at: folder.path("j.db"), stats: stats, state: state)
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
}
