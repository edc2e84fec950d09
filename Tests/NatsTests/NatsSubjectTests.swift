import Nats
import TestSupport
import Testing

@Suite(.limited) struct NatsSubjectTests {
    @Test func wildcardsAreWhereTheyCanBe() {
        for text in ["catwatch.v1.*", "a", "a.b", "*", ">", "a.*.c", "a.>", "*.*"] {
            #expect(NatsSubject.isPattern(text), "\(text)")
        }
        for text in ["", ".", "a.", ".a", "a..b", "a.>.b", "a*", "a.b>", "a b", "a.\u{7F}", "é", "a\n"] {
            #expect(!NatsSubject.isPattern(text), "\(text)")
        }
        #expect(!NatsSubject.isPattern(String(repeating: "x", count: 257)))
    }

    @Test(arguments: [
        ("catwatch.v1.*", "catwatch.v1.*", true), ("catwatch.>", "catwatch.v1.*", true), ("a.*", "*.b", true),
        ("a.b", "a.b.c", false), ("a.*", "b.*", false), (">", "a", true), ("a.b.>", "a.b", false),
    ])
    func aStreamMayTakeWhatOverlaps(_ subject: String, _ pattern: String, _ may: Bool) {
        var stream = NatsStream()
        stream.subjects = ["other", subject]
        #expect((stream.refusal(of: pattern, in: "S") == nil) == may)
    }

    @Test(arguments: [
        ("a.b", "a.b", true), ("a.b", "a.b.c", false), ("a.b.c", "a.b", false), ("a.*", "a.b", true),
        ("a.*", "a.b.c", false), ("a.>", "a.b.c", true), ("a.>", "a", false), ("a.b", "a.c", false),
    ])
    func aPatternMatchesAsManyTokensAsItHas(_ pattern: String, _ subject: String, _ isMatch: Bool) {
        #expect(NatsSubject.overlap(pattern, subject) == isMatch)
    }

    @Test func theLastTokenNamesTheAgent() {
        #expect(NatsSubject.agent(of: "catwatch.v1.web1") == "web1" && NatsSubject.agent(of: "web1") == "web1")
        #expect(NatsSubject.agent(of: "a.") == "")
    }
}
