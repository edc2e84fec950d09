import Feed
import TestSupport
import Testing

@Suite(.limited) struct JSONSelectionTests {
    /// What a selection finds while it minifies.
    private struct Reading {
        let found = JSONSelection.Found()
        var output: [UInt8]

        init(_ input: [UInt8], _ selection: JSONSelection, minifies: Bool = true) throws(JSONFault) {
            output = input
            let count = try input.withUnsafeBufferPointer { (input) throws(JSONFault) in
                try output.withUnsafeMutableBufferPointer { (output) throws(JSONFault) in
                    try selection.read(input, into: minifies ? output.baseAddress : nil, found)
                }
            }
            output.removeSubrange(count...)
        }

        func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: output[$0], as: UTF8.self) } }
    }

    @Test func findsAllOfItInOnePass() throws {
        let input = Array(#" {"a": {"b" : [ 1 , {"c":"x"} ]}, "k\u0065y":"K", "a":7, "z" : null , "":[ ]} "#.utf8)
        let pointers = try ["/a/b/1/c", "/key", "/a", "/z", "/", "/a/b/2"].map { try JSONPointer($0) }
        let reading = try Reading(input, JSONSelection(pointers, firsts: [.number, .string]))
        let found = reading.found
        #expect(
            (0..<6).map { reading.text(found[$0]) } == [
                #""x""#, #""K""#, #"{"b":[1,{"c":"x"}]}"#, "null", "[]", nil,
            ])
        #expect(found.firstNumber == 1)
        #expect(reading.text(found.firstString) == "x")
    }

    /// A step with a backslash in it is no key that is written with an escape of the same look.
    @Test func comparesWhatKeysMean() throws {
        let input = Array(#"{"a\n":1,"a\\n":2,"\u00e9":3,"é\t":4}"#.utf8)
        let pointers = try [#"/a\n"#, "/a\n", "/é", "/é\t", #"/\u00e9"#].map { try JSONPointer($0) }
        let reading = try Reading(input, JSONSelection(pointers))
        #expect((0..<5).map { reading.text(reading.found[$0]) } == ["2", "1", "3", "4", nil])
    }

    @Test(arguments: [61, 62, 63] as [UInt64])
    func agreesWithTheTwin(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(100, long: 50_000) {
            let input = generator.document()
            let tree = JSONTree(try JSONMinifier.minify(input[...]))
            let all = tree.all().map(\.pointer) + ["/a", "/0", "/a/0", "/cat/length"]
            let pointers = try (0..<Int.random(in: 0...JSONSelection.mostPointers, using: &generator.random)).map { _ in
                try JSONPointer(all.randomElement(using: &generator.random) ?? "")
            }
            var firsts: JSONSelection.Firsts = []
            if Bool.random(using: &generator.random) { firsts.insert(.number) }
            if Bool.random(using: &generator.random) { firsts.insert(.string) }
            let isLenient = Bool.random(using: &generator.random)
            let selection = JSONSelection(pointers, firsts: isLenient ? firsts.union(.lenient) : firsts)
            let comment: Comment =
                "seed \(seed), round \(round): \(pointers) in \(String(decoding: input, as: UTF8.self))"
            for minifies in [true, false] {
                let reading = try Reading(input, selection, minifies: minifies)
                let found = reading.found
                if minifies { #expect(reading.output == tree.raw, comment) }
                for (index, pointer) in pointers.enumerated() {
                    let value = try reading.text(found[index]).map { try JSONMinifier.minify(Array($0.utf8)[...]) }
                    #expect(value == tree.find(pointer.text)?.raw, comment)
                }
                let values = tree.all().lazy.map(\.value)
                let number = values.compactMap { $0.number(isLenient) }.first
                #expect(found.firstNumber == (firsts.contains(.number) ? number : nil), comment)
                let text = values.compactMap(\.text).first
                let first = reading.text(found.firstString).map { JSONText.unescape(Array($0.utf8)[...]) }
                #expect(
                    first.map { String(decoding: $0, as: UTF8.self) } == (firsts.contains(.string) ? text : nil),
                    comment)
            }
        }
    }

    /// Looking for something changes nothing about what is JSON, and where it is not.
    @Test(arguments: [65, 66] as [UInt64])
    func refusesWhatTheMinifierRefuses(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        var inputs = JSONCases.invalid.map(\.input)
        for input in (JSONCases.valid.map(\.input) + inputs) where input.count < 100 {
            inputs += (0..<input.count).map { Array(input[..<$0]) }
        }
        for _ in 0..<JSONGenerator.rounds(500, long: 200_000) { inputs.append(generator.broken(generator.document())) }
        for (round, input) in inputs.enumerated() {
            let tree = (try? JSONMinifier.minify(input[...])).map { JSONTree($0) }
            let pointers = (tree?.all().map(\.pointer) ?? ["/a", "/a/a", "/0", "/0/1", "/0/a", ""]).shuffled(
                using: &generator.random)
            let selection = try JSONSelection(
                pointers.prefix(4).map { try JSONPointer($0) },
                firsts: [[], [.number, .string], [.number, .string, .lenient]][round % 3])
            var fault: JSONFault?
            do throws(JSONFault) { _ = try Reading(input, selection) } catch { fault = error }
            var expected: JSONFault?
            do throws(JSONFault) { try JSONMinifier.validate(input[...]) } catch { expected = error }
            #expect(fault == expected, "seed \(seed), round \(round): \(String(decoding: input, as: UTF8.self))")
        }
    }

    @Test func goesAsDeepAsThereMayBeLevels() throws {
        for depth in [63, 64, 65, 511, 512, 513] {
            let input =
                Array((String(repeating: #"{"a":["#, count: depth / 2) + (depth % 2 == 0 ? "7" : "[7]")).utf8)
                + Array(String(repeating: "]}", count: depth / 2).utf8)
            let pointer = try JSONPointer(String(repeating: "/a/0", count: depth / 2))
            let missing = try JSONPointer(String(repeating: "/a/0", count: depth / 2 - 1) + "/b")
            if depth > 512 {
                #expect(throws: JSONFault.self) { _ = try Reading(input, JSONSelection([pointer])) }
                continue
            }
            let reading = try Reading(input, JSONSelection([pointer, missing], firsts: .number))
            #expect(reading.text(reading.found[0]) == (depth % 2 == 0 ? "7" : "[7]"))
            #expect(reading.found[1] == nil)
            #expect(reading.found.firstNumber == 7)
        }
    }

    @Test(arguments: [64, 67] as [UInt64])
    func itemsAreWhatTheTwinFinds(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(150, long: 50_000) {
            let document = try JSONMinifier.minify(generator.document()[...])
            let tree = JSONTree(document)
            guard let (pointer, list) = tree.all().randomElement(using: &generator.random) else { continue }
            let comment: Comment =
                "seed \(seed), round \(round): \"\(pointer)\" in \(String(decoding: document, as: UTF8.self))"
            let inside = try JSONPointer(
                list.values.randomElement(using: &generator.random)?.all().randomElement(using: &generator.random)?
                    .pointer ?? "/a")
            let selection = JSONSelection([try JSONPointer(pointer), inside], firsts: .string)
            guard let range = try Reading(document, selection).found[0], tree.find(pointer)?.raw == list.raw else {
                continue
            }
            document.withUnsafeBufferPointer { document in
                guard var items = JSONItems(of: document, at: range.lowerBound) else {
                    #expect(!"[{".utf8.contains(list.raw[0]), comment)
                    return
                }
                func text(_ range: Range<Int>?) -> [UInt8]? { range.map { Array(document[$0]) } }
                var plain = items
                for (index, value) in list.values.enumerated() {
                    let found = JSONSelection.Found()
                    let item = items.next(in: document, selection, found)
                    #expect(item?.position == index + 1, comment)
                    #expect(text(item?.value) == value.raw, comment)
                    #expect(plain.next(in: document) == item, comment)
                    let name = text(item?.name).map { String(decoding: JSONText.unescape($0[...]), as: UTF8.self) }
                    #expect(name == (list.raw[0] == UInt8(ascii: "{") ? list.keys[index] : nil), comment)
                    // Places in the item.
                    let start = item?.value.lowerBound ?? 0
                    let value = found[1].map { Array(document[$0.lowerBound + start..<$0.upperBound + start]) }
                    #expect(value == list.values[index].find(inside.text)?.raw, comment)
                    let first = found.firstString.map { $0.lowerBound + start..<$0.upperBound + start }
                    let string = list.values[index].all().lazy.compactMap(\.value.text).first
                    #expect(
                        text(first).map { String(decoding: JSONText.unescape($0[...]), as: UTF8.self) } == string,
                        comment)
                }
                #expect(items.next(in: document) == nil, comment)
            }
        }
    }

    @Test(arguments: ["/b", "/a/x", "/a/n/0", "/l/3", "/l/01", "/l/-", "/l/1/0/0", "/a~1n", "/"])
    func saysOfOneAmongManyHowFarItLed(pointer: String) throws {
        let document = try JSONDocument(Array(#"{"a":{"n":1},"l":[0,[],null]}"#.utf8)[...])
        let expected = try #require(throws: Failure.self) { try document.value(at: JSONPointer(pointer)) }
        let pointers = try ["/l/2", "/a", pointer, "/l"].map { try JSONPointer($0) }
        let reading = try Reading(Array(document.minified), JSONSelection(pointers, firsts: [.number, .string]))
        let failure = document.minified.withUnsafeBufferPointer {
            reading.found.missing(pointers[2], at: 2, in: $0, suggests: false)
        }
        #expect(failure == expected)
        #expect(reading.text(reading.found[0]) == "null" && reading.text(reading.found[1]) == #"{"n":1}"#)
    }
}
