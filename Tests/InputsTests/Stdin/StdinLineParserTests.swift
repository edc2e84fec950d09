import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// The way of a line into a batch's memory, compared with the way that all documents go.
@Suite(.limited) struct StdinLineParserTests {
    private static let arrival = Timestamp(seconds: 1_800_000_000)

    private func compare(_ line: [UInt8], _ extraction: Extraction, _ comment: Comment) {
        line.withUnsafeBufferPointer { line in
            var fast = EventBatch()
            var general = EventBatch()
            let source = SourceID(index: 3)
            let parser = StdinLineParser(extraction)
            var quick = parser.read(line, from: source, at: Self.arrival, into: &fast)
            if quick == .items { quick = Self.readItems(parser, into: &fast) }
            let extractor = Extractor(extraction, of: extraction.items == nil ? .documents : .lines)
            let slow = Self.read(line, extractor, from: source, into: &general)
            #expect(quick == slow, comment)
            #expect(eventTexts(fast, arrival: Self.arrival) == eventTexts(general, arrival: Self.arrival), comment)
            #expect(fast.byteCount >= 0 && fast.events.allSatisfy { $0.source == source })
        }
    }

    /// All items that there are, a slice at a time.
    private static func readItems(_ parser: StdinLineParser, into batch: inout EventBatch) -> StdinLineParser.Verdict {
        guard let loop = try? EventLoop(virtual: true) else { return .blank }
        while true {
            var piece = EventBatch()
            var slice = TimeSlice(of: loop, steps: 1)
            let verdict = parser.readItems(into: &piece, during: &slice)
            for event in piece.events { batch.add(event) }
            if let verdict { return verdict }
        }
    }

    private static func read(
        _ line: UnsafeBufferPointer<UInt8>, _ extractor: Extractor, from source: SourceID, into batch: inout EventBatch
    ) -> StdinLineParser.Verdict {
        do {
            let document = try extractor.read(Bytes(line), mayHaveMark: false)
            let outcome = try extractor.add(document, from: source, at: arrival, to: &batch)
            if let missing = outcome.missing { return .withoutValue(missing, outcome.problem) }
            return outcome.problem.map { .faulty($0) } ?? .read
        } catch let fault as JSONFault {
            return fault.reason == .empty ? .blank : .notJSON(fault)
        } catch let failure as Failure {
            return .faulty(failure)
        } catch {
            return .blank
        }
    }

    @Test(arguments: [81, 82, 83] as [UInt64])
    func saysTheSameAsTheGeneralWay(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(150, long: 15_000) {
            let line = generator.document()
            let extraction = try generator.extraction(for: JSONTree(try JSONMinifier.minify(line[...])))
            let text = String(decoding: line, as: UTF8.self)
            compare(line, extraction, "seed \(seed), round \(round): \(text)")
            compare(generator.broken(line), extraction, "seed \(seed), round \(round), a broken form of \(text)")
        }
    }

    @Test(arguments: [#""up""#, #""UP""#, #""d\u006fwn""#, "true", "false", "null", "7", "[]", #""7""#])
    func saysTheSameOfWords(value: String) throws {
        for states in [[], ["up", "down"], ["true", "up"]] {
            for number in Extraction.NumberRule.allCases {
                compare(
                    Array(#"{"s":\#(value)}"#.utf8),
                    Extraction(value: .at(try JSONPointer("/s")), states: states, text: .nowhere, number: number),
                    "\(value), \(states), \(number)")
            }
        }
    }

    @Test func saysTheSameOfEveryPrefix() throws {
        let line = Array(
            #"{"city":"M\u00fcnchen 猫","aqi":{"now":-1.5e1,"x":[null,true]},"t":"2027-01-15T07:59:59Z"}"#.utf8)
        let extraction = Extraction(
            key: .at(try JSONPointer("/city")), value: .at(try JSONPointer("/aqi/now")), time: try JSONPointer("/t"))
        for end in 0...line.count { compare(Array(line[..<end]), extraction, "the first \(end) bytes") }
    }

    @Test func addsToABatchThatHasEventsAlready() throws {
        let reader = StdinLineParser(Extraction(key: .at(try JSONPointer("/k"))))
        var batch = EventBatch()
        let lines = [#"{"k":"a","v":1}"#, "{", #"{"k":"\u0062","v":"x\n"}"#, #"{"v":1}"#, #" { "k" : 7 } "#]
        var verdicts: [StdinLineParser.Verdict] = []
        for line in lines {
            Array(line.utf8).withUnsafeBufferPointer {
                verdicts.append(reader.read($0, from: SourceID(index: 0), at: Self.arrival, into: &batch))
            }
        }
        #expect(
            eventTexts(batch, arrival: Self.arrival) == [
                #"key=a value=1.0 text=a data={"k":"a","v":1}"#, "key=b text=b data={\"k\":\"\\u0062\",\"v\":\"x\\n\"}",
                #"key=7 data={"k":7}"#,
            ])
        guard case .withoutValue(let missing, nil) = verdicts[4] else {
            Issue.record("\(verdicts)")
            return
        }
        #expect(missing.count == 1)
        #expect(reader.failure(of: missing) == Failure(.pointer, #"there is nothing at "/v""#))
        guard case .notJSON = verdicts[1], case .faulty(let failure) = verdicts[3] else {
            Issue.record("\(verdicts)")
            return
        }
        #expect(failure.message == #""/k" not found: the document has no key "k""#)
        batch.removeAll()
        #expect(batch.count == 0 && batch.byteCount == 0)
    }
}
