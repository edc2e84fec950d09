import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct LineHeadTests {
    private static let start = #"{"seq":7,"time":"2026-01-02T03:04:05.678901Z","#
    private static let names = #""type":"fact","source":"fact","series":"fact/a","#

    /// The head as it is decoded, where what is read in place says the same; nil where no event is in its place.
    private static func head(_ line: String) throws -> LineHead.Decoded? {
        let bytes = Array(line.utf8)
        return try bytes.withUnsafeBytes { bytes in
            guard let head = LineHead(bytes) else { return nil }
            let decoded = try LineHead.Decoded(bytes.bindMemory(to: UInt8.self))
            guard let event = head.event else { return nil }
            #expect(event.time == decoded.time && event.value == decoded.value, "\(line)")
            #expect(String(decoding: event.type, as: UTF8.self) == decoded.type, "\(line)")
            #expect(String(decoding: event.source, as: UTF8.self) == decoded.source, "\(line)")
            #expect(String(decoding: event.series, as: UTF8.self) == decoded.series, "\(line)")
            return decoded
        }
    }

    @Test(arguments: ["1", "-2.5e-3", "106}", "12,\"text\":\"x\"", "0.1,\"data\":{\"value\":2}"])
    func readsDataLinesAsTheyAreWritten(_ rest: String) throws {
        let line =
            Self.start + Self.names + "\"value\":" + rest + (rest.hasSuffix("}") && !rest.contains("{") ? "" : "}")
        #expect(try Self.head(line) != nil)
    }

    @Test(arguments: [
        start + names + #""text":"no value"}"#,
        start + #""type":"latency","source":"fact","series":"s","value":1,"ms":2}"#,
        start + #""type":"window","source":"fact","series":"s","value":1,"last":2}"#,
        start + #""type":"f\"","source":"fact","series":"s","value":1}"#,
        start + #""type":"fact","source":"fact","series":"a\u0062","value":1}"#,
        start + #""type":"fact","source":"Käse","series":"s","value":1}"#,
        start + #""type":"fact","series":"s","source":"fact","value":1}"#,
        start + #""type":"fact","source":"fact","value":1,"series":"s"}"#,
        start + names + #""value":null}"#,
        #"{"seq":7,"time":"2026-01-02T03:04:05Z","type":"fact","source":"fact","series":"s","value":1}"#,
        #" {"seq":7,"time":"2026-01-02T03:04:05.678901Z","type":"fact","source":"f","series":"s","value":1}"#,
    ])
    func hasNoPartThatIsElsewhere(_ line: String) throws { #expect(try Self.head(line) == nil) }

    @Test func readsNothingBeyondALine() throws {
        let line = Self.start + Self.names + "\"value\":12.5}"
        for count in 0...line.utf8.count {
            // At the end of an allocation, for what checks addresses.
            let bytes = Array(line.utf8.prefix(count))
            bytes.withUnsafeBytes { line in
                guard let head = LineHead(line) else { return }
                _ = (head.event, head.source)
                #expect((head.time == nil) == (count < Self.start.utf8.count - 1), "\(count)")
            }
        }
    }

    @Test func timesHaveQuotesAndKeysAreThoseOfTheFormat() {
        func head<Part>(_ line: String, _ part: (LineHead) -> Part?) -> Part? {
            Array(line.utf8).withUnsafeBytes { LineHead($0).flatMap(part) }
        }
        let line = Self.start + Self.names + "\"value\":1}"
        #expect(head(line, \.event) != nil)
        #expect(head(line.replacing("\"2026", with: "x2026"), \.event) == nil)
        #expect(head(line.replacing("901Z\"", with: "901Zx"), \.event) == nil)
        #expect(head(line, { $0.type.map { $0 == "fact" } }) == true)
        #expect(head(line.replacing("\"type\"", with: "\"kind\""), { $0.type.map { $0 == "fact" } }) == nil)
    }

    @Test func saysWhatTheDecoderSaysOfLinesThatAreMixedUp() throws {
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
            if hasAll, try Self.head(line) != nil { found += 1 }
        }
        #expect(found > 100)
    }

    @Test(arguments: [
        (#"{"seq":1,"time":"","#, 1), (#"{"seq":9223372036854775807,"#, Int.max), (#"{"seq":12}"#, 12),
    ])
    func readsTheNumberWhateverFollows(_ line: String, _ number: Int) {
        #expect(Array(line.utf8).withUnsafeBytes { LineHead($0)?.sequence } == number)
    }

    @Test(arguments: [
        "", "{", #"{"seq":"#, #"{"seq":}"#, #"{"seq":"1","#, #"{"seq":9223372036854775808,"#, #"{"seq":1.5,"#,
        #"{"seq":1e3,"#,
        #"{"type":"gap","from":1,"to":2}"#, #"{ "seq":1,"#,
    ])
    func hasNoneWithoutANumber(_ line: String) {
        #expect(Array(line.utf8).withUnsafeBytes { LineHead($0)?.sequence } == nil)
    }

    @Test func comparesNames() {
        let line = Self.start + #""type":"fact","source":"a\"b","series":"Käse","value":1}"#
        Array(line.utf8).withUnsafeBytes { bytes in
            let head = LineHead(bytes)
            #expect(head?.type.map { $0 == "fact" } == true)
            for other in ["fac", "facts", "fect", ""] as [StaticString] {
                #expect(head?.type.map { $0 == other } == false && head?.type.map { $0 != other } == true)
            }
            #expect(head?.source.map { String(decoding: $0.token, as: UTF8.self) } == #""a\"b""#)
        }
    }

    /// What stands where an agent's type does is none when something else than a time stands before it.
    @Test func hasNoTypeWithoutATime() {
        let time = #""2026-01-02T03:04:05.678901Z""#
        let text = #"{"a":""# + String(repeating: "x", count: time.utf8.count - 7) + "\""
        let line = #"{"seq":7,"data":\#(text),"type":"error"},"time":\#(time),"type":"fact"}"#
        #expect(Array(line.utf8).withUnsafeBytes { LineHead($0)?.type == nil })
    }

    /// As long as the decoder would cut them.
    @Test func leavesLongNamesToTheDecoder() {
        for (count, isShort) in [(LineDecoder.stringLimit, true), (LineDecoder.stringLimit + 1, false)] {
            let name = String(repeating: "x", count: count)
            let line = Self.start + "\"type\":\"\(name)\",\"source\":\"s\",\"series\":\"s\",\"value\":1}"
            #expect(Array(line.utf8).withUnsafeBytes { LineHead($0)?.event != nil } == isShort)
        }
    }
}
