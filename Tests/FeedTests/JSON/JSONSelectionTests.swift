import Feed
import TestSupport
import Testing

@Suite struct JSONSelectionTests {
    private func text(_ document: JSONDocument, _ range: Range<Int>?) -> String? {
        range.map { range in document.withUnsafeBytes { String(decoding: $0[range], as: UTF8.self) } }
    }

    @Test func findsAllOfItInOnePass() throws {
        let document = try JSONReader().read(
            Array(#"{"a":{"b":[1,{"c":"x"}]},"k\u0065y":"K","a":7,"z":null,"":[]}"#.utf8)[...])
        let pointers = try ["/a/b/1/c", "/key", "/a", "/z", "/", "/a/b/2"].map { try JSONPointer($0) }
        let found = document.withUnsafeBytes { JSONSelection(pointers, firsts: [.number, .string]).find(in: $0) }
        #expect(
            (0..<6).map { text(document, found[$0]) } == [#""x""#, #""K""#, #"{"b":[1,{"c":"x"}]}"#, "null", "[]", nil])
        #expect(found.firstNumber == 1)
        #expect(text(document, found.firstString) == "x")
    }

    @Test(arguments: [61, 62, 63] as [UInt64])
    func agreesWithTheReader(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        let reader = JSONReader()
        for round in 0..<JSONGenerator.rounds(100, long: 50_000) {
            let document = try reader.read(generator.document()[...])
            var all = JSONTree(Array(document.minified)).all().map(\.pointer)
            all += ["/a", "/0", "/a/0", "/cat/length"]
            let pointers = try (0..<Int.random(in: 0...JSONSelection.mostPointers, using: &generator.random)).map { _ in
                try JSONPointer(all.randomElement(using: &generator.random) ?? "")
            }
            var firsts: JSONSelection.Firsts = []
            if Bool.random(using: &generator.random) { firsts.insert(.number) }
            if Bool.random(using: &generator.random) { firsts.insert(.string) }
            let isLenient = Bool.random(using: &generator.random)
            let selection = JSONSelection(pointers, firsts: firsts, isLenient: isLenient)
            let found = document.withUnsafeBytes { selection.find(in: $0) }
            let comment: Comment =
                "seed \(seed), round \(round): \(pointers) in \(String(decoding: document.minified, as: UTF8.self))"
            for (index, pointer) in pointers.enumerated() {
                let value = try? document.value(at: pointer)
                #expect(
                    text(document, found[index]) == value.map { String(decoding: $0.minified, as: UTF8.self) }, comment)
            }
            if firsts.contains(.number) {
                #expect(found.firstNumber == document.firstNumber(isLenient: isLenient), comment)
            }
            if firsts.contains(.string) {
                let first = text(document, found.firstString).map { Array(JSONText.unescape(Array($0.utf8)[...])) }
                #expect(first == document.firstString.map { Array($0) }, comment)
            }
        }
    }

    @Test func itemsAreWhatTheReaderFinds() throws {
        var generator = JSONGenerator(seed: 64)
        let reader = JSONReader()
        for round in 0..<JSONGenerator.rounds(150, long: 50_000) {
            let document = try reader.read(generator.document()[...])
            let all = JSONTree(Array(document.minified)).all().map(\.pointer) + ["/a", "/0", "/a/0"]
            let pointer = try JSONPointer(all.randomElement(using: &generator.random) ?? "")
            let comment: Comment =
                "seed 64, round \(round): \"\(pointer)\" in \(String(decoding: document.minified, as: UTF8.self))"
            do throws(Failure) {
                var items = try JSONItems(of: document, at: pointer)
                let expected =
                    try items.kind == .array ? document.elements(at: pointer) : document.members(at: pointer)
                for (index, member) in expected.enumerated() {
                    let item = document.withUnsafeBytes { items.next(in: $0) }
                    #expect(item?.position == index + 1, comment)
                    #expect(
                        text(document, item?.value) == String(decoding: member.value.minified, as: UTF8.self), comment)
                    let name = item?.name.flatMap { text(document, $0) } ?? ""
                    #expect(JSONText.unescape(Array(name.utf8)[...]).elementsEqual(member.key), comment)
                }
                #expect(document.withUnsafeBytes { items.next(in: $0) } == nil, comment)
            } catch {
                do {
                    let value = try document.value(at: pointer)
                    #expect(value.kind != .array && value.kind != .object, comment)
                } catch {
                    // Where nothing is there both say the same.
                    #expect((try? JSONItems(of: document, at: pointer)) == nil, comment)
                }
            }
        }
    }

    @Test(arguments: ["/b", "/a/x", "/a/n/0", "/l/3", "/l/01", "/l/-", "/l/1/0/0", "/a~1n", "/"])
    func itemsSayHowFarAPointerLedAsTheReaderDoes(pointer: String) throws {
        let document = try JSONReader().read(Array(#"{"a":{"n":1},"l":[0,[],null]}"#.utf8)[...])
        let expected = try #require(throws: Failure.self) { try document.value(at: JSONPointer(pointer)) }
        let failure = try #require(throws: Failure.self) { try JSONItems(of: document, at: JSONPointer(pointer)) }
        #expect(failure == expected)
    }

    /// It is for valid text, but whatever it gets, it ends and stays inside.
    @Test func survivesWhatIsNotJSON() throws {
        var generator = JSONGenerator(seed: 65)
        let selection = try JSONSelection(
            [JSONPointer("/a/a"), JSONPointer("/0/1"), JSONPointer("")], firsts: [.number, .string], isLenient: true)
        for _ in 0..<JSONGenerator.rounds(1_000, long: 500_000) {
            let bytes = generator.broken(generator.document())
            let found = bytes.withUnsafeBufferPointer { selection.find(in: $0) }
            for index in 0..<3 { #expect(found[index].map { $0.upperBound <= bytes.count } ?? true) }
        }
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
        #expect(deep.withUnsafeBufferPointer { selection.find(in: $0) }.firstNumber == nil)
    }
}
