import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct LineGlanceTests {
    private static let head = #"{"seq":7,"time":"2026-01-02T03:04:05.678901Z","#
    private static let names = #""type":"fact","source":"fact","series":"fact/a","#

    /// What it says, as a `LineIndex` would.
    private static func glance(_ line: String) throws -> LineIndex? {
        let bytes = Array(line.utf8)
        return try bytes.withUnsafeBufferPointer { bytes in
            guard let glance = LineGlance(bytes) else { return nil }
            let index = try LineIndex(bytes)
            #expect(glance.time == index.time && glance.value == index.value, "\(line)")
            #expect(String(decoding: glance.type, as: UTF8.self) == index.type, "\(line)")
            #expect(String(decoding: glance.source, as: UTF8.self) == index.source, "\(line)")
            #expect(String(decoding: glance.series, as: UTF8.self) == index.series, "\(line)")
            return index
        }
    }

    @Test(arguments: ["1", "-2.5e-3", "106}", "12,\"text\":\"x\"", "0.1,\"data\":{\"value\":2}"])
    func readsDataLinesAsTheyAreWritten(_ rest: String) throws {
        let line =
            Self.head + Self.names + "\"value\":" + rest + (rest.hasSuffix("}") && !rest.contains("{") ? "" : "}")
        #expect(try Self.glance(line) != nil)
    }

    @Test(arguments: [
        head + names + #""text":"no value"}"#,
        head + #""type":"latency","source":"fact","series":"s","value":1,"ms":2}"#,
        head + #""type":"window","source":"fact","series":"s","value":1,"last":2}"#,
        head + #""type":"f\"","source":"fact","series":"s","value":1}"#,
        head + #""type":"fact","source":"Käse","series":"s","value":1}"#,
        head + #""type":"fact","series":"s","source":"fact","value":1}"#,
        head + #""type":"fact","source":"fact","value":1,"series":"s"}"#,
        head + names + #""value":null}"#,
        #"{"seq":7,"time":"2026-01-02T03:04:05Z","type":"fact","source":"fact","series":"s","value":1}"#,
        #" {"seq":7,"time":"2026-01-02T03:04:05.678901Z","type":"fact","source":"f","series":"s","value":1}"#,
    ])
    func leavesOthersToTheIndex(_ line: String) throws { #expect(try Self.glance(line) == nil) }

    @Test func readsNothingBeyondALine() throws {
        let line = Self.head + Self.names + "\"value\":12.5}"
        for count in 0...line.utf8.count {
            // At the end of an allocation, for what checks addresses.
            let bytes = Array(line.utf8.prefix(count))
            bytes.withUnsafeBufferPointer { _ = LineGlance($0) }
        }
    }

    @Test func saysWhatTheIndexSaysOfLinesThatAreMixedUp() throws {
        let members = [
            #""seq":7"#, #""time":"2026-01-02T03:04:05.678901Z""#, #""type":"fact""#, #""type":"window""#,
            #""source":"fact""#, #""series":"s""#, #""value":1"#, #""value":2"#, #""last":3"#, #""text":"\"value\":9""#,
        ]
        var found = 0
        for seed in 1...2_000 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            // Mostly in order, so that some are as they are written.
            var chosen = members
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                chosen.remove(at: Int.random(in: chosen.indices, using: &random))
            }
            if Bool.random(using: &random) {
                chosen.swapAt(
                    Int.random(in: chosen.indices, using: &random), Int.random(in: chosen.indices, using: &random))
            }
            if chosen.contains(members[3]), Bool.random(using: &random) { chosen.removeAll { $0 == members[3] } }
            let line = "{" + chosen.joined(separator: ",") + "}"
            let hasAll = chosen.contains(members[1]) && (chosen.contains(members[2]) || chosen.contains(members[3]))
            if hasAll, try Self.glance(line) != nil { found += 1 }
        }
        #expect(found > 100)
    }
}
