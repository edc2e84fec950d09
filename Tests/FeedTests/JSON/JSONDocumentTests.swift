import Feed
import TestSupport
import Testing

@Suite(.limited) struct JSONDocumentTests {
    private func read(_ text: String) throws -> JSONDocument { try JSONDocument(Array(text.utf8)[...]) }

    private func firsts(_ text: String) throws -> (number: Double?, string: String?) {
        let found = JSONSelection.Found()
        let document = try JSONDocument(
            Array(text.utf8)[...], JSONSelection([], firsts: [.number, .string]), found)
        let string = found.firstString.map { JSONText.unescape(document.minified[$0]) }
        return (found.firstNumber, string.map { self.text($0) })
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
        let found = try firsts(#" { "fact" : "Cats \"sleep\"", "length" : 106 } "#)
        #expect(found.number == 106)
        #expect(found.string == #"Cats "sleep""#)
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
        ("/a/pirces", #""/a/pirces" not found: "/a" has no key "pirces"; did you mean "pricés"?"#),
    ])
    func saysHowFarAPointerLed(pointer: String, expected: String) throws {
        let document = try read(#"{"a":{"n":1,"pric\u00e9s":2},"l":[0,[],null]}"#)
        #expect(try message { try document.number(at: JSONPointer(pointer)) } == expected)
        #expect(try message { try document.string(at: JSONPointer(pointer)) } == expected)
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
        #expect(try message { try document.number(at: .root) } == "the document is an object and not a number")
    }

    @Test(arguments: ["7", " \"x\" ", "null", "-1.5e2", "true"])
    func readsScalarsAsDocuments(input: String) throws {
        let document = try read(input)
        #expect(try text(document.value(at: .root).minified) == text(document.minified))
        #expect(try message { try document.value(at: JSONPointer("/a")) }.contains("has nothing in it"))
        #expect(document.members.isEmpty)
    }

    @Test func takesTheFirstNumberThatFitsAndTheFirstStringThatIsNoKey() throws {
        let found = try firsts(#"{"1":[{"2":null,"a\"":true}],"k":[1e999,"\u0041b",{"x":-2.5}],"s":"later","n":3}"#)
        #expect(found.number == -2.5)
        #expect(found.string == "Ab")
        for none in ["{}", "[]", "[true,null]", #"{"a":{"b":false}}"#] { #expect(try firsts(none) == (nil, nil)) }
        #expect(try firsts(#"{"a 1":"2 3"}"#).number == nil)
        #expect(try firsts(#"[ "",{"a":"b"}]"#).string == "")
        #expect(try firsts("-7").number == -7)
        #expect(try firsts(#" "only" "#).string == "only")
    }

    @Test func refusesWhatIsNotJSON() throws {
        let fault = try #require(throws: JSONFault.self) { try read("[1,,2]") }
        #expect(fault.failure == Failure(.notJSON, "not JSON at byte 3: ',' where a value should be"))
    }

    @Test func goesThroughElementsWithPointersInside() throws {
        let breeds = (0..<1_000).map { #"{"breed":"B\#($0)","of":[\#($0),{"x":[\#($0 * 2)]}]}"# }
        let document = try read(#"{"page":1,"data":["# + breeds.joined(separator: " , ") + "]}")
        let (breed, number, nested) = try (JSONPointer("/breed"), JSONPointer("/of/0"), JSONPointer("/of/1/x"))
        let elements = try document.value(at: JSONPointer("/data")).members
        #expect(elements.count == 1_000)
        for (index, element) in elements.enumerated() {
            #expect(element.key.isEmpty)
            #expect(text(element.value.minified) == breeds[index])
            #expect(try text(element.value.string(at: breed)) == "B\(index)")
            #expect(try element.value.number(at: number) == Double(index))
            #expect(
                try element.value.value(at: nested).members.map { try $0.value.number(at: .root) } == [
                    Double(index * 2)
                ])
            // The whole document is still there meanwhile.
            #expect(try index % 100 != 0 || document.number(at: JSONPointer("/page")) == 1)
        }
    }

    @Test(arguments: [31, 32, 33] as [UInt64])
    func agreesWithTheTwinOnRandomDocuments(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(60, long: 20_000) {
            let document = try JSONDocument(generator.document()[...])
            var seen: Set<String> = []
            let tree = JSONTree(Array(document.minified))
            for (pointer, value) in tree.all() where seen.insert(pointer).inserted {
                let comment: Comment = "seed \(seed), round \(round): \"\(pointer)\" in \(text(document.minified))"
                // Below a repeated key a pointer may lead into its first value.
                guard tree.find(pointer)?.raw == value.raw else { continue }
                let found = try document.value(at: JSONPointer(pointer))
                #expect(Array(found.minified) == value.raw, comment)
                #expect(found.members.map { Array($0.value.minified) } == value.values.map(\.raw), comment)
                #expect(
                    found.members.map { text($0.key) }
                        == (found.kind == .object ? value.keys : value.keys.map { _ in "" }), comment)
            }
        }
    }
}
