import TestSupport
import Testing

@testable import Conditions

@Suite(.limited) struct ConditionCheckTests {
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
