import Reactor
import TestSupport
import Testing

@testable import Feed

/// What `PlainLine` takes, the decoder takes and understands alike; what it does not take is only slower.
@Suite(.limited) struct PlainLineTests {
    private static func plain(_ text: String) -> PlainLine? {
        Array(text.utf8).withUnsafeBufferPointer { PlainLine($0) }
    }

    private static let line =
        #"{"seq":17,"time":"2026-11-22T08:30:00.123456Z","type":"fact","source":"fact","series":"fact/Zürich","value":-1.5e1,"text":"a \"b\" ü","data":{"a":[1,{"b":"c"}]},"truncated":true,"altered":true}"#

    private static let latency =
        #"{"seq":18,"time":"2026-11-22T08:30:00.123456Z","type":"latency","source":"fact","endpoint":"GET https://a.b/ü","status":200,"ms":132.412,"dns_ms":1.1,"connect_ms":20.3,"tls_ms":41,"wait_ms":69.5,"receive_ms":0.5,"bytes":178,"reused":false,"late_ms":0.2}"#

    private static let window =
        #"{"seq":19,"time":"2026-11-22T08:30:10.000456Z","type":"window","source":"fact","series":"latency:fact","start":"2026-11-22T08:30:00.000000Z","seconds":10,"last":106,"last_seq":1,"count":5,"min":-61,"max":1.4e2,"mean":98.2,"band":"lo\"ng","trend":"improving"}"#

    @Test func readsAnswersAndWindows() throws {
        let latency = try #require(Self.plain(Self.latency))
        #expect(latency.kind == .latency && latency.sequence == 18 && latency.value == 132.412)
        #expect(
            String(decoding: Array(Self.latency.utf8)[latency.names], as: UTF8.self)
                == #""type":"latency","source":"fact","endpoint":"GET https://a.b/ü","status":200"#)
        let window = try #require(Self.plain(Self.window))
        #expect(window.kind == .window && window.sequence == 19 && window.value == nil)
        #expect(window.time == RFC3339.parse(Bytes("2026-11-22T08:30:10.000456Z".utf8)))
    }

    /// Of durations that no agent writes the decoder takes some for 0.
    @Test(arguments: [("132.412", "-1", 0.0), ("132.412", "1e300", 0), ("132.412", "0.5", 0.5)])
    func takesMillisecondsAsTheDecoderDoes(old: String, new: String, value: Double) throws {
        let changed = try #require(Self.latency.replacing(first: old, by: new))
        #expect(Self.plain(changed)?.value == value)
    }

