import Feed
import TestSupport
import Testing

@Suite(.limited) struct JSONPointerTests {
    @Test(arguments: ["", "/", "/a", "/a/b", "/a~0b/~1c", "//", "/0/01/-", "/é"])
    func takesWhatTheRFCTakes(text: String) throws { #expect(try JSONPointer(text).text == text) }

    @Test(arguments: ["a", "a/b", "~0", "#/a", " /a", "length"])
    func mustStartWithASlash(text: String) throws {
        #expect(throws: JSONPointer.Fault.noSlash) { try JSONPointer(text) }
    }

    @Test(arguments: ["/~", "/a~", "/~2", "/~/a", "/a/~x"])
    func knowsTwoEscapesOnly(text: String) throws {
        #expect(throws: JSONPointer.Fault.escape) { try JSONPointer(text) }
    }

    @Test func isEqualWhenItLeadsToTheSamePlace() throws {
        #expect(try JSONPointer("/a/b") == JSONPointer("/a/b"))
        #expect(try JSONPointer("/a/b") != JSONPointer("/ab"))
        #expect(try JSONPointer("/a~1b") != JSONPointer("/a/b"))
        #expect(try JSONPointer("") == .root)
        #expect(try JSONPointer("/") != .root)
    }
}
