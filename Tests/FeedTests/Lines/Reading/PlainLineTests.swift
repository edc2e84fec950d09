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
        let start = try #require(Self.line.utf8.firstRange(of: old))
        let changed = Self.line.prefix(upTo: start.lowerBound) + new + Self.line.suffix(from: start.upperBound)
        #expect(Self.plain(String(changed)) == nil, "\(changed)")
    }

    @Test func takesNothingThatTheDecoderTakesOtherwise() throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let bytes = Array(Self.line.utf8)
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
                if case .data(let data) = line.body { #expect(data.value == plain.value, "seed \(seed): \(text)") }
            }
            #expect(taken > 100, "seed \(seed)")
        }
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
