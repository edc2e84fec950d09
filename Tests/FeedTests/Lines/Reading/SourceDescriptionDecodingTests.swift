import Feed
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
