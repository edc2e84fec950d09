import Feed
import Reactor
import TestSupport
import Testing

@testable import Inputs

/// A source that is not told where its value is looks for it where the first number was.
@Suite(.limited) struct FirstNumberTests {
    @Test func thePollsAfterTheFirstGoodAnswerLookAtOnePlace() async throws {
        let answers = [
            #"{"state":"starting"}"#, #"{"latency_ms":7,"active":3}"#, #"{"active":900,"latency_ms":"8"}"#,
            #"{"latencyms":9}"#, #"{"active":4,"latency_ms":10}"#,
        ]
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .milliseconds(60_500)) { number, _ in
            .answer(200, answers[min(number, 4)])
        }
        feed.expectWellFormed()
        #expect(feed.data.prefix(3).map(\.value) == [nil, 7, 10])
        #expect(feed.data.map(\.valuePointer).prefix(3) == [nil, "/latency_ms", nil])
        #expect(feed.data.allSatisfy { $0.value != 900 && $0.value != 9 && $0.value != 4 })
        #expect(feed.errors.map(\.code) == [.pointer, .pointer])
        #expect(
            feed.errors.map(\.message) == [
                #""/latency_ms" is a string and not a number; --number lenient takes numbers in strings"#,
                #""/latency_ms" not found: the document has no key "latency_ms"; did you mean "latencyms"?"#,
            ])
        #expect(feed.state == .ok)
    }

    /// The place is not that of an answer which came to nothing.
    @Test func anAnswerThatIsNoneSettlesNothing() async throws {
        let source = try SimulatedFeed.source(text: "/t")
        let feed = try await SimulatedFeed.run(source, for: .milliseconds(3_500)) { number, _ in
            .answer(200, number == 0 ? #"{"a":1}"# : #"{"b":2,"a":1,"t":"x"}"#)
        }
        #expect(feed.errors.count == 1)
        #expect(feed.data.first?.valuePointer == "/b" && feed.data.allSatisfy { $0.value == 2 })
    }

    @Test func itemsWithoutTheirNumberAreReportedAsTheyWereByAPointer() async throws {
        var source = try SimulatedFeed.source()
        source.extraction.items = .root
        let feed = try await SimulatedFeed.run(source, for: .milliseconds(1_500)) { _, _ in
            .answer(200, #"[{"n":"x"},{"v":1,"w":2},{"w":3},4]"#)
        }
        #expect(feed.data.prefix(4).map(\.value) == [nil, 1, nil, nil])
        #expect(feed.data.prefix(4).map(\.valuePointer) == [nil, "/v", nil, nil])
        // The first item is not known to lack anything until there is a place.
        #expect(
            feed.errors.first?.message
                == "2 of 4 items are not as asked for (2 without value); first, item 3: there is nothing at \"/v\"")
        #expect(feed.data.dropFirst(4).allSatisfy { $0.valuePointer == nil })
    }

    /// Neither is what is meant: a key or a time has its own use, and of a doubled key the first value counts.
    @Test(
        arguments: [
            (#"{"id":5,"v":1,"w":2}"#, "/id", nil, 1, "/v"), (#"{"id":5}"#, "/id", nil, nil, nil),
            (#"{"ts":1763886000,"v":2}"#, nil, "/ts", 2, "/v"), (#"{"a":"s","a":5,"b":8}"#, nil, nil, 8, "/b"),
            (#"{"a":"s","a":5}"#, nil, nil, nil, nil), (#"{"a":1e999,"b":[2]}"#, nil, nil, 2, "/b/0"),
            ("7", nil, nil, 7, nil),
        ] as [(String, String?, String?, Double?, String?)])
    func theFirstNumberIsOneThatCanBeMeant(
        document: String, key: String?, time: String?, value: Double?, pointer: String?
    ) async throws {
        let extraction = Extraction(
            key: try key.map { .at(try JSONPointer($0)) }, time: try time.map { try JSONPointer($0) })
        var asItem = extraction
        asItem.items = .root
        for (extraction, text) in [(extraction, document), (asItem, "[\(document)]")] {
            let run = try await StdinRun.run(StdinRun.source(extraction), [.text(text + "\n")])
            #expect(run.values == [value] && run.data.map(\.valuePointer) == [pointer])
            let extractor = Extractor(extraction, of: .documents)
            var batch = EventBatch()
            let outcome = try extractor.add(
                extractor.read(Bytes(text.utf8)), from: SourceID(index: 0), at: Timestamp(seconds: 0), to: &batch)
            #expect(outcome.valuePointer?.text == pointer)
        }
    }
}
