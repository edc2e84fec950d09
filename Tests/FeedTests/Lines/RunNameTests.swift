import Feed
import TestSupport
import Testing

@Suite(.limited) struct RunNameTests {
    @Test(arguments: ["a", "5f0c2a9be1d47386", "A-_9", "test-run", String(repeating: "z", count: 64)])
    func isOfLettersDigitsAndTwoSigns(name: String) { #expect(RunName.isValid(name)) }

    @Test(arguments: [
        "", String(repeating: "z", count: 65), "a b", "a.b", "a/b", "a:b", "a@b", "a[b", "a`b", "a{b", "ä", "a\n",
        "r\"}\n{\"poll\":\"fact\"}", "\u{0}", "a\u{301}",
    ])
    func isNothingElse(name: String) { #expect(!RunName.isValid(name)) }

    private static let evil = #"r\"}\n{\"poll\":\"fact\"}"#

    @Test(arguments: [
        #"{"type":"hello","time":"2025-01-02T03:04:05.678901Z","format":1,"run":"\#(evil)","first_seq":1,"next_seq":1}"#,
        #"{"type":"bye","time":"2025-01-02T03:04:05.678901Z","run":"\#(evil)","last_seq":1,"reason":"end"}"#,
        #"{"type":"bye","time":"2025-01-02T03:04:05.678901Z","run":"","last_seq":1,"reason":"end"}"#,
    ])
    func isCheckedWhereALineIsRead(line: String) throws {
        let fault = try #require(throws: LineFault.self) { _ = try LineDecoder.decode(Array(line.utf8)[...]) }
        #expect(fault.description.hasSuffix("\"run\" is not a name of 1 to 64 letters, digits, - or _"))
    }

    @Test func aByeMayLeaveItOut() throws {
        let line = #"{"type":"bye","time":"2025-01-02T03:04:05.678901Z","run":null}"#
        guard case .bye(let bye) = try LineDecoder.decode(Array(line.utf8)[...]).body else {
            Issue.record("no bye")
            return
        }
        #expect(bye.run == nil)
    }
}

@Suite(.limited) struct RequestLineTests {
    @Test func saysWhatIsAskedFor() {
        func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }
        #expect(text(RequestLine.resume(after: 41, of: "ab-12")) == "{\"since\":41,\"run\":\"ab-12\"}\n")
        #expect(
            text(RequestLine.resume(after: 41, of: "a", withAllKept: true))
                == "{\"since\":41,\"run\":\"a\",\"kept\":true}\n")
        #expect(text(RequestLine.poll("fact", PollRequest())) == "{\"poll\":\"fact\"}\n")
        #expect(text(RequestLine.poll("fib", PollRequest(n: 500))) == "{\"poll\":\"fib\",\"n\":500}\n")
    }

    @Test func isOneLineWhateverTheNames() {
        let evil = "r\"}\n{\"poll\":\"fact\"}" + String(repeating: "\u{0}", count: 1_000)
        for line in [RequestLine.resume(after: .max, of: evil), RequestLine.poll(evil, PollRequest(n: .max))] {
            #expect(line.firstIndex(of: 0x0A) == line.count - 1)
            #expect((try? JSONDocument(line.dropLast()[...])) != nil)
        }
    }
}
