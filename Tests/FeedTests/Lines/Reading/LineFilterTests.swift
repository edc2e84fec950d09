import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct LineFilterTests {
    private static func admits(_ line: [UInt8], types: [String]?, sources: [String]?) -> Bool {
        line.withUnsafeBytes { LineFilter(types: types, sources: sources).admits($0) }
    }

    @Test(
        arguments: [
            (nil, nil, true), (["fact"], nil, true), (["latency", "fact"], nil, true), (["latency"], nil, false),
            ([], nil, false), (["fac"], nil, false), (["facts"], nil, false), (["\"fact\""], nil, false),
            (nil, ["fact"], true), (nil, ["dog"], false), (["fact"], ["fact"], true), (["fact"], ["dog"], false),
            (["dog"], ["fact"], false), (nil, [], false),
        ] as [([String]?, [String]?, Bool)])
    func choosesByTypeAndSource(types: [String]?, sources: [String]?, isAdmitted: Bool) {
        let line = #"{"seq":1,"time":"2025-01-02T03:04:05.678901Z","type":"fact","source":"fact","series":"fact"}"#
        #expect(Self.admits(Array(line.utf8), types: types, sources: sources) == isAdmitted)
        #expect(Self.admits(Array((line + "\n").utf8), types: types, sources: sources) == isAdmitted)
    }

    @Test func countsBytesOfLinesBehindTheEnd() {
        let until = RFC3339.parse(Array("2025-01-02T03:04:06Z".utf8)[...])
        let filter = LineFilter(types: nil, sources: nil, from: nil, until: until)
        func overBytes(_ text: String, behind before: Int = 0) -> Int {
            Array(text.utf8).withUnsafeBytes { filter.overBytes(in: $0, behind: before) }
        }
        let late = #"{"seq":2,"time":"2025-01-02T03:04:07.000000Z","type":"fact"}"# + "\n"
        let early = late.replacing("07.", with: "05.")
        #expect(overBytes(late + late) == 2 * late.utf8.count)
        #expect(overBytes(late, behind: 10) == late.utf8.count + 10)
        #expect(overBytes(early + late, behind: 10) == late.utf8.count)
        #expect(overBytes(late + early, behind: 10) == 0)
    }

    @Test(
        arguments: [
            ("2025-01-02T03:04:05.678901Z", nil, true), ("2025-01-02T03:04:05.678902Z", nil, false),
            (nil, "2025-01-02T03:04:05.678901Z", false), (nil, "2025-01-02T03:04:05.678902Z", true),
            ("2024-12-31T23:59:59Z", "2025-01-02T03:04:06Z", true), ("2025-01-02T04:04:05+01:00", nil, true),
            ("9999-12-31T23:59:59-23:59", nil, false), (nil, "9999-12-31T23:59:59-23:59", true),
            ("0000-01-01T00:00:00+23:59", nil, true), (nil, "0000-01-01T00:00:00+23:59", false),
        ] as [(String?, String?, Bool)])
    func choosesByTime(from: String?, until: String?, isAdmitted: Bool) {
        let (from, until) = (
            from.flatMap { RFC3339.parse(Array($0.utf8)[...]) }, until.flatMap { RFC3339.parse(Array($0.utf8)[...]) }
        )
        let line = Array(#"{"seq":1,"time":"2025-01-02T03:04:05.678901Z","type":"fact","source":"fact"}"#.utf8)
        for (types, isOfType) in [(nil, true), (["fact"], true), (["dog"], false)] as [([String]?, Bool)] {
            let filter = LineFilter(types: types, sources: nil, from: from, until: until)
            #expect(line.withUnsafeBytes { filter.admits($0) } == (isAdmitted && isOfType))
            // What is cut anywhere is no line, and is not read beyond.
            for length in 0..<45 { #expect(!Array(line[..<length]).withUnsafeBytes { filter.admits($0) }) }
        }
    }

    @Test func knowsNamesThatNeedEscaping() async throws {
        let names = ["a\"b", "back\\slash", "new\nline", "grün", "\u{0}", "c\\", "x\",\"source\":\"y", ""]
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_700_000_000))
            let identity = AgentIdentity(run: "r", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity)
            let (reader, _) = await store.open(nil)
            for name in names {
                let source = await store.register(SourceDescription(name: name, type: name))
                await store.publish([Event(time: wall.now, source: source, body: .data(Datum(value: 1)))])
            }
            guard case .lines(let span) = try await store.next(for: reader) else {
                Issue.record("no lines")
                return
            }
            let lines = span.withUnsafeBytes { Array($0) }.split(separator: 0x0A).map(Array.init)
            #expect(lines.count == names.count)
            for (line, name) in zip(lines, names) {
                for other in names {
                    #expect(Self.admits(line, types: [other], sources: nil) == (name == other), "\(name), \(other)")
                    #expect(Self.admits(line, types: nil, sources: [other]) == (name == other), "\(name), \(other)")
                }
            }
        }
    }

    @Test func findsEachOfAThousandNamesAndNoOther() {
        let names = (0..<1_000).map { "s\($0)" }
        let filter = LineFilter(types: nil, sources: names)
        for name in names + ["s", "s1000", "s01", "S1", "s1 ", "s-1"] {
            let line = #"{"seq":1,"time":"2025-01-02T03:04:05.678901Z","type":"t","source":"\#(name)","series":"x"}"#
            #expect(Array(line.utf8).withUnsafeBytes { filter.admits($0) } == names.contains(name), "\(name)")
        }
        #expect(filter == LineFilter(types: nil, sources: names) && filter != LineFilter(types: names, sources: nil))
    }

    @Test(arguments: [0, 1, 2, 3, 1_000, 65_536])
    func aSetHasItsNamesAndNoOther(count: Int) {
        let set = NameSet((0..<count).map { "source-\($0)" })
        for name in 0..<count + 3 {
            let isThere = LineWriter.quoted("source-\(name)").withUnsafeBytes { set.contains($0) }
            #expect(isThere == (name < count))
            #expect(!LineWriter.quoted("sourcf-\(name)").withUnsafeBytes { set.contains($0) })
        }
    }

    private static let numbered = LineExamples.all.filter { $0.hasPrefix("{\"seq\"") }

    @Test func readsNoByteBeyondALineThatIsCut() {
        for line in Self.numbered {
            let bytes = Array(line.utf8)
            for end in 0...bytes.count {
                // A buffer of just that size traps when it is read beyond.
                let isAdmitted = Self.admits(Array(bytes[..<end]), types: ["fact"], sources: ["fact"])
                if end < 60 { #expect(!isAdmitted, "\(end) bytes of \(line)") }
            }
        }
    }

    @Test func agreesWithTheDecoderOnBrokenLines() {
        let seed: UInt64 = 82
        var random = SeededGenerator(seed: seed)
        for round in 0..<LongRun.rounds(short: 3_000, long: 300_000) {
            var bytes = Array(Self.numbered[round % Self.numbered.count].utf8)
            for _ in 0...random.next() % 3 {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            // A line that is still one of ours is chosen by what it says.
            guard let line = try? LineDecoder.decode(bytes[...]), let source = line.source, line.seq != nil else {
                _ = Self.admits(bytes, types: ["fact"], sources: ["fact"])
                continue
            }
            if Self.admits(bytes, types: [line.type + "x"], sources: nil) {
                Issue.record("seed \(seed), round \(round): another type")
            }
            if Self.admits(bytes, types: nil, sources: [source + "x"]) {
                Issue.record("seed \(seed), round \(round): another source")
            }
        }
    }
}
