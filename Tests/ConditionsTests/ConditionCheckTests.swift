import Feed
import TestSupport
import Testing

@testable import Conditions

/// What can be said of a condition from single lines.
@Suite(.limited) struct ConditionCheckTests {
    private func data(_ members: String) throws -> Line.Data {
        let line =
            #"{"v":1,"seq":1,"time":"2026-01-01T00:00:00.000000Z","type":"x","source":"a","series":"a",\#(members)}"#
        guard case .data(let data) = try LineDecoder.decode(Array(line.utf8)[...]).body else {
            throw ConditionFault("no line of data", in: line, at: 0)
        }
        return data
    }

    @Test func ofUnknownBandsNothingIsSaid() throws {
        let condition = try Condition("band = good")
        #expect(try condition.obstacles(in: data(#""value":5"#), bands: nil) == [nil])
        #expect(try condition.obstacles(in: data(#""value":5"#), bands: .some(nil)) == ["the values have no bands"])
        let bands = BandScale(
            [Band(name: "good", letter: "G", color: Band.Color(red: 0, green: 0, blue: 0), upTo: nil)],
            higherIsBetter: false)
        #expect(try condition.obstacles(in: data(#""value":5"#), bands: .some(bands)) == [nil])
    }

    /// Data that was left out may hold anything.
    @Test func ofWhatWasLeftOutNothingIsSaid() throws {
        #expect(try Condition("/a > 5").obstacles(in: data(#""value":5,"truncated":true"#), bands: nil) == [nil])
        #expect(try Condition("/a > 5").obstacles(in: data(#""data":{}"#), bands: nil) == ["there is no /a"])
    }

    @Test func hasAnAnswerForEachTest() throws {
        let condition = try Condition("status = 200 and /a > 5 and /b missing until > 3")
        #expect(condition.testTexts == ["status = 200", "/a > 5", "/b missing", "/b > 3"])
        #expect(
            try condition.obstacles(in: data(#""data":{}"#), bands: nil)
                == [nil, "there is no /a", nil, "there is no /b"])
    }

    private static let texts = [
        "value > 5", "value in 1..2.5", "text not contains \"a\"", "/a exists", "/a missing", "fails", "silent",
        "/a = true", "/a != null", "ms > 1.5 s", "errors over 1m > 5.0 %", "p95 over 1m <= 1 s", "max over 5m >= 3",
    ]

    @Test(
        arguments: zip(
            [
                "> 5", "in 1..2.5", "text not contains \"a\"", "/a exists", "/a missing", "fails dns", "silent 1m",
                "/a = true", "/a != null", "ms > 1500ms", "errors over 1m > 5%", "p95 over 1m <= 1s",
                "max over 5m >= 3",
            ], texts))
    func aTestIsShownAsPeopleWriteIt(line: String, text: String) throws {
        #expect(try Condition(line).testTexts == [text])
    }

    @Test func concernsSourcesAndAgents() throws {
        #expect(try Condition("r* > 5").mayConcern(source: "rooms"))
        #expect(
            try Condition("*3 > 5").mayConcern(source: "rooms") && !Condition("*3 fails").mayConcern(source: "rooms"))
        #expect(try Condition("rooms/a fails").mayConcern(source: "rooms"))
        #expect(
            try !Condition("a/* > 5").mayConcern(source: "rooms") && !Condition("r* > 5").mayConcern(source: "catwatch")
        )
        #expect(
            try Condition("web.rooms > 5").mayConcern(agent: "web") && !Condition("rooms > 5").mayConcern(agent: "web"))
        #expect(
            try Condition("agent w* fails").mayConcern(agent: "web")
                && !Condition("agent w fails").mayConcern(agent: "web"))
        #expect(try !Condition("> 5").isOfSources && Condition("status > 5").isOfSources)
        #expect(
            try Condition("a > 5").isAbout(series: "a/b", of: "a")
                && !Condition("a/c > 5").isAbout(series: "a/b", of: "a"))
    }
}