    @Test(arguments: [
        (latency, "200", "-200"), (latency, "178", "1.5"), (latency, "178", "017"), (latency, "false", "null"),
        (latency, #""ms":132.412"#, #""ms":null"#), (latency, "41", "1e999"), (latency, "41", #""41""#),
        (latency, #","late_ms":0.2"#, ""), (latency, #""source":"fact","#, ""),
        (window, #""seconds":10"#, #""seconds":0"#), (window, #""seconds":10"#, #""seconds":1e300"#),
        (window, #""seconds":10"#, #""seconds":-10"#), (window, #""last_seq":1"#, #""last_seq":0"#),
        (window, #""count":5"#, #""count":0"#), (window, #""count":5"#, #""count":5.5"#),
        (window, "08:30:00.000000", "08:61:00.000000"), (window, #""mean":98.2"#, #""mean":1e999"#),
        (window, #""min":-61"#, #""min":null"#), (window, #""improving""#, "7"),
        (window, #""type":"window""#, #""type":"windo\u0077""#),
    ])
    func leavesUnusualAnswersAndWindowsToTheDecoder(line: String, old: String, new: String) throws {
        let changed = try #require(line.replacing(first: old, by: new))
        #expect(Self.plain(line) != nil && Self.plain(changed) == nil, "\(changed)")
    }

    @Test func readsWhatAnAgentWrites() throws {
        let line = try #require(Self.plain(Self.line))
        #expect(line.sequence == 17 && line.value == -15)
        #expect(line.time == RFC3339.parse(Bytes("2026-11-22T08:30:00.123456Z".utf8)))
        let names = Array(Self.line.utf8)[line.names]
        #expect(String(decoding: names, as: UTF8.self) == #""type":"fact","source":"fact","series":"fact/Zürich""#)
        let short = #"{"seq":1,"time":"2026-11-22T08:30:00.123456Z","type":"a","source":"b","series":"b"}"#
        #expect(try #require(Self.plain(short)).value == nil)
    }

    @Test(arguments: [
        #"{"seq":0,"#, #"{"seq":01,"#, #"{"seq":-1,"#, #"{"seq":1234567890123456789,"#, #"{ "seq":17,"#,
        #"{"seq":17.0,"#,
    ])
    func leavesOtherNumbersToTheDecoder(start: String) {
        #expect(Self.plain(start + Self.line.dropFirst(#"{"seq":17,"#.count)) == nil)
    }

    @Test(arguments: [
        (#"-1.5e1"#, "null"), (#"-1.5e1"#, "1e999"), (#"-1.5e1"#, "+1"), (#"-1.5e1"#, #""1""#), (#""c""#, #""\ud800""#),
        (#"{"b":"c"}"#, String(repeating: "[", count: 40) + String(repeating: "]", count: 40)),
        (#""altered":true"#, #""altered":false"#), (#""altered":true"#, #""seq":18"#),
        (#""text":"#, #""value":2,"text":"#),
        ("2026-11-22T08:30:00.123456Z", "2026-13-22T08:30:00.123456Z"), ("00.123456Z", "00Z"),
        (#""a \"b"#, "\"a \u{1}\\\"b"),
    ])
    func leavesWhateverIsUnusualToTheDecoder(old: String, new: String) throws {
        let changed = try #require(Self.line.replacing(first: old, by: new))
        #expect(Self.plain(changed) == nil, "\(changed)")
    }

    @Test(arguments: [line, latency, window]) func takesNothingThatTheDecoderTakesOtherwise(whole: String) throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let bytes = Array(whole.utf8)
            var taken = 0
            for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...2, using: &random) {
                    let place = Int.random(in: 0..<changed.count, using: &random)
                    switch UInt8.random(in: 0..<4, using: &random) {
                    case 0: changed.remove(at: place)
                    case 1: changed.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                    case 2: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    default: changed.insert(contentsOf: bytes[(bytes.count / 2)...].prefix(place % 40), at: place)
                    }
                }
                guard let plain = changed.withUnsafeBufferPointer({ PlainLine($0) }) else { continue }
                let text = String(decoding: changed, as: UTF8.self)
                guard let line = try? LineDecoder.decode(changed[...]) else {
                    // Of the values of its keys only those that do not name its series are looked at.
                    Issue.record("seed \(seed): the decoder refuses \(text)")
                    continue
                }
                taken += 1
                #expect(
                    line.flaws.isEmpty && line.seq == plain.sequence && line.time == plain.time, "seed \(seed): \(text)"
                )
                switch line.body {
                case .data(let data): #expect(data.value == plain.value, "seed \(seed): \(text)")
                case .latency(let sample): #expect(sample.ms == plain.value, "seed \(seed): \(text)")
                default: #expect(plain.value == nil, "seed \(seed): \(text)")
                }
            }
            #expect(taken > 100, "seed \(seed)")
        }
    }
}

extension String {
    /// With the first `text` in it changed; nil when there is none.
    fileprivate func replacing(first text: String, by other: String) -> String? {
        utf8.firstRange(of: text).map { String(prefix(upTo: $0.lowerBound)) + other + suffix(from: $0.upperBound) }
    }
}

extension String.UTF8View {
    fileprivate func firstRange(of text: String) -> Range<Index>? {
        var place = startIndex
        while place < endIndex {
            if self[place...].starts(with: text.utf8) { return place..<index(place, offsetBy: text.utf8.count) }
            place = index(after: place)
        }
        return nil
    }
}
