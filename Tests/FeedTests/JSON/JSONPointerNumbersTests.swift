import TestSupport
import Testing

@testable import Feed

/// Where the numbers of a document are.
@Suite(.limited) struct JSONPointerNumbersTests {
    private func numbers(_ document: String, isLenient: Bool = false, atMost most: Int = 9, within limit: Int = .max)
        -> [String]
    {
        Array(document.utf8).withUnsafeBufferPointer {
            JSONPointer.numbers(in: $0, isLenient: isLenient, atMost: most, within: limit).map(\.text)
        }
    }

    @Test(
        arguments: [
            ("5", [""]), ("{}", []), (#"{"a":1,"b":{"c":[2,{"d":-3e1}]}}"#, ["/a", "/b/c/0", "/b/c/1/d"]),
            (#"[[],{},"1",true,null,[4]]"#, ["/5/0"]), (#"{"a/b":{"c~d":1},"":2}"#, ["/a~1b/c~0d", "/"]),
            (#"{"a":1e999,"b":"2","c":3}"#, ["/c"]), (#"{"\"}{[,":"\\\"1","x":1}"#, ["/x"]),
            ("{ \"a\" : [ 1 , 2 ] ,\n \"b\" : 3 }", ["/a/0", "/a/1", "/b"]), (#"{"a":"x","\u0061":4}"#, ["/a"]),
        ] as [(String, [String])])
    func areInTheDocumentsOrder(document: String, pointers: [String]) { #expect(numbers(document) == pointers) }

    @Test func areNoMoreThanAreWanted() {
        let document = #"{"a":1,"b":"2","c":3}"#
        #expect(numbers(document, atMost: 1) == ["/a"])
        #expect(numbers(document, isLenient: true) == ["/a", "/b", "/c"])
        #expect(numbers(document, within: 7) == ["/a"])
        #expect(numbers(document, within: 0) == [])
        #expect(numbers(String(repeating: "[", count: 400) + "7") == [String(repeating: "/0", count: 400)])
    }

    @Test(arguments: [11, 12, 13] as [UInt64])
    func areThoseOfATree(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(150, long: 50_000) {
            let tree = JSONTree(try JSONMinifier.minify(generator.document()[...]))
            for isLenient in [false, true] {
                let expected = tree.all().filter { $0.value.number(isLenient) != nil }.map(\.pointer)
                let found = tree.raw.withUnsafeBufferPointer {
                    JSONPointer.numbers(in: $0, isLenient: isLenient, atMost: .max)
                }
                #expect(found.map(\.text) == expected, "seed \(seed), round \(round): \(tree.rawText)")
                // What they are made of is what a parsed one is made of.
                #expect(
                    try found == expected.map { try JSONPointer($0) }, "seed \(seed), round \(round): \(tree.rawText)")
            }
        }
    }
}
