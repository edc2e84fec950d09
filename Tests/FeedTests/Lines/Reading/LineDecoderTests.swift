import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct LineDecoderTests {
    private let time = Timestamp(seconds: 1_000_000_000)

    private func decode(_ line: String) throws -> Line { try LineDecoder.decode(Array(line.utf8)[...]) }

    private func fault(_ line: String) throws -> LineFault { try #require(throws: LineFault.self) { try decode(line) } }

    /// An example with one text in it replaced.
    private func replacing(_ old: String, by new: String, in line: String) throws -> String {
        let start = try #require(line.utf8.indices.first { line[$0...].hasPrefix(old) }, "\(old) is not in \(line)")
        return line[..<start] + new + line[line.utf8.index(start, offsetBy: old.utf8.count)...]
    }

    // MARK: All types

    @Test func readsAHello() throws {
        let line = try decode(LineExamples.hello)
        #expect(line.seq == nil && line.time == time && line.type == "hello" && line.source == nil)
        guard case .hello(let hello) = line.body else {
            _ = #expect(Bool(false), "\(line)")
            return
        }
        #expect(hello.format == 1 && hello.run == "r1" && hello.filtered)
        #expect(hello.interval == .milliseconds(500) && hello.history == .seconds(120))
        #expect(hello.firstSeq == 1 && hello.nextSeq == 42)
        #expect(hello.host.name == "pi" && hello.host.device == "Raspberry Pi" && hello.host.os == "Debian")
        #expect(hello.host.kernel == "6.1" && hello.host.arch == "aarch64")
        #expect(hello.app.name == "catwatch" && hello.app.version == "1.0" && hello.app.started == time)
    }

    @Test func readsStats() throws {
        guard case .stats(let stats) = try decode(LineExamples.stats).body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(stats.asOf == 41 && stats.endpoints.count == 2 && stats.sources.count == 1)
        let first = stats.endpoints[0]
        #expect(first.endpoint == "GET http://a/b" && first.source == "fact")
        let said = first.summary
        #expect(said.count == 20 && said.errors == 1 && said.last == 130.1 && said.mean == 1.5 && said.minimum == 0.5)
        #expect(said.p50 == 2 && said.p90 == 3 && said.p95 == 4 && said.p99 == 5 && said.maximum == 6)
        let other = stats.endpoints[1].summary
        #expect(other.errors == 7 && other.p50 == 0)
        let source = stats.sources[0]
        #expect(source.type == "fact" && source.unit == "µg" && source.bands?.higherIsBetter == true)
        #expect(source.bands?.bands.map(\.name) == ["good", "poor"] && source.bands?.bands[0].upTo == 50)
        #expect(source.bands?.bands.map { String($0.letter) + $0.color.hex } == ["G#00b050", "P#ff0000"])
        #expect(stats.sources[0].source == "fact" && stats.sources[0].state == .ok && stats.sources[0].since == time)
    }

    @Test func readsADataEvent() throws {
        let bytes = Array(("xx" + LineExamples.data + "\n").utf8)
        let line = try LineDecoder.decode(bytes[2...])
        #expect(line.seq == 1 && line.time == time + .microseconds(1) && line.type == "fact" && line.source == "fact")
        guard case .data(let data) = line.body else {
            _ = #expect(Bool(false), "\(line)")
            return
        }
        #expect(data.series == "fact/a" && data.value == 106 && data.text == #"Cats "sleep" é"# && data.truncated)
        #expect(data.data == Array(#"{"fact":"Cats","length":106}"#.utf8)[...])
        // A slice of the line and not a copy.
        #expect(data.data.map { bytes[$0.indices] } == data.data)
    }

    @Test func readsTheNumberedTypes() throws {
        #expect(
            try decode(LineExamples.latency)
                == Line(
                    seq: 2, time: time, type: "latency", source: "fact",
                    body: .latency(
                        LatencySample(
                            endpoint: "GET http://a/b", status: 200, ms: 132.412, dns: 1.1, connect: 20.3, tls: 41,
                            wait: 69.5, receive: 0.5, bytes: 178, reused: true, late: 0.2))))
        #expect(
            try decode(LineExamples.memory).body
                == .memory(MemorySample(resident: 14_680_064, peak: 15_728_640, privateBytes: 5_242_880)))
        #expect(
            try decode(LineExamples.error).body
                == .error(
                    Failure(.timeout, "no answer", endpoint: "GET http://a/b", attempt: 3, retryIn: .milliseconds(4180))
                ))
        #expect(try decode(LineExamples.progress).body == .progress(Progress(done: 60, total: 98, page: 2)))
        #expect(
            try decode(LineExamples.recovered).body == .recovered(Recovery(down: .milliseconds(13_250), attempts: 9)))
    }

    @Test func readsAWindow() throws {
        guard case .window(let window) = try decode(LineExamples.window).body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(window.series == "fact" && window.start == time - .seconds(10) && window.width == .seconds(10))
        #expect(window.last == 106 && window.lastSeq == 1 && window.count == 5)
        #expect(window.min == 61 && window.max == 140 && window.mean == 98.2)
        #expect(window.band == "long" && window.trend == "improving")
    }

    @Test func readsTheAgentsOwnLines() throws {
        guard case .agent(let agent) = try decode(LineExamples.agent).body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(agent.events == 90 && agent.readers == 2 && agent.gaps == 1 && agent.late == 4 && agent.series == 3)
        #expect(agent.refusedSeries == 5 && agent.loopLag == 0.3 && agent.cpu == 41)
        #expect(agent.outputs.map(\.output) == ["unix:/run/x.sock", "journal:x.db"])
        #expect(agent.outputs.map(\.state) == ["ok", "full"] && agent.outputs.map(\.behind) == [6, 0])
        #expect(agent.outputs.map(\.durable) == [nil, 85])
        guard case .gap(let gap) = try decode(LineExamples.gap).body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(gap.from == 6 && gap.to == 90 && gap.reason == "slow_reader")
        guard case .bye(let bye) = try decode(LineExamples.bye).body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(bye.run == "r1" && bye.lastSeq == 91 && bye.reason == "SIGTERM")
    }

    // MARK: What the format may still gain, and what is left out

    @Test(arguments: LineExamples.all)
    func isTheSameWithUnknownKeysWhiteSpaceAndInAnyOrder(example: String) throws {
        let expected = try decode(example)
        let tree = JSONTree(Array(example.utf8))
        var members = zip(tree.keys, tree.values).map { (#""\#($0)""#, String(decoding: $1.raw, as: UTF8.self)) }
        members += [
            (#""zz""#, "[{\"seq\":0},\"}\"]"), (#""a_key_longer_than_sixteen_bytes""#, "{}"), (#""""#, "0"),
            (#""SEQ""#, "-1"),
        ]
        var random = SeededGenerator(seed: 61)
        for _ in 0..<20 {
            members.shuffle(using: &random)
            let line = "\t{ " + members.map { " \($0) : \($1) " }.joined(separator: "\r,") + " } \r\n"
            #expect(try decode(line) == expected, "seed 61: \(line)")
        }
        // Escaped keys are the same keys, and of repeated ones the first counts.
        let escaped = members.map {
            (#""\u00"# + String($0.0.utf8.dropFirst().first ?? 0, radix: 16) + $0.0.dropFirst(2), $0.1)
        }
        let usable = escaped.filter { $0.0.utf8.count > 7 && !$0.0.contains("\\u0022") }
        let repeated = usable + members.map { ($0.0, "false") }
        var first = expected
        first.flaws = .doubled
        #expect(try decode("{" + repeated.map { "\($0):\($1)" }.joined(separator: ",") + "}") == first)
    }

    /// No agent writes such times, and converting or adding them up would trap.
    @Test(arguments: ["1e300", "1e12", "-1", "-1e308"]) func takesTimesBeyondMeasureForNone(text: String) throws {
        let line = Array(
            #"""
            {"seq":2,"time":"2026-10-16T14:42:43Z","type":"latency","source":"a","endpoint":"e","status":200,\#
            "ms":\#(text),"dns_ms":\#(text),"late_ms":\#(text)}
            """#.utf8)
        guard case .latency(let sample) = try LineDecoder.decode(line[...]).body else {
            Issue.record("it is no latency")
            return
        }
        #expect([sample.ms, sample.dns, sample.late] == [0, 0, 0])
    }

    @Test func readsWhatTheJournalHasOfTheRunBefore() throws {
        let whole = try decode(LineExamples.restart)
        #expect(whole.seq == 1 && whole.source == "catwatch")
        #expect(whole.body == .restart(Restart(lastRun: "r0", lastSequence: 7, ended: "SIGTERM")))
        let first = try decode(#"{"seq":1,"time":"2001-09-09T01:46:40Z","type":"restart","source":"catwatch"}"#)
        #expect(first.body == .restart(Restart()))
    }

    @Test func passesUnknownTypesOn() throws {
        let connection = try decode(#"{"type":"weather","time":"2001-09-09T01:46:40Z","x":[1]}"#)
        #expect(connection == Line(seq: nil, time: time, type: "weather", source: nil, body: .unknown))
        let numbered = try decode(#"{"seq":7,"type":"resumed","time":"2001-09-09T01:46:40Z"}"#)
        #expect(numbered == Line(seq: 7, time: time, type: "resumed", source: nil, body: .unknown))
    }

    @Test func takesADataEventWithNothingButItsSeries() throws {
        let line = try decode(
            #"{"seq":1,"time":"2001-09-09T01:46:40Z","type":"dog","source":"d","series":"d","value":null}"#)
        guard case .data(let data) = line.body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(data.series == "d" && data.value == nil && data.text == nil && data.data == nil && !data.truncated)
    }

    @Test func cutsLongStringsBetweenCharacters() throws {
        let long = String(repeating: "é", count: 5_000)
        let line = try decode(try replacing(#"Cats \"sleep\" é"#, by: "x" + long, in: LineExamples.data))
        guard case .data(let data) = line.body else {
            _ = #expect(Bool(false))
            return
        }
        #expect(data.text == "x" + long.prefix(2_047))
    }

    // MARK: Faults

    @Test(arguments: [
        (LineExamples.data, ["seq", "time", "type", "source"]), (LineExamples.latency, ["endpoint", "status", "ms"]),
        (LineExamples.memory, ["rss_bytes", "peak_bytes", "private_bytes"]),
        (LineExamples.window, ["series", "start", "seconds", "last", "last_seq", "count", "min", "max", "mean"]),
        (LineExamples.error, ["code", "message"]), (LineExamples.progress, ["done"]),
        (LineExamples.recovered, ["down_s", "attempts"]), (LineExamples.agent, ["events"]),
        (LineExamples.gap, ["from", "to"]), (LineExamples.hello, ["format", "run", "first_seq", "next_seq"]),
        (LineExamples.stats, ["as_of", "endpoint", "state"]), (LineExamples.bye, ["time", "type"]),
    ])
    func namesAMissingKey(example: String, keys: [String]) throws {
        for key in keys {
            let line = try replacing("\"\(key)\":", by: "\"x_\(key)\":", in: example)
            #expect(try fault(line).reason == .missing(key: key))
        }
    }

    @Test(arguments: [
        (
            LineExamples.data, #""seq":1"#,
            "0 -1 1.0 1e3 \"1\" true [] {} 9223372036854775808 -9223372036854775809 1e999"
        ),
        (LineExamples.data, #""time":"2001-09-09T01:46:40.000001Z""#, "1 \"\" \"now\" \"2001-09-09\" true [] {}"),
        (LineExamples.data, #""type":"fact""#, "1 true [] {}"),
        (LineExamples.data, #""source":"fact""#, "1 false [] {}"),
        (LineExamples.data, #""value":106"#, "\"106\" true [] {} 1e999 -1e999"),
        (LineExamples.data, #""truncated":true"#, "1 \"true\" []"),
        (LineExamples.latency, #""status":200"#, "-1 \"200\" 200.5"),
        (LineExamples.latency, #""reused":true"#, "0 \"no\""),
        (LineExamples.window, #""seconds":10"#, "0 -1 1e300 \"10\" 1e11"), (LineExamples.window, #""count":5"#, "0 -5"),
        (LineExamples.error, #""retry_in_ms":4180"#, "-1 1e300 \"soon\""), (LineExamples.error, #""attempt":3"#, "0"),
        (LineExamples.gap, #""to":90"#, "5 0 \"90\""), (LineExamples.stats, #""as_of":41"#, "-1"),
        (LineExamples.hello, #""first_seq":1"#, "0"), (LineExamples.hello, #""filtered":true"#, "1"),
    ])
    func namesAValueOfTheWrongKind(example: String, member: String, values: String) throws {
        let key = try #require(member.split(separator: "\"").first)
        for value in values.split(separator: " ") {
            let line = try replacing(member, by: "\"\(key)\":\(value)", in: example)
            let fault = try fault(line)
            guard case .wrong(key, let expected) = fault.reason else {
                Issue.record("\(fault) for \(line)")
                continue
            }
            #expect(line.utf8.dropFirst(fault.offset).starts(with: value.utf8))
            #expect(
                fault.description == "not a line of the feed, at byte \(fault.offset): \"\(key)\" is not \(expected)")
        }
    }

    @Test func namesNestedValuesOfTheWrongKind() throws {
        for (old, new, key) in [
            (#"[{"output""#, #"[7,{"output""#, "outputs"), (#""outputs":["#, #""outputs":7,"x":["#, "outputs"),
        ] {
            guard case .wrong(key, _) = try fault(replacing(old, by: new, in: LineExamples.agent)).reason else {
                _ = #expect(Bool(false), "\(new)")
                return
            }
        }
        guard
            case .wrong("host", "an object") = try fault(
                replacing(#""host":{"#, by: #""host":[],"x":{"#, in: LineExamples.hello)
            ).reason
        else {
            _ = #expect(Bool(false))
            return
        }
    }

    @Test func refusesOtherFormatsAndOtherJSON() throws {
        let newer = try fault(replacing(#""format":1"#, by: #""format":2"#, in: LineExamples.hello))
        #expect(newer.reason == .format(2))
        #expect(newer.description.contains("format 2 is newer than this program"))
        for line in ["[]", "7", "null", " \"hello\""] { #expect(try fault(line).reason == .notAnObject) }
        #expect(try fault("{}").reason == .missing(key: "type"))
        #expect(try fault("").description == "not JSON at byte 0: there is nothing there")
        #expect(try fault("{\"type\":}").description == "not JSON at byte 8: '}' where a value should be")
    }

    @Test(arguments: LineExamples.all)
    func refusesEveryPrefix(example: String) throws {
        let bytes = Array(example.utf8)
        for end in bytes.indices {
            let fault = try #require(throws: LineFault.self) { try LineDecoder.decode(bytes[..<end]) }
            #expect(fault.offset == end)
        }
    }

    @Test(arguments: Array(LineExamples.all.enumerated()).map(\.offset))
    func neverCrashesOnBrokenLines(index: Int) {
        let bytes = Array(LineExamples.all[index].utf8)
        let seed = UInt64(70 + index)
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(150, long: 200_000) {
            var broken = generator.broken(bytes)
            if round % 3 == 0 { broken = swapped(bytes, with: generator.document(), &generator.random) }
            do throws(LineFault) {
                _ = try LineDecoder.decode(broken[...])
                #expect(throws: Never.self, "seed \(seed), round \(round)") { try JSONMinifier.validate(broken[...]) }
            } catch {
                #expect(0...broken.count ~= error.offset, "seed \(seed), round \(round)")
                #expect(!error.description.isEmpty)
            }
        }
    }

    /// The line with one of its values replaced: still JSON.
    private func swapped(_ line: [UInt8], with value: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        let tree = JSONTree(line)
        let index = Int.random(in: tree.keys.indices, using: &random)
        let members = zip(tree.keys, tree.values).enumerated().map { offset, member in
            Array("\"\(member.0)\":".utf8) + (offset == index ? value : member.1.raw)
        }
        return Array("{".utf8) + members.joined(separator: Array(",".utf8)) + Array("}".utf8)
    }
}
