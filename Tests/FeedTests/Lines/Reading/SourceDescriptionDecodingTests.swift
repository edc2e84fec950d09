import Feed
import Reactor
import TestSupport
import Testing

/// What a hostile agent says of its sources costs no more than itself.
@Suite(.limited) struct SourceDescriptionDecodingTests {
    @Test(
        arguments: [
            (#""unit":"µg""#, "5 true [] {}"), (#""bands":["#, #"5,"x":[ "x","x":[ [5, [{}, [[], [null,"#),
            (#""letter":"G""#, #"5 "GG" """#),
            (##""color":"#00b050""##, ##"5 "red" "#00b05" "#00b0500" "#+0b050""##),
            (#""up_to":50"#, "true 1e999 null"), (#""name":"poor""#, #"5 "" null"#),
            (#""higher_is_better":true"#, "1"),
        ])
    func goesOnWithoutADescriptionThatMakesNoSense(member: String, values: String) throws {
        let key = try #require(member.split(separator: "\"").first)
        let example = LineExamples.stats
        let start = try #require(example.utf8.indices.first { example[$0...].hasPrefix(member) })
        let rest = example[example.utf8.index(start, offsetBy: member.utf8.count)...]
        for value in values.split(separator: " ") {
            let line = example[..<start] + "\"\(key)\":\(value)" + rest
            guard case .stats(let stats) = try LineDecoder.decode(Bytes(line.utf8)).body else {
                Issue.record("\(line)")
                continue
            }
            #expect(stats.sources.map(\.source) == ["fact"])
            #expect(key == "unit" ? stats.sources[0].unit == nil : stats.sources[0].bands == nil, "\(line)")
        }
    }
}

/// What is wrong with a source, from an agent that is not to be trusted.
@Suite(.limited) struct SourceFailureDecodingTests {
    private static func failure(_ members: String, state: String = "failing") throws -> SourceFailure? {
        let line = """
            {"type":"stats","time":"2026-03-01T12:00:00Z","as_of":1,"endpoints":[],"sources":[{"source":"s",\
            "state":"\(state)","since":"2026-03-01T11:00:00Z",\(members)}]}
            """
        guard case .stats(let stats) = try LineDecoder.decode(Bytes(line.utf8)).body else { return nil }
        #expect(stats.sources.map(\.source) == ["s"])
        return stats.sources[0].failure
    }

    @Test(arguments: [
        #""attempt":-1,"retry_at":"soon""#, #""attempt":1e308,"retry_at":5"#, #""attempt":"1","retry_at":null"#,
        #""attempt":0,"retry_at":"10000-01-01T00:00:00Z""#, #""attempt":[],"retry_at":{}"#, #""attempt":1.5"#,
    ])
    func leavesOutWhatMakesNoSense(_ members: String) throws {
        let failure = try Self.failure(#""code":"dns","message":"no address","# + members)
        #expect(failure == SourceFailure(code: "dns", message: "no address", attempt: nil, retryAt: nil))
    }

    @Test func takesTheExtremesThatCanBe() throws {
        let members =
            #""code":"dns","message":"\u001b[31m","attempt":9223372036854775807,"retry_at":"9999-12-31T23:59:59Z""#
        let latest = Timestamp(seconds: 253_402_300_799)
        #expect(
            try Self.failure(members)
                == SourceFailure(code: "dns", message: "\u{1b}[31m", attempt: .max, retryAt: latest))
        let long = try Self.failure(#""code":"dns","message":"\#(String(repeating: "\\u0001", count: 170_000))""#)
        #expect(long?.message?.utf8.count == 4_096)
    }

    @Test(arguments: [#""message":"no code""#, #""code":5,"message":"x""#, #""code":null"#])
    func knowsNoFailureWithoutItsCode(_ members: String) throws { #expect(try Self.failure(members) == nil) }

    @Test(arguments: ["ok", "starting"]) func onlyAFailingSourceHasAFailure(state: String) throws {
        #expect(try Self.failure(#""code":"dns","message":"x""#, state: state) == nil)
    }
}
