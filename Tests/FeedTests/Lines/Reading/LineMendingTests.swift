import LineRules
import Reactor
import TestSupport
import Testing

@testable import Feed

/// Another agent's lines that not every reader could read, as they are passed on.
@Suite(.limited) struct LineMendingTests {
    private static let time = #""time":"2001-09-09T01:46:40.000001Z""#
    private static let hello = LineExamples.hello.replacing(#""next_seq":42"#, with: #""next_seq":1"#)
    private static let bad =
        #"["\ud800",1e999,"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 41)
    private static func deep(_ levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    /// What a reader gets of these lines.
    private static func relay(_ lines: [String]) async throws -> (lines: [String], gaps: [ClosedRange<Int>]) {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: StoreHarness.start)
            let identity = AgentIdentity(run: "own", version: "1", started: wall.now)
            let store = EventStore(on: loop, wall: wall, identity: identity, isRelay: true)
            let (reader, _) = await store.open(nil)
            await store.relay(
                try ([hello] + lines).map {
                    let bytes = Array($0.utf8)[...]
                    return RelayedLine(try LineDecoder.decode(bytes), bytes: bytes)
                })
            await store.finish("end")
            var relayed: [String] = []
            var gaps: [ClosedRange<Int>] = []
            while true {
                switch try await store.next(for: reader) {
                case .lines(let span):
                    let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                    relayed += text.split(separator: "\n").map { String($0) }
                case .gap(let bytes):
                    guard case .gap(let gap) = try LineDecoder.decode(bytes[...]).body else { continue }
                    gaps.append(gap.from...gap.to)
                case .end:
                    for line in relayed { #expect(LineRules.faults(of: line.utf8).isEmpty) }
                    return (relayed, gaps)
                default: continue
                }
            }
        }
    }

    @Test(
        arguments: [
            (
                #""type":"fact","source":"s","series":"s","value":1,"data":\#(bad)"#,
                #""type":"fact","source":"s","series":"s","value":1,"truncated":true,"altered":true"#
            ),
            (
                #""type":"fact","source":"s","series":"s","data":[1e400],"new":[1]"#,
                #""type":"fact","source":"s","series":"s","new":[1],"truncated":true"#
            ),
            (
                #""type":"fact","source":"s","series":"s","text":"\ud800","data":"\ud800","altered":true"#,
                #""type":"fact","source":"s","series":"s","text":"\ufffd","truncated":true,"altered":true"#
            ),
            (
                #""type":"fact","source":"s","series":"s/\udc00\udc00","value":-1.50"#,
                #""type":"fact","source":"s","series":"s/\ufffd\ufffd","value":-1.50,"altered":true"#
            ),
            // What it was not before, it need not be now.
            (
                #""type":"fact","source":"s","series":"s","text":"\ud800","truncated":false,"altered":false"#,
                #""type":"fact","source":"s","series":"s","text":"\ufffd","altered":true"#
            ),
            (
                #""type":"fact","source":"s","series":"s","data":[1e400],"altered":false,"truncated":false"#,
                #""type":"fact","source":"s","series":"s","truncated":true"#
            ),
            // White space goes, and of a key that comes twice with a part that cannot be there, nothing is left.
            (
                #" "type" : "fact" , "source":"s", "series":"s", "d\u0061ta" : [ 1e999 ], "truncated":true"#,
                #""type":"fact","source":"s","series":"s","truncated":true"#
            ),
            (
                #""type":"error","source":"s","code":"x","message":"\udfff!","later":\#(deep(30))"#,
                #""type":"error","source":"s","code":"x","message":"\ufffd!","truncated":true,"altered":true"#
            ),
            (
                #""type":"progress","source":"s","done":1,"page":1,"\ud83d":{}"#,
                #""type":"progress","source":"s","done":1,"page":1,"\ufffd":{},"altered":true"#
            ),
        ])
    func isEncodedAnewWithoutWhatCannotBe(members: String, expected: String) async throws {
        let lines = [1, 3].map { #"{"seq":\#($0),\#(Self.time),\#(members)}"# }
        let relayed = try await Self.relay([lines[0], LineExamples.latency, lines[1]])
        #expect(relayed.lines.count == 3 && relayed.gaps.isEmpty)
        #expect(relayed.lines[1] == LineExamples.latency)
        for number in [1, 3] {
            #expect(relayed.lines[number - 1] == #"{"seq":\#(number),\#(Self.time),\#(expected)}"#)
            #expect(try LineDecoder.decode(Array(relayed.lines[number - 1].utf8)[...]).seq == number)
        }
    }

    @Test func staysByteForByteWithinTheLimits() async throws {
        let lines = [
            #"{"seq":1,\#(Self.time),"type":"fact","source":"s","series":"s","data":\#(Self.deep(29))}"#,
            #"{"seq":2,\#(Self.time),"type":"later","x":[1.7976931348623158e308,1e-999,"\ud83d\ude3a"],"x": {} } "#,
            #"{ "type":"fact","seq":3,\#(Self.time),"source":"s","series":"s","text":"\ufffd","altered":true}"#,
        ]
        let relayed = try await Self.relay(lines)
        #expect(relayed.lines == lines && relayed.gaps.isEmpty)
    }

    /// Readers differ in which of two counts: this would be the end of the feed to some.
    @Test func aKeyThatIsThereTwiceIsKeptOnce() async throws {
        let line = #"{"seq":1,\#(Self.time),"type":"x","source":"s","series":"s","data":{"a":1,"a":2}"#
        let relayed = try await Self.relay([line + #","seq":9,"t\u0079pe":"bye","data":0}"#, LineExamples.latency])
        #expect(relayed.lines == [line + "}", LineExamples.latency] && relayed.gaps.isEmpty)
        let unknown = #"{"seq":1,\#(Self.time),"type":"later","type":"bye"}"#
        #expect(try await Self.relay([unknown, LineExamples.latency]).gaps == [1...1])
    }

    @Test func becomesAGapWhereNobodyKnowsWhatItMeans() async throws {
        let unknown = #"{"seq":1,\#(Self.time),"type":"later","x":\#(Self.bad)}"#
        #expect(try await Self.relay([unknown]).gaps == [1...1])
        let relayed = try await Self.relay([unknown, LineExamples.latency, LineExamples.memory])
        #expect(relayed.lines == [LineExamples.latency, LineExamples.memory] && relayed.gaps == [1...1])
        // Too long for a line, with what has to be said.
        let head = #"{"seq":1,\#(Self.time),"type":"fact","source":"s","series":"\ud800"#
        let room = LineEncoder.longestLine - head.utf8.count - 1 - #"","altered":true}"#.utf8.count
        let full = head + String(repeating: "x", count: room) + "\"}"
        #expect(try await Self.relay([full]).lines.first?.utf8.count == LineEncoder.longestLine - 1)
        #expect(try await Self.relay([head + String(repeating: "x", count: room + 1) + "\"}"]).gaps == [1...1])
    }

    @Test func whatIsHereAlreadyIsLeftOut() async throws {
        let line = #"{"seq":2,\#(Self.time),"type":"later","x":\#(Self.bad)}"#
        let relayed = try await Self.relay([LineExamples.data, LineExamples.latency, line, LineExamples.memory])
        #expect(
            relayed.lines == [LineExamples.data, LineExamples.latency, LineExamples.memory] && relayed.gaps.isEmpty)
    }
}
