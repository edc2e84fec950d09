import Feed
import TestSupport
import Testing

@Suite struct JSONDocumentTests {
    private func read(_ text: String, _ reader: JSONReader = JSONReader()) throws -> JSONDocument {
        try reader.read(Array(text.utf8)[...])
    }

    private func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    private func message(_ body: () throws -> some Any) throws -> String {
        let failure = try #require(throws: Failure.self) { _ = try body() }
        #expect(failure.code == .pointer)
        return failure.message
    }

    @Test func readsAFact() throws {
        let document = try read(#" { "fact" : "Cats \"sleep\"", "length" : 106 } "#)
        #expect(text(document.minified) == #"{"fact":"Cats \"sleep\"","length":106}"#)
        #expect(try document.number(at: JSONPointer("/length")) == 106)
        #expect(try text(document.string(at: JSONPointer("/fact"))) == #"Cats "sleep""#)
        #expect(document.firstNumber == 106)
        #expect(try text(#require(document.firstString)) == #"Cats "sleep""#)
    }

    /// The document of RFC 6901 section 5, and a few more.
    @Test(
        arguments: [
            ("", nil), ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"), (#"/i\j"#, "5"), (#"/k"l"#, "6"), ("/ ", "7"), ("/m~0n", "8"), ("/A", "9"), ("/é😺", "10"),
            ("/o/p/1/q", "true"), ("/dup", "11"), ("/~01", "12"), ("/\u{FFFD}", "13"), ("/o/", "{}"),
        ] as [(String, String?)])
    func followsPointers(pointer: String, value: String?) throws {
        let document = try read(
            #"""
            {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
            "\u0041": 9, "\u00e9\ud83d\ude3a": 10, "o": {"p": [[], {"q": true}], "": {}}, "dup": 11, "d\u0075p": 12, "~1": 12,
            "\ud800": 13}
            """#)
        let found = try document.value(at: JSONPointer(pointer))
        #expect(text(found.minified) == value ?? text(document.minified))
    }

    @Test(arguments: [
        ("/b", #""/b" not found: the document has no key "b""#), ("/a/x", #""/a/x" not found: "/a" has no key "x""#),
        ("/a/n/0", #""/a/n/0" not found: "/a/n" is a number and has nothing in it"#),
        ("/l/3", #""/l/3" not found: "/l" has 3 elements and no index 3, counted from 0"#),
        ("/l/01", #""/l/01" not found: "/l" is an array and "01" is no index"#),
        ("/l/-", #""/l/-" not found: "/l" is an array and "-" is no index"#),
        ("/l/-1", #""/l/-1" not found: "/l" is an array and "-1" is no index"#),
        (
            "/l/99999999999999999999",
            #""/l/99999999999999999999" not found: "/l" is an array and "99999999999999999999" is no index"#
        ),
        ("/l/1/0/0", #""/l/1/0/0" not found: "/l/1" has 0 elements and no index 0, counted from 0"#),
        ("/A", #""/A" not found: the document has no key "A""#),
        ("/a~1n", #""/a~1n" not found: the document has no key "a/n""#),
        ("/", #""/" not found: the document has no key """#),
    ])
    func saysHowFarAPointerLed(pointer: String, expected: String) throws {
        let document = try read(#"{"a":{"n":1},"l":[0,[],null]}"#)
        #expect(try message { try document.number(at: JSONPointer(pointer)) } == expected)
        #expect(try message { try document.elements(at: JSONPointer(pointer)) } == expected)
    }

    @Test func saysWhatIsThereInstead() throws {
        let document = try read(#"{"s":"7","n":1e999,"t":true,"z":null,"o":{},"l":[1]}"#)
        #expect(try message { try document.number(at: JSONPointer("/s")) } == #""/s" is a string and not a number"#)
        #expect(try message { try document.number(at: JSONPointer("/z")) } == #""/z" is null and not a number"#)
        #expect(
            try message { try document.number(at: JSONPointer("/n")) }
                == #""/n" is 1e999, which is out of the range of a double"#)
        #expect(try message { try document.string(at: JSONPointer("/n")) } == #""/n" is a number and not a string"#)
        #expect(try message { try document.string(at: JSONPointer("/o")) } == #""/o" is an object and not a string"#)
        #expect(try message { try document.string(at: JSONPointer("/t")) } == #""/t" is true and not a string"#)
        #expect(try message { try document.elements(at: JSONPointer("/o")) } == #""/o" is an object and not an array"#)
        #expect(try message { try document.members(at: JSONPointer("/l")) } == #""/l" is an array and not an object"#)
        #expect(try message { try document.members(at: JSONPointer("/s")) } == #""/s" is a string and not an object"#)
        #expect(try message { try document.number(at: .root) } == "the document is an object and not a number")
    }

    @Test(arguments: ["7", " \"x\" ", "null", "-1.5e2", "true"])
    func readsScalarsAsDocuments(input: String) throws {
        let document = try read(input)
        #expect(try text(document.value(at: .root).minified) == text(document.minified))
        #expect(try message { try document.value(at: JSONPointer("/a")) }.contains("has nothing in it"))
        #expect(try message { try document.elements(at: .root) }.contains("and not an array"))
        #expect(try JSONReader().read(Array(input.utf8)[...]).kind == document.kind)
    }

    @Test func takesTheFirstNumberThatFitsAndTheFirstStringThatIsNoKey() throws {
        let document = try read(#"{"1":[{"2":null,"a\"":true}],"k":[1e999,"\u0041b",{"x":-2.5}],"s":"later","n":3}"#)
        #expect(document.firstNumber == -2.5)
        #expect(try text(#require(document.firstString)) == "Ab")
        for none in ["{}", "[]", "[true,null]", #"{"a":{"b":false}}"#] {
            #expect(try read(none).firstNumber == nil)
            #expect(try read(none).firstString == nil)
        }
        #expect(try read(#"{"a 1":"2 3"}"#).firstNumber == nil)
        #expect(try read(#"["",{"a":"b"}]"#).firstString == [])
        #expect(try read("-7").firstNumber == -7)
        #expect(try text(#require(read(#""only""#).firstString)) == "only")
    }

    @Test func refusesWhatIsNotJSON() throws {
        let failure = try #require(throws: Failure.self) { try read("[1,,2]") }
        #expect(failure == Failure(.notJSON, "not JSON at byte 3: ',' where a value should be"))
    }

    @Test func goesThroughElementsWithPointersInside() throws {
        let breeds = (0..<1_000).map { #"{"breed":"B\#($0)","of":[\#($0),{"x":[\#($0 * 2)]}]}"# }
        let document = try read(#"{"page":1,"data":["# + breeds.joined(separator: " , ") + "]}")
        let (breed, number, nested) = try (JSONPointer("/breed"), JSONPointer("/of/0"), JSONPointer("/of/1/x"))
        let elements = try document.elements(at: JSONPointer("/data"))
        #expect(elements.count == 1_000)
        for (index, element) in elements.enumerated() {
            #expect(element.key.isEmpty)
            #expect(text(element.value.minified) == breeds[index])
            #expect(try text(element.value.string(at: breed)) == "B\(index)")
            #expect(try element.value.number(at: number) == Double(index))
            #expect(try element.value.elements(at: nested).map(\.value.firstNumber) == [Double(index * 2)])
            // The whole document is still there meanwhile.
            #expect(try index % 100 != 0 || document.number(at: JSONPointer("/page")) == 1)
        }
    }

    @Test(arguments: [31, 32, 33] as [UInt64])
    func agreesWithTheTwinOnRandomDocuments(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        let reader = JSONReader()
        for round in 0..<JSONGenerator.rounds(60, long: 20_000) {
            let document = try reader.read(generator.document()[...])
            var seen: Set<String> = []
            let tree = JSONTree(Array(document.minified))
            for (pointer, value) in tree.all() where seen.insert(pointer).inserted {
                let comment: Comment = "seed \(seed), round \(round): \"\(pointer)\" in \(text(document.minified))"
                // Below a repeated key a pointer may lead into its first value.
                guard isFirst(pointer, value, in: tree) else { continue }
                let found = try document.value(at: JSONPointer(pointer))
                #expect(Array(found.minified) == value.raw, comment)
                guard found.kind == .object || found.kind == .array else { continue }
                let members = try found.kind == .object ? found.members(at: .root) : found.elements(at: .root)
                #expect(members.map { Array($0.value.minified) } == value.values.map(\.raw), comment)
                guard found.kind == .object else { continue }
                #expect(members.map { text($0.key) } == value.keys, comment)
            }
        }
    }

    /// Whether walking down by first names ends at `value`.
    private func isFirst(_ pointer: String, _ value: JSONTree, in tree: JSONTree) -> Bool {
        var place = tree
        for token in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let key = token.split(separator: "~1", omittingEmptySubsequences: false).joined(separator: "/")
                .split(separator: "~0", omittingEmptySubsequences: false).joined(separator: "~")
            guard let index = place.keys.firstIndex(where: { $0.utf8.elementsEqual(key.utf8) }) else { return false }
            place = place.values[index]
        }
        return place.raw == value.raw
    }

    @Test func givesTheMemoryOfHugeDocumentsBack() throws {
        let reader = JSONReader(maximumCapacity: 16_384)
        let pointer = try JSONPointer("/2999")
        let huge = try read("[" + (0..<3_000).map { "\"number \($0)\"" }.joined(separator: ",") + "]", reader)
        #expect(reader.capacity == 0)
        let small = try read(#"{"a":1}"#, reader)
        for _ in 0..<3 {
            #expect(try text(huge.string(at: pointer)) == "number 2999")
            #expect(reader.capacity == 0)
            #expect(try huge.elements(at: .root).count == 3_000)
            #expect(reader.capacity == 0)
            #expect(try small.number(at: JSONPointer("/a")) == 1)
            #expect(1...16_384 ~= reader.capacity)
        }
    }

    @Test func documentsOfOneReaderDoNotDisturbEachOther() throws {
        let reader = JSONReader()
        let pointer = try JSONPointer("/v")
        let documents = try (0..<50).map {
            try read(#"{"pad":"\#(String(repeating: "x", count: $0 * 90))","v":\#($0)}"#, reader)
        }
        for step in [1, 7, 13] {
            for index in 0..<50 {
                #expect(try documents[index * step % 50].number(at: pointer) == Double(index * step % 50))
            }
        }
    }
}
