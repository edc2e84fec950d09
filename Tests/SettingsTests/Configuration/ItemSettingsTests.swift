import Feed
import Inputs
import TestSupport
import Testing

@testable import Settings

/// Which items of a source are taken, and whether they are counted.
@Suite(.limited) struct ItemSettingsTests {
    private func faults(_ members: String) -> [String] {
        ConfigFixture.faults(#"{"sources":[{"url":"http://h/",\#(members)}]}"#)
    }

    private func extraction(_ text: String?, _ arguments: [String] = []) throws -> (Extraction, counts: Bool) {
        switch try ConfigFixture.sources(text, arguments).first {
        case .http(let source): (source.extraction, source.countsItems)
        case .pages(let source): (source.extraction, source.countsItems)
        case .webSocket(let source): (source.extraction, false)
        default: throw UsageError("no such source")
        }
    }

    @Test func theyAreReadFromASourceAndFromOptions() throws {
        let text = ##"{"sources":[{"url":"http://h/","items":"","key":"/id","only":["K*","#"],"item_count":true}]}"##
        var (found, counts) = try extraction(text)
        #expect(found.only == ItemChoice(["K*", "#"]) && counts)
        (found, counts) = try extraction(##"{"sources":[{"url":"http://h/","items":"","key":"#","only":"1"}]}"##)
        #expect(found.only == ItemChoice(["1"]) && !counts)
        (found, counts) = try extraction(
            nil, ["http://h/", "--items", "", "--key=/id", "--only=K*", "--only=a,b", "--only=K*", "--item-count"])
        #expect(found.only == ItemChoice(["K*", "a,b"]) && counts)
        (found, counts) = try extraction(nil, ["-p", "breeds", "--only=Siamese", "--item-count"])
        #expect(found.only == ItemChoice(["Siamese"]) && counts)
        (found, counts) = try extraction(nil, ["http://h/", "--items", ""])
        #expect(found.only == nil && !counts)
        // For every source that has items.
        #expect(try ConfigFixture.sources(nil, ["http://h/", "-p", "breeds", "--item-count"]).count == 2)
    }

    @Test(
        arguments: [
            (#""only":["a"]"#, "only", "needs items and key"), (#""only":["a"],"items":"""#, "only", "it needs key"),
            (#""only":["a"],"key":"/id""#, "only", "it needs items"), (#""only":[]"#, "only", "has no key"),
            (#""items":"","key":"/id","only":["a","a"]"#, "only[1]", "is given twice"),
            (#""items":"","key":"/id","only":[""]"#, "only[0]", "is empty"),
            (#""items":"","key":"/id","only":[1]"#, "only[0]", ""),
            (#""items":"","key":"/id","only":{"a":1}"#, "only", ""),
            (#""item_count":true"#, "item_count", "says nothing without items"),
            (#""items":"","item_count":1"#, "item_count", ""),
        ] as [(String, String, String)])
    func mistakesAreToldWithTheirPlace(members: String, place: String, text: String) {
        let found = faults(members)
        #expect(found.count == 1 && found[0].contains("sources[0].\(place)") && found[0].contains(text), "\(found)")
    }

    @Test func patternsAreBounded() {
        func list(_ count: Int) -> String { "[" + (0..<count).map { "\"\($0)*\"" }.joined(separator: ",") + "]" }
        #expect(faults(#""items":"","key":"/id","only":\#(list(1_000))"#) == [])
        let many = faults(#""items":"","key":"/id","only":\#(list(10_000))"#)
        #expect(many.count == 1 && many[0].contains("10000 elements; 1000 is the most"), "\(many)")
        let long = String(repeating: "a", count: 1_024)
        #expect(faults(#""items":"","key":"/id","only":["\#(long)"]"#) == [])
        #expect(faults(#""items":"","key":"/id","only":["\#(long)a"]"#).count == 1)
        #expect(faults(#""items":"","key":"/id","only":"\#(String(repeating: "ö", count: 513))""#).count == 1)
        let arguments = ["http://h/", "--items", "", "--key=/id"] + (0..<1_001).map { "--only=\($0)" }
        #expect(throws: UsageError.self) { try ConfigFixture.sources(nil, arguments) }
        #expect(throws: Never.self) { try ConfigFixture.sources(nil, arguments.dropLast()) }
    }
}
